// Arithmetic of arrays: add, sub, mul, div, fma, sqrt, each result the exact one rounded once.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <ulp/formats/arithmetic.hpp>
#include <ulp/formats/array_arithmetic.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/formats/operation.hpp>
#include <ulp/formats/random_bits.hpp>

#include "array_numbers.hpp"
#include "module.hpp"

namespace ulp::python {
namespace {

namespace py = pybind11;

using operands = std::vector<numbers>;

bool is_double(const numbers& x) { return x.format == binary64; }

// What the library's functions of arrays do, which have operands of at most 32 bits.
void compute(operation op, const format& to, code_span out, std::span<const array_operand> x,
             const array_rounding& how) {
  switch (op) {
    case operation::add: return add_array(to, out, x[0], x[1], how);
    case operation::sub: return sub_array(to, out, x[0], x[1], how);
    case operation::mul: return mul_array(to, out, x[0], x[1], how);
    case operation::div: return div_array(to, out, x[0], x[1], how);
    case operation::sqrt: return sqrt_array(to, out, x[0], how);
    default: return fma_array(to, out, x[0], x[1], x[2], how);
  }
}

encoded compute(operation op, const format& to, std::span<const unpacked> x, const rounding& mode,
                random_input random) {
  switch (op) {
    case operation::add: return add(to, x[0], x[1], mode, random);
    case operation::sub: return sub(to, x[0], x[1], mode, random);
    case operation::mul: return mul(to, x[0], x[1], mode, random);
    case operation::div: return div(to, x[0], x[1], mode, random);
    case operation::sqrt: return sqrt(to, x[0], mode, random);
    default: return fma(to, x[0], x[1], x[2], mode, random);
  }
}

unpacked number_at(const numbers& of, const void* elements, std::size_t i) {
  if (is_double(of)) return decode(static_cast<const double*>(elements)[i]);
  switch (of.view.bytes) {
    case 1: return decode(of.format, static_cast<const std::uint8_t*>(elements)[i]);
    case 2: return decode(of.format, static_cast<const std::uint16_t*>(elements)[i]);
    default: return decode(of.format, static_cast<const std::uint32_t*>(elements)[i]);
  }
}

// One result after the other: for operands that are doubles.
void compute_singly(operation op, const array_conversion& c, std::size_t begin, std::span<const numbers> of,
                    std::span<const void* const> places, std::span<std::uint32_t> codes) {
  const rounding& mode = c.how.rounding;
  random_words words;
  std::array<unpacked, 3> x;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    for (std::size_t j = 0; j < of.size(); ++j) x[j] = number_at(of[j], places[j], of[j].view.size() == 1 ? 0 : i);
    const random_input random = random_of(c.how, c.how.random.first + begin + i, words);
    codes[i] = static_cast<std::uint32_t>(compute(op, c.to, std::span{x}.first(of.size()), mode, random).code);
  }
}

// An operand of one element goes with all.
bool is_single(const array_view& view) {
  return view.size() == 1 || std::ranges::all_of(view.strides, [](auto s) { return s == 0; });
}

void compute_apart(operation op, const array_conversion& c, operands x, numbers out) {
  const std::size_t size = out.view.size();
  std::vector<array_view*> views{&out.view};
  for (numbers& operand : x) {
    if (!is_single(operand.view)) {
      views.push_back(&operand.view);
      continue;
    }
    operand.view.shape = {1};
    operand.view.strides = {static_cast<std::ptrdiff_t>(operand.view.bytes)};
  }
  flatten(views, !c.is_drawn());
  const bool singly = std::ranges::any_of(x, is_double);
  const bool out_is_span = out.view.is_span();
  std::array<bool, 3> is_span{};
  for (std::size_t j = 0; j < x.size(); ++j) is_span[j] = x[j].view.is_span();
  for_blocks(size, [&](std::size_t begin, std::size_t n) {
    alignas(64) std::array<block_buffer, 3> gathered;
    alignas(64) block_buffer coded;
    alignas(64) block_buffer made;
    std::array<const void*, 3> places{};
    for (std::size_t j = 0; j < x.size(); ++j) {
      const bool one = x[j].view.size() == 1;
      places[j] = elements(x[j].view, is_span[j], one ? 0 : begin, one ? 1 : n, gathered[j]);
    }
    const std::span codes{reinterpret_cast<std::uint32_t*>(coded.data()), n};
    if (singly) {
      compute_singly(op, c, begin, x, places, codes);
    } else {
      std::vector<array_operand> at;
      for (std::size_t j = 0; j < x.size(); ++j)
        at.push_back({x[j].format, codes_at(places[j], x[j].view.bytes, x[j].view.size() == 1 ? 1 : n)});
      array_rounding how{.rounding = c.how.rounding, .random = c.how.random, .threads = 1};
      how.random.first += begin;
      compute(op, c.to, codes, at, how);
    }
    void* const place = out_is_span ? out.view.data + begin * out.view.bytes : made.data();
    put_numbers(c.to, codes, out.format, out.view.bytes, place, 1);
    if (!out_is_span) scatter(out.view, begin, n, made.data());
  });
}

void expect_arithmetic(operation op, const format& in, const std::string& called) {
  if (!is_defined(op, in, in))
    throw std::invalid_argument(fmt::format("{} has no sign and no zero: there is no arithmetic in it", called));
}

void arithmetic(const std::string& name, const array_conversion& c, const py::list& arrays,
                const py::tuple& out_array) {
  const operation op = *parse_operation(name);
  numbers out = numbers_of(out_array);
  expect_output(out.view, out.view.shape);
  expect_holds(out, c.to, c.name);
  expect_arithmetic(op, c.to, c.name);
  operands x;
  for (const py::handle& array : arrays) {
    numbers operand = numbers_of(py::reinterpret_borrow<py::tuple>(array));
    expect_arithmetic(op, operand.format, operand.type);
    operand.view = broadcast(std::move(operand.view), out.view.shape);
    x.push_back(std::move(operand));
  }
  if (out.view.size() == 0) return;
  const bool overlaps = std::ranges::any_of(x, [&](const numbers& operand) {
    return may_overlap(operand.view, out.view) && !same_elements(operand.view, out.view);
  });
  const py::gil_scoped_release release;
  through_copy_if(overlaps, out.view, [&] { compute_apart(op, c, x, out); });
}

}  // namespace

void bind_array_arithmetic(py::module_& module) { module.def("arithmetic", arithmetic); }

}  // namespace ulp::python
