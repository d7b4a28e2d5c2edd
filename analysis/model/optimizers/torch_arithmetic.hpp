// Element-wise operations as PyTorch 2.6 computes them on a CPU: in float32, each result rounded to the tensor's format.
// ATen/native/cpu/{LerpKernel,PointwiseOpsKernel,BinaryOpsKernel}.cpp, ufunc/add.h. Numbers of Python are doubles until
// they meet a tensor; with ATEN_CPU_CAPABILITY=default nothing is fused.
#ifndef ULP_MODEL_OPTIMIZERS_TORCH_ARITHMETIC_HPP
#define ULP_MODEL_OPTIMIZERS_TORCH_ARITHMETIC_HPP

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "storage.hpp"

namespace ulp::optimizers {

// Of torch.lerp: from the nearer end.
inline float lerp_of(float from, float to, float weight, bool fused) {
  const bool near_from = std::fabs(weight) < 0.5F;
  const float difference = to - from;
  if (fused) return near_from ? std::fma(weight, difference, from) : std::fma(weight - 1.0F, difference, to);
  return near_from ? from + weight * difference : to - difference * (1.0F - weight);
}

class torch_arithmetic {
 public:
  // `fused`: as with AVX2, tensors of `size` elements in one thread.
  torch_arithmetic(const storage_rounder& round, bool fused, std::size_t size)
      : round_(round), fused_(fused), fused_until_(fused ? size / 32 * 32 : 0) {}

  // x.mul_(factor): the factor is float32 in every format.
  void mul(numbers x, double factor) const {
    const auto f = static_cast<float>(factor);
    for (float& e : x) e *= f;
    round_(x);
  }
  // out = a + alpha b. In 16 bits alpha is of the format, too, and the product is rounded; with AVX2 not in the first
  // 32 floor(size / 32) elements, which vectors compute.
  void add(numbers out, const_numbers a, const_numbers b, double alpha, std::size_t first) const {
    const std::size_t n = out.size();
    const float factor = round_.scalar(alpha);
    if (!round_.is_low()) {
      if (fused_)
        for (std::size_t i = 0; i < n; ++i) out[i] = std::fma(factor, b[i], a[i]);
      else
        for (std::size_t i = 0; i < n; ++i) out[i] = a[i] + factor * b[i];
      return;
    }
    const std::size_t vectors = fused_until_ <= first ? 0 : std::min(n, fused_until_ - first);
    for (std::size_t i = 0; i < vectors; ++i) out[i] = std::fma(factor, b[i], a[i]);
    round_(out.first(vectors));
    std::array<float, 256> products;
    for (std::size_t at = vectors; at < n; at += products.size()) {
      const std::size_t count = std::min(products.size(), n - at);
      for (std::size_t i = 0; i < count; ++i) products[i] = factor * b[at + i];
      round_(numbers{products}.first(count));
      for (std::size_t i = 0; i < count; ++i) out[at + i] = a[at + i] + products[i];
      round_(out.subspan(at, count));
    }
  }
  // out = a + b.
  void add(numbers out, const_numbers a, const_numbers b) const {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = a[i] + b[i];
    round_(out);
  }
  // x.add_(number): the number is of the format, too.
  void add(numbers x, double number) const {
    const float f = round_.scalar(number);
    for (float& e : x) e += f;
    round_(x);
  }
  // x.lerp_(end, weight).
  void lerp(numbers x, const_numbers end, double weight) const {
    const auto f = static_cast<float>(weight);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = lerp_of(x[i], end[i], f, fused_);
    round_(x);
  }
  // x.addcmul_(a, a, value).
  void add_square(numbers x, const_numbers a, double value) const {
    const auto f = static_cast<float>(value);
    if (fused_)
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::fma(f * a[i], a[i], x[i]);
    else
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = x[i] + (f * a[i]) * a[i];
    round_(x);
  }
  // x.addcdiv_(a, b, value), not rounded.
  static void add_quotient(numbers x, const_numbers a, const_numbers b, double value) {
    const auto f = static_cast<float>(value);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = x[i] + (f * a[i]) / b[i];
  }
  // out = x.sqrt().
  void sqrt(numbers out, const_numbers x) const {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::sqrt(x[i]);
    round_(out);
  }
  // x.div_(number).
  void div(numbers x, double number) const {
    const auto f = static_cast<float>(number);
    for (float& e : x) e /= f;
    round_(x);
  }
  [[nodiscard]] const storage_rounder& round() const noexcept { return round_; }

 private:
  storage_rounder round_;
  bool fused_;
  std::size_t fused_until_;
};

// torch.maximum: NaN stays.
inline float maximum(float a, float b) { return a != a || a > b ? a : b; }

}  // namespace ulp::optimizers

#endif
