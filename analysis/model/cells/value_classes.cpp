#include <ulp/model/cells/value_classes.hpp>

#include <cmath>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>

namespace ulp {
namespace {

bool is_number_of(const format& f, double value) {
  return value <= to_double(f, f.max_finite_code()) && to_double(f, encode(f, value).code) == value;
}

// Whether it is a small multiple of the least number of float16; NaN is none.
bool is_near_least(double value) {
  constexpr double few = 16;
  const double units = std::ldexp(value, -float16.min_quantum_exponent());
  return units >= 1 && units <= few && units == std::floor(units);
}

}  // namespace

void value_classes::see(const step& now) {
  if (now.key.microbatch != -1) return;
  for (const tensor_row& row : now.tensors) {
    const double recorded = row.table.max_abs;
    if (!(recorded > 0)) continue;
    const double scale = now.scalars.loss_scale;
    const bool is_known = scale > 0 && std::isfinite(scale) && row.factor_known();
    int exponent = 0;
    const double value = is_known ? recorded * (scale / row.factor) : std::frexp(recorded, &exponent);
    if (tensors_.size() <= row.tensor) tensors_.resize(row.tensor + std::size_t{1});
    tally& t = tensors_[row.tensor];
    ++t.steps;
    t.float16 += is_number_of(float16, value) ? 1 : 0;
    t.bfloat16 += is_number_of(bfloat16, value) ? 1 : 0;
    t.near_least += is_known && is_near_least(row.table.min_abs * (scale / row.factor)) ? 1 : 0;
  }
}

value_class value_classes::operator[](std::size_t tensor) const noexcept {
  if (tensor >= tensors_.size() || tensors_[tensor].steps < least_steps) return value_class::unknown;
  const tally& t = tensors_[tensor];
  const bool is_cut_off = t.float16 == t.steps && 2 * t.near_least >= t.steps;
  if (t.bfloat16 == t.steps && !is_cut_off) return value_class::bfloat16;
  if (t.float16 == t.steps) return value_class::float16;
  return 100 * t.float16 <= t.steps ? value_class::float32 : value_class::sum;
}

}  // namespace ulp
