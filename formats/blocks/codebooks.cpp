// Maps: bitsandbytes functional.py create_dynamic_map and create_linear_map, torchao quant_utils.py.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include <ulp/formats/codebooks.hpp>
#include <ulp/formats/processor_state.hpp>

namespace ulp {
namespace {

// torch.linspace of PyTorch 2.6 in float32: from the nearer end, by steps.
std::vector<float> linspace(float start, float end, int points, map_arithmetic how) {
  const float step = (end - start) / static_cast<float>(points - 1);
  std::vector<float> all;
  for (int i = 0; i < points; ++i) {
    const bool first_half = i < points / 2;
    const float count = static_cast<float>(first_half ? i : points - 1 - i);
    const float signed_step = first_half ? step : -step;
    const float from = first_half ? start : end;
    all.push_back(how == map_arithmetic::torch26_fma ? std::fma(signed_step, count, from) : from + signed_step * count);
  }
  return all;
}

// The middles of `parts` equal parts of [0.1, 1], times a power of ten.
std::vector<float> decade(int exponent, int parts, map_arithmetic how) {
  std::vector<float> all;
  if (how == map_arithmetic::correctly_rounded) {
    // 10^exponent (0.1 + 0.9 (k + 1/2) / parts), a quotient of integers below 2^53.
    const double denominator = 20.0 * parts * std::pow(10.0, -exponent);
    for (int k = 0; k < parts; ++k) all.push_back(static_cast<float>((2.0 * parts + 9.0 * (2 * k + 1)) / denominator));
    return all;
  }
  const std::vector<float> boundaries = linspace(0.1F, 1.0F, parts + 1, how);
  const auto scale = static_cast<float>(std::pow(10.0, exponent));
  for (std::size_t k = 0; k + 1 < boundaries.size(); ++k)
    all.push_back(scale * ((boundaries[k] + boundaries[k + 1]) / 2.0F));
  return all;
}

}  // namespace

std::string_view to_string(map_arithmetic how) noexcept {
  switch (how) {
    case map_arithmetic::torch26_nofma: return "torch26_nofma";
    case map_arithmetic::torch26_fma: return "torch26_fma";
    case map_arithmetic::correctly_rounded: break;
  }
  return "correctly_rounded";
}

std::vector<float> dynamic_map(bool is_signed, map_arithmetic how, int max_exponent_bits, int total_bits) {
  const int value_bits = total_bits - 1;
  if (total_bits < 2 || total_bits > 8 || max_exponent_bits < 1 || max_exponent_bits > value_bits ||
      (!is_signed && max_exponent_bits != value_bits))
    throw std::invalid_argument("there is no " + std::string{is_signed ? "signed" : "unsigned"} + " dynamic map of " +
                                std::to_string(total_bits) + " bits with " + std::to_string(max_exponent_bits) +
                                " exponent bits; 8 bits with 7 is the usual one");
  if (how == map_arithmetic::correctly_rounded && (total_bits != 8 || max_exponent_bits != 7))
    throw std::invalid_argument("a correctly rounded map has 7 exponent bits of 8");
  const default_processor_state processor;
  std::vector<float> all{0.0F, 1.0F};
  const auto add = [&](const std::vector<float>& entries) {
    for (const float x : entries) {
      all.push_back(x);
      if (is_signed) all.push_back(-x);
    }
  };
  const int fraction_bits = value_bits - max_exponent_bits;
  for (int i = 0; i < max_exponent_bits; ++i)
    add(decade(i + 1 - max_exponent_bits, 1 << (i + fraction_bits + (is_signed ? 0 : 1)), how));
  // Where not all exponent bits are taken, the last decade once more, in another division.
  if (fraction_bits > 0) add(decade(0, (1 << fraction_bits) - 1, how));
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<float> linear_map(bool is_signed, map_arithmetic how) {
  if (how == map_arithmetic::correctly_rounded) throw std::invalid_argument("a correctly rounded map is a dynamic one");
  const default_processor_state processor;
  std::vector<float> all = linspace(is_signed ? -1.0F : 0.0F, 1.0F, is_signed ? 255 : 256, how);
  if (is_signed) all.insert(all.begin() + 127, 0.0F);
  return all;
}

std::vector<float> map_4bit(bool is_signed, map_arithmetic how) {
  if (is_signed) return dynamic_map(true, how, 3, 4);
  const default_processor_state processor;
  std::vector<float> all = linspace(0.0F, 1.0F, 17, how);
  all.erase(all.begin());
  return all;
}

}  // namespace ulp
