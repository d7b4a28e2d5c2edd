// Pins catalog.hpp and format.hpp: names and aliases, which e<E>m<M> are formats, the published limits of each named
// format, and that every limit derived in format.hpp is the one found by looking at all codes.
#include <ulp/formats/ambiguous_names.hpp>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/names.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "formats/sweep.hpp"
#include "support/catch.hpp"
#include "support/oracle.hpp"

using namespace ulp;

namespace {

struct named {
  const char* name;
  format meant;
};
const std::vector<named> all_names{{"float16", float16},
                                   {"fp16", float16},
                                   {"half", float16},
                                   {"f16", float16},
                                   {"binary16", float16},
                                   {"bfloat16", bfloat16},
                                   {"bf16", bfloat16},
                                   {"cbfloat16", cbfloat16},
                                   {"cb16", cbfloat16},
                                   {"float32", binary32},
                                   {"fp32", binary32},
                                   {"float64", binary64},
                                   {"double", binary64},
                                   {"tf32", tf32},
                                   {"float8_e4m3fn", float8_e4m3fn},
                                   {"e4m3fn", float8_e4m3fn},
                                   {"float8_e5m2", float8_e5m2},
                                   {"e5m2", float8_e5m2},
                                   {"float8_e4m3fnuz", float8_e4m3fnuz},
                                   {"e4m3fnuz", float8_e4m3fnuz},
                                   {"float8_e5m2fnuz", float8_e5m2fnuz},
                                   {"e5m2fnuz", float8_e5m2fnuz},
                                   {"float6_e3m2", float6_e3m2},
                                   {"float6_e3m2fn", float6_e3m2},
                                   {"fp6_e3m2", float6_e3m2},
                                   {"float6_e2m3", float6_e2m3},
                                   {"float6_e2m3fn", float6_e2m3},
                                   {"fp6_e2m3", float6_e2m3},
                                   {"float4_e2m1", float4_e2m1},
                                   {"float4_e2m1fn", float4_e2m1},
                                   {"fp4", float4_e2m1},
                                   {"fp4_e2m1", float4_e2m1},
                                   {"float8_e8m0", float8_e8m0},
                                   {"float8_e8m0fnu", float8_e8m0},
                                   {"e8m0", float8_e8m0},
                                   {"e8m0fnu", float8_e8m0},
                                   {"ue8m0", float8_e8m0},
                                   {"dlfloat16", dlfloat16},
                                   {"dlfloat", dlfloat16},
                                   {"dlf16", dlfloat16},
                                   {"bfloat", bfloat16},
                                   {"cbfloat", cbfloat16},
                                   {"float", binary32},
                                   {"f32", binary32},
                                   {"binary32", binary32},
                                   {"fp64", binary64},
                                   {"f64", binary64},
                                   {"binary64", binary64},
                                   {"tensorfloat32", tf32},
                                   {"fp8_e4m3fn", float8_e4m3fn},
                                   {"fp8_e5m2", float8_e5m2},
                                   {"fp8_e4m3fnuz", float8_e4m3fnuz},
                                   {"fp8_e5m2fnuz", float8_e5m2fnuz},
                                   {"e3m2fn", float6_e3m2},
                                   {"e2m3fn", float6_e2m3},
                                   {"e2m1fn", float4_e2m1},
                                   {"fp8_e4m3", float8_e4m3fn},
                                   {"E4M3", float8_e4m3fn},
                                   {"E3M2", float6_e3m2},
                                   {"E2M3", float6_e2m3},
                                   {"E2M1", float4_e2m1},
                                   {"binary8p3sf", float8_e5m2fnuz},
                                   {"binary8p4sf", float8_e4m3fnuz},
                                   {"binary8p3se", binary8p3se},
                                   {"p3109_k8p3se", binary8p3se},
                                   {"p3109_p3", binary8p3se},
                                   {"binary8p4se", binary8p4se},
                                   {"p3109_k8p4se", binary8p4se},
                                   {"p3109_p4", binary8p4se},
                                   {"binary8p5se", binary8p5se},
                                   {"p3109_k8p5se", binary8p5se},
                                   {"p3109_p5", binary8p5se}};

}  // namespace

TEST_CASE("names and aliases find their formats") {
  for (const named& r : all_names) {
    INFO(r.name);
    CHECK(find_format(r.name) == r.meant);
    REQUIRE(find_entry(r.name) != nullptr);
    CHECK(find_entry(r.name)->format == r.meant);
  }
}

TEST_CASE("the catalogue is consistent") {
  std::set<std::string_view> seen;
  for (const catalog_entry& row : format_catalog()) {
    INFO(row.name);
    CHECK(seen.insert(row.name).second);
    for (const std::string_view alias : row.aliases) {
      CHECK(seen.insert(alias).second);
      CHECK(find_entry(alias) == &row);
    }
    CHECK(find_entry(row.name) == &row);
    CHECK_FALSE(row.source.empty());
  }
  CHECK(seen.size() == all_names.size());
  for (const named& one : all_names) CHECK(seen.contains(one.name));
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

TEST_CASE("a bare pattern is IEEE-style also where a format of that split has other specials") {
  for (const char* const name : {"e4m3", "e3m2", "e2m3", "e2m1"}) {
    INFO(name);
    REQUIRE(find_format(name).has_value());
    CHECK(find_format(name)->top == specials::ieee);
    CHECK(find_entry(name) == nullptr);
  }
}

TEST_CASE("names are read as the documents spell them") {
  const std::vector<named> spelled{{"E5M2", float8_e5m2},       {"E8M0", float8_e8m0},
                                   {"FP8_E4M3", float8_e4m3fn}, {"FP4", float4_e2m1},
                                   {"FP16", float16},           {"Half", float16},
                                   {"BFLOAT16", bfloat16},      {"BF16", bfloat16},
                                   {"CB16", cbfloat16},         {"TF32", tf32},
                                   {"DLFloat16", dlfloat16},    {"FLOAT8_E4M3FN", float8_e4m3fn},
                                   {"E5M10", float16},          {"E6M9,subnormals=yes", cbfloat16}};
  for (const named& one : spelled) {
    INFO(one.name);
    CHECK(find_format(one.name) == one.meant);
  }
  // Blocks, not their elements.
  for (const char* const name : {"MXFP4", "MXFP6_E2M3", "mxfp8"}) CHECK_FALSE(find_format(name).has_value());
  // The 8-bit formats of ml_dtypes that are no rows: largest numbers as there.
  const auto largest = [](const char* name) {
    const format f = find_format(name).value();
    return ulp::to_double(f, f.max_finite_code());
  };
  CHECK(find_format("float8_e4m3") == find_format("e4m3"));
  CHECK(largest("float8_e3m4") == 15.5);
  CHECK(largest("e4m3b11fnuz") == 30);
  CHECK(find_format("float8_e4m3b11fnuz") == find_format("e4m3,bias=11,specials=fnuz"));
  CHECK(find_format("Float8_E4M3B11FNUZ") == find_format("e4m3b11fnuz"));
}

TEST_CASE("a name that OCP uses otherwise has a note, and one of several formats is refused") {
  CHECK(note_on_name("e4m3") ==
        "e4m3 is IEEE-style, with infinities, and ends at 240; OCP's E4M3 is float8_e4m3fn, which ends at 448; to be "
        "clear write float8_e4m3fn or e4m3,specials=ieee");
  CHECK(note_on_name("float8_e4m3").starts_with("float8_e4m3 is IEEE-style, "));
  CHECK(note_on_name("E4M3") ==
        "E4M3 is OCP's: float8_e4m3fn, which ends at 448; e4m3 is IEEE-style, with infinities, and ends at 240; to be "
        "clear write float8_e4m3fn or e4m3,specials=ieee");
  CHECK(find_format("e4m3,specials=ieee") == find_format("e4m3"));
  CHECK(note_on_name("e2m1").find("ends at 3; OCP's E2M1 is float4_e2m1, which ends at 6") != std::string::npos);
  for (const char* const clear : {"e4m3fn", "fp8_e4m3", "e5m2", "E5M2", "float16", "e4m3,bias=3", "nonsense"})
    CHECK(note_on_name(clear).empty());
  for (const char* const several : {"FP8", "fp8", "FP6"}) {
    INFO(several);
    CHECK(parse_format(several).error.find("ambiguous name; use one of E") != std::string::npos);
  }
  for (const char* const blocks : {"mxfp4", "MXFP8", "mxfp6_e2m3", "nvfp4", "torchao_mxe4m3_floor"}) {
    INFO(blocks);
    CHECK_FALSE(find_format(blocks));
    CHECK(parse_format(blocks).error.find("a format of blocks, which numbers alone do not have") != std::string::npos);
  }
  CHECK(parse_format("E4M3,bias=11").error ==
        "format 'E4M3,bias=11': options follow e<E>m<M>, not OCP's name: write e4m3");
}

TEST_CASE("who listens is told whenever such a name is read") {
  static std::vector<std::string> heard;
  heard.clear();
  listen_for_ambiguous_names([](std::string_view entry, const std::string& note) {
    CHECK(note.starts_with(heard.empty() ? "e4m3 is" : "E2M1 is"));
    heard.emplace_back(entry);
  });
  for (const char* const name : {"e4m3", "float8_e4m3fn", "e4m3,specials=ieee", "float8_e3m4", "E2M1"})
    CHECK(parse_format(name).value);
  listen_for_ambiguous_names(nullptr);
  static_cast<void>(parse_format("e4m3"));
  CHECK(heard == std::vector<std::string>{"float8_e4m3fn", "float4_e2m1"});
}

TEST_CASE("options say what the pattern does not") {
  CHECK(find_format("e6m9,bias=31") == cbfloat16);
  CHECK(find_format("e6m9,specials=ieee,subnormals=yes") == cbfloat16);
  CHECK(find_format("e6m9,subnormals=no,specials=fn") == dlfloat16);
  CHECK(find_format("e4m3,specials=fn") == float8_e4m3fn);
  CHECK(find_format("e4m3,specials=fnuz") == float8_e4m3fnuz);
  CHECK(find_format("e5m2,specials=fnuz") == float8_e5m2fnuz);
  CHECK(find_format("e5m2,specials=fnuz,bias=15")->bias == 15);
  CHECK(find_format("e3m2,specials=none") == float6_e3m2);
  CHECK(find_format("e2m3,specials=none") == float6_e2m3);
  CHECK(find_format("e2m1,specials=none") == float4_e2m1);
  CHECK(find_format("e6m9,bias=30,specials=none") ==
        format{.exponent_bits = 6, .fraction_bits = 9, .bias = 30, .top = specials::none});
  CHECK(find_format("e4m3,bias=-5")->bias == -5);
  CHECK(find_format("e4m3,bias=0")->bias == 0);
}

TEST_CASE("float64 holds every number of a format, whatever its bias") {
  for (const char* const pattern :
       {"e6m9", "e6m9,specials=none", "e2m1,subnormals=no", "e5m40,specials=fn", "e10m52"}) {
    int least = 2000;
    int most = -2000;
    for (int bias = -1100; bias <= 1100; ++bias) {
      const auto f = find_format(std::string{pattern} + ",bias=" + std::to_string(bias));
      if (!f) continue;
      least = std::min(least, bias);
      most = std::max(most, bias);
      const unpacked smallest = decode(*f, f->min_positive_code());
      const unpacked largest = decode(*f, f->max_finite_code());
      for (const unpacked& x : {smallest, largest}) CHECK(encode(binary64, x).flags == status::none);
    }
    INFO(pattern << ' ' << least << ".." << most);
    REQUIRE(least <= most);
    // One more at either end and float64 ends.
    format f = find_format(std::string{pattern} + ",bias=" + std::to_string(least)).value();
    f.bias = least - 1;
    CHECK(encode(binary64, decode(f, f.max_finite_code())).flags != status::none);
    f.bias = most + 1;
    CHECK(f.min_quantum_exponent() < -1074);
  }
  CHECK(find_format("e11m52,subnormals=yes") == binary64);
  CHECK_FALSE(find_format("e11m52,specials=fn").has_value());
}

TEST_CASE("what is wrong with a name is said") {
  const auto error = [](const char* name) {
    const parsed<format> read = parse_format(name);
    CHECK_FALSE(read.value.has_value());
    return read.error;
  };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  CHECK(has(error("flaot16"), "near: float16"));
  CHECK(has(error("e12m3"), "E in 2..11"));
  CHECK(has(error("fp16,bias=3"), "not names"));
  CHECK(has(error("e6m9,special=none"), "bias=N, specials=ieee|fn|fnuz|none|p3109, subnormals=yes|no, max=X"));
  CHECK(has(error("e6m9,specials=nan"), "ieee, fn"));
  CHECK(has(error("e6m9,subnormals=maybe"), "yes or no"));
  CHECK(has(error("e6m9,bias=1,bias=1"), "twice"));
  CHECK(has(error("e6m9,bias=3000"), "-961..1066"));
  CHECK(has(error("e6m9,bias=-2147483648"), "-961..1066"));
  CHECK(has(error("e11m52,specials=none"), "no bias"));
  CHECK(parse_format("fp16").error.empty());
  CHECK(parse_format("e6m9,bias=30").error.empty());
}

TEST_CASE("what is no format is not found") {
  for (const char* const name : {"",
                                 "e",
                                 "m",
                                 "em",
                                 "e5",
                                 "e5m",
                                 "em5",
                                 "m5",
                                 "e5m0",
                                 "e1m2",
                                 "e0m5",
                                 "e12m3",
                                 "e5m05",
                                 "e05m2",
                                 "e-5m2",
                                 "e5m-2",
                                 "e+5m2",
                                 "e5m+2",
                                 "e5m2 ",
                                 " e5m2",
                                 "e5m2x",
                                 "e5m2m1",
                                 "e5e2",
                                 "fp17",
                                 "e5.0m2",
                                 "e4m3f",
                                 "e11m53",
                                 "float16 ",
                                 "e99999999999m2",
                                 "e6m9,",
                                 ",",
                                 "e6m9,,bias=3",
                                 "e6m9 ,bias=3",
                                 "e6m9,bias=",
                                 "e6m9,bias=3x",
                                 "e6m9,bias=+3",
                                 "e6m9,bias=03",
                                 "e6m9,bias=-",
                                 "e6m9,bias=99999999999",
                                 "e6m9,Bias=3",
                                 "e6m9;bias=3",
                                 "e6m9,specials",
                                 "bias=3,e6m9",
                                 "e8m0,bias=3"}) {
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
           row{"float8_e4m3fnuz", 240, 0x1p-7, 0x1p-10, 0.125},
           row{"float8_e5m2fnuz", 57344, 0x1p-15, 0x1p-17, 0.25},
           row{"float6_e3m2", 28, 0.25, 0.0625, 0.25},
           row{"float6_e2m3", 7.5, 1, 0.125, 0.125},
           row{"float4_e2m1", 6, 1, 0.5, 0.5},
           // Without subnormals the smallest number is a normal one.
           row{"dlfloat16", 8573157376, 0x1p-31 * 513 / 512, 0x1p-31 * 513 / 512, 0x1p-9},
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
  std::vector<test::named_format> all(test::small_formats.begin(), test::small_formats.end());
  all.insert(all.end(), test::formats_of_other_kinds.begin(), test::formats_of_other_kinds.end());
  for (const auto& [name, f] : all) {
    INFO(name);
    double largest = 0;
    double smallest = HUGE_VAL;
    double smallest_normal = HUGE_VAL;
    bool infinity = false;
    bool nan = false;
    bool zero = false;
    bool negative_zero = false;
    for (std::uint64_t code = 0; code <= f.code_mask(); ++code) {
      const test::exact_value x = test::value_of(f, code);
      nan = nan || x.kind == number_class::nan;
      zero = zero || x.kind == number_class::zero;
      negative_zero = negative_zero || (x.kind == number_class::zero && x.negative);
      if (x.negative) continue;
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
    CHECK(f.has_nan() == nan);
    CHECK(f.has_zero() == zero);
    CHECK(f.has_negative_zero() == negative_zero);
    CHECK(test::to_double(test::value_of(f, f.last_number_code())) == largest);
    CHECK(f.max_finite_code() == f.last_number_code() - f.withheld);
    CHECK(test::to_double(test::value_of(f, f.min_normal_code())) == smallest_normal);
    CHECK(test::to_double(test::value_of(f, f.min_positive_code())) == smallest);
    if (f.has_subnormals()) {
      CHECK(std::ldexp(1.0, f.min_quantum_exponent()) == smallest);
      CHECK(std::ldexp(1.0, f.emin()) == smallest_normal);
    }
    CHECK(f.emin() == std::ilogb(smallest_normal));
    CHECK(f.last_exponent() == std::ilogb(largest));
    CHECK(f.emax() == std::ilogb(test::to_double(test::value_of(f, f.max_finite_code()))));
    if (f.has_nan()) {
      CHECK(test::value_of(f, f.nan_code()).kind == number_class::nan);
      CHECK_FALSE(test::value_of(f, f.nan_code()).signaling);
    }
    CHECK(f.code_mask() == (std::uint64_t{1} << f.width()) - 1);
    CHECK(f.sign_mask() == (f.has_sign ? (f.code_mask() + 1) / 2 : 0));
    CHECK(f.precision() == f.fraction_bits + 1);
  }
}

TEST_CASE("special codes need a place") {
  const auto valid = [](specials top, lowest_binade bottom, bool sign, int fraction_bits) {
    return format{
        .exponent_bits = 8, .fraction_bits = fraction_bits, .bias = 127, .top = top, .bottom = bottom, .has_sign = sign}
        .is_valid();
  };
  using enum lowest_binade;
  CHECK_FALSE(valid(specials::nan_negative_zero, subnormals, false, 3));
  CHECK_FALSE(valid(specials::nan_negative_zero, normals_without_zero, true, 3));
  CHECK(valid(specials::nan_negative_zero, subnormals, true, 3));
  CHECK_FALSE(valid(specials::ieee, normals_without_zero, false, 0));
  CHECK(valid(specials::nan_all_ones, normals_without_zero, false, 0));
  CHECK(valid(specials::ieee, normals_without_zero, false, 1));
  for (const catalog_entry& row : format_catalog()) CHECK(row.format.is_valid());
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

TEST_CASE("the name of a format is read back to it") {
  for (const catalog_entry& row : format_catalog()) CHECK(to_string(row.format) == row.name);
  CHECK(to_string(*find_format("e4m3,bias=30,specials=none")) == "e4m3,bias=30,specials=none");
  CHECK(to_string(*find_format("e4m3")) == "e4m3");
  CHECK(to_string(*find_format("e5m10")) == "float16");
  CHECK(to_string(*find_format("e6m9,subnormals=no,specials=fn")) == "dlfloat16");
  CHECK(to_string(*find_format("e6m9,subnormals=no,bias=-3")) == "e6m9,bias=-3,subnormals=no");
  CHECK(to_string(*find_format("e4m2,specials=fnuz")) == "e4m2,specials=fnuz");

  // All fields with all options, and every bias that there is.
  std::uint64_t formats = 0;
  for (int e = 2; e <= 11; ++e)
    for (int m = 1; m <= 52; ++m)
      for (const specials top : {specials::ieee, specials::nan_all_ones, specials::nan_negative_zero, specials::none,
                                 specials::nan_negative_zero_and_infinity})
        for (const lowest_binade bottom : {lowest_binade::subnormals, lowest_binade::normals_and_zero}) {
          const int step = m % 13 == 3 || e + m < 8 ? 1 : 97;
          for (int bias = -1100; bias <= 1100 + (1 << e); bias += step) {
            const format f{.exponent_bits = e, .fraction_bits = m, .bias = bias, .top = top, .bottom = bottom};
            if (!f.is_valid()) continue;
            ++formats;
            const std::string name = to_string(f);
            if (find_format(name) != f) FAIL_CHECK(name);
          }
        }
  CHECK(formats > 500'000);
  // What has no name is told apart all the same, and not read.
  const format no_sign{.exponent_bits = 8, .fraction_bits = 2, .bias = 127, .has_sign = false};
  CHECK(to_string(no_sign) == "e8m2,sign=no");
  CHECK_FALSE(find_format(to_string(no_sign)).has_value());
}
