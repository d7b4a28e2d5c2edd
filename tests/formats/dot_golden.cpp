#include "dot_golden.hpp"

#include <ulp/formats/arithmetic.hpp>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/dot.hpp>

#include <bit>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "support/catch.hpp"
#include "support/npz.hpp"

namespace ulp::test {
namespace {

// The elements as bits, whatever their type.
std::vector<std::uint64_t> codes_of(const npz_array& a) {
  std::vector<std::uint64_t> codes;
  const auto append = [&](const auto& elements) { codes.assign(elements.begin(), elements.end()); };
  if (a.type == "<u2")
    append(a.as<std::uint16_t>());
  else if (a.type == "<u4")
    append(a.as<std::uint32_t>());
  else
    for (const double x : a.as<double>()) codes.push_back(std::bit_cast<std::uint64_t>(x));
  return codes;
}

// numpy's pairwise sum: eight accumulators for at most 128 numbers, of more than that two halves, the first a multiple of 8.
std::uint64_t numpy_sum(const std::vector<std::uint64_t>& x, std::size_t begin, std::size_t size) {
  const auto plus = [](std::uint64_t a, std::uint64_t b) { return add(float32, a, b).code; };
  if (size > 128) {
    const std::size_t half = size / 2 / 8 * 8;
    return plus(numpy_sum(x, begin, half), numpy_sum(x, begin + half, size - half));
  }
  REQUIRE(size % 8 == 0);
  std::vector<std::uint64_t> r(x.begin() + static_cast<std::ptrdiff_t>(begin),
                               x.begin() + static_cast<std::ptrdiff_t>(begin + 8));
  for (std::size_t i = 8; i < size; ++i) r[i % 8] = plus(r[i % 8], x[begin + i]);
  return plus(plus(plus(r[0], r[1]), plus(r[2], r[3])), plus(plus(r[4], r[5]), plus(r[6], r[7])));
}

using row = std::vector<std::uint16_t>;
using dot_of_rows = std::function<std::uint64_t(const row&, const row&)>;

std::map<std::string, dot_of_rows> known_dots(const format& low) {
  const auto by = [&low](const accumulation& how) {
    return [=](const row& a, const row& b) { return dot({low, a}, {low, b}, how).code; };
  };
  const auto then_low = [&low](const accumulation& how) {
    return [=](const row& a, const row& b) { return convert(low, float32, dot({low, a}, {low, b}, how).code).code; };
  };
  const auto chunks = [](std::uint32_t n) { return sum_order{sum_order::chunks, n}; };
  std::map<std::string, dot_of_rows> known{
      {"f32_sequential", by({.products = float32})},
      {"f32_pairwise", by({.products = float32, .order = {sum_order::pairwise}})},
      {"f32_lanes8", by({.products = float32, .order = {sum_order::lanes, 8}})},
      {"low_sequential_via_f32", by({.products = float32, .sums = float32, .accumulator = low})},
      {"low_sequential_mul_add", by({.products = low, .accumulator = low})},
      {"low_sequential_fused", by({.accumulator = low})},
      {"f32_chunk64_outer_low", by({.products = float32, .sums = float32, .outer = low, .order = chunks(64)})},
      {"numpy_dot", then_low({.products = float32})},
      {"torch_dot", then_low({.products = low})},
  };
  for (const std::uint32_t n : {32u, 64u, 128u}) {
    accumulation how{.products = float32, .sums = float32, .accumulator = low, .outer = float32, .order = chunks(n)};
    known["low_chunk" + std::to_string(n) + "_outer_f32"] = by(how);
    how.outer = low;
    known["low_chunk" + std::to_string(n) + "_outer_low"] = by(how);
  }
  known["f32_numpy_sum"] = [&low](const row& a, const row& b) {
    std::vector<std::uint64_t> products;
    for (std::size_t i = 0; i < a.size(); ++i)
      products.push_back(mul(float32, decode(low, a[i]), decode(low, b[i])).code);
    return numpy_sum(products, 0, products.size());
  };
  known["exact_as_double"] = [&low](const row& a, const row& b) { return exact_dot(float64, {low, a}, {low, b}).code; };
  known["sum_abs_as_double"] = [&low](row a, row b) {
    for (std::uint16_t& x : a) x &= 0x7FFF;
    for (std::uint16_t& x : b) x &= 0x7FFF;
    return exact_dot(float64, {low, a}, {low, b}).code;
  };
  return known;
}

struct summed {
  std::uint64_t sum = 0;
  std::uint64_t compensation = 0;
};
using sum_of_column = std::function<summed(const std::vector<float>&)>;

// Sums of numbers that have been rounded to the format first.
std::map<std::string, sum_of_column> known_sums(const std::string& name, const format& low) {
  const auto by = [&low](const accumulation& how) {
    return [=](const std::vector<float>& addends) {
      std::vector<std::uint32_t> codes;
      for (const float x : addends) codes.push_back(static_cast<std::uint32_t>(encode(low, x).code));
      const accumulated s = sum({low, codes}, how);
      return summed{s.code, s.compensation};
    };
  };
  std::map<std::string, sum_of_column> known{
      {name + "_nearest", by({.accumulator = low})},
      {name + "_kahan", by({.accumulator = low, .order = {sum_order::compensated}})},
      {name + "_nearest_f32addend",
       [&low](const std::vector<float>& addends) {
         return summed{sum(addends, {.sums = float32, .accumulator = low}).code};
       }},
  };
  known[name + "_kahan_comp"] = [of = known[name + "_kahan"]](const std::vector<float>& addends) {
    return summed{of(addends).compensation};
  };
  for (const std::uint32_t n : {8u, 64u}) {
    const std::string chunk = name + "_chunk" + std::to_string(n);
    known[chunk] = by({.accumulator = low, .order = {sum_order::chunks, n}});
    known[chunk + "_outer_f32"] = by({.accumulator = low, .outer = float32, .order = {sum_order::chunks, n}});
  }
  return known;
}

}  // namespace

int check_dot_file(const std::filesystem::path& file) {
  const format& low = file.stem().string().ends_with("fp16") ? float16 : bfloat16;
  const auto arrays = read_npz(file);
  const auto known = known_dots(low);
  const auto a = arrays.at("a").as<std::uint16_t>();
  const auto b = arrays.at("b").as<std::uint16_t>();
  const std::size_t rows = arrays.at("a").shape.at(0);
  const auto size = static_cast<std::ptrdiff_t>(a.size() / rows);
  int compared = 0;
  for (const auto& [name, array] : arrays) {
    if (name == "a" || name == "b") continue;
    INFO(file.string() << ": " << name);
    REQUIRE(known.contains(name));
    const auto expected = codes_of(array);
    REQUIRE(expected.size() == rows);
    std::vector<std::uint64_t> ours;
    for (std::size_t r = 0; r < rows; ++r) {
      const auto from = static_cast<std::ptrdiff_t>(r) * size;
      ours.push_back(known.at(name)(row(a.begin() + from, a.begin() + from + size),
                                    row(b.begin() + from, b.begin() + from + size)));
    }
    CHECK(ours == expected);
    ++compared;
  }
  return compared;
}

int check_accumulate_file(const std::filesystem::path& file, const std::vector<std::vector<float>>& addends) {
  std::map<std::string, sum_of_column> known = known_sums("fp16", float16);
  known.merge(known_sums("bf16", bfloat16));
  known.merge(known_sums("fp32", float32));
  known["exact_as_double"] = [](const std::vector<float>& x) { return summed{exact_sum(float64, x).code}; };
  int compared = 0;
  for (const auto& [name, array] : read_npz(file)) {
    if (array.type == "<i8" || name == "addends") continue;  // notes of how it was made; what was added
    INFO(file.string() << ": " << name);
    REQUIRE(known.contains(name));
    const auto expected = codes_of(array);
    REQUIRE(expected.size() == addends.size());
    std::vector<std::uint64_t> ours;
    for (const std::vector<float>& column : addends) ours.push_back(known.at(name)(column).sum);
    CHECK(ours == expected);
    ++compared;
  }
  return compared;
}

}  // namespace ulp::test
