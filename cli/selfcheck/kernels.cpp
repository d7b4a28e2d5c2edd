#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <bit>
#include <cmath>
#include <ulp/formats/array_arithmetic.hpp>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/convert.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/formats/operation.hpp>
#include <ulp/formats/random_bits.hpp>
#include <ulp/formats/vectors.hpp>
#include <ulp/model/cells/cell_counter.hpp>
#include <vector>

#include "self_test.hpp"

namespace ulp::cli {
namespace {

// The last target is the one in use.
class every_target {
 public:
  every_target() : names_(targets()) {}
  ~every_target() { force_target(names_.back()); }
  every_target(const every_target&) = delete;
  every_target& operator=(const every_target&) = delete;
  [[nodiscard]] const std::vector<std::string_view>& names() const { return names_; }

 private:
  std::vector<std::string_view> names_;
};

const std::vector<std::pair<std::string, format>>& checked_formats() {
  static const std::vector<std::pair<std::string, format>> all{{"float16", float16},
                                                               {"bfloat16", bfloat16},
                                                               {"cbfloat16", cbfloat16},
                                                               {"float8_e4m3fn", float8_e4m3fn},
                                                               {"float8_e5m2", float8_e5m2}};
  return all;
}

const std::vector<rounding>& checked_roundings() {
  static const std::vector<rounding> all{{},
                                         {.direction = direction::toward_zero},
                                         {.direction = direction::toward_positive, .flush = flush::after_rounding},
                                         {.overflow = overflow_mode::saturate, .daz = true},
                                         {.direction = direction::stochastic, .random_bits = 13}};
  return all;
}

// The numbers of all codes, the midpoints between them, the float32 on either side of both, and every 65521st float32.
std::vector<float> telling_numbers(const format& of) {
  std::vector<float> all;
  const auto around = [&](double x) {
    const auto middle = static_cast<float>(x);
    for (const float y : {std::nextafter(middle, -INFINITY), middle, std::nextafter(middle, INFINITY)})
      for (const float z : {y, -y}) all.push_back(z);
  };
  double last = 0;
  for (std::uint64_t c = 0; c <= of.magnitude_mask(); ++c) {
    const double x = to_double(of, c);
    if (!std::isfinite(x)) continue;
    around(x);
    around((last + x) / 2);
    last = x;
  }
  around(2 * last);
  constexpr std::uint64_t stride = 65521;
  for (std::uint64_t bits = 0; bits >> 32 == 0; bits += stride)
    all.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  return all;
}

std::string code_text(std::uint64_t code) { return fmt::format("0x{:04x}", code); }

std::string text_of_targets(const every_target& all) { return fmt::format("{}", fmt::join(all.names(), ", ")); }

// One after the other, as the reference.
std::vector<std::uint32_t> encoded_one_by_one(const format& to, const std::vector<float>& from, const rounding& mode) {
  std::vector<std::uint32_t> codes;
  codes.reserve(from.size());
  const bool is_drawn = mode.direction == direction::stochastic;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::uint32_t random = is_drawn ? random_bits(0, 0, i, mode.random_bits) : 0;
    codes.push_back(static_cast<std::uint32_t>(encode(to, from[i], mode, random).code));
  }
  return codes;
}

std::string first_wrong_code(std::string_view target, const std::string& name, const format& of) {
  std::vector<std::uint16_t> codes(of.code_mask() + 1);
  for (std::size_t c = 0; c < codes.size(); ++c) codes[c] = static_cast<std::uint16_t>(c);
  std::vector<float> numbers(codes.size());
  decode_array(of, std::span<const std::uint16_t>(codes), std::span(numbers));
  for (std::size_t c = 0; c < codes.size(); ++c)
    if (std::bit_cast<std::uint32_t>(numbers[c]) != std::bit_cast<std::uint32_t>(to_float(of, std::uint64_t{c})))
      return fmt::format("{}: {} of {} is read as {}, not {}", target, code_text(c), name, numbers[c],
                         to_float(of, std::uint64_t{c}));
  return {};
}

using array_function = void (*)(const format&, code_span, const std::array<array_operand, 3>&, const array_rounding&);

struct array_operation {
  operation op;
  array_function run;
};

const std::vector<array_operation>& array_operations() {
  using three = std::array<array_operand, 3>;
  static const std::vector<array_operation> all{
      {operation::add, [](const format& to, code_span out, const three& x,
                          const array_rounding& how) { add_array(to, out, x[0], x[1], how); }},
      {operation::sub, [](const format& to, code_span out, const three& x,
                          const array_rounding& how) { sub_array(to, out, x[0], x[1], how); }},
      {operation::mul, [](const format& to, code_span out, const three& x,
                          const array_rounding& how) { mul_array(to, out, x[0], x[1], how); }},
      {operation::div, [](const format& to, code_span out, const three& x,
                          const array_rounding& how) { div_array(to, out, x[0], x[1], how); }},
      {operation::sqrt, [](const format& to, code_span out, const three& x,
                           const array_rounding& how) { sqrt_array(to, out, x[0], how); }},
      {operation::fma, [](const format& to, code_span out, const three& x, const array_rounding& how) {
         fma_array(to, out, x[0], x[1], x[2], how);
       }}};
  return all;
}

constexpr std::size_t most_vectors = 60'000;

std::array<std::vector<std::uint32_t>, 3> vectors_of(operation op, const format& of) {
  std::array<std::vector<std::uint32_t>, 3> all;
  // Of the many vectors every so many, so that all kinds are among them.
  std::size_t seen = 0;
  const std::size_t step = op == operation::fma ? 7 : 1;
  for_each_vector(op, of, of, 1, 0, [&](std::span<const operand_codes> some) {
    for (const operand_codes& v : some)
      if (seen++ % step == 0 && all[0].size() < most_vectors)
        for (std::size_t i = 0; i < 3; ++i) all[i].push_back(static_cast<std::uint32_t>(v[i]));
  });
  return all;
}

}  // namespace

self_test check_conversions() {
  const every_target every;
  self_test done{.name = "conversion", .found = "targets " + text_of_targets(every)};
  for (const auto& [name, of] : checked_formats()) {
    const std::vector<float> numbers = telling_numbers(of);
    for (const rounding& mode : checked_roundings()) {
      const std::vector<std::uint32_t> expected = encoded_one_by_one(of, numbers, mode);
      for (const std::string_view target : every.names()) {
        force_target(target);
        std::vector<std::uint16_t> codes(numbers.size());
        encode_array(of, numbers, std::span(codes), {.rounding = mode, .random = {}});
        for (std::size_t i = 0; i < numbers.size(); ++i)
          if (codes[i] != expected[i]) {
            done.difference = fmt::format("{}: {} to {}, {}: {}, not {}", target, numbers[i], name, to_string(mode),
                                          code_text(codes[i]), code_text(expected[i]));
            return done;
          }
        done.compared += numbers.size();
      }
    }
    for (const std::string_view target : every.names()) {
      force_target(target);
      if (done.difference = first_wrong_code(target, name, of); !done.passed()) return done;
      done.compared += of.code_mask() + 1;
    }
  }
  return done;
}

self_test check_arithmetic() {
  const every_target every;
  self_test done{.name = "arithmetic", .found = "targets " + text_of_targets(every)};
  for (const auto& [name, of] : checked_formats())
    for (const array_operation& asked : array_operations()) {
      const auto x = vectors_of(asked.op, of);
      const std::array<array_operand, 3> operands{
          array_operand{of, std::span(x[0])}, {of, std::span(x[1])}, {of, std::span(x[2])}};
      for (const rounding& mode : {rounding{}, rounding{.direction = direction::toward_zero}}) {
        std::vector<std::uint64_t> expected;
        for (std::size_t i = 0; i < x[0].size(); ++i)
          expected.push_back(evaluate(asked.op, of, of, {x[0][i], x[1][i], x[2][i]}, mode).code);
        for (const std::string_view target : every.names()) {
          force_target(target);
          std::vector<std::uint32_t> results(x[0].size());
          asked.run(of, std::span(results), operands, {.rounding = mode, .random = {}});
          for (std::size_t i = 0; i < results.size(); ++i)
            if (results[i] != expected[i]) {
              done.difference =
                  fmt::format("{}: {} of {}, {}, operands {} {} {}: {}, not {}", target, to_string(asked.op), name,
                              to_string(mode), code_text(x[0][i]), code_text(x[1][i]), code_text(x[2][i]),
                              code_text(results[i]), code_text(expected[i]));
              return done;
            }
          done.compared += results.size();
        }
      }
    }
  return done;
}

self_test check_counting() {
  const std::vector<std::string_view> kernels = counting_kernels();
  self_test done{.name = "counting", .found = fmt::format("kernels {}", fmt::join(kernels, ", "))};
  const std::vector<float> numbers = telling_numbers(float16);
  force_counting_kernel("reference");
  const cell_table expected = count_cells(numbers);
  for (const std::string_view kernel : kernels) {
    force_counting_kernel(kernel);
    if (!(count_cells(numbers) == expected) && done.passed())
      done.difference = fmt::format("{}: the cell table of {} numbers is not the reference's", kernel, numbers.size());
    done.compared += numbers.size();
  }
  force_counting_kernel(kernels.back());
  return done;
}

self_test check_random_bits() {
  struct known {
    std::array<std::uint32_t, 4> counter;
    std::array<std::uint32_t, 2> key;
    std::array<std::uint32_t, 4> result;
  };
  // Random123 1.14, tests/kat_vectors, philox4x32 10.
  constexpr std::array answers{known{{}, {}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
                               known{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                                     {0xffffffff, 0xffffffff},
                                     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
                               known{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                                     {0xa4093822, 0x299f31d0},
                                     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
  self_test done{.name = "random bits", .found = "Philox4x32-10, known answers and arrays"};
  for (const known& k : answers) {
    if (philox4x32(k.counter, k.key) != k.result)
      done.difference = fmt::format("Philox of counter {:#x}... gives {:#x}, not {:#x}", k.counter[0],
                                    philox4x32(k.counter, k.key)[0], k.result[0]);
    ++done.compared;
  }
  const every_target every;
  std::vector<std::uint32_t> bits(10'000);
  for (const std::string_view target : every.names()) {
    force_target(target);
    for (const int n : {1, 8, 13, 16, 24, 32}) {
      const random_stream from{.seed = 7, .stream = 11, .first = 5};
      fill_random_bits(from, n, bits);
      for (std::size_t i = 0; i < bits.size() && done.passed(); ++i)
        if (bits[i] != random_bits(7, 11, 5 + i, n))
          done.difference = fmt::format("{}: element {} of {} bits: {:#x}, not {:#x}", target, i, n, bits[i],
                                        random_bits(7, 11, 5 + i, n));
      done.compared += bits.size();
    }
  }
  return done;
}

}  // namespace ulp::cli
