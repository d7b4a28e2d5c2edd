// The kernels of one level of processors: included by a file that defines ULP_LEVEL, their namespace, and ULP_TARGET, the
// attribute of their functions.
#include <utility>

#include "block_loops.hpp"
#include "loops.hpp"

namespace ulp::detail::ULP_LEVEL {
namespace {

template <std::size_t I>
inline constexpr way_of_rounding way =
    I < first_stochastic_way
        ? way_of_rounding{static_cast<direction>(I)}
        : way_of_rounding{direction::stochastic, static_cast<stochastic_definition>(I - first_stochastic_way)};

template <std::size_t Way, class Code>
ULP_TARGET bool encode_simple(const encode_plan<std::uint32_t>& plan, const float* numbers, const std::uint32_t* random,
                              Code* codes, std::size_t size) {
  return encode_plainly<way<Way>>(plan, numbers, random, codes, size);
}
template <std::size_t Way, class Bits, class Number>
ULP_TARGET bool encode_full(const encode_plan<Bits>& plan, const Number* numbers, const std::uint32_t* random,
                            std::uint32_t* codes, std::size_t size, conversion_counts& counts) {
  return encode_fully<way<Way>>(plan, numbers, random, codes, size, counts);
}
ULP_TARGET bool to_odd(const double* numbers, float* odd, std::size_t size) { return to_odd_all(numbers, odd, size); }
template <class Bits, class Code>
ULP_TARGET void decode_simple(const decode_plan<Bits>& plan, const Code* codes, number_of<Bits>* numbers,
                              std::size_t size) {
  decode_all(plan, codes, numbers, size);
}
template <class Code>
ULP_TARGET void narrow(const std::uint32_t* codes, Code* narrowed, std::size_t size) {
  narrow_all(codes, narrowed, size);
}
ULP_TARGET void random(const random_stream& stream, std::uint64_t block, int bits, std::uint32_t* out,
                       std::size_t groups) {
  random_groups(stream, block, bits, out, groups);
}
ULP_TARGET void block_magnitudes(const float* numbers, std::size_t width, std::size_t blocks, float* greatest) {
  switch (width) {
    case 16: return block_magnitudes_all<16>(numbers, width, blocks, greatest);
    case 32: return block_magnitudes_all<32>(numbers, width, blocks, greatest);
    default: return block_magnitudes_all<0>(numbers, width, blocks, greatest);
  }
}
template <bool Divides>
ULP_TARGET void scale_blocks(const float* numbers, std::size_t width, std::size_t blocks, const float* by,
                             float* scaled) {
  switch (width) {
    case 16: return scale_blocks_all<16, Divides>(numbers, width, blocks, by, scaled);
    case 32: return scale_blocks_all<32, Divides>(numbers, width, blocks, by, scaled);
    default: return scale_blocks_all<0, Divides>(numbers, width, blocks, by, scaled);
  }
}
template <std::size_t Way>
ULP_TARGET void encode_integers(const integer_plan& plan, const float* numbers, std::uint8_t* codes, std::size_t size,
                                conversion_counts* counts) {
  constexpr auto way = static_cast<integer_way>(Way);
  if (counts == nullptr) return encode_integers_all<way, false>(plan, numbers, codes, size, counts);
  encode_integers_all<way, true>(plan, numbers, codes, size, counts);
}
template <std::size_t Way>
ULP_TARGET void round_to_grid(const grid_plan& plan, float* numbers, std::size_t size) {
  round_to_grid_all<static_cast<integer_way>(Way)>(plan, numbers, size);
}
template <bool Squares, bool Unscaled>
ULP_TARGET void e2m1_errors_of(const float* numbers, std::size_t width, std::size_t blocks, const e2m1_error_plan& plan,
                               const float* factors, const float* scales, float* sums) {
  if (width == 16) return e2m1_errors_all<16, Squares, Unscaled>(numbers, width, blocks, plan, factors, scales, sums);
  e2m1_errors_all<0, Squares, Unscaled>(numbers, width, blocks, plan, factors, scales, sums);
}
ULP_TARGET void e2m1_errors(const float* numbers, std::size_t width, std::size_t blocks, const e2m1_error_plan& plan,
                            const float* factors, const float* scales, float* sums) {
  const auto loop = plan.squares    ? plan.unscaled ? e2m1_errors_of<true, true> : e2m1_errors_of<true, false>
                       : plan.unscaled ? e2m1_errors_of<false, true>
                                    : e2m1_errors_of<false, false>;
  loop(numbers, width, blocks, plan, factors, scales, sums);
}

template <class Bits>
constexpr decode_loops<Bits> all_decode_loops{decode_simple<Bits, std::uint8_t>, decode_simple<Bits, std::uint16_t>,
                                              decode_simple<Bits, std::uint32_t>};

template <std::size_t... Way, std::size_t... IntegerWay>
constexpr kernels all_loops(std::string_view name, bool (*runs_here)(), std::index_sequence<Way...>,
                            std::index_sequence<IntegerWay...>) {
  return {.name = name,
          .runs_here = runs_here,
          .encode8 = {encode_simple<Way, std::uint8_t>...},
          .encode16 = {encode_simple<Way, std::uint16_t>...},
          .encode32 = {encode_simple<Way, std::uint32_t>...},
          .encode_float = {encode_full<Way, std::uint32_t, float>...},
          .encode_float_wide = {encode_full<Way, std::uint64_t, float>...},
          .encode_double = {encode_full<Way, std::uint64_t, double>...},
          .to_odd = to_odd,
          .to_float = all_decode_loops<std::uint32_t>,
          .to_double = all_decode_loops<std::uint64_t>,
          .narrow8 = narrow<std::uint8_t>,
          .narrow16 = narrow<std::uint16_t>,
          .random = random,
          .block_magnitudes = block_magnitudes,
          .multiply_blocks = scale_blocks<false>,
          .divide_blocks = scale_blocks<true>,
          .to_integers = {encode_integers<IntegerWay>...},
          .to_grid = {round_to_grid<IntegerWay>...},
          .e2m1_errors = e2m1_errors};
}

[[maybe_unused]] constexpr kernels level(std::string_view name, bool (*runs_here)()) {
  return all_loops(name, runs_here, std::make_index_sequence<way_count>{},
                   std::make_index_sequence<integer_way_count>{});
}

}  // namespace
}  // namespace ulp::detail::ULP_LEVEL
