// Proves that the test vectors come to every case in which an operation can round, by classifying their exact results.
#include <ulp/formats/vectors.hpp>

#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/names.hpp>

#include "formats/sweep.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

constexpr std::array operations{operation::add,  operation::sub, operation::mul, operation::div,
                                operation::sqrt, operation::fma, operation::rem, operation::convert};
constexpr std::array other_operations{operation::mac,       operation::rint,     operation::eq,
                                      operation::lt_quiet,  operation::to_ui32,  operation::to_i64,
                                      operation::from_ui32, operation::from_i32, operation::from_i64};

std::vector<operation> every_operation() {
  std::vector<operation> all(operations.begin(), operations.end());
  all.insert(all.end(), other_operations.begin(), other_operations.end());
  return all;
}

std::vector<operand_codes> vectors_of(operation op, const format& to, const format& from, int level,
                                      std::uint64_t seed = 0) {
  std::vector<operand_codes> all;
  for_each_vector(op, to, from, level, seed,
                  [&](std::span<const operand_codes> some) { all.insert(all.end(), some.begin(), some.end()); });
  return all;
}

// Where an exact value lies among the numbers of a format: the lower neighbour in magnitude, and how far it is above
// that in units of 2^-64 of the step.
struct position {
  bool known = false;  // finite, and not beyond the step above the largest number
  std::uint64_t code = 0;
  std::uint64_t fraction = 0;
  bool more = false;
};

position position_in(const format& to, const unpacked& x) {
  if (x.kind != number_class::finite) return {};
  const bool normal = x.exponent >= to.emin();
  const int quantum = (normal ? x.exponent : to.emin()) - to.fraction_bits;
  const int below = quantum - (x.exponent - 63);  // bits of the significand
  position p{.known = true, .more = x.sticky};
  const std::uint64_t kept = below < 64 ? x.significand >> below : 0;
  if (below < 64) {
    p.fraction = (x.significand << (64 - below)) | (x.low >> below);
    p.more = p.more || x.low << (64 - below) != 0;
  } else {
    p.fraction = below < 128 ? x.significand >> (below - 64) : 0;
    p.more = p.more || x.low != 0 || below > 64;
  }
  p.code = normal ? (static_cast<std::uint64_t>(x.exponent + to.bias - 1) << to.fraction_bits) + kept : kept;
  p.known = p.code <= to.max_finite_code();
  return p;
}

constexpr std::uint64_t half = std::uint64_t{1} << 63;

// "tie", "above" or "below" within 2^-64 `near` of the midpoint; else "".
std::string beside_midpoint(const position& p, std::uint64_t near) {
  if (p.fraction == half && !p.more) return "tie";
  if (p.fraction >= half && p.fraction - half <= near) return "above";
  if (p.fraction < half && half - p.fraction <= near) return "below";
  return "";
}

std::string region_of(const format& to, std::uint64_t code) {
  if (code == 0) return "to-zero";
  if (code == to.max_finite_code()) return "overflow";
  if (code == to.min_normal_code() - 1) return "least-normal";
  return code < to.min_normal_code() ? "subnormal" : "normal";
}

// "normal odd tie -": region, last bit of the lower neighbour, side of the midpoint at most 1/8 step away, sign.
std::string midpoint_class(const format& to, const unpacked& exact) {
  const position p = position_in(to, exact);
  if (!p.known) return "";
  const std::string side = beside_midpoint(p, half / 4);
  if (side.empty()) return "";
  return region_of(to, p.code) + ((p.code & 1) != 0 ? " odd " : " even ") + side + (exact.negative ? " -" : " +");
}

std::set<std::string> classes_of(operation op, const format& to, const format& from, int level) {
  std::set<std::string> found;
  for (const operand_codes& v : vectors_of(op, to, from, level))
    found.insert(midpoint_class(to, exact_result(op, to, from, v)));
  found.erase("");
  return found;
}

// Every class of a format with subnormals: at both its ends the last bit is what it is.
std::set<std::string> every_class(const format& to) {
  std::set<std::string> all;
  for (const std::string side : {"below", "tie", "above"})
    for (const std::string sign : {"+", "-"}) {
      all.insert("to-zero even " + side + " " + sign);
      all.insert("least-normal odd " + side + " " + sign);
      for (const std::string bit : {"odd", "even"}) {
        all.insert("subnormal " + bit + " " + side + " " + sign);
        all.insert("normal " + bit + " " + side + " " + sign);
      }
      all.insert(std::string{"overflow "} + ((to.max_finite_code() & 1) != 0 ? "odd " : "even ") + side + " " + sign);
    }
  return all;
}

std::set<std::string> without(std::set<std::string> all, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    std::erase_if(all, [&](const std::string& name) { return (" " + name).find(" " + part) != std::string::npos; });
  return all;
}

}  // namespace

TEST_CASE("level 1 comes to every class of midpoint that an operation can reach") {
  // Operands and results of one 16-bit format.
  for (const auto& [name, f] : {small_formats[0], small_formats[1], small_formats[2]}) {
    CAPTURE(name);
    const auto all = every_class(f);
    CHECK(classes_of(operation::convert, f, binary32, 1) == all);
    CHECK(classes_of(operation::mul, f, f, 1) == all);
    CHECK(classes_of(operation::fma, f, f, 1) == all);
    // A sum that is subnormal or in the least normal binade is exact.
    const auto sums = without(all, {"to-zero", "subnormal", "least-normal"});
    CHECK(classes_of(operation::add, f, f, 1) == sums);
    CHECK(classes_of(operation::sub, f, f, 1) == sums);
    // A quotient of p-bit numbers has no p + 1 significant bits, and is not within 2^-p of a power of two above it: so
    // it comes neither to the midpoint that overflows nor beyond the one below the least normal number.
    CHECK(classes_of(operation::div, f, f, 1) ==
          without(all, {"overflow", "normal odd tie", "normal even tie", "least-normal odd above"}));
    // Roots of such numbers are normal, and no midpoints.
    CHECK(classes_of(operation::sqrt, f, f, 1) ==
          without(all, {"to-zero", "subnormal", "least-normal", "overflow", "tie", "-"}));
    // Remainders are exact.
    CHECK(classes_of(operation::rem, f, f, 1).empty());
  }
}

TEST_CASE("level 1 comes to every class of float8_e4m3fn") {
  const format f = float8_e4m3fn;
  CHECK(classes_of(operation::convert, f, binary32, 1) == every_class(f));
  CHECK(classes_of(operation::convert, f, float16, 1) == every_class(f));
  CHECK(classes_of(operation::fma, f, f, 1) == every_class(f));
  for (const operation op : {operation::add, operation::mul, operation::div, operation::rem})
    CHECK(vectors_of(op, f, f, 1).size() == 1 << 16);  // all there are
}

TEST_CASE("integers, and products added in a wider format, come to every class of midpoint") {
  // Integers are normal numbers of float16.
  const auto integers = without(every_class(float16), {"to-zero", "subnormal", "least-normal"});
  CHECK(classes_of(operation::from_i32, float16, float16, 1) == integers);
  CHECK(classes_of(operation::from_i64, float16, float16, 1) == integers);
  CHECK(classes_of(operation::from_ui64, float16, float16, 1) == without(integers, {"-"}));
  CHECK(classes_of(operation::from_i64, binary32, binary32, 1) == without(integers, {"overflow"}));
  // Products of these are multiples of the least normal numbers' last bits.
  CHECK(classes_of(operation::mac, float16, float8_e4m3fn, 1) == integers);
  CHECK(classes_of(operation::mac, binary32, bfloat16, 1) == every_class(binary32));
  CHECK(classes_of(operation::mac, float16, float16, 1) == every_class(float16));
}

TEST_CASE("roundings to integers come to halves and to the ends of the integers") {
  std::set<double> values;
  for (const operand_codes& v : vectors_of(operation::to_i64, binary32, binary32, 1))
    if (decode(binary32, v[0]).kind == number_class::finite) values.insert(ulp::to_double(binary32, v[0]));
  for (const double x : {0.5, -0.5, 1.5, 2.5, 3.5, 0x1p31, -0x1p31, 0x1p32, 0x1p63, -0x1p63, 0x1p64, 2147483520.0,
                         2147483904.0, 8388607.5, 0x1.000002p-1, 0x1.fffffep-2})
    CHECK(values.count(x) == 1);
}

TEST_CASE("operands of a finer format bring every operation everywhere") {
  const auto all = every_class(float16);
  for (const operation op : operations) {
    CAPTURE(to_string(op));
    CHECK(classes_of(op, float16, binary32, 1) == (op == operation::sqrt ? without(all, {"-"}) : all));
  }
}

TEST_CASE("results come as near to a midpoint as the operands allow") {
  for (const auto& [name, f] : {small_formats[0], small_formats[1], small_formats[2]})
    for (const operation op : operations) {
      if (op == operation::rem || op == operation::convert) continue;
      CAPTURE(name, to_string(op));
      // 2^-p of the step, which the last bits of two p-bit operands make. Squares of midpoints differ from p-bit
      // numbers by 1 or -7 or more. An addend of an fma is felt however small it is.
      const int p = f.precision();
      const std::uint64_t near = half >> (op == operation::fma ? 2 * p : op == operation::sqrt ? p - 4 : p - 1);
      std::set<std::string> sides;
      for (const operand_codes& v : vectors_of(op, f, f, 1)) {
        const position at = position_in(f, exact_result(op, f, f, v));
        if (at.known && region_of(f, at.code) == "normal")
          sides.insert(beside_midpoint(at, near) + ((at.code & 1) != 0 ? " odd" : " even"));
      }
      for (const std::string side : {"below odd", "below even", "above odd", "above even"}) {
        CAPTURE(side);
        CHECK(sides.count(side) == 1);
      }
    }
}

TEST_CASE("remainders are taken at quotients beside n + 1/2") {
  for (const auto& [name, f] : {small_formats[0], small_formats[1], small_formats[2]}) {
    CAPTURE(name);
    // The integer part of |x / y| and what follows.
    std::map<std::string, std::size_t> sides;
    int farthest = 0;
    for (const operand_codes& v : vectors_of(operation::rem, f, f, 1)) {
      const unpacked quotient = exact_result(operation::div, f, f, v);
      if (quotient.kind != number_class::finite) continue;
      farthest = std::max(farthest, quotient.exponent);
      if (quotient.exponent > f.fraction_bits || quotient.exponent < -2) continue;
      const int shift = 63 - quotient.exponent;
      const std::uint64_t n = shift < 64 ? quotient.significand >> shift : 0;
      const position p{true, n,
                       shift < 64 ? quotient.significand << (64 - shift) : quotient.significand >> (shift - 64),
                       quotient.sticky || quotient.low != 0};
      const std::string side = beside_midpoint(p, half >> (f.precision() - 4));
      ++sides[side + ((n & 1) != 0 ? " odd" : " even") + (decode(f, v[0]).negative ? " -" : " +") +
              (decode(f, v[1]).negative ? "-" : "+")];
    }
    for (const std::string side : {"below", "tie", "above"})
      for (const std::string n : {" odd", " even"})
        for (const std::string signs : {" ++", " +-", " -+", " --"}) {
          CAPTURE(side, n, signs);
          CHECK(sides[side + n + signs] > 0);
        }
    CHECK(farthest >= (f.emax() - f.min_quantum_exponent()) * 9 / 10);
  }
}

TEST_CASE("every kind of special operand meets every other") {
  const auto kind_of = [](const format& f, std::uint64_t code) {
    const unpacked x = decode(f, code);
    const std::string sign = x.negative ? "-" : "+";
    switch (x.kind) {
      case number_class::zero: return sign + "zero";
      case number_class::infinity: return sign + "infinity";
      case number_class::nan: return sign + (x.signaling ? "signaling" : "quiet");
      case number_class::finite: break;
    }
    return sign + (x.subnormal ? "subnormal" : "normal");
  };
  std::set<std::string> pairs;
  for (const operand_codes& v : vectors_of(operation::add, float16, float16, 1))
    pairs.insert(kind_of(float16, v[0]) + kind_of(float16, v[1]));
  CHECK(pairs.size() == 12 * 12);
  std::set<std::string> triples;
  for (const operand_codes& v : vectors_of(operation::fma, float16, float16, 1))
    triples.insert(kind_of(float16, v[0]) + kind_of(float16, v[1]) + kind_of(float16, v[2]));
  CHECK(triples.size() == 12 * 12 * 12);
}

TEST_CASE("vectors are codes of their format, the same each time, as many as promised") {
  std::vector<format> formats;
  for (const catalog_entry& entry : format_catalog()) formats.push_back(entry.format);
  for (const char* const name : {"e2m1", "e2m52", "e11m1", "e3m7", "e5m10,specials=none", "e6m9,bias=-40",
                                 "e5m10,bias=60", "e4m3fnuz,max=224", "e5m2,max=20480", "e2m1,max=1", "binary6p3se"})
    formats.push_back(find_format(name).value());
  for (const format& to : formats)
    for (const format& from : {to, float16, float8_e4m3fnuz, binary64})
      for (const operation op : every_operation()) {
        if (!is_defined(op, to, from)) continue;
        CAPTURE(describe(to), describe(from), to_string(op));
        std::uint64_t stray = 0;
        const auto all = vectors_of(op, to, from, 1);
        for (const operand_codes& v : all)
          for (std::size_t i = 0; i < v.size(); ++i)
            stray |= v[i] & ~(i < static_cast<std::size_t>(operand_count(op))
                                  ? mask_of_bits(operand_width(op, to, from, static_cast<int>(i)))
                                  : 0);
        CHECK(stray == 0);
        CHECK(all.size() <= (operand_count(op) == 1 ? 5'000 : operand_count(op) == 2 ? 100'000 : 600'000));
        if (&from == &formats.front()) CHECK(vectors_of(op, to, from, 1) == all);
      }
}

TEST_CASE("the seed changes the random vectors, not the patterns") {
  const auto zero = vectors_of(operation::mul, float16, float16, 1, 0);
  const auto one = vectors_of(operation::mul, float16, float16, 1, 1);
  CHECK(vectors_of(operation::mul, float16, float16, 1, 0) == zero);
  CHECK(zero != one);
  CHECK(std::equal(zero.begin(), zero.begin() + 30'000, one.begin()));
}

TEST_CASE("all operands there are, each once, where they are few") {
  const auto distinct = [](const std::vector<operand_codes>& all) {
    return std::set<operand_codes>(all.begin(), all.end()).size();
  };
  const auto pairs = vectors_of(operation::mul, float8_e5m2, float8_e5m2, 2);
  CHECK(pairs.size() == 1 << 16);
  CHECK(distinct(pairs) == pairs.size());
  CHECK(distinct(vectors_of(operation::fma, float6_e3m2, float6_e3m2, 1)) == 1 << 18);
  CHECK(distinct(vectors_of(operation::sqrt, float16, float16, 2)) == 1 << 16);
  CHECK(distinct(vectors_of(operation::convert, float16, float8_e8m0, 1)) == 1 << 8);
  CHECK(vectors_of(operation::add, float16, float16, 2).size() > 900'000);
}

TEST_CASE("what the sink throws ends the vectors") {
  std::size_t calls = 0;
  CHECK_THROWS_AS(for_each_vector(operation::add, float16, float16, 1, 0,
                                  [&](std::span<const operand_codes>) {
                                    ++calls;
                                    throw std::runtime_error("enough");
                                  }),
                  std::runtime_error);
  CHECK(calls == 1);
}
