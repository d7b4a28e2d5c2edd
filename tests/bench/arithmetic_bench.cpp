// How fast arrays are added, multiplied and so on, as a multiple of the speed of a loop that adds as many floats, which takes
// turns with every operation: on one thread, 16 Ki elements, N(0,1) and gradient-like.
//   build/release/tests/bench/arithmetic_bench [TARGET] [ROUNDS]
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <ulp/formats/array_arithmetic.hpp>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/names.hpp>

#include "in_turns.hpp"

#if defined(__x86_64__)
#define ULP_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define ULP_CLONES
#endif

namespace {

using namespace ulp;
using namespace ulp::bench;

constexpr std::size_t size = std::size_t{1} << 14;

// Arrays that begin at different places of their pages, so that no load waits for a store that only looks like its own.
template <class T>
class array_of {
 public:
  array_of() : data_(static_cast<T*>(std::aligned_alloc(page, size * sizeof(T) + page))) {
    if (data_ == nullptr) std::abort();
  }
  ~array_of() { std::free(data_); }
  array_of(const array_of&) = delete;
  array_of& operator=(const array_of&) = delete;
  [[nodiscard]] std::span<T> span() const { return {data_ + place_ / sizeof(T), size}; }
  [[nodiscard]] T* data() const { return span().data(); }

 private:
  static constexpr std::size_t page = 4096;
  static inline std::size_t next_ = 0;
  T* data_;
  std::size_t place_ = (next_ += 704) % page / 64 * 64;
};

// The processor's own, for the best of the targets.
ULP_CLONES void add_floats(const float* a, const float* b, float* __restrict c) {
  for (std::size_t i = 0; i < size; ++i) c[i] = a[i] + b[i];
}

struct named {
  const char* name;
  ulp::format format;
};

void measure_all(const char* data, float (*element)(std::uint64_t), int rounds) {
  const std::array<array_of<float>, 4> floats;
  const auto [x, y, z, sums] = std::tuple{floats[0].span(), floats[1].span(), floats[2].span(), floats[3].span()};
  for (std::size_t i = 0; i < size; ++i) {
    x[i] = element(i);
    y[i] = element(i + size);
    z[i] = element(i + 2 * size);
  }
  std::vector<row> rows;
  const row add{"float32 add", 0, [&] { add_floats(floats[0].data(), floats[1].data(), floats[3].data()); }};
  const named formats[] = {{"float16", float16}, {"bfloat16", bfloat16}, {"cbfloat16", cbfloat16}};
  const std::array<array_of<std::uint16_t>, 13> codes;
  const std::span<std::uint16_t> out = codes[12].span();
  const std::array<array_of<std::uint32_t>, 2> wides;
  const std::span<std::uint32_t> z_codes = wides[0].span();
  const std::span<std::uint32_t> wide = wides[1].span();
  encode_array(binary32, z, z_codes);
  for (std::size_t f = 0; f < 3; ++f) {
    const format& in = formats[f].format;
    const std::span<std::uint16_t> x_codes = codes[4 * f].span();
    const std::span<std::uint16_t> y_codes = codes[4 * f + 1].span();
    const std::span<std::uint16_t> addends = codes[4 * f + 2].span();
    const std::span<std::uint16_t> magnitudes = codes[4 * f + 3].span();
    encode_array(in, x, x_codes);
    encode_array(in, y, y_codes);
    encode_array(in, z, addends);
    for (std::size_t i = 0; i < size; ++i) magnitudes[i] = x_codes[i] & static_cast<std::uint16_t>(in.magnitude_mask());
    const array_operand a{in, x_codes};
    const array_operand b{in, y_codes};
    const array_operand c{in, addends};
    const array_operand root{in, magnitudes};
    const auto add_row = [&](const char* op, const rounding& mode, double asked, auto run) {
      rows.push_back({std::string{formats[f].name} + ' ' + op + ", " + to_string(mode), asked,
                      [=] { run(in, code_span{out}, array_rounding{.rounding = mode, .threads = 1}); }});
    };
    const auto sum = [=](const format& to, code_span o, const array_rounding& how) { add_array(to, o, a, b, how); };
    const auto product = [=](const format& to, code_span o, const array_rounding& how) { mul_array(to, o, a, b, how); };
    const auto fused = [=](const format& to, code_span o, const array_rounding& how) {
      fma_array(to, o, a, b, c, how);
    };
    for (const direction way : {direction::nearest_even, direction::nearest_away, direction::toward_zero,
                                direction::toward_positive, direction::toward_negative, direction::to_odd}) {
      add_row("add", {.direction = way}, 0.25, sum);
      add_row("mul", {.direction = way}, 0.25, product);
      add_row("fma", {.direction = way}, 0.125, fused);
    }
    const rounding stochastic{.direction = direction::stochastic, .random_bits = 8};
    add_row("add", stochastic, 0, sum);
    add_row("mul", stochastic, 0, product);
    add_row("div", {}, 0,
            [=](const format& to, code_span o, const array_rounding& how) { div_array(to, o, a, b, how); });
    add_row("sqrt", {}, 0,
            [=](const format& to, code_span o, const array_rounding& how) { sqrt_array(to, o, root, how); });
    const array_operand wide_addend{binary32, z_codes};
    rows.push_back({std::string{formats[f].name} + " fma, float32 addend and result", 0,
                    [=] { fma_array(binary32, wide, a, b, wide_addend, {.threads = 1}); }});
    rows.push_back({std::string{formats[f].name} + " fma, float32 addend", 0,
                    [=] { fma_array(in, out, a, b, wide_addend, {.threads = 1}); }});
  }
  measure(data, add, rows, size, rounds, 20);
}

}  // namespace

int main(int argc, char** argv) {
#if !defined(__OPTIMIZE__)
  std::fputs("a debug build measures nothing\n", stderr);
  return 2;
#endif
  if (argc > 1) force_target(argv[1]);
  std::printf("target %s\n", argc > 1 ? argv[1] : std::string{targets().back()}.c_str());
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 30;
  measure_all("N(0,1)", unit, rounds);
  measure_all("gradient-like", gradient, rounds);
  return 0;
}
