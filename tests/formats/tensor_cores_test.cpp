// Pins tensor_cores.hpp: that the units answer published probes as the processors do, and what the table promises.
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/tensor_cores.hpp>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "support/catch.hpp"

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
  const encoded start = encode(float32, c);
  REQUIRE(start.flags == status::none);
  const auto codes_a = codes_of(a);
  const auto codes_b = codes_of(b);
  const accumulated d = dot({unit.operands, codes_a}, {unit.operands, codes_b}, unit.how, float32, start.code);
  return to_double(unit.how.result(), d.code);
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
    INFO(unit.name << ' ' << unit.operands_name);
    CHECK(seen.insert(std::string{unit.name} + ' ' + std::string{unit.operands_name}).second);
    CHECK(find_entry(unit.operands_name)->format == unit.operands);
    CHECK(find_tensor_core(unit.name, unit.operands) == &unit);
    CHECK(unit.source.find("arXiv") != std::string_view::npos);
    CHECK(answer(unit, 0.5, {1, 2, 4, 1}) == 8.5);  // a valid accumulation
    CHECK(answer(unit, 1, {}) == 1);
  }
  CHECK(find_tensor_core("H100", float8_e4m3fn) == find_tensor_core("hopper", float8_e4m3fn));
  CHECK(find_tensor_core("Hopper", float16) == find_tensor_core("hopper", float16));
  CHECK(find_tensor_core("mi250x", bfloat16)->name == "cdna2");
  CHECK(find_tensor_core("L40S", float8_e5m2)->name == "ada");
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
    if (unit.operands != float16 || !unit.how.align_bits) continue;
    INFO(unit.name);
    const int extra = *unit.how.align_bits - 23;
    CHECK(answer(unit, -(1 - two_to(-24)), {1}) == (extra >= 1 ? two_to(-24) : two_to(-23)));
    CHECK(answer(unit, -1, {1, two_to(-12)}, {1, two_to(-13)}) == (extra >= 2 ? two_to(-25) : 0));
    CHECK(answer(unit, -1, {1, two_to(-13)}, {1, two_to(-13)}) == 0);
  }
}

// Lowering the accumulator from 1 to 1 - 2^-24 raises the result where a group has at least 3 * 2^p products, p being the
// extra bits: what Fasi et al. saw of the V100 holds for all later units.
TEST_CASE("no unit that aligns is monotonic") {
  for (const tensor_core& unit : tensor_cores()) {
    if (unit.operands != float16 || !unit.how.align_bits) continue;
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
    if (!unit.how.align_bits) continue;
    INFO(unit.name << ' ' << unit.operands_name);
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
