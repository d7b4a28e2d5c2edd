#include <array>
#include <stdexcept>
#include <string>

#include <ulp/formats/array_arithmetic.hpp>
#include <ulp/formats/processor_state.hpp>

#include "arithmetic_single.hpp"
#include "arithmetic_tiles.hpp"
#include "control_register.hpp"
#include "threads.hpp"

namespace ulp {
namespace {

using namespace detail;

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument("ulp::array_arithmetic: " + what); }

void expect_format(const format& f, int bytes, const char* what) {
  if (!f.is_valid()) refuse(std::string{what} + " is not a valid format");
  const int bits = bytes == 0 ? 4 : 8 * bytes;
  if (f.width() > bits)
    refuse("codes of " + std::to_string(f.width()) + " bits in elements of " + std::to_string(bits));
}

void compute_array(operation op, const format& to, code_span out, operand_list of, const array_rounding& how) {
  expect_format(to, out.bytes(), "the result's");
  for (const array_operand* x : of) {
    expect_format(x->format, x->codes.bytes(), "an operand's");
    if (x->codes.size() != out.size() && x->codes.size() != 1)
      refuse(std::to_string(x->codes.size()) + " operands for " + std::to_string(out.size()) + " results");
  }
  if (!how.rounding.is_valid()) refuse("the rounding has a field out of range");
  if (out.size() == 0) return;

  const kernels* const loops = loops_in_use().load(std::memory_order_relaxed);
  const tile_operands places{of, out.size()};
  const single_results single{op, to, of, places, how};
  const auto by_tiles = [&](std::size_t step, auto tile) {
    for_parts(out.size(), step, how.threads, [&](std::size_t begin, std::size_t end) {
#if defined(__x86_64__)
      // Roots begin with a guess in floating point, which is not to leave a flag or raise an exception.
      const control_register rounds{direction::nearest_even};
#else
      const default_processor_state state;
#endif
      for (std::size_t at = begin; at < end; at += step) tile(at, std::min(end - at, step), codes_out{out, at});
    });
  };
  const code_results by_codes{op, to, places, out, how, loops};
  const auto by_lanes = [&]<class Number>(const lane_results<Number>& lanes) {
    if (!lanes.usable()) return false;
    by_tiles(lane_results<Number>::step, [&](std::size_t begin, std::size_t n, const codes_out& place) {
      if (!by_codes(begin, n, place)) lanes(begin, n, place, single);
    });
    return true;
  };
  if (by_lanes(lane_results<float>{op, to, places, how, loops})) return;
  if (by_lanes(lane_results<double>{op, to, places, how, loops})) return;
  by_tiles(tile_size, [&](std::size_t begin, std::size_t n, const codes_out& place) {
    std::array<std::uint32_t, tile_size> codes;
    for (std::size_t i = 0; i < n; ++i) codes[i] = single(begin, i);
    store({codes.data(), n}, loops, place);
  });
}

}  // namespace

void add_array(const format& to, code_span out, const array_operand& a, const array_operand& b,
               const array_rounding& how) {
  compute_array(operation::add, to, out, std::array{&a, &b}, how);
}
void sub_array(const format& to, code_span out, const array_operand& a, const array_operand& b,
               const array_rounding& how) {
  compute_array(operation::sub, to, out, std::array{&a, &b}, how);
}
void mul_array(const format& to, code_span out, const array_operand& a, const array_operand& b,
               const array_rounding& how) {
  compute_array(operation::mul, to, out, std::array{&a, &b}, how);
}
void div_array(const format& to, code_span out, const array_operand& a, const array_operand& b,
               const array_rounding& how) {
  compute_array(operation::div, to, out, std::array{&a, &b}, how);
}
void sqrt_array(const format& to, code_span out, const array_operand& a, const array_rounding& how) {
  compute_array(operation::sqrt, to, out, std::array{&a}, how);
}
void fma_array(const format& to, code_span out, const array_operand& a, const array_operand& b, const array_operand& c,
               const array_rounding& how) {
  compute_array(operation::fma, to, out, std::array{&a, &b, &c}, how);
}

}  // namespace ulp
