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

template <typename Real>
[[nodiscard]] std::unique_ptr<network<Real>> make_mlp(bool tied, std::uint64_t seed);
template <typename Real>
[[nodiscard]] std::unique_ptr<network<Real>> make_transformer(bool tied, std::uint64_t seed);

template <typename Real>
[[nodiscard]] std::unique_ptr<network<Real>> make_network(network_kind kind, bool tied, std::uint64_t seed) {
  return kind == network_kind::mlp ? make_mlp<Real>(tied, seed) : make_transformer<Real>(tied, seed);
}

}  // namespace ulp::train

#endif
