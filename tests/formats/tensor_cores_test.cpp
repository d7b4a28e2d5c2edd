// Pins tensor_cores.hpp: that the units answer published probes as the processors do, and what the table promises.
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/random_bits.hpp>
#include <ulp/formats/tensor_cores.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/npz.hpp"

using namespace ulp;

namespace {

// c + the sum of a_i * b_i as the unit adds it; all are numbers of the formats.
double answer(const tensor_core& unit, double c, const std::vector<double>& a, const std::vector<double>& b) {
  const auto codes_of = [&](const std::vector<double>& x) {
    std::vector<std::uint32_t> codes;
    for (const double value : x) {
      const encoded e = encode(unit.operands, value);
      REQUIRE(e.flags == status::none);
      codes.push_back(static_cast<std::uint32_t>(e.code));
    }
    return codes;
  };
  const format& c_format = unit.how.accumulator == float16 ? float16 : float32;
  const encoded start = encode(c_format, c);
  REQUIRE(start.flags == status::none);
  const auto codes_a = codes_of(a);
  const auto codes_b = codes_of(b);
  const accumulated d = dot({unit.operands, codes_a}, {unit.operands, codes_b}, unit.how, c_format, start.code);
  return to_double(unit.how.result(), d.code);
}

std::string described(const tensor_core& unit) {
  return std::string{unit.name} + ' ' + std::string{unit.operands_name} +
         (unit.how.accumulator == float16 ? " into float16" : "") +
         (unit.scales ? " scaled by " + std::string{unit.scales->name} + " of " + std::to_string(unit.scales->size)
                      : "");
}

// Aligned with the accumulator and cut to float32.
bool is_usual(const tensor_core& unit) {
  return unit.how.align_bits && !unit.how.late && unit.how.exact_group == 0 && unit.how.accumulator != float16;
}

double answer(const tensor_core& unit, double c, const std::vector<double>& b) {
  return answer(unit, c, std::vector<double>(b.size(), 1.0), b);
}

const tensor_core& unit_of(std::string_view name, const format& operands) {
  const tensor_core* const unit = find_tensor_core(name, operands);
  REQUIRE(unit != nullptr);
  return *unit;
}

double two_to(int n) { return std::ldexp(1.0, n); }

}  // namespace

TEST_CASE("the table of units holds what it promises") {
  std::set<std::string> seen;
  for (const tensor_core& unit : tensor_cores()) {
    INFO(described(unit));
    CHECK(seen.insert(described(unit)).second);
    CHECK(find_entry(unit.operands_name)->format == unit.operands);
    if (unit.scales) {
      CHECK(find_entry(unit.scales->name)->format == unit.scales->format);
      CHECK(find_scaled_tensor_core(unit.name, unit.operands, unit.scales->format, unit.scales->size) == &unit);
    } else {
      CHECK(find_tensor_core(unit.name, unit.operands, unit.how.accumulator) == &unit);
      CHECK((find_tensor_core(unit.name, unit.operands) == &unit) == (unit.how.accumulator != float16));
    }
    CHECK(unit.source.find("arXiv") != std::string_view::npos);
    CHECK(answer(unit, 0.5, {1, 2, 4, 1}) == 8.5);  // a valid accumulation
    CHECK(answer(unit, 1, {}) == 1);
  }
  CHECK(find_tensor_core("H100", float8_e4m3fn) == find_tensor_core("hopper", float8_e4m3fn));
  CHECK(find_tensor_core("Hopper", float16) == find_tensor_core("hopper", float16));
  CHECK(find_tensor_core("mi250x", bfloat16)->name == "cdna2");
  CHECK(find_tensor_core("L40S", float8_e5m2)->name == "ada");
  for (const char* const name : {"MI300X", "MI300A", "mi325x", "MI300"})
    CHECK(find_tensor_core(name, float8_e4m3fnuz)->name == "cdna3");
  for (const char* const name : {"H200", "H800", "GH200"}) CHECK(find_tensor_core(name, tf32)->name == "hopper");
  for (const char* const name : {"B200", "GB200"}) CHECK(find_tensor_core(name, float4_e2m1)->name == "blackwell");
  CHECK(find_tensor_core("hopper", bfloat16, float16) == nullptr);
  CHECK(find_tensor_core("hopper", float8_e5m2, float16) == nullptr);
  CHECK(find_scaled_tensor_core("hopper", float8_e5m2, float8_e8m0, 32) == nullptr);
  for (const std::string_view none : {"H1000", "H10", "", "A10", "100"})
    CHECK(find_tensor_core(none, float16) == nullptr);
  CHECK(find_tensor_core("volta", bfloat16) == nullptr);
  CHECK(find_tensor_core("pascal", float16) == nullptr);
}

TEST_CASE("groups and bits of the sources") {
  struct published {
    std::string_view name;
    format operands;
    std::uint32_t group;
    int bits;
  };
  for (const published& p : {published{"volta", float16, 4, 23},
                             {"turing", float16, 8, 24},
                             {"ampere", float16, 8, 24},
                             {"ampere", bfloat16, 8, 24},
                             {"ampere", tf32, 4, 24},
                             {"ada", float16, 8, 24},
                             {"ada", float8_e4m3fn, 16, 13},
                             {"hopper", float16, 16, 25},
                             {"hopper", bfloat16, 16, 25},
                             {"hopper", tf32, 8, 25},
                             {"hopper", float8_e5m2, 32, 13},
                             {"blackwell", float16, 16, 25},
                             {"blackwell", tf32, 8, 25},
                             {"blackwell", float8_e4m3fn, 32, 25}}) {
    INFO(p.name);
    const tensor_core& unit = unit_of(p.name, p.operands);
    CHECK(unit.how.order == sum_order{sum_order::blocks, p.group});
    CHECK(unit.how.align_bits == p.bits);
  }
}

// The probes of Fasi et al. (2021), sections 3.1 to 3.4, and what their V100 answered; names as in their programs
// (north-numerical-computing/tensor-cores-numerical-behavior, tc_test_numerics-V100.cu).
TEST_CASE("a V100 as Fasi, Higham, Mikaitis and Pranesh probed it") {
  const tensor_core& v100 = unit_of("volta", float16);
  const double tiny = two_to(-24);  // the smallest subnormal of float16
  // Subnormal numbers, in and out.
  CHECK(answer(v100, 0, {tiny}, {4}) == two_to(-22));
  CHECK(answer(v100, two_to(-149), {0}) == two_to(-149));
  CHECK(answer(v100, -two_to(-15), {two_to(-14)}) == two_to(-15));
  // Products are exact.
  const double below_one = 1 - two_to(-11);
  CHECK(answer(v100, 0, {below_one}, {below_one}) == 1 - two_to(-10) + two_to(-22));
  CHECK(answer(v100, 0, std::vector<double>(4, below_one), std::vector<double>(4, below_one)) ==
        4 * (1 - two_to(-10) + two_to(-22)));
  // Terms are lost beside the largest, wherever that is.
  CHECK(answer(v100, 1, {tiny, tiny, tiny, tiny}) == 1);
  for (std::size_t place = 0; place < 4; ++place) {
    std::vector<double> b(4, tiny);
    b[place] = 1;
    CHECK(answer(v100, tiny, b) == 1);
  }
  // Toward zero.
  CHECK(answer(v100, 0, {2, two_to(-23) + two_to(-24)}) == 2);
  CHECK(answer(v100, 0, {-2, -two_to(-23) - two_to(-24)}) == -2);
  // No extra bits below those of float32, no normalization before all is added, two bits for carries.
  CHECK(answer(v100, -(1 - two_to(-24)), {1}) == two_to(-23));
  CHECK(answer(v100, 1 - two_to(-24), {tiny, tiny, tiny, tiny}) == 1 + two_to(-23));
  CHECK(answer(v100, -1 + two_to(-24), {1, -two_to(-24)}) == two_to(-23));
  CHECK(answer(v100, 1 + two_to(-22) + two_to(-23), {1, 1, 1, two_to(-23)}) == 4 + two_to(-21));
  CHECK(answer(v100, 1.875, {1, 1.5, 1.75, 1.875}) == 8);
  CHECK(answer(v100, 1 + two_to(-22) + two_to(-23), {1, 1, 1, 1}) == 5);
  CHECK(answer(v100, -1 - two_to(-22) - two_to(-23), {-1, -1, -1, -1}) == -5);
  // Not monotonic.
  CHECK(answer(v100, 1, {tiny, tiny, tiny, tiny}) < answer(v100, 1 - two_to(-24), {tiny, tiny, tiny, tiny}));
}

TEST_CASE("one extra bit since Turing, two since Hopper") {
  // 1 - (1 - 2^-24) shows one extra bit; 1 - (1 - 2^-24) with 2^-25 added to it a second one.
  for (const tensor_core& unit : tensor_cores()) {
    if (unit.operands != float16 || !is_usual(unit)) continue;
    INFO(unit.name);
    const int extra = *unit.how.align_bits - 23;
    CHECK(answer(unit, -(1 - two_to(-24)), {1}) == (extra >= 1 ? two_to(-24) : two_to(-23)));
    CHECK(answer(unit, -1, {1, two_to(-12)}, {1, two_to(-13)}) == (extra >= 2 ? two_to(-25) : 0));
    CHECK(answer(unit, -1, {1, two_to(-13)}, {1, two_to(-13)}) == 0);
  }
}

// Lowering the accumulator from 1 to 1 - 2^-24 raises the result where a group has at least 3 * 2^p products, p being the
// extra bits: what Fasi et al. saw of the V100 holds for all later units.
TEST_CASE("no unit that aligns c with the products is monotonic") {
  for (const tensor_core& unit : tensor_cores()) {
    if (unit.operands != float16 || !is_usual(unit)) continue;
    INFO(unit.name);
    const std::vector<double> a(unit.how.order.size, two_to(-12));
    const std::vector<double> b(unit.how.order.size, two_to(-12 - (*unit.how.align_bits - 23)));
    CHECK(answer(unit, 1, a, b) == 1);
    CHECK(answer(unit, 1 - two_to(-24), a, b) == 1 + two_to(-23));
  }
}

TEST_CASE("exponents are added and not those of the products") {
  // 1.5 * 1.5 = 2.25 is aligned as a number below 2, so that 2^-25 beside it stays on a Hopper; 1 * 2.25 is not.
  const tensor_core& h100 = unit_of("hopper", float16);
  const double small = two_to(-25);
  CHECK(answer(h100, -2.25, {1.5, two_to(-12)}, {1.5, two_to(-13)}) == 0);  // c says 2^1
  CHECK(answer(h100, -1, {1.5, -1.25, two_to(-12)}, {1.5, 1, two_to(-13)}) == small);
  CHECK(answer(h100, -1, {1, -1.25, two_to(-12)}, {2.25, 1, two_to(-13)}) == 0);
}

// 2.25 = 1 + 1.25 is taken away again as 1.5 * 1.5, whose exponent is that of 1. A number at the last bit that alignment keeps
// beside 1 is left where that happens in one group; between two groups the accumulator, above 2, loses it. All of it 256
// times, so that 8-bit formats hold the factors.
TEST_CASE("a group is as large, and alignment keeps as many bits, as the table says") {
  int probed = 0;
  for (const tensor_core& unit : tensor_cores()) {
    if (!is_usual(unit) || unit.scales || unit.operands == float4_e2m1) continue;
    INFO(described(unit));
    const int bits = *unit.how.align_bits;
    const auto probe = [&](std::size_t taken_away_at, int last_bit) {
      std::vector<double> a(taken_away_at + 1, 0);
      std::vector<double> b(taken_away_at + 1, 0);
      a[0] = 1.25 * 16;
      b[0] = 16;
      a[1] = two_to((8 - last_bit) / 2);
      b[1] = two_to(8 - last_bit - (8 - last_bit) / 2);
      a.back() = -1.5 * 16;
      b.back() = 1.5 * 16;
      return answer(unit, 256, a, b);
    };
    CHECK(probe(unit.how.order.size - 1, bits) == two_to(8 - bits));
    CHECK(probe(unit.how.order.size - 1, bits + 1) == 0);
    CHECK(probe(unit.how.order.size, bits) == 0);
    ++probed;
  }
  CHECK(probed == 20);
}

TEST_CASE("accumulators of FP8 products on Ada and Hopper keep 13 fraction bits, on Blackwell all") {
  for (const format& operands : {float8_e4m3fn, float8_e5m2}) {
    for (const char* const name : {"ada", "hopper"}) {
      const tensor_core& unit = unit_of(name, operands);
      CHECK(answer(unit, 1, {two_to(-6)}, {two_to(-6)}) == 1 + two_to(-12));
      CHECK(answer(unit, 1 + two_to(-14), {0}) == 1);
      CHECK(answer(unit, 1 + two_to(-13), {1}) == 2);  // as many where the sum is in the next binade
      CHECK(answer(unit, 1, {two_to(-6), two_to(-6)}, {two_to(-8), two_to(-8)}) == 1);
      CHECK(answer(unit, 1, {two_to(-6), two_to(-6)}, {two_to(-7), two_to(-7)}) == 1 + two_to(-12));
    }
    CHECK(answer(unit_of("blackwell", operands), 1 + two_to(-23), {two_to(-6)}, {two_to(-6) * 0.25}) ==
          1 + two_to(-14) + two_to(-23));
  }
}

TEST_CASE("the least exponent of alignment shows with the smallest bfloat16 products") {
  const std::vector<double> a(8, two_to(-78));
  std::vector<double> b(8, two_to(-74));
  // Eight times 2^-152. An alignment to 2^-126, as if c counted, would lose them: 2^(-126 - 24) is 2^-150.
  CHECK(answer(unit_of("ampere", bfloat16), 0, a, b) == two_to(-149));
  // The same sum of products with bits of 2^-157, which Ampere cuts at 2^(-132 - 24) and Hopper at 2^(-133 - 25) keeps.
  b[0] *= 1 + two_to(-5);
  b[1] *= 1 - two_to(-5);
  CHECK(answer(unit_of("ampere", bfloat16), 0, a, b) == 0);
  CHECK(answer(unit_of("hopper", bfloat16), 0, a, b) == two_to(-149));
}

TEST_CASE("CDNA 1 rounds exact sums of groups, CDNA 2 adds pairs and flushes") {
  const tensor_core& mi100 = unit_of("cdna1", float16);
  const tensor_core& mi250 = unit_of("cdna2", float16);
  const double tiny = two_to(-24);
  const double small = two_to(-12);
  // Half a step and a little more: up; one addition after the other loses it.
  CHECK(answer(mi100, 1, {small, tiny}, {small, tiny}) == 1 + two_to(-23));
  CHECK(answer(mi250, 1, {small, tiny}, {small, tiny}) == 1);
  // Four at once: two of them are not enough for a step.
  const double quarter = 1.5 * two_to(-13);
  CHECK(answer(mi100, 1, std::vector<double>(4, two_to(-13)), std::vector<double>(4, quarter)) == 1 + two_to(-23));
  CHECK(answer(unit_of("cdna1", bfloat16), 1, std::vector<double>(4, two_to(-13)), std::vector<double>(4, quarter)) ==
        1);
  // Pairs meet before the accumulator.
  CHECK(answer(mi250, 1, {small, small, small, small}, {small, small, small, small}) == 1 + two_to(-22));
  CHECK(answer(mi250, 1, {two_to(11), 1, -two_to(11), 0}, {two_to(13), 1, two_to(13), 0}) == 1);
  CHECK(answer(mi100, 1, {two_to(11), 1, -two_to(11), 0}, {two_to(13), 1, two_to(13), 0}) == 2);
  // Subnormal operands, results and accumulators.
  CHECK(answer(mi100, 0, {tiny}, {4}) == two_to(-22));
  CHECK(answer(mi250, 0, {tiny}, {4}) == 0);
  CHECK(answer(mi250, two_to(-149), {0}) == 0);
  CHECK(answer(unit_of("cdna2", bfloat16), 0, {two_to(-100)}, {two_to(-30)}) == 0);
  CHECK(answer(unit_of("cdna1", bfloat16), 0, {two_to(-100)}, {two_to(-30)}) == two_to(-130));
  CHECK(answer(unit_of("cdna2", bfloat16), 1.5 * two_to(-126), {-two_to(-63)}, {two_to(-63)}) == 0);
  CHECK(answer(unit_of("cdna1", bfloat16), 1.5 * two_to(-126), {-two_to(-63)}, {two_to(-63)}) == two_to(-127));
}

namespace {

// What the two sources say of units whose results are not float32 toward zero, in double, which holds all of it: sums have
// at most 48 bits.
struct factor {
  double significand = 0;
  int exponent = 0;  // of the code
};
factor factor_of(const format& f, std::uint64_t code) {
  const double value = to_double(f, code);
  int exponent = value == 0 ? f.emin() : std::ilogb(value);
  exponent = std::max(exponent, f.emin());
  return {std::ldexp(value, -exponent), exponent};
}

constexpr int no_exponent = -4096;

struct fused {
  double sum = 0;  // in units of 2^exponent
  int exponent = no_exponent;
};
// MMA-Sim: fused_sum; terms that are zero have no exponent.
fused fused_sum(const std::vector<factor>& terms, int bits, int floor = no_exponent) {
  fused f{0, floor};
  for (const factor& t : terms)
    if (t.significand != 0) f.exponent = std::max(f.exponent, t.exponent);
  for (const factor& t : terms)
    if (t.significand != 0)
      f.sum += std::ldexp(std::trunc(std::ldexp(t.significand, bits + t.exponent - f.exponent)), -bits);
  return f;
}

double floored(double x, int places) { return std::ldexp(std::floor(std::ldexp(x, places)), -places); }
double floored_at(const fused& f, int largest, int bits) {
  return f.sum == 0 ? 0 : floored(std::ldexp(f.sum, f.exponent - largest), bits);
}

std::vector<factor> products_of(const format& f, const std::vector<std::uint32_t>& a,
                                const std::vector<std::uint32_t>& b, std::size_t begin, std::size_t end) {
  std::vector<factor> products;
  for (std::size_t i = begin; i < end; ++i) {
    const factor x = factor_of(f, a[i]);
    const factor y = factor_of(f, b[i]);
    products.push_back({x.significand * y.significand, x.exponent + y.exponent});
  }
  return products;
}

// MMA-Sim: amd_fused_dot_rd_add; MATLAB-tensor-core: Generic_BFMA_TC with MI300MC's parameters. Of finite numbers.
float cdna3(const format& f, float c, const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b,
            std::size_t group, bool is_fp8) {
  for (std::size_t k = 0; k < a.size(); k += group) {
    if (!std::isfinite(c)) break;
    const auto products = products_of(f, a, b, k, std::min(k + group, a.size()));
    bool up = false;
    bool down = false;
    for (const factor& p : products) {
      const double value = std::ldexp(p.significand, p.exponent);
      up = up || value >= 0x1p128;
      down = down || value <= -0x1p128;
    }
    if (up && down) return std::numeric_limits<float>::quiet_NaN();
    if (up || down) {
      c = up ? std::numeric_limits<float>::infinity() : -std::numeric_limits<float>::infinity();
      continue;
    }
    const factor own = factor_of(float32, std::bit_cast<std::uint32_t>(c));
    fused sum;
    if (is_fp8) {
      std::vector<factor> halves[2];
      for (std::size_t i = 0; i < products.size(); ++i) halves[i % 2].push_back(products[i]);
      const fused even = fused_sum(halves[0], 24);
      const fused odd = fused_sum(halves[1], 24);
      sum.exponent = std::max(even.exponent, odd.exponent);
      sum.sum = floored_at(even, sum.exponent, 24) + floored_at(odd, sum.exponent, 24);
    } else {
      sum = fused_sum(products, 24);
    }
    const int largest = std::max(sum.exponent, own.exponent);
    double joined = floored_at(sum, largest, 31);
    if (!is_fp8 || own.exponent >= largest - 25)
      joined += floored(std::ldexp(own.significand, own.exponent - largest), 24);
    c = static_cast<float>(std::ldexp(joined, largest));
  }
  return c;
}

// Operands whose products are near one another, and some that are not; finite.
std::vector<std::uint32_t> some_codes(const format& f, std::size_t size, std::uint64_t seed, std::uint64_t row) {
  std::vector<std::uint32_t> codes;
  for (std::uint64_t i = 0; codes.size() < size; ++i) {
    const std::uint64_t bits = random_bits(seed, row, i, 32);
    std::uint64_t code = bits & f.code_mask();
    if (row % 3 != 0) {  // exponents around one
      const auto field =
          static_cast<std::uint64_t>(f.bias + static_cast<int>(bits >> 28) % (row % 3 == 1 ? 4 : 12) - 2);
      code = (code & ~(f.exponent_field_mask() << f.fraction_bits)) | std::min(field, f.exponent_field_mask() - 1)
                                                                          << f.fraction_bits;
    }
    if (bits >> 24 % 16 == 0) code = 0;
    if (std::isfinite(to_double(f, code))) codes.push_back(static_cast<std::uint32_t>(code));
  }
  return codes;
}

float some_c(std::uint64_t seed, std::uint64_t row) {
  const auto exponent =
      static_cast<int>(random_bits(seed, row, 0, 32) % (row % 5 == 0 ? 250 : 40)) - (row % 5 == 0 ? 140 : 25);
  const double x = random_bits(seed, row, 1, 24) * 0x1p-23 - 1;
  return row % 7 == 0 ? 0 : static_cast<float>(std::ldexp(x, exponent));
}

}  // namespace

TEST_CASE("CDNA 3 joins the accumulator afterwards, as both sources model it") {
  struct row {
    format operands;
    std::size_t group;
    bool is_fp8;
  };
  for (const row& r : {row{float16, 8, false},
                       {bfloat16, 8, false},
                       {tf32, 4, false},
                       {float8_e4m3fnuz, 16, true},
                       {float8_e5m2fnuz, 16, true}}) {
    const tensor_core& unit = unit_of("MI300X", r.operands);
    INFO(described(unit));
    int differing = 0;
    int infinite = 0;
    for (std::uint64_t i = 0; i < 6000; ++i) {
      const std::size_t size = 1 + random_bits(3, i, 0, 32) % 40;
      const auto a = some_codes(r.operands, size, 1, i);
      const auto b = some_codes(r.operands, size, 2, i);
      const float c = some_c(4, i);
      const float expected = cdna3(r.operands, c, a, b, r.group, r.is_fp8);
      const auto d = dot({r.operands, a}, {r.operands, b}, unit.how, float32, std::bit_cast<std::uint32_t>(c));
      const float ours = to_float(float32, d.code);
      infinite += std::isinf(expected) ? 1 : 0;
      if (!(ours == expected || (std::isnan(ours) && std::isnan(expected)))) ++differing;
    }
    CHECK(differing == 0);
    CHECK((infinite > 10) == (r.operands == bfloat16 || r.operands == tf32));
  }
}

// MATLAB-tensor-core, MI300MC.m: neab 1, late_partial_sum with 31 and 24 bits, armode 'rd', frmode 'rne'.
TEST_CASE("probes of CDNA 3") {
  const tensor_core& unit = unit_of("MI300X", float16);
  // The accumulator does not push products out: those keep their own 24 bits, and 31 beside it.
  CHECK(answer(unit, -1, {1, two_to(-12)}, {1, two_to(-12)}) == two_to(-24));
  CHECK(answer(unit, -1, {1, two_to(-12)}, {1, two_to(-13)}) == 0);
  CHECK(answer(unit, 1, {two_to(-12), two_to(-13)}, {two_to(-12), two_to(-13)}) == 1 + two_to(-23));
  // 24 bits of it are left, and what is below goes toward minus infinity.
  CHECK(answer(unit, 1 + two_to(-23), {2, 0}, {-0.5, 0}) == two_to(-23));
  CHECK(answer(unit, -two_to(-30), {1}, {1}) == 1 - two_to(-24));
  CHECK(answer(unit, two_to(-30), {1}, {1}) == 1);
  // To nearest even.
  CHECK(answer(unit, 1, {two_to(-12)}, {two_to(-12)}) == 1);
  CHECK(answer(unit, 1 + two_to(-23), {two_to(-12)}, {two_to(-12)}) == 1 + two_to(-22));
  // FP8: an accumulator that far below does not move the sum.
  CHECK(answer(unit_of("MI300X", float8_e4m3fnuz), -two_to(-30), {1}, {1}) == 1);
  CHECK(answer(unit_of("MI300X", float8_e4m3fnuz), -two_to(-25), {1}, {1}) == 1 - two_to(-24));
  // Products beyond float32.
  const double large = two_to(100);
  const tensor_core& wide = unit_of("MI300X", bfloat16);
  CHECK(answer(wide, 0, {large, 1}, {-large, 1}) == -std::numeric_limits<double>::infinity());
  CHECK(std::isnan(answer(wide, 0, {large, large}, {-large, large})));
  CHECK(answer(unit_of("H100", bfloat16), 0, {large, large}, {-large, large}) == 0);
}

// MATLAB-tensor-core: frmode 'rne' and min_exp_limit -19, -20, -21 with a binary16 output; MMA-Sim: output_type "f16".
TEST_CASE("float16 accumulators round to nearest even") {
  const double tiny = two_to(-24);
  for (const char* const name : {"volta", "turing", "ampere", "ada", "hopper", "blackwell"}) {
    INFO(name);
    const tensor_core* const unit = find_tensor_core(name, float16, float16);
    REQUIRE(unit != nullptr);
    CHECK(unit->how.order == unit_of(name, float16).how.order);
    CHECK(unit->how.align_bits == unit_of(name, float16).how.align_bits);
    CHECK(answer(*unit, 1, {two_to(-11)}, {1}) == 1);
    CHECK(answer(*unit, 1 + two_to(-10), {two_to(-11)}, {1}) == 1 + two_to(-9));
    CHECK(answer(*unit, 1, {two_to(-11), two_to(-11)}, {1, two_to(-11)}) == 1 + two_to(-10));  // the sum is exact
    CHECK(answer(*unit, 0, {two_to(-12), tiny}, {two_to(-13), 1}) == 2 * tiny);
    CHECK(answer(*unit, 0, {two_to(-12)}, {two_to(-13)}) == 0);
    CHECK(answer(*unit, 65504, {16}, {1}) == std::numeric_limits<double>::infinity());
    CHECK(answer(*unit, 65504, {2047.0 / 128}, {1}) == 65504);
    // 2^-25 and a last bit below the least exponent of alignment, which leaves a tie.
    const int floor = unit->how.align_floor - *unit->how.align_bits;
    CHECK(answer(*unit, 0, {two_to(-12), two_to(floor / 2)}, {two_to(-13), two_to(floor - floor / 2)}) == tiny);
    CHECK(answer(*unit, 0, {two_to(-12), two_to(floor / 2)}, {two_to(-13), two_to(floor - 1 - floor / 2)}) == 0);
  }
}

TEST_CASE("units give infinity beyond the largest number, and one NaN") {
  const double infinity = std::numeric_limits<double>::infinity();
  const double largest = to_double(float32, float32.max_finite_code());
  for (const tensor_core& unit : tensor_cores()) {
    if (unit.scales || unit.operands.exponent_bits < 5) continue;
    INFO(described(unit));
    const double most = to_double(unit.how.accumulator, unit.how.accumulator.max_finite_code());
    const double last = most - to_double(unit.how.accumulator, unit.how.accumulator.max_finite_code() - 1);
    // The largest number and one step: as far as a format of operands reaches that.
    const double step = unit.how.accumulator == float16 ? last : unit.operands.exponent_bits == 8 ? last : 0;
    const double one = unit.operands.exponent_bits == 8 ? two_to(50) : 16;
    if (step != 0) {
      CHECK(answer(unit, most, {step / one}, {one}) == infinity);
      CHECK(answer(unit, -most, {-step / one}, {one}) == -infinity);
      CHECK(answer(unit, most, {step / one}, {-one}) == most - step);
    }
    CHECK(answer(unit, largest > most ? most : largest, {0}, {1}) == most);
    if (unit.operands.top != specials::ieee) continue;
    const std::vector<std::uint32_t> infinities{static_cast<std::uint32_t>(unit.operands.infinity_code())};
    const std::vector<std::uint32_t> zeros{0};
    const accumulated nan = dot({unit.operands, infinities}, {unit.operands, zeros}, unit.how);
    if (unit.name.substr(0, 4) != "cdna") {
      CHECK(nan.code == unit.how.accumulator.magnitude_mask());
    }
    CHECK(std::isnan(to_double(unit.how.accumulator, nan.code)));
    CHECK(dot({unit.operands, infinities}, {unit.operands, infinities}, unit.how).code ==
          unit.how.accumulator.infinity_code());
  }
}

// MMA-Sim: nv_fused_dot_add with scales, nv_fused_dot_add_with_block_scale.
TEST_CASE("scaled products on Blackwell as MMA-Sim models them") {
  for (const tensor_core& unit : tensor_cores()) {
    if (!unit.scales) continue;
    INFO(described(unit));
    const format& f = unit.operands;
    const std::size_t block = unit.scales->size;
    const std::size_t group = unit.how.order.size;
    const bool exact = unit.how.exact_group != 0;
    int differing = 0;
    for (std::uint64_t i = 0; i < 3000; ++i) {
      const std::size_t blocks = group / block * (1 + i % 3);
      const std::size_t size = blocks * block;
      const auto a = some_codes(f, size, 11, i);
      const auto b = some_codes(f, size, 12, i);
      std::vector<std::uint8_t> scale_a;
      std::vector<std::uint8_t> scale_b;
      for (std::size_t k = 0; k < blocks; ++k) {
        const bool power = unit.scales->format == float8_e8m0;
        scale_a.push_back(static_cast<std::uint8_t>(random_bits(13, i, k, 8) % (power ? 30 : 127) + (power ? 112 : 0)));
        scale_b.push_back(static_cast<std::uint8_t>(random_bits(14, i, k, 8) % (power ? 30 : 127) + (power ? 112 : 0)));
      }
      float c = some_c(15, i);
      const accumulated d = dot({f, a}, {f, b}, {{unit.scales->format, scale_a}, {unit.scales->format, scale_b}, block},
                                unit.how, float32, std::bit_cast<std::uint32_t>(c));
      for (std::size_t k = 0; k < size; k += group) {
        std::vector<factor> terms{factor_of(float32, std::bit_cast<std::uint32_t>(c))};
        for (std::size_t j = k; j < k + group; j += exact ? 16 : 1) {
          const factor x = factor_of(unit.scales->format, scale_a[j / block]);
          const factor y = factor_of(unit.scales->format, scale_b[j / block]);
          factor t = products_of(f, a, b, j, j + 1)[0];
          if (exact) {
            t = {};
            for (const factor& p : products_of(f, a, b, j, j + 16))
              t.significand += std::ldexp(p.significand, p.exponent);
          }
          terms.push_back({t.significand * x.significand * y.significand, t.exponent + x.exponent + y.exponent});
        }
        const fused sum = fused_sum(terms, exact ? 35 : 25, -133);
        const rounding cut{.direction = direction::toward_zero};
        c = to_float(float32, encode(float32, std::ldexp(sum.sum, sum.exponent), cut).code);
      }
      if (d.code != std::bit_cast<std::uint32_t>(c) && !(c == 0 && to_float(float32, d.code) == 0)) ++differing;
    }
    CHECK(differing == 0);
  }
}

TEST_CASE("scales that are NaN, and blocks that are short") {
  const tensor_core* const unit = find_scaled_tensor_core("B200", float4_e2m1, float8_e4m3fn, 16);
  REQUIRE(unit != nullptr);
  const std::vector<std::uint8_t> ones(20, 2);   // of E2M1
  std::vector<std::uint8_t> scales{0x38, 0x40};  // 1 and 2
  const auto answer_of = [&] {
    return dot({float4_e2m1, ones}, {float4_e2m1, ones}, {{float8_e4m3fn, scales}, {float8_e4m3fn, scales}, 16},
               unit->how)
        .code;
  };
  CHECK(to_float(float32, answer_of()) == 16 + 4 * 4);
  scales[1] |= 0x80;  // UE4M3 has no sign
  CHECK(to_float(float32, answer_of()) == 16 + 4 * 4);
  scales[1] = 0x7F;
  CHECK(answer_of() == 0x7FFFFFFF);
  scales.pop_back();
  CHECK_THROWS_AS(answer_of(), std::invalid_argument);
}

TEST_CASE("sums in two levels are the unit's sums, added in float32") {
  const tensor_core& unit = unit_of("H100", float8_e4m3fn);
  const auto a = some_codes(float8_e4m3fn, 512, 21, 1);
  const auto b = some_codes(float8_e4m3fn, 512, 22, 1);
  float expected = 0.1F;
  for (std::size_t k = 0; k < 512; k += 128) {
    const accumulated part =
        dot({float8_e4m3fn, std::span{a}.subspan(k, 128)}, {float8_e4m3fn, std::span{b}.subspan(k, 128)}, unit.how);
    expected += to_float(unit.how.accumulator, part.code);
  }
  const std::uint64_t c = std::bit_cast<std::uint32_t>(0.1F);
  CHECK(dot({float8_e4m3fn, a}, {float8_e4m3fn, b}, in_two_levels(unit, 4), float32, c).code ==
        std::bit_cast<std::uint32_t>(expected));
  CHECK(dot({float8_e4m3fn, a}, {float8_e4m3fn, b}, in_two_levels(unit, 0), float32, c).code ==
        std::bit_cast<std::uint32_t>(
            0.1F + to_float(unit.how.accumulator, dot({float8_e4m3fn, a}, {float8_e4m3fn, b}, unit.how).code)));
}

// Results of an H100: tests/data/tensor_cores. All of them: tests/python/shared_units_test.py.
TEST_CASE("an H100's wgmma, bit by bit") {
  const auto codes_of = [](const test::npz_array& array) {
    std::vector<std::uint32_t> codes;
    if (array.type == "|u1")
      for (const auto code : array.as<std::uint8_t>()) codes.push_back(code);
    else if (array.type == "<u2")
      for (const auto code : array.as<std::uint16_t>()) codes.push_back(code);
    else
      for (const auto code : array.as<std::uint32_t>()) codes.push_back(code >> 13);  // of tf32
    return codes;
  };
  int rows = 0;
  for (const auto& file : std::filesystem::directory_iterator(test::source_dir() / "tests" / "data" / "tensor_cores")) {
    if (file.path().extension() != ".npz") continue;
    INFO(file.path());
    const std::string name = file.path().stem().string().substr(std::string{"h100_wgmma_"}.size());
    const auto arrays = test::read_npz(file.path());
    const auto c = arrays.at("c").as<float>();
    const auto d = arrays.at("d").as<float>();
    const auto a = codes_of(arrays.at("a"));
    const auto b = codes_of(arrays.at("b"));
    for (const format& of : {bfloat16, float16, tf32, float8_e4m3fn, float8_e5m2}) {
      const tensor_core& unit = unit_of("H100", of);
      if (name.rfind(std::string{unit.operands_name} + "_", 0) != 0) continue;
      const accumulation how = of.width() == 8 ? in_two_levels(unit, 0) : unit.how;
      const std::size_t length = arrays.at("a").shape.at(1);
      for (std::size_t i = 0; i < d.size(); ++i) {
        const accumulated ours =
            dot({of, std::span{a}.subspan(i * length, length)}, {of, std::span{b}.subspan(i * length, length)}, how,
                float32, std::bit_cast<std::uint32_t>(c[i]));
        CHECK(ours.code == std::bit_cast<std::uint32_t>(d[i]));
        ++rows;
      }
    }
  }
  CHECK(rows > 80);
}
