// A network that predicts the next character, forward and back.
#ifndef ULP_TRAIN_NETWORK_HPP
#define ULP_TRAIN_NETWORK_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ulp/train/training.hpp>

#include "arithmetic/matrix.hpp"
#include "networks/parameter.hpp"

namespace ulp::train {

// Sequences of `length` characters one after the other, and what follows each character.
struct batch {
  std::size_t length = 0;
  std::vector<std::uint8_t> characters;
  std::vector<std::uint8_t> targets;
};

template <typename Real>
class network {
 public:
  network() = default;
  network(const network&) = delete;
  network& operator=(const network&) = delete;
  virtual ~network() = default;

  // The mean cross-entropy of its predictions, in nats.
  [[nodiscard]] Real loss(const batch& examples, const pass<Real>& in);
  // After loss(), with the same pass: adds the gradient of `scale` times it to each parameter's of_pass.
  void backward(Real scale, const pass<Real>& in);

  // In the order in which they are used.
  [[nodiscard]] const std::vector<std::unique_ptr<parameter<Real>>>& parameters() const { return parameters_; }

  // Characters of a sequence.
  [[nodiscard]] virtual std::size_t length() const = 0;

 protected:
  // Uniform with variance 1 / inputs; for 0 inputs all ones.
  parameter<Real>& add(const std::string& name, std::size_t rows, std::size_t columns, std::size_t inputs,
                       std::uint64_t seed);

  // A row of logits for each prediction.
  [[nodiscard]] virtual matrix<Real> predict(const batch& examples, const pass<Real>& in) = 0;
  [[nodiscard]] virtual std::vector<std::uint8_t> targets_of(const batch& examples) const { return examples.targets; }
  virtual void go_back(matrix<Real> gradient, const pass<Real>& in) = 0;

 private:
  std::vector<std::unique_ptr<parameter<Real>>> parameters_;
  matrix<Real> softmax_;
  std::vector<std::uint8_t> targets_;
};

// Of the options: network, width, tied, seed.
template <typename Real>
[[nodiscard]] std::unique_ptr<network<Real>> make_mlp(const training_options& options);
template <typename Real>
[[nodiscard]] std::unique_ptr<network<Real>> make_transformer(const training_options& options);

template <typename Real>
[[nodiscard]] std::unique_ptr<network<Real>> make_network(const training_options& options) {
  return options.network == network_kind::mlp ? make_mlp<Real>(options) : make_transformer<Real>(options);
}

}  // namespace ulp::train

#endif
