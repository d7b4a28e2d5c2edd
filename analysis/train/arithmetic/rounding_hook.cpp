#include <ulp/train/rounding_hook.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include <ulp/formats/codec.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/formats/random_bits.hpp>

namespace ulp {
namespace {

// Whether the float operations below do what the codec does.
bool rounds_within_float32(const treatment& how) {
  return how.rounding.direction == direction::nearest_even && how.rounding.overflow == overflow_mode::ieee &&
         how.rounding.flush == flush::never && !how.rounding.daz && how.format.top == specials::ieee &&
         how.format.has_subnormals() && how.format.has_sign && how.format.fraction_bits < 23 &&
         how.format.emin() >= binary32.emin() && how.format.emax() <= binary32.emax();
}

// Normal results by adding half a unit, less one where the last kept bit is even, to the bits of the float, which carries
// into the exponent; subnormal ones by adding a float whose own unit is the format's smallest number.
void round_within_float32(std::span<float> values, const format& to) {
  const int cut = 23 - to.fraction_bits;
  const std::uint32_t half = (std::uint32_t{1} << (cut - 1)) - 1;
  const std::uint32_t kept = ~((std::uint32_t{1} << cut) - 1);
  const float least_normal = to_float(to, code{to.min_normal_code()});
  const float greatest = to_float(to, code{to.max_finite_code()});
  const float has_unit = std::ldexp(1.0F, to.min_quantum_exponent() + 23);
  for (float& x : values) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(x) & 0x7FFFFFFF;
    const auto magnitude = std::bit_cast<float>(bits);
    const auto normal = std::bit_cast<float>((bits + half + ((bits >> cut) & 1)) & kept);
    const float subnormal = (magnitude + has_unit) - has_unit;
    float rounded = magnitude < least_normal ? subnormal : normal;
    rounded = rounded > greatest ? std::numeric_limits<float>::infinity() : rounded;
    x = x != x ? x : std::copysign(rounded, x);
  }
}

void round_by_codec(std::span<float> values, const treatment& how, std::uint64_t seed, std::uint64_t stream) {
  const bool draws = how.rounding.direction == direction::stochastic;
  const bool exactly = how.rounding.random_bits == exact_probability;
  // A float discards at most 149 bits.
  std::array<std::uint32_t, 5> words{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    random_input random;
    if (draws && exactly) {
      for (std::uint32_t w = 0; w < words.size(); ++w) words[w] = random_word(seed, stream, i, w);
      random = random_input{words};
    } else if (draws) {
      random = random_input{random_bits(seed, stream, i, how.rounding.random_bits)};
    }
    values[i] = to_float(how.format, code{encode(how.format, values[i], how.rounding, random).code});
  }
}

}  // namespace

void round_values(std::span<float> values, const treatment& how, std::uint64_t seed, std::uint64_t stream) {
  if (rounds_within_float32(how))
    round_within_float32(values, how.format);
  else
    round_by_codec(values, how, seed, stream);
}

void no_rounding::round(const site& /*at*/, std::span<float> /*values*/) {}

low_rounding::low_rounding(const treatment& how, std::uint64_t seed) : how_(how), seed_(seed) {}

void low_rounding::round(const site& at, std::span<float> values) {
  if (at.role != tensor_role::low) return;
  std::uint64_t stream = 0;
  if (how_.rounding.direction == direction::stochastic)
    stream = stream_of(std::string{to_string(at.kind)} + "/" + std::string{at.tensor}, (at.step << 20) + at.microbatch);
  round_values(values, how_, seed_, stream);
}

std::string low_rounding::through() const { return to_string(how_.format); }

tensor_kind operand_kind(site_kind kind) noexcept {
  switch (kind) {
    case site_kind::weight: return tensor_kind::weight;
    case site_kind::activation: return tensor_kind::activation;
    default: return tensor_kind::activation_grad;
  }
}

std::string_view to_string(site_kind kind) noexcept {
  switch (kind) {
    case site_kind::weight: return "weight";
    case site_kind::activation: return "activation";
    case site_kind::activation_grad: return "activation_grad";
    case site_kind::weight_grad: return "weight_grad";
    case site_kind::accumulator: return "accumulator";
    case site_kind::optimizer_state: return "optimizer_state";
    case site_kind::update: return "update";
    case site_kind::master_weight: break;
  }
  return "master_weight";
}

}  // namespace ulp
