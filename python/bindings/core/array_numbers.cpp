#include "array_numbers.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/hardware_roundings.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/formats/random_bits.hpp>

#include "bindings/truth.hpp"

namespace ulp::python {
namespace {

namespace py = pybind11;

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument(what); }

int random_bits_of(const py::object& bits) {
  if (py::isinstance<py::str>(bits) && bits.cast<std::string>() == "all") return exact_probability;
  if (PyIndex_Check(bits.ptr()) != 0 && !py::isinstance<py::bool_>(bits)) {
    const auto n = py::reinterpret_steal<py::object>(PyNumber_Index(bits.ptr()));
    const long long value = PyLong_AsLongLong(n.ptr());
    if (PyErr_Occurred() != nullptr) PyErr_Clear();
    if (value >= 1 && value <= 32) return static_cast<int>(value);
  }
  refuse(fmt::format("bits: {} is neither 1 to 32 nor 'all'", py::repr(bits).cast<std::string>()));
}

rounding rounding_of(const std::string& text, const format& to, const py::object& bits) {
  const auto read = parse_rounding(text, to);
  if (!read.value) refuse("rounding: " + read.error);
  rounding mode = *read.value;
  if (bits.is_none()) return mode;
  if (mode.direction != direction::stochastic) refuse("bits: only stochastic rounding takes random bits");
  if (text.find("bits=") != std::string::npos || !parse_rounding(text))
    refuse("bits: '" + text + "' says already how many; remove one of them");
  mode.random_bits = random_bits_of(bits);
  return mode;
}

overflow_mode overflow_of(const py::object& saturate) {
  if (py::isinstance<py::str>(saturate) && saturate.cast<std::string>() == "finite")
    return overflow_mode::saturate_finite;
  const std::optional<bool> truth = truth_of(saturate);
  if (!truth) refuse("saturate: " + py::repr(saturate).cast<std::string>() + " is not False, True or 'finite'");
  return *truth ? overflow_mode::saturate : overflow_mode::ieee;
}

flush flush_of(const py::object& ftz) {
  if (ftz.is_none()) return flush::never;
  const std::string when = py::isinstance<py::str>(ftz) ? ftz.cast<std::string>() : "";
  if (when == "before") return flush::before_rounding;
  if (when == "after") return flush::after_rounding;
  if (when == "result") return flush::result;
  refuse(fmt::format("ftz: {} is not None or one of before, after, result", py::repr(ftz).cast<std::string>()));
}

// The usual ones without a search.
format format_of_type(const std::string& type) {
  if (type == "float32") return float32;
  if (type == "float64") return float64;
  if (type == "float16") return float16;
  if (type == "bfloat16") return bfloat16;
  return format_named(type);
}

std::string shape_text(const std::vector<std::ptrdiff_t>& shape) {
  std::string text;
  for (const std::ptrdiff_t n : shape) text += (text.empty() ? "" : ", ") + std::to_string(n);
  return "(" + text + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace

numbers numbers_of(const py::tuple& array) {
  numbers made{.view = view_of(array[0]), .type = array[1].cast<std::string>()};
  made.format = format_of_type(made.type);
  expect_element_size(made);
  return made;
}

void expect_element_size(const numbers& array) {
  const auto bits = static_cast<int>(8 * array.view.bytes);
  // The smallest that there are.
  if (array.format.width() > bits || bits >= 2 * std::max(8, array.format.width()))
    refuse(fmt::format("elements of {} bytes are not {}", array.view.bytes, array.type));
}

void expect_room_for_codes(std::size_t bytes, const format& f, const std::string& name) {
  if (f.width() > static_cast<int>(8 * bytes))
    refuse(fmt::format("codes: elements of {} bits cannot be codes of {}, which have {}", 8 * bytes, name, f.width()));
}

void refuse_code(std::size_t i, std::uint64_t word, const format& f, const std::string& name) {
  refuse(fmt::format("codes: element {} is {:#x}, and codes of {} have {} bits", i, word, name, f.width()));
}

format format_named(const std::string& name) {
  const auto read = parse_format(name);
  if (!read.value) refuse(read.error);
  return *read.value;
}

format array_format_named(const std::string& name) {
  const format f = format_named(name);
  if (f.width() > 32)
    refuse(fmt::format("format '{}': its codes have {} bits, and arrays are rounded to formats of at most 32", name,
                       f.width()));
  return f;
}

array_conversion::array_conversion(const std::string& format, const std::string& rounding, const py::object& saturate,
                                   const py::object& ftz, bool daz, const py::object& bits, double scale,
                                   const random_stream& random)
    : name(format), to(array_format_named(format)) {
  how.rounding = rounding_of(rounding, to, bits);
  how.rounding.overflow = overflow_of(saturate);
  how.rounding.flush = flush_of(ftz);
  how.rounding.daz = daz;
  // Not asked of the processor, for which subnormal numbers may be zero.
  const unpacked exact = decode(scale);
  if (exact.kind != number_class::finite || exact.negative)
    refuse(fmt::format("scale: {} is not a finite number above zero", scale));
  how.scale = scale;
  how.random = random;
}

random_input random_of(const conversion& how, std::uint64_t index, random_words& words) noexcept {
  if (how.rounding.direction != direction::stochastic) return {};
  const random_stream& r = how.random;
  if (how.rounding.random_bits != exact_probability)
    return random_bits(r.seed, r.stream, index, how.rounding.random_bits);
  for (std::size_t w = 0; w < words.size(); ++w) words[w] = random_word(r.seed, r.stream, index, w);
  return random_input{words};
}

bool holds(const format& f, double x) noexcept {
  const unpacked exact = decode(x);
  return exact.kind == number_class::nan || encode(f, exact).flags == status::none;
}

bool holds(const format& container, const format& f) noexcept {
  if (container == f) return true;
  return container.has_subnormals() && container.fraction_bits >= f.fraction_bits &&
         container.min_quantum_exponent() <= f.min_quantum_exponent() &&
         to_double(container, container.max_finite_code()) >= to_double(f, f.last_number_code()) &&
         container.has_sign >= f.has_sign && container.has_negative_zero() >= f.has_negative_zero() &&
         container.has_infinity() >= f.has_infinity() && container.has_nan() >= f.has_nan();
}

void expect_holds(const numbers& out, const format& f, const std::string& name) {
  if (!holds(out.format, f))
    refuse(fmt::format("{} does not hold every number of {}: convert to a wider type first, or use encode", out.type,
                       name));
}

void expect_output(const array_view& out, const std::vector<std::ptrdiff_t>& shape) {
  if (out.shape != shape)
    refuse(fmt::format("out: its shape is {}, that of the result {}", shape_text(out.shape), shape_text(shape)));
  if (!out.writable) refuse("out: the array is read-only");
  if (may_overlap_itself(out)) refuse("out: several elements of the array are in one place; pass a copy");
}

void for_blocks(std::size_t size, const std::function<void(std::size_t begin, std::size_t count)>& work) {
  const std::size_t blocks = (size + block_elements - 1) / block_elements;
  const auto block = [&](std::size_t i) {
    const std::size_t begin = i * block_elements;
    work(begin, std::min(block_elements, size - begin));
  };
  constexpr std::size_t worth_threads = 16;
  if (blocks >= worth_threads) return tbb::parallel_for(std::size_t{0}, blocks, block);
  for (std::size_t i = 0; i < blocks; ++i) block(i);
}

void through_copy_if(bool needed, array_view& out, const std::function<void()>& work) {
  if (!needed) return work();
  array_view place = out;
  std::vector<double> memory(out.size() * out.bytes / sizeof(double) + 1);
  out.data = reinterpret_cast<std::byte*>(memory.data());
  out.swapped = false;
  auto step = static_cast<std::ptrdiff_t>(out.bytes);
  for (std::size_t d = out.shape.size(); d-- > 0; step *= out.shape[d]) out.strides[d] = step;
  array_view made = out;
  work();
  flatten(std::array{&made, &place}, false);
  for_blocks(made.size(), [&](std::size_t begin, std::size_t n) {
    alignas(64) block_buffer buffer;
    gather(made, begin, n, buffer.data());
    scatter(place, begin, n, buffer.data());
  });
}

code_span codes_at(void* codes, std::size_t bytes, std::size_t count) noexcept {
  if (bytes == 1) return std::span{static_cast<std::uint8_t*>(codes), count};
  if (bytes == 2) return std::span{static_cast<std::uint16_t*>(codes), count};
  return std::span{static_cast<std::uint32_t*>(codes), count};
}
const_code_span codes_at(const void* codes, std::size_t bytes, std::size_t count) noexcept {
  if (bytes == 1) return std::span{static_cast<const std::uint8_t*>(codes), count};
  if (bytes == 2) return std::span{static_cast<const std::uint16_t*>(codes), count};
  return std::span{static_cast<const std::uint32_t*>(codes), count};
}

void put_numbers(const format& of, const_code_span codes, const format& to, std::size_t bytes, void* out,
                 unsigned threads) {
  if (to == binary64) return decode_array(of, codes, std::span{static_cast<double*>(out), codes.size()}, threads);
  if (to == binary32) return decode_array(of, codes, std::span{static_cast<float*>(out), codes.size()}, threads);
  recode_array(to, codes_at(out, bytes, codes.size()), of, codes, {.threads = threads});
}

}  // namespace ulp::python
