// The layers of the networks. `forward` keeps what `backward` needs, so the two alternate. `backward` takes the gradient
// of what forward returned, adds to the gradients of the layer's parameters and returns the gradient of what forward took.
// A row is a token. A low tensor between two layers is kept once, by the linear one of them.
#ifndef ULP_TRAIN_LAYERS_HPP
#define ULP_TRAIN_LAYERS_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "arithmetic/matrix.hpp"
#include "networks/parameter.hpp"

namespace ulp::train {

// x W^T + b, all of it low. The weight has a row for each output.
template <typename Real>
class linear {
 public:
  // bias: nullptr for none. Counts itself among the uses of both.
  linear(std::string name, parameter<Real>& weight, parameter<Real>* bias);
  [[nodiscard]] matrix<Real> forward(matrix<Real> input, const pass<Real>& in);
  [[nodiscard]] matrix<Real> backward(matrix<Real> gradient, const pass<Real>& in);

 private:
  std::string name_;
  parameter<Real>* weight_;
  parameter<Real>* bias_;
  matrix<Real> input_;       // for the gradient of the weight
  matrix<Real> low_weight_;  // for the gradient of the input
  Real input_unit_ = 1;      // what sums of products with these are multiplied by
  Real weight_unit_ = 1;
};

// Rows of a table, float32.
template <typename Real>
class embedding {
 public:
  explicit embedding(parameter<Real>& table);
  [[nodiscard]] matrix<Real> forward(std::span<const std::uint8_t> rows, const pass<Real>& in);
  void backward(const matrix<Real>& gradient, const pass<Real>& in);

 private:
  parameter<Real>* table_;
  std::vector<std::uint8_t> rows_;
};

// Each row to mean 0 and variance 1, times a gain; float32.
template <typename Real>
class layer_norm {
 public:
  layer_norm(std::string name, parameter<Real>& gain);
  [[nodiscard]] matrix<Real> forward(const matrix<Real>& input, const pass<Real>& in);
  [[nodiscard]] matrix<Real> backward(matrix<Real> gradient, const pass<Real>& in);

 private:
  std::string name_;
  parameter<Real>* gain_;
  matrix<Real> normed_;
  std::vector<Real> inverse_deviation_;
};

// GELU with the hyperbolic tangent (Hendrycks, Gimpel, arXiv 1606.08415). Stands between linear layers.
template <typename Real>
class gelu {
 public:
  [[nodiscard]] matrix<Real> forward(matrix<Real> input);
  [[nodiscard]] matrix<Real> backward(matrix<Real> gradient) const;

 private:
  matrix<Real> input_;
};

// Causal attention of several heads over sequences of `length` tokens. Input: queries, keys, values side by side, low.
// Products are low, the softmax is float32. Stands between linear layers.
template <typename Real>
class attention {
 public:
  attention(std::string name, std::size_t heads, std::size_t length)
      : name_(std::move(name)), heads_(heads), length_(length) {}
  [[nodiscard]] matrix<Real> forward(matrix<Real> input, const pass<Real>& in);
  [[nodiscard]] matrix<Real> backward(const matrix<Real>& gradient, const pass<Real>& in) const;

 private:
  // Of a head of a sequence: where its rows and columns begin.
  struct place {
    std::size_t row;     // in input and output
    std::size_t column;  // in the output, and among the queries
    std::size_t scores;  // row among the scores
  };
  template <typename Work>
  void for_each_head(Work work) const;
  void hide_later(matrix<Real>& scores) const;
  [[nodiscard]] std::size_t width() const { return input_.columns() / 3; }
  [[nodiscard]] std::size_t head_width() const { return width() / heads_; }

  std::string name_;
  std::size_t heads_;
  std::size_t length_;
  matrix<Real> input_;
  matrix<Real> softmax_;        // a row of `length` for each head and token, zero behind the token
  matrix<Real> probabilities_;  // the same, low
};

}  // namespace ulp::train

#endif
