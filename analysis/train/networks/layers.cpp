#include "networks/layers.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "arithmetic/functions.hpp"

namespace ulp::train {

template <typename Real>
linear<Real>::linear(std::string name, parameter<Real>& weight, parameter<Real>* bias)
    : name_(std::move(name)), weight_(&weight), bias_(bias) {
  ++weight.parts.rounded;
  if (bias != nullptr) ++bias->parts.rounded;
}

template <typename Real>
matrix<Real> linear<Real>::forward(matrix<Real> input, const pass<Real>& in) {
  input_unit_ = in.keep_operand(site_kind::activation, name_ + ".input", input, input_);
  matrix<Real> weight = weight_->value;
  weight_unit_ = in.keep_operand(site_kind::weight, weight_->name, weight, low_weight_);
  matrix<Real> output = product(input, transposed(weight), in.sums);
  output *= input_unit_ * weight_unit_;
  if (bias_ != nullptr) {
    const matrix<Real> bias = bias_->cast(in);
    for (std::size_t i = 0; i < output.rows(); ++i)
      for (std::size_t j = 0; j < output.columns(); ++j) output(i, j) += bias(0, j);
  }
  in.keep(site_kind::activation, tensor_role::low, name_ + ".output", output);
  return output;
}

template <typename Real>
matrix<Real> linear<Real>::backward(matrix<Real> gradient, const pass<Real>& in) {
  matrix<Real> across;
  const Real unit = in.keep_operand(site_kind::activation_grad, name_ + ".output", gradient, across);
  matrix<Real> of_weight = product(transposed(across), input_, in.sums);
  of_weight *= unit * input_unit_;
  weight_->add_gradient(std::move(of_weight), tensor_role::low, in);
  if (bias_ != nullptr) {
    matrix<Real> of_bias = column_sums(gradient, in.sums);
    of_bias *= unit;
    bias_->add_gradient(std::move(of_bias), tensor_role::low, in);
  }
  matrix<Real> of_input = product(gradient, low_weight_, in.sums);
  of_input *= unit * weight_unit_;
  in.keep(site_kind::activation_grad, tensor_role::low, name_ + ".input", of_input);
  return of_input;
}

template <typename Real>
embedding<Real>::embedding(parameter<Real>& table) : table_(&table) {
  ++table.parts.kept;
}

template <typename Real>
matrix<Real> embedding<Real>::forward(std::span<const std::uint8_t> rows, const pass<Real>& in) {
  rows_.assign(rows.begin(), rows.end());
  matrix<Real> output(rows.size(), table_->value.columns());
  for (std::size_t i = 0; i < rows.size(); ++i) std::ranges::copy(table_->value.row(rows[i]), output.row(i).begin());
  in.keep(site_kind::activation, tensor_role::float32, table_->name + ".output", output);
  return output;
}

template <typename Real>
void embedding<Real>::backward(const matrix<Real>& gradient, const pass<Real>& in) {
  matrix<Real> of_table(table_->value.rows(), table_->value.columns());
  for (std::size_t i = 0; i < rows_.size(); ++i)
    for (std::size_t j = 0; j < gradient.columns(); ++j) of_table(rows_[i], j) += gradient(i, j);
  table_->add_gradient(std::move(of_table), tensor_role::float32, in);
}

template <typename Real>
layer_norm<Real>::layer_norm(std::string name, parameter<Real>& gain) : name_(std::move(name)), gain_(&gain) {
  ++gain.parts.kept;
}

template <typename Real>
matrix<Real> layer_norm<Real>::forward(const matrix<Real>& input, const pass<Real>& in) {
  const auto n = static_cast<Real>(input.columns());
  normed_ = input;
  inverse_deviation_.clear();
  matrix<Real> output(input.rows(), input.columns());
  for (std::size_t i = 0; i < input.rows(); ++i) {
    const std::span<Real> x = normed_.row(i);
    Real mean = 0;
    for (const Real v : x) mean += v;
    mean /= n;
    Real variance = 0;
    for (Real& v : x) {
      v -= mean;
      variance += v * v;
    }
    const Real inverse = 1 / std::sqrt(variance / n + static_cast<Real>(1e-5));
    inverse_deviation_.push_back(inverse);
    for (std::size_t j = 0; j < x.size(); ++j) {
      x[j] *= inverse;
      output(i, j) = x[j] * gain_->value(0, j);
    }
  }
  in.keep(site_kind::activation, tensor_role::float32, name_ + ".output", output);
  return output;
}

template <typename Real>
matrix<Real> layer_norm<Real>::backward(matrix<Real> gradient, const pass<Real>& in) {
  const auto n = static_cast<Real>(gradient.columns());
  matrix<Real> of_gain(1, gradient.columns());
  for (std::size_t i = 0; i < gradient.rows(); ++i) {
    const std::span<Real> g = gradient.row(i);
    const std::span<const Real> x = normed_.row(i);
    Real sum = 0;
    Real product_sum = 0;
    for (std::size_t j = 0; j < g.size(); ++j) {
      of_gain(0, j) += g[j] * x[j];
      g[j] *= gain_->value(0, j);
      sum += g[j];
      product_sum += g[j] * x[j];
    }
    for (std::size_t j = 0; j < g.size(); ++j)
      g[j] = (g[j] - sum / n - x[j] * (product_sum / n)) * inverse_deviation_[i];
  }
  gain_->add_gradient(std::move(of_gain), tensor_role::float32, in);
  in.keep(site_kind::activation_grad, tensor_role::float32, name_ + ".input", gradient);
  return gradient;
}

namespace {

// sqrt(2 / pi) and the cubic term of GELU.
constexpr double slope = 0.7978845608028654;
constexpr double cubic = 0.044715;

double bend(double x) { return hyperbolic_tangent(slope * (x + cubic * x * x * x)); }

}  // namespace

template <typename Real>
matrix<Real> gelu<Real>::forward(matrix<Real> input) {
  input_ = input;
  for (Real& v : input.values()) {
    const double x = v;
    v = static_cast<Real>(0.5 * x * (1 + bend(x)));
  }
  return input;
}

template <typename Real>
matrix<Real> gelu<Real>::backward(matrix<Real> gradient) const {
  const std::span<const Real> inputs = input_.values();
  const std::span<Real> g = gradient.values();
  for (std::size_t i = 0; i < g.size(); ++i) {
    const double x = inputs[i];
    const double t = bend(x);
    const double derivative = 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope * (1 + 3 * cubic * x * x);
    g[i] = static_cast<Real>(g[i] * derivative);
  }
  return gradient;
}

template <typename Real>
template <typename Work>
void attention<Real>::for_each_head(Work work) const {
  for (std::size_t row = 0; row < input_.rows(); row += length_)
    for (std::size_t head = 0; head < heads_; ++head)
      work(place{.row = row, .column = head * head_width(), .scores = row * heads_ + head * length_});
}

// A token sees those up to itself.
template <typename Real>
void attention<Real>::hide_later(matrix<Real>& scores) const {
  for (std::size_t i = 0; i < scores.rows(); ++i) std::ranges::fill(scores.row(i).subspan(i % length_ + 1), Real{0});
}

template <typename Real>
matrix<Real> attention<Real>::forward(matrix<Real> input, const pass<Real>& in) {
  input_ = std::move(input);
  const std::size_t rows = input_.rows();
  const auto temper = static_cast<Real>(1 / std::sqrt(static_cast<double>(head_width())));

  matrix<Real> scores(rows * heads_, length_);
  for_each_head([&](const place& at) {
    const matrix<Real> queries = block(input_, at.row, at.column, length_, head_width());
    const matrix<Real> keys = block(input_, at.row, width() + at.column, length_, head_width());
    set_block(scores, at.scores, 0, product(queries, transposed(keys)));
  });
  hide_later(scores);
  in.keep(site_kind::activation, tensor_role::low, name_ + ".scores", scores);

  softmax_ = std::move(scores);
  for (std::size_t i = 0; i < softmax_.rows(); ++i) {
    const std::span<Real> seen = softmax_.row(i).first(i % length_ + 1);
    for (Real& s : seen) s *= temper;
    const Real most = *std::ranges::max_element(seen);
    Real sum = 0;
    for (Real& s : seen) sum += s = static_cast<Real>(exponential(static_cast<double>(s) - static_cast<double>(most)));
    for (Real& s : seen) s /= sum;
  }
  in.keep(site_kind::activation, tensor_role::float32, name_ + ".softmax", softmax_);
  probabilities_ = softmax_;
  in.keep(site_kind::activation, tensor_role::low, name_ + ".probabilities", probabilities_);

  matrix<Real> output(rows, width());
  for_each_head([&](const place& at) {
    const matrix<Real> values = block(input_, at.row, 2 * width() + at.column, length_, head_width());
    set_block(output, at.row, at.column, product(block(probabilities_, at.scores, 0, length_, length_), values));
  });
  return output;
}

template <typename Real>
matrix<Real> attention<Real>::backward(const matrix<Real>& gradient, const pass<Real>& in) const {
  const auto temper = static_cast<Real>(1 / std::sqrt(static_cast<double>(head_width())));
  matrix<Real> of_input(input_.rows(), input_.columns());
  matrix<Real> of_scores(softmax_.rows(), length_);
  for_each_head([&](const place& at) {
    const matrix<Real> of_output = block(gradient, at.row, at.column, length_, head_width());
    const matrix<Real> values = block(input_, at.row, 2 * width() + at.column, length_, head_width());
    set_block(of_scores, at.scores, 0, product(of_output, transposed(values)));
    const matrix<Real> weights = block(probabilities_, at.scores, 0, length_, length_);
    set_block(of_input, at.row, 2 * width() + at.column, product(transposed(weights), of_output));
  });
  hide_later(of_scores);
  in.keep(site_kind::activation_grad, tensor_role::low, name_ + ".probabilities", of_scores);

  for (std::size_t i = 0; i < of_scores.rows(); ++i) {
    const std::size_t seen = i % length_ + 1;
    const std::span<Real> g = of_scores.row(i);
    const std::span<const Real> p = softmax_.row(i);
    Real sum = 0;
    for (std::size_t j = 0; j < seen; ++j) sum += g[j] * p[j];
    for (std::size_t j = 0; j < seen; ++j) g[j] = p[j] * (g[j] - sum) * temper;
  }
  in.keep(site_kind::activation_grad, tensor_role::low, name_ + ".scores", of_scores);

  for_each_head([&](const place& at) {
    const matrix<Real> g = block(of_scores, at.scores, 0, length_, length_);
    const matrix<Real> queries = block(input_, at.row, at.column, length_, head_width());
    const matrix<Real> keys = block(input_, at.row, width() + at.column, length_, head_width());
    set_block(of_input, at.row, at.column, product(g, keys));
    set_block(of_input, at.row, width() + at.column, product(transposed(g), queries));
  });
  return of_input;
}

template class linear<float>;
template class linear<double>;
template class embedding<float>;
template class embedding<double>;
template class layer_norm<float>;
template class layer_norm<double>;
template class gelu<float>;
template class gelu<double>;
template class attention<float>;
template class attention<double>;

}  // namespace ulp::train
