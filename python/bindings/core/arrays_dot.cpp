// Dot products: as hardware accumulates them, and exactly.
#include <fmt/format.h>
#include <pybind11/stl.h>

#include <bit>
#include <cmath>
#include <map>
#include <optional>
#include <stdexcept>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/dot.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/formats/random_bits.hpp>
#include <ulp/model/precision/unit_choice.hpp>
#include <utility>

#include "module.hpp"
#include "number_vector.hpp"

namespace ulp::python {
namespace {

namespace py = pybind11;

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument(what); }

// c, in float32 where that holds it: what is aligned looks at the exponents of codes. An accumulator of a unit in float16
// is given such numbers.
struct addend {
  ulp::format format = binary32;
  std::uint64_t code = 0;

  explicit addend(double c) {
    format = holds(binary32, c) ? binary32 : binary64;
    code = encode(format, c).code;
  }
  addend(double c, const accumulation& unit) : addend(c) {
    if (unit.result() != float16) return;
    if (!holds(float16, c)) refuse(fmt::format("c: {} is not a number of float16, which the unit accumulates in", c));
    format = float16;
    code = encode(format, c).code;
  }
};

sum_order order_of(const std::string& text, std::uint32_t size) {
  const std::map<std::string, sum_order::kinds> known{
      {"sequential", sum_order::sequential}, {"compensated", sum_order::compensated},
      {"pairwise", sum_order::pairwise},     {"lanes", sum_order::lanes},
      {"chunks", sum_order::chunks},         {"tree-chunks", sum_order::tree_chunks},
      {"blocks", sum_order::blocks}};
  const auto at = known.find(text);
  if (at == known.end())
    refuse(fmt::format(
        "order: '{}' is not one of sequential, compensated, pairwise, lanes, chunks, tree-chunks, blocks", text));
  return {at->second, size};
}

double number_of(const format& f, std::uint64_t code) { return to_double(f, code); }

double dot(const py::tuple& a_array, const py::tuple& b_array, const std::optional<std::string>& in, double c,
           const std::optional<std::string>& unit, const array_conversion& how, const std::string& order,
           std::uint32_t size, const std::optional<std::string>& products, const std::optional<std::string>& sums,
           const std::optional<std::string>& outer, std::optional<int> align_bits, const std::string& align,
           std::optional<int> align_floor, const std::optional<std::string>& accumulate,
           std::optional<std::uint32_t> promote, const std::optional<std::pair<py::tuple, py::tuple>>& scales,
           const std::string& scale_format, std::uint32_t block) {
  const number_vector a(a_array, "a", in);
  const number_vector b(b_array, "b", in);
  std::optional<number_vector> scale_a;
  std::optional<number_vector> scale_b;
  if (scales) {
    scale_a.emplace(scales->first, "scales of a", scale_format);
    scale_b.emplace(scales->second, "scales of b", scale_format);
  }
  accumulation sum;
  if (unit) {
    sum = accumulation_of({.unit = *unit,
                           .accumulator = optional_format(accumulate),
                           .promote = promote,
                           .scale = scales ? std::optional{scale_a->own_format()} : std::nullopt,
                           .block = block},
                          a.own_format());
  } else {
    if (accumulate || promote) refuse("accumulate and promote are of a unit: without one, accumulator and outer");
    sum.products = optional_format(products);
    sum.sums = optional_format(sums);
    sum.accumulator = how.to;
    sum.outer = optional_format(outer);
    sum.order = order_of(order, size);
    sum.align_bits = align_bits;
    const auto way = parse_rounding(align);
    if (!way) refuse("align: '" + align + "' is not a direction");
    sum.align = way->direction;
    if (align_floor) sum.align_floor = *align_floor;
    sum.rounding = how.how.rounding;
    sum.random = how.how.random;
  }
  const addend start = unit ? addend(c, sum) : addend(c);
  const py::gil_scoped_release release;
  if (scales)
    return number_of(
        sum.result(),
        ulp::dot(a.span(), b.span(), {scale_a->span(), scale_b->span(), block}, sum, start.format, start.code).code);
  return number_of(sum.result(), ulp::dot(a.span(), b.span(), sum, start.format, start.code).code);
}

double exact_dot(const py::tuple& a_array, const py::tuple& b_array, double c, const array_conversion& how) {
  const number_vector a(a_array, "a", {});
  const number_vector b(b_array, "b", {});
  const addend start(c);
  const py::gil_scoped_release release;
  random_words words;
  const random_input random = random_of(how.how, how.how.random.first, words);
  const encoded sum = ulp::exact_dot(how.to, a.span(), b.span(), how.how.rounding, random, start.format, start.code);
  return number_of(how.to, sum.code);
}

}  // namespace

void bind_dot(py::module_& module) {
  module.def("dot", dot);
  module.def("exact_dot", exact_dot);
}

}  // namespace ulp::python
