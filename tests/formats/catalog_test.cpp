// Pins catalog.hpp and format.hpp: names and aliases, which e<E>m<M> are formats, the published limits of each named
// format, and that every limit derived in format.hpp is the one found by looking at all codes.
#include <ulp/formats/catalog.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>

#include "formats/sweep.hpp"
#include "support/catch.hpp"
#include "support/oracle.hpp"

using namespace ulp;

TEST_CASE("names and aliases find their formats") {
  struct row {
    const char* name;
    format expected;
  };
  for (const row& r :
       {row{"float16", float16}, row{"fp16", float16}, row{"half", float16}, row{"f16", float16},
        row{"binary16", float16}, row{"bfloat16", bfloat16}, row{"bf16", bfloat16}, row{"cbfloat16", cbfloat16},
        row{"cb16", cbfloat16}, row{"float32", binary32}, row{"fp32", binary32}, row{"float64", binary64},
        row{"double", binary64}, row{"tf32", tf32}, row{"float8_e4m3fn", float8_e4m3fn}, row{"e4m3fn", float8_e4m3fn},
        row{"float8_e5m2", float8_e5m2}, row{"e5m2", float8_e5m2}}) {
    INFO(r.name);
    CHECK(find_format(r.name) == r.expected);
    REQUIRE(find_entry(r.name) != nullptr);
    CHECK(find_entry(r.name)->format == r.expected);
  }
}

TEST_CASE("the catalogue is consistent") {
  std::set<std::string_view> seen;
  for (const catalog_entry& row : catalog()) {
    INFO(row.name);
    CHECK(seen.insert(row.name).second);
    for (const std::string_view alias : row.aliases) {
      CHECK(seen.insert(alias).second);
      CHECK(find_entry(alias) == &row);
    }
    CHECK(find_entry(row.name) == &row);
    CHECK_FALSE(row.source.empty());
  }
  CHECK(seen.size() > 20);
}

TEST_CASE("e<E>m<M> names a format") {
  CHECK(find_format("e6m9") == cbfloat16);
  CHECK(find_format("e5m10") == float16);
  CHECK(find_format("e8m7") == bfloat16);
  CHECK(find_format("e8m10") == tf32);
  CHECK(find_format("e8m23") == binary32);
  CHECK(find_format("e11m52") == binary64);
  CHECK(find_format("e2m1") == format{.exponent_bits = 2, .fraction_bits = 1, .bias = 1});
  // The pattern is IEEE-style and ends at 240; OCP's e4m3fn ends at 448.
  REQUIRE(find_format("e4m3").has_value());
  CHECK(*find_format("e4m3") != float8_e4m3fn);
  CHECK(ulp::to_double(*find_format("e4m3"), find_format("e4m3")->max_finite_code()) == 240);
  CHECK(find_entry("e4m3") == nullptr);
}

TEST_CASE("what is no format is not found") {
  for (const char* const name : {"",      "e",      "m",     "em",     "e5",      "e5m",      "em5",           "m5",
                                 "e5m0",  "e1m2",   "e0m5",  "e12m3",  "e5m05",   "e05m2",    "e-5m2",         "e5m-2",
                                 "e+5m2", "e5m+2",  "e5m2 ", " e5m2",  "e5m2x",   "e5m2m1",   "E5M2",          "e5e2",
                                 "fp17",  "e5.0m2", "e4m3f", "e11m53", "Float16", "float16 ", "e99999999999m2"}) {
    INFO(name);
    CHECK_FALSE(find_format(name).has_value());
  }
}

TEST_CASE("an unknown name suggests near ones") {
  const auto suggests = [](const char* typed, const char* meant) {
    const auto names = similar_format_names(typed);
    return std::find(names.begin(), names.end(), meant) != names.end();
  };
  CHECK(suggests("flaot16", "float16"));
  CHECK(suggests("bfloat61", "bfloat16"));
  CHECK(suggests("fp61", "fp16"));
  CHECK(suggests("cb61", "cb16"));
  CHECK(similar_format_names("bfloat1").front() == "bfloat16");
  CHECK(similar_format_names("something else entirely").empty());
}

TEST_CASE("published limits") {
  struct row {
    const char* name;
    double largest;
    double smallest_normal;
    double smallest_subnormal;
    double epsilon;
  };
  for (const row& r : {
           row{"float16", 65504, 0x1p-14, 5.960464477539063e-08, 0x1p-10},
           row{"bfloat16", 3.3895313892515355e38, 0x1p-126, 0x1p-133, 0x1p-7},
           row{"cbfloat16", 4290772992, 9.313225746154785e-10, 1.8189894035458565e-12, 0.001953125},
           row{"float32", 3.4028234663852886e38, 0x1p-126, 0x1p-149, 0x1p-23},
           row{"float64", 1.7976931348623157e308, 0x1p-1022, 0x1p-1074, 0x1p-52},
           row{"tf32", 0x1.ffcp127, 0x1p-126, 0x1p-136, 0x1p-10},
           row{"float8_e4m3fn", 448, 0x1p-6, 0x1p-9, 0.125},
           row{"float8_e5m2", 57344, 0x1p-14, 0x1p-16, 0.25},
       }) {
    INFO(r.name);
    const format f = find_format(r.name).value();
    CHECK(ulp::to_double(f, f.max_finite_code()) == r.largest);
    CHECK(ulp::to_double(f, f.min_normal_code()) == r.smallest_normal);
    CHECK(ulp::to_double(f, 1) == r.smallest_subnormal);
    const std::uint64_t one = encode(f, 1.0).code;
    CHECK(ulp::to_double(f, one + 1) - 1 == r.epsilon);
    // The oracle reads them alike.
    CHECK(test::to_double(test::value_of(f, f.max_finite_code())) == r.largest);
    CHECK(test::to_double(test::value_of(f, 1)) == r.smallest_subnormal);
  }
}

TEST_CASE("derived limits are those of the codes") {
  for (const auto& [name, f] : test::small_formats) {
    INFO(name);
    double largest = 0;
    double smallest = HUGE_VAL;
    double smallest_normal = HUGE_VAL;
    bool infinity = false;
    for (std::uint64_t code = 0; code <= f.magnitude_mask(); ++code) {
      const test::exact_value x = test::value_of(f, code);
      if (x.kind == number_class::infinity) {
        infinity = true;
        CHECK(code == f.infinity_code());
      }
      if (x.kind != number_class::finite) continue;
      const double value = test::to_double(x);
      largest = std::max(largest, value);
      smallest = std::min(smallest, value);
      if (!x.subnormal) smallest_normal = std::min(smallest_normal, value);
    }
    CHECK(f.has_infinity() == infinity);
    CHECK(test::to_double(test::value_of(f, f.max_finite_code())) == largest);
    CHECK(test::to_double(test::value_of(f, f.min_normal_code())) == smallest_normal);
    CHECK(std::ldexp(1.0, f.min_subnormal_exponent()) == smallest);
    CHECK(std::ldexp(1.0, f.emin()) == smallest_normal);
    CHECK(f.emax() == std::ilogb(largest));
    CHECK(test::value_of(f, f.nan_code()).kind == number_class::nan);
    CHECK_FALSE(test::value_of(f, f.nan_code()).signaling);
    CHECK(f.code_mask() == (std::uint64_t{1} << f.width()) - 1);
    CHECK(f.sign_mask() == (f.code_mask() + 1) / 2);
    CHECK(f.precision() == f.fraction_bits + 1);
  }
}

TEST_CASE("the census of cbfloat16's codes") {
  int normal = 0;
  int subnormal = 0;
  int zero = 0;
  int infinite = 0;
  int nan = 0;
  for (std::uint64_t code = 0; code < 65536; ++code) {
    const unpacked x = decode(cbfloat16, code);
    switch (x.kind) {
      case number_class::zero: ++zero; break;
      case number_class::finite: ++(x.subnormal ? subnormal : normal); break;
      case number_class::infinity: ++infinite; break;
      case number_class::nan: ++nan; break;
    }
  }
  CHECK(normal == 63488);
  CHECK(subnormal == 1022);
  CHECK(zero == 2);
  CHECK(infinite == 2);
  CHECK(nan == 1022);
}

TEST_CASE("what becomes of other formats' codes in cbfloat16") {
  int exact_halves = 0;
  for (std::uint64_t code = 0; code < 65536; ++code) {
    const unpacked x = decode(float16, code);
    if (x.kind == number_class::finite || x.kind == number_class::zero)
      exact_halves += encode(cbfloat16, x).flags == status::none ? 1 : 0;
  }
  CHECK(exact_halves == 32768);

  int exact = 0;
  int inexact = 0;
  int zero = 0;
  int infinite = 0;
  for (std::uint64_t code = 0; code < 0x7F80; ++code) {  // finite, not negative
    const encoded e = encode(cbfloat16, decode(bfloat16, code));
    if (e.code == cbfloat16.infinity_code())
      ++infinite;
    else if (e.code == 0 && code != 0)
      ++zero;
    else
      ++(e.flags == status::none ? exact : inexact);
  }
  CHECK(exact == 8320);
  CHECK(inexact == 896);
  CHECK(zero == 11136);
  CHECK(infinite == 12288);
}
