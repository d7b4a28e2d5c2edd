// Pins dot.hpp: every order, rounding and alignment against the oracle of sums, exact sums too, and what is refused.
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/dot.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/formats/random_bits.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <stdexcept>
#include <vector>

#include "dot_golden.hpp"
#include "formats/product_ties.hpp"
#include "formats/sweep.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/npz.hpp"
#include "support/oracle.hpp"
#include "support/sum_oracle.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

constexpr std::array operand_formats{float16,         bfloat16,    cbfloat16,   float32,     tf32,     float8_e4m3fn,
                                     float8_e4m3fnuz, float8_e5m2, float6_e3m2, float4_e2m1, dlfloat16};
constexpr std::array sum_formats{float32,   float16,       bfloat16,        cbfloat16,   float64,
                                 dlfloat16, float8_e4m3fn, float8_e4m3fnuz, float4_e2m1, ieee_format(8, 13)};

constexpr std::array roundings{
    rounding{},
    rounding{.direction = direction::toward_zero},
    rounding{.direction = direction::toward_negative},
    rounding{.direction = direction::toward_positive, .overflow = overflow_mode::saturate},
    rounding{.direction = direction::nearest_away, .flush = flush::after_rounding, .daz = true},
    rounding{.direction = direction::to_odd, .tininess = tininess::before_rounding},
    rounding{.flush = flush::result},
    rounding{.daz = true},
    rounding{.direction = direction::stochastic, .random_bits = 8},
    rounding{.direction = direction::stochastic, .definition = stochastic_definition::c, .random_bits = 3},
};

// Vectors of the kinds that sums trip over.
class vectors {
 public:
  explicit vectors(std::uint32_t seed) : random_(seed) {}

  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  template <class T, std::size_t n>
  const T& one_of(const std::array<T, n>& all) {
    return all[below(n)];
  }

  std::vector<std::uint32_t> codes(const format& of, std::size_t size) {
    std::vector<std::uint32_t> codes;
    const std::uint32_t kind = below(6);
    for (std::size_t i = 0; i < size; ++i) codes.push_back(code(of, kind));
    if (kind == 5)  // one half takes the other away, but for a few last bits
      for (std::size_t i = size / 2; i < size; ++i)
        codes[i] = (codes[i - size / 2] ^ static_cast<std::uint32_t>(of.sign_mask())) ^ (below(4) == 0 ? 1 : 0);
    return codes;
  }

  sum_operands operands(std::size_t size, bool product) {
    sum_operands x;
    x.c = {one_of(sum_formats), 0};
    if (below(3) != 0) x.c.code = code(x.c.of, below(2));
    x.a_format = one_of(operand_formats);
    x.a = codes(x.a_format, size);
    if (!product) return x;
    x.b_format = one_of(operand_formats);
    x.b = codes(x.b_format, size);
    return x;
  }

 private:
  std::uint32_t code(const format& of, std::uint32_t kind) {
    std::uint64_t code = ((std::uint64_t{random_()} << 32) | random_()) & of.code_mask();
    const auto field = [&](int exponent) {
      const auto f = static_cast<std::uint64_t>(exponent + of.bias) & of.exponent_field_mask();
      code = (code & ~(of.exponent_field_mask() << of.fraction_bits)) | f << of.fraction_bits;
    };
    switch (kind) {
      case 0:
        if (below(8) != 0) field(static_cast<int>(below(5)) - 2);
        break;  // all kinds of codes among usual ones
      case 1: break;
      case 2:
      case 5: field(static_cast<int>(below(4)) - 2); break;
      case 3: field(-of.bias + static_cast<int>(below(2))); break;  // subnormal and the smallest
      default: code &= of.sign_mask() | (below(5) == 0 ? 1 : 0);    // zeros of both signs
    }
    return static_cast<std::uint32_t>(code);
  }

  std::mt19937 random_;
};

number_span span_of(const format& of, const std::vector<std::uint32_t>& codes) { return {of, codes}; }

accumulated ours(const sum_operands& x, const accumulation& how) {
  if (x.b.empty()) return sum(span_of(x.a_format, x.a), how, x.c.of, x.c.code);
  return dot(span_of(x.a_format, x.a), span_of(x.b_format, x.b), how, x.c.of, x.c.code);
}

encoded ours_exactly(const format& to, const sum_operands& x, const rounding& mode, random_input random) {
  if (x.b.empty()) return exact_sum(to, span_of(x.a_format, x.a), mode, random, x.c.of, x.c.code);
  return exact_dot(to, span_of(x.a_format, x.a), span_of(x.b_format, x.b), mode, random, x.c.of, x.c.code);
}

bool same(const accumulated& a, const accumulated& b) {
  return a.code == b.code && a.flags == b.flags && a.compensation == b.compensation;
}

std::string told(const accumulated& a) {
  return describe(encoded{a.code, a.flags}) + " left " + describe(encoded{a.compensation});
}

// What is left out of b so that the operands are those of a sum, in a third of the cases.
sum_operands next_operands(vectors& v) {
  constexpr std::array<std::size_t, 8> sizes{0, 1, 2, 3, 7, 8, 17, 40};
  return v.operands(v.one_of(sizes), v.below(3) != 0);
}

}  // namespace

TEST_CASE("exact sums are the exact sum rounded once") {
  vectors v{1};
  sweep s;
  for (int i = 0; i < 20000; ++i) {
    const sum_operands x = next_operands(v);
    const format& to = v.one_of(sum_formats);
    const rounding& mode = v.one_of(roundings);
    const random_input random = v.below(1u << (mode.random_bits < 32 ? mode.random_bits : 1));
    const encoded expected = oracle_exact(to, x, mode, random);
    const encoded e = ours_exactly(to, x, mode, random);
    s.expect(e.code == expected.code && e.flags == expected.flags,
             [&] { return std::to_string(i) + ": " + describe(e) + ", not " + describe(expected); });
  }
  CHECK(s.failures() == "");
}

TEST_CASE("every order, format and rounding does its steps one by one") {
  vectors v{2};
  for (const auto kind : {sum_order::sequential, sum_order::compensated, sum_order::pairwise, sum_order::lanes,
                          sum_order::chunks, sum_order::tree_chunks, sum_order::blocks}) {
    INFO("order " << int{kind});
    sweep s;
    for (int i = 0; i < 4000; ++i) {
      const sum_operands x = next_operands(v);
      accumulation how{.accumulator = v.one_of(sum_formats), .order = {kind}, .rounding = v.one_of(roundings)};
      how.order.size = kind == sum_order::lanes ? 1u << v.below(4) : 1 + v.below(9);
      how.random = {.seed = v.below(1000), .stream = v.below(3), .first = v.below(100)};
      if (v.below(3) == 0) how.products = v.one_of(sum_formats);
      if (v.below(4) == 0) how.sums = v.one_of(sum_formats);
      if (v.below(2) == 0 && (kind == sum_order::chunks || kind == sum_order::tree_chunks))
        how.outer = v.one_of(sum_formats);
      const accumulated expected = oracle_accumulate(x, how);
      const accumulated a = ours(x, how);
      s.expect(same(a, expected), [&] { return std::to_string(i) + ": " + told(a) + ", not " + told(expected); });
    }
    CHECK(s.failures() == "");
  }
}

TEST_CASE("terms of a block are cut where alignment says") {
  vectors v{3};
  constexpr std::array<int, 8> bits{0, 1, 7, 13, 23, 24, 25, 64};
  constexpr std::array ways{direction::toward_zero,     direction::nearest_even,    direction::nearest_away,
                            direction::toward_positive, direction::toward_negative, direction::to_odd};
  sweep s;
  for (int i = 0; i < 20000; ++i) {
    const sum_operands x = next_operands(v);
    accumulation how{.accumulator = v.one_of(sum_formats),
                     .order = {sum_order::blocks, 1 + v.below(17)},
                     .align_bits = v.one_of(bits),
                     .align = v.below(2) == 0 ? direction::toward_zero : v.one_of(ways),
                     .rounding = v.one_of(roundings)};
    if (v.below(3) == 0) how.align_floor = static_cast<int>(v.below(300)) - 280;
    if (v.below(4) == 0) how.products = v.one_of(sum_formats);
    const accumulated expected = oracle_accumulate(x, how);
    const accumulated a = ours(x, how);
    s.expect(same(a, expected), [&] { return std::to_string(i) + ": " + told(a) + ", not " + told(expected); });
  }
  CHECK(s.failures() == "");
}

TEST_CASE("products of float64 from the smallest to the largest add up exactly") {
  constexpr double smallest = std::numeric_limits<double>::denorm_min();
  constexpr double largest = std::numeric_limits<double>::max();
  // largest^2 - largest^2 + smallest^2 = 2^-2148, which an increment of 2^-1074 shows: its half is a tie.
  const std::vector<double> a{largest, smallest, largest, smallest};
  const std::vector<double> b{largest, smallest, -largest, 0.5};
  CHECK(exact_dot(float64, a, b).code == 1);
  const encoded up =
      exact_dot(float64, std::span{a}.first(3), std::span{b}.first(3), {.direction = direction::toward_positive});
  CHECK(up.code == 1);
  CHECK(up.flags == (status::underflow | status::inexact));
  // The same with every intermediate sum above float64.
  const std::vector<double> many(1000, largest);
  std::vector<double> signs(1000, largest);
  for (std::size_t i = 0; i < 500; ++i) signs[2 * i] = -largest;
  CHECK(exact_dot(float64, many, signs, {}, {}, float64, std::bit_cast<std::uint64_t>(0.1)).code ==
        std::bit_cast<std::uint64_t>(0.1));
  CHECK(exact_dot(float64, many, many).flags == (status::overflow | status::inexact));
}

TEST_CASE("as many random bits as are discarded: the whole exact sum is looked at") {
  // 1 + 2^-100: up from 1 only where all of the first 77 random bits are ones.
  const std::vector<float> x{1, 0x1p-100F};
  const rounding all{.direction = direction::stochastic, .random_bits = exact_probability};
  std::array<std::uint32_t, 3> words{0xFFFFFFFF, 0xFFFFFFFF, 0xFFF80000};
  CHECK(exact_sum(float32, x, all, random_input{words}).code == 0x3F800001);
  words[2] = 0xFFF00000;
  CHECK(exact_sum(float32, x, all, random_input{words}).code == 0x3F800000);

  // The same of a sum of many: what is discarded is the complement of the first 96 bits of number 7 of the stream, where
  // nothing carries, and a 2^-96 more, where all of it does.
  std::vector<double> block{1};
  for (std::uint64_t i = 0; i < 3; ++i)
    block.push_back(std::ldexp(static_cast<double>(~random_word(5, 2, 7, i)), -23 - 32 * static_cast<int>(i + 1)));
  const accumulation how{
      .order = {sum_order::blocks, 9}, .rounding = all, .random = {.seed = 5, .stream = 2, .first = 7}};
  CHECK(sum(block, how).code == 0x3F800000);
  block.push_back(std::ldexp(1, -23 - 96));
  CHECK(sum(block, how).code == 0x3F800001);
}

TEST_CASE("products of doubles, 106 bits long, are added before they are rounded") {
  // (1 + 2^-40)^2 - (1 + 2^-39).
  const std::vector<double> x{1 + 0x1p-40, 1 + 0x1p-39};
  const std::vector<double> y{1 + 0x1p-40, -1};
  CHECK(dot(x, y, {.order = {sum_order::pairwise}}).code == std::bit_cast<std::uint32_t>(0x1p-80F));
  CHECK(dot(x, y, {.accumulator = float64}).code == 0);  // the square has been rounded
  std::mt19937_64 random{4};
  std::vector<double> a;
  std::vector<double> b;
  for (int i = 0; i < 2000; ++i) {
    a.push_back(
        std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), static_cast<int>(random() % 20) - 70));
    b.push_back(
        std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), static_cast<int>(random() % 20) - 70));
    double in_double = 0;
    std::uint64_t in_float = 0;
    for (std::size_t k = a.size() < 20 ? 0 : a.size() - 20; k < a.size(); ++k) {
      in_double = std::fma(a[k], b[k], in_double);
      in_float =
          oracle{operation::fma, float32, {value_of(a[k]), value_of(b[k]), value_of(float32, in_float)}}({}).code;
    }
    const auto last_a = std::span<const double>{a}.last(std::min<std::size_t>(a.size(), 20));
    const auto last_b = std::span<const double>{b}.last(std::min<std::size_t>(b.size(), 20));
    CHECK(dot(last_a, last_b, {.accumulator = float64}).code == std::bit_cast<std::uint64_t>(in_double));
    CHECK(dot(last_a, last_b).code == in_float);
    // Two products side by side.
    const auto two_a = last_a.last(std::min<std::size_t>(a.size(), 2));
    const auto two_b = last_b.last(std::min<std::size_t>(a.size(), 2));
    CHECK(dot(two_a, two_b, {.order = {sum_order::pairwise}}).code == exact_dot(float32, two_a, two_b).code);
  }
}

TEST_CASE("ties of products of 62, 63 and 64 bits, with another product or an accumulator far below") {
  for (const format& f : {bfloat16, float16, float32}) {
    sweep s;
    std::mt19937_64 random{5};
    for (const int units : {-4, -3, -2, -1, 1, 2, 3, 4})
      for (int i = 0; i < 20; ++i) {
        const product_near_tie p{random, f.precision(), units};
        const double sign = i % 2 == 0 ? 1 : -1;
        for (const int exponent : {-50, -61, -62, -63, -64, -65, -66, -90, -126})
          for (const double z : {std::ldexp(1.0, exponent), -std::ldexp(1.0, exponent)}) {
            const std::vector<double> a{sign * p.x, z};
            const std::vector<double> b{p.y, 1};
            const std::vector<double> backwards_a{z, sign * p.x};
            const std::vector<double> backwards_b{1, p.y};
            const accumulation pairs{.accumulator = f, .order = {sum_order::pairwise}};
            const encoded expected = oracle{operation::fma, f, {value_of(a[0]), value_of(b[0]), value_of(z)}}({});
            const auto expect = [&](const accumulated& got) {
              s.expect(got.code == expected.code && got.flags == expected.flags, [&] {
                return std::to_string(units) + " and 2^" + std::to_string(exponent) + ": " + told(got) + ", not " +
                       describe(expected);
              });
            };
            expect(dot(a, b, pairs));
            expect(dot(backwards_a, backwards_b, pairs));
            expect(dot(std::span{a}.first(1), std::span{b}.first(1), {.accumulator = f}, float64,
                       std::bit_cast<std::uint64_t>(z)));
          }
      }
    INFO(describe(f));
    CHECK(s.failures() == "");
  }
}

TEST_CASE("the sum of nothing is c, rounded, and +0 without it") {
  const std::vector<float> none;
  for (const auto kind : {sum_order::sequential, sum_order::compensated, sum_order::pairwise, sum_order::lanes,
                          sum_order::chunks, sum_order::tree_chunks, sum_order::blocks}) {
    const accumulation how{.accumulator = float16, .order = {kind, 8}};
    CHECK(sum(none, how).code == 0);
    CHECK(dot(none, none, how).flags == status::none);
    CHECK(sum(none, how, float32, 0x80000000u).code == 0x8000);
    const accumulated third = sum(none, how, float32, 0x3EAAAAABu);
    CHECK(third.code == 0x3555);
    CHECK(third.flags == status::inexact);
  }
  CHECK(exact_sum(float16, none).code == 0);
  CHECK(exact_dot(float16, none, none, {.direction = direction::toward_negative}).code == 0);
}

TEST_CASE("codes are read from elements of every size") {
  const std::vector<std::uint8_t> packed{0x42, 0x06};  // 2, 4 and 6 are 1, 2 and 4
  const std::vector<std::uint8_t> bytes{2, 4, 6};
  const std::vector<std::uint16_t> words{2, 4, 0xFFF6};  // bits above the width are ignored
  for (const number_span& x : {number_span{float4_e2m1, const_code_span::packed(packed, 3)},
                               number_span{float4_e2m1, bytes}, number_span{float4_e2m1, words}})
    CHECK(exact_dot(float32, x, x).code == std::bit_cast<std::uint32_t>(21.0F));
  const std::vector<float> floats{1, 2, 4};
  const std::vector<double> doubles{1, 2, 4};
  CHECK(exact_dot(float32, floats, doubles).code == std::bit_cast<std::uint32_t>(21.0F));
}

TEST_CASE("what is not a sum is refused before anything is done") {
  const std::vector<float> two{1, 2};
  const std::vector<float> three{1, 2, 3};
  const std::vector<std::uint8_t> bytes{1, 2};
  const auto refused = [&](const accumulation& how) { CHECK_THROWS_AS(dot(two, two, how), std::invalid_argument); };
  CHECK_THROWS_AS(dot(two, three), std::invalid_argument);
  CHECK_THROWS_AS(exact_dot(float32, two, three), std::invalid_argument);
  CHECK_THROWS_AS(sum({float16, bytes}), std::invalid_argument);
  CHECK_THROWS_AS(sum(two, {}, format{}, 0), std::invalid_argument);
  CHECK_THROWS_AS(exact_sum(float8_e8m0, two), std::invalid_argument);
  CHECK_THROWS_AS(exact_sum(float16, two, {.direction = direction::stochastic, .random_bits = 33}),
                  std::invalid_argument);
  refused({.accumulator = format{}});
  refused({.accumulator = float8_e8m0});
  refused({.products = format{}});
  refused({.sums = float8_e8m0});
  refused({.outer = float32});
  refused({.order = {sum_order::chunks}});
  refused({.order = {sum_order::lanes, 3}});
  refused({.order = {static_cast<sum_order::kinds>(7), 1}});
  refused({.align_bits = 24});
  refused({.order = {sum_order::blocks, 4}, .align_bits = 65});
  refused({.order = {sum_order::blocks, 4}, .align_bits = -1});
  refused({.order = {sum_order::blocks, 4}, .align_bits = 24, .align = direction::stochastic});
  refused({.order = {sum_order::blocks, 4}, .align_bits = 24, .align_floor = 1025});
  refused({.rounding = {.direction = direction::stochastic, .random_bits = 33}});

  const accumulation aligned{.order = {sum_order::blocks, 4}, .align_bits = 24};
  const auto refused_with = [&](auto change, accumulation how) {
    change(how);
    refused(how);
  };
  refused_with([](accumulation& h) { h.late = late_accumulator{}; }, {.order = {sum_order::blocks, 4}});
  refused_with([](accumulation& h) { h.late = late_accumulator{.sum_bits = 23}; }, aligned);
  refused_with([](accumulation& h) { h.late = late_accumulator{.sums = 0}; }, aligned);
  refused_with([](accumulation& h) { h.late = late_accumulator{.sums = 5}; }, aligned);
  refused_with([](accumulation& h) { h.late = late_accumulator{.least_exponent = 1025}; }, aligned);
  refused_with([](accumulation& h) { h.exact_group = 2; }, aligned);  // of float32: 128 bits do not hold it
  refused_with([](accumulation& h) { h.promote = 1; }, aligned);
  refused_with([](accumulation& h) { h.outer_rounding = rounding{}; }, aligned);
  refused_with(
      [](accumulation& h) {
        h.outer = float32;
        h.outer_rounding = rounding{.direction = direction::stochastic};
      },
      aligned);
  accumulation grouped = aligned;
  grouped.exact_group = 4;
  CHECK_THROWS_AS(sum({float4_e2m1, bytes}, grouped), std::invalid_argument);
  const auto refused_scales = [&](const block_scales& scales) {
    CHECK_THROWS_AS(dot({float4_e2m1, bytes}, {float4_e2m1, bytes}, scales, grouped), std::invalid_argument);
  };
  refused_scales({{float8_e8m0, bytes}, {float8_e8m0, bytes}, 0});
  refused_scales({{float8_e8m0, bytes}, {float8_e8m0, bytes}, 1});
  refused_scales({{float8_e8m0, bytes}, {float8_e8m0, bytes}, 8});
  CHECK_THROWS_AS(dot(two, two, {two, two, 1}, {.products = float32}), std::invalid_argument);
  // 48 bits and 106 of the scales are too many.
  const std::vector<double> doubles{1, 2};
  CHECK_THROWS_AS(dot(two, two, {doubles, doubles, 1}, {}), std::invalid_argument);
}

TEST_CASE("scales multiply exactly, in every order") {
  vectors v{6};
  for (const format& f : {float8_e4m3fn, float16, bfloat16}) {
    for (int i = 0; i < 300; ++i) {
      const std::size_t size = v.below(40);
      const std::size_t block = 1 + v.below(9);
      sum_operands x;
      std::vector<std::uint8_t> scales[2];
      x.a = v.codes(f, size);
      x.b = v.codes(f, size);
      for (auto& s : scales)
        for (std::size_t k = 0; k < (size + block - 1) / block; ++k)
          s.push_back(static_cast<std::uint8_t>(120 + v.below(12)));
      // The same with operands that have been multiplied: powers of two, in double.
      const auto multiplied = [&](const std::vector<std::uint32_t>& codes, const std::vector<std::uint8_t>& by) {
        std::vector<double> numbers;
        for (std::size_t k = 0; k < codes.size(); ++k)
          numbers.push_back(to_double(f, codes[k]) * to_double(float8_e8m0, by[k / block]));
        return numbers;
      };
      const auto a = multiplied(x.a, scales[0]);
      const auto b = multiplied(x.b, scales[1]);
      for (const auto kind : {sum_order::sequential, sum_order::pairwise, sum_order::chunks, sum_order::blocks}) {
        const accumulation how{.order = {kind, 4}};
        const accumulated scaled =
            dot(span_of(f, x.a), span_of(f, x.b), {{float8_e8m0, scales[0]}, {float8_e8m0, scales[1]}, block}, how);
        const double ours = to_double(float32, scaled.code);
        const double expected = to_double(float32, dot(a, b, how).code);
        CHECK((ours == expected || (std::isnan(ours) && std::isnan(expected))));
      }
    }
  }
}

TEST_CASE("recorded dot products and accumulations come out bit by bit") {
  const auto folder = source_dir() / "tests" / "data" / "sums";
  for (const char* const name : {"cancelling_fp16", "normal_bf16", "real_agrad_times_weight_fp16", "uniform01_bf16"})
    CHECK(check_dot_file(folder / (std::string{name} + ".npz")) >= 17);
  for (const char* const name : {"microbatches32", "trajectory1024", "trajectory1024_abs"}) {
    const auto file = folder / (std::string{name} + ".npz");
    const npz_array array = read_npz(file).at("addends");
    const auto numbers = array.as<float>();
    std::vector<std::vector<float>> addends(array.shape.at(0));
    for (std::size_t i = 0; i < numbers.size(); ++i) addends[i / array.shape.at(1)].push_back(numbers[i]);
    CHECK(check_accumulate_file(file, addends) >= 17);
  }
}
