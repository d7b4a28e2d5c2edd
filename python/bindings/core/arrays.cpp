// Conversions of arrays: quantize, encode, decode, outcomes.
#include <pybind11/stl.h>

#include <atomic>
#include <mutex>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/formats/random_bits.hpp>

#include "array_numbers.hpp"
#include "module.hpp"

namespace ulp::python {
namespace {

namespace py = pybind11;

// Codes of the format, of numbers that lie one behind the other.
void encode_numbers(const array_conversion& c, const numbers& from, const void* x, code_span codes,
                    const conversion& how, conversion_counts* counts) {
  const std::size_t n = codes.size();
  if (from.format == binary32)
    encode_array(c.to, std::span{static_cast<const float*>(x), n}, codes, how, counts);
  else if (from.format == binary64)
    encode_array(c.to, std::span{static_cast<const double*>(x), n}, codes, how, counts);
  else
    recode_array(c.to, codes, from.format, codes_at(x, from.view.bytes, n), how, counts);
}

conversion at_block(const array_conversion& c, std::size_t begin) {
  conversion how = c.how;
  how.random.first += begin;
  how.threads = 1;
  return how;
}

// Whether one call of the library does it.
bool convert_at_once(const array_conversion& c, const numbers& x, const numbers& out) {
  const std::size_t n = x.view.size();
  if (out.format == binary32 && x.format == binary32 && c.to != binary32) {
    round_array(c.to, std::span{reinterpret_cast<const float*>(x.view.data), n},
                std::span{reinterpret_cast<float*>(out.view.data), n}, c.how);
    return true;
  }
  if (out.format != c.to) return false;
  encode_numbers(c, x, x.view.data, codes_at(out.view.data, out.view.bytes, n), c.how, nullptr);
  return true;
}

// To an array that is x itself or does not overlap it.
void convert_apart(const array_conversion& c, numbers x, numbers out) {
  const std::array views{&x.view, &out.view};
  flatten(views, !c.is_drawn());
  const bool x_is_span = x.view.is_span();
  const bool out_is_span = out.view.is_span();
  if (x_is_span && out_is_span && convert_at_once(c, x, out)) return;
  const bool direct = out.format == c.to;
  const std::size_t code_bytes = direct ? out.view.bytes : c.to.width() <= 8 ? 1 : c.to.width() <= 16 ? 2 : 4;
  for_blocks(x.view.size(), [&](std::size_t begin, std::size_t n) {
    alignas(64) block_buffer gathered;
    alignas(64) block_buffer coded;
    alignas(64) block_buffer made;
    const void* const from = elements(x.view, x_is_span, begin, n, gathered);
    const code_span codes = codes_at(coded.data(), code_bytes, n);
    encode_numbers(c, x, from, codes, at_block(c, begin), nullptr);
    if (direct) return scatter(out.view, begin, n, coded.data());
    void* const place = out_is_span ? out.view.data + begin * out.view.bytes : made.data();
    put_numbers(c.to, codes, out.format, out.view.bytes, place, 1);
    if (!out_is_span) scatter(out.view, begin, n, made.data());
  });
}

void convert(const array_conversion& c, const py::tuple& x_array, const py::tuple& out_array) {
  const numbers x = numbers_of(x_array);
  numbers out = numbers_of(out_array);
  expect_output(out.view, x.view.shape);
  expect_holds(out, c.to, c.name);
  if (x.view.size() == 0) return;
  const bool overlaps = may_overlap(x.view, out.view) && !same_elements(x.view, out.view);
  const py::gil_scoped_release release;
  through_copy_if(overlaps, out.view, [&] { convert_apart(c, x, out); });
}

py::dict outcomes(const array_conversion& c, const py::tuple& x_array) {
  numbers x = numbers_of(x_array);
  conversion_counts all;
  if (const std::size_t size = x.view.size(); size != 0) {
    const py::gil_scoped_release release;
    const std::array views{&x.view};
    flatten(views, !c.is_drawn());
    const bool x_is_span = x.view.is_span();
    std::mutex adding;
    for_blocks(size, [&](std::size_t begin, std::size_t n) {
      alignas(64) block_buffer gathered;
      alignas(64) block_buffer coded;
      conversion_counts mine;
      const void* const from = elements(x.view, x_is_span, begin, n, gathered);
      encode_numbers(c, x, from, codes_at(coded.data(), 4, n), at_block(c, begin), &mine);
      const std::lock_guard lock{adding};
      all += mine;
    });
  }
  using namespace py::literals;
  return py::dict("numel"_a = x.view.size(), "zero"_a = all.zeros, "underflow"_a = all.newly_zero,
                  "subnormal"_a = all.subnormal, "inexact"_a = all.inexact, "overflow"_a = all.overflowed,
                  "nan"_a = all.nan);
}

// The bits of an integer element.
std::uint64_t word_at(const void* words, std::size_t bytes, std::size_t i) noexcept {
  switch (bytes) {
    case 1: return static_cast<const std::uint8_t*>(words)[i];
    case 2: return static_cast<const std::uint16_t*>(words)[i];
    case 4: return static_cast<const std::uint32_t*>(words)[i];
    default: return static_cast<const std::uint64_t*>(words)[i];
  }
}

// Throws std::invalid_argument for the first element that is not a code.
void expect_codes(const array_view& codes, bool is_span, const format& f, const std::string& name) {
  if (f.width() == static_cast<int>(8 * codes.bytes)) return;
  std::atomic<std::size_t> first = codes.size();
  for_blocks(codes.size(), [&](std::size_t begin, std::size_t n) {
    alignas(64) block_buffer gathered;
    const void* const words = elements(codes, is_span, begin, n, gathered);
    for (std::size_t i = 0; i < n; ++i) {
      if ((word_at(words, codes.bytes, i) & ~f.code_mask()) == 0) continue;
      std::size_t known = first;
      while (begin + i < known && !first.compare_exchange_weak(known, begin + i)) {
      }
      break;
    }
  });
  const std::size_t i = first;
  if (i == codes.size()) return;
  std::uint64_t word = 0;
  alignas(64) block_buffer gathered;
  word = word_at(elements(codes, false, i, 1, gathered), codes.bytes, 0);
  refuse_code(i, word, f, name);
}

void decode_apart(const format& f, const std::string& name, array_view codes, numbers out) {
  const std::array views{&codes, &out.view};
  flatten(views, false);
  const bool codes_are_span = codes.is_span();
  const bool out_is_span = out.view.is_span();
  expect_codes(codes, codes_are_span, f, name);
  if (codes_are_span && out_is_span && codes.bytes <= 4)
    return put_numbers(f, codes_at(static_cast<const void*>(codes.data), codes.bytes, codes.size()), out.format,
                       out.view.bytes, out.view.data, 0);
  for_blocks(codes.size(), [&](std::size_t begin, std::size_t n) {
    alignas(64) block_buffer gathered;
    alignas(64) block_buffer narrow;
    alignas(64) block_buffer made;
    const void* from = elements(codes, codes_are_span, begin, n, gathered);
    std::size_t bytes = codes.bytes;
    if (bytes == 8) {
      auto* const words = reinterpret_cast<std::uint32_t*>(narrow.data());
      for (std::size_t i = 0; i < n; ++i) words[i] = static_cast<std::uint32_t>(word_at(from, 8, i));
      from = words;
      bytes = 4;
    }
    void* const place = out_is_span ? out.view.data + begin * out.view.bytes : made.data();
    put_numbers(f, codes_at(from, bytes, n), out.format, out.view.bytes, place, 1);
    if (!out_is_span) scatter(out.view, begin, n, made.data());
  });
}

void decode(const std::string& name, const py::object& codes_array, const py::tuple& out_array) {
  const format f = array_format_named(name);
  const array_view codes = view_of(codes_array);
  numbers out = numbers_of(out_array);
  expect_room_for_codes(codes.bytes, f, name);
  expect_output(out.view, codes.shape);
  expect_holds(out, f, name);
  if (codes.size() == 0) return;
  const bool overlaps = may_overlap(codes, out.view) && !same_elements(codes, out.view);
  const py::gil_scoped_release release;
  through_copy_if(overlaps, out.view, [&] { decode_apart(f, name, codes, out); });
}

// One number by the codec, with the random bits given: it, and whether it raised invalid and overflow.
py::tuple round_number(const array_conversion& c, double x, std::uint32_t random) {
  const encoded made = encode(c.to, x, c.how.rounding, random);
  return py::make_tuple(to_double(c.to, made.code), any(made.flags, status::invalid),
                        any(made.flags, status::overflow));
}

}  // namespace

void bind_arrays(py::module_& module) {
  using namespace py::literals;
  py::class_<array_conversion>(module, "Conversion")
      .def(py::init([](const std::string& format, const std::string& rounding, const py::object& saturate,
                       const py::object& ftz, bool daz, const py::object& bits, double scale, std::uint64_t seed,
                       std::uint64_t stream, std::uint64_t index) {
             return array_conversion(format, rounding, saturate, ftz, daz, bits, scale, {seed, stream, index});
           }),
           "format"_a, "rounding"_a, py::kw_only(), "saturate"_a, "ftz"_a, "daz"_a, "bits"_a, "scale"_a, "seed"_a,
           "stream"_a, "index"_a)
      .def_readonly("format", &array_conversion::name)
      .def_property_readonly("bits", [](const array_conversion& c) { return c.to.width(); });
  module.def("convert", convert);
  module.def("array_outcomes", outcomes);
  module.def("decode", decode);
  module.def("round_number", round_number);
  module.def("stream_of", [](const std::string& tensor, std::int64_t step) { return ulp::stream_of(tensor, step); });
  module.def("targets", ulp::targets);
  module.def("force_target", [](const std::string& name) { ulp::force_target(name); });
  bind_array_arithmetic(module);
  bind_dot(module);
  bind_device_rounding(module);
  bind_formats(module);
  bind_matmul(module);
}

}  // namespace ulp::python
