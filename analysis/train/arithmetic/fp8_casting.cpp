#include "arithmetic/fp8_casting.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include <ulp/formats/codec.hpp>

namespace ulp::train {
namespace {

float amax_of(std::span<const float> values, bool ignores_nan) {
  float largest = 0;
  bool has_nan = false;
  for (const float x : values) {
    has_nan = has_nan || std::isnan(x);
    largest = std::fmax(largest, std::fabs(x));
  }
  return has_nan && !ignores_nan ? std::numeric_limits<float>::quiet_NaN() : largest;
}

// Returns what brings them back.
float cast(std::span<float> values, const treatment& how, bool divides, fp8_cast& into) {
  const auto scale = static_cast<float>(into.scales.used);
  for (float& x : values) {
    const float scaled = divides ? x / scale : x * scale;
    const encoded rounded = encode(how.format, scaled, how.rounding);
    const float kept = to_float(how.format, code{rounded.code});
    if (x != 0 && std::isfinite(x)) {
      ++into.nonzero;
      into.saturated += any(rounded.flags, status::overflow) || std::isinf(scaled) ? 1 : 0;
      into.underflow += kept == 0 ? 1 : 0;
    }
    x = kept;
  }
  return divides ? scale : 1 / scale;
}

}  // namespace

void fp8_casting::start_step() {
  rows_.clear();
  casts_.clear();
}

float fp8_casting::round_operand(const site& at, std::span<float> values) {
  const std::size_t index = rows_.size();
  if (index == tensors_.size()) {
    tensors_.push_back({.name = std::string{at.tensor},
                        .kind = operand_kind(at.kind),
                        .role = at.role,
                        .shape = {at.rows, at.columns},
                        .numel = values.size()});
    if (recipe_) policies_.push_back(recipe_->of(tensors_.back()).start);
  }
  counter_.add(values);
  rows_.push_back(
      {.tensor = static_cast<std::uint32_t>(index), .type = dtype::float32, .factor = 1, .table = counter_.take()});
  if (!recipe_) return 1;
  fp8_scaler& policy = policies_[index];
  fp8_cast made{.amax = amax_of(values, policy.entry().ignores_nan)};
  made.scales = policy.update(made.amax);
  const float unit = cast(values, recipe_->of(tensors_[index]).how, policy.entry().divides, made);
  casts_.push_back(made);
  return unit;
}

}  // namespace ulp::train
