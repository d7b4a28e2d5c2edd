// What the functions on arrays share: numbers in arrays, and how they are rounded.
#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <ulp/formats/convert.hpp>
#include <ulp/formats/format.hpp>
#include <ulp/formats/rounding.hpp>

#include "array_view.hpp"

namespace ulp::python {

// Elements that are the codes of a format, as those of every floating-point type are.
struct numbers {
  array_view view;
  ulp::format format;
  std::string type;  // what Python calls it
};
// Python passes (array, type) as a tuple, the type by a name of its format. Throws std::invalid_argument where elements
// are of another size than the codes.
numbers numbers_of(const pybind11::tuple& array);
void expect_element_size(const numbers& array);

// Throws std::invalid_argument where integers of so many bytes have no room for codes of a format.
void expect_room_for_codes(std::size_t bytes, const format& f, const std::string& name);
// Throws std::invalid_argument for element i, which is no code.
[[noreturn]] void refuse_code(std::size_t i, std::uint64_t word, const format& f, const std::string& name);

// A format by its name. Throws std::invalid_argument with parse_format's sentence.
format format_named(const std::string& name);
// That, of at most 32 bits, which arrays are rounded to.
format array_format_named(const std::string& name);

// A format and how numbers are rounded to it: what Python's arguments say, in words and None where nothing is said.
// Throws std::invalid_argument that begins with the argument's name.
struct array_conversion {
  std::string name;  // of the format, as typed
  ulp::format to;
  conversion how;

  array_conversion(const std::string& format, const std::string& rounding, const pybind11::object& saturate,
                   const pybind11::object& ftz, bool daz, const pybind11::object& bits, double scale,
                   const random_stream& random);
  [[nodiscard]] bool is_drawn() const noexcept { return how.rounding.direction == direction::stochastic; }
};

// Room for all random bits that a result of doubles can take: from the highest bit of the largest product to the lowest of
// the smallest.
using random_words = std::array<std::uint32_t, 144>;
// The random bits of number `index` of the stream, none where rounding is not stochastic. They may refer to `words`.
[[nodiscard]] random_input random_of(const conversion& how, std::uint64_t index, random_words& words) noexcept;

// Whether every number of `f`, infinity, NaN and -0 among them, is one of `container`.
[[nodiscard]] bool holds(const format& container, const format& f) noexcept;
// The same of one number, whatever the processor's state; NaN is in every format.
[[nodiscard]] bool holds(const format& f, double x) noexcept;
// Throws std::invalid_argument where the type of `out` does not hold the numbers of the format.
void expect_holds(const numbers& out, const format& f, const std::string& name);
// Throws std::invalid_argument where `out` cannot be written, or has another shape.
void expect_output(const array_view& out, const std::vector<std::ptrdiff_t>& shape);

// Elements at a time, of arrays that are not spans.
inline constexpr std::size_t block_elements = 8192;
using block_buffer = std::array<std::byte, block_elements * sizeof(double)>;

// Calls work(begin, count) for blocks that make up 0..size, several at once where that is worth it.
void for_blocks(std::size_t size, const std::function<void(std::size_t begin, std::size_t count)>& work);

// Elements of the view as they are where it is a span, else copied to the buffer.
inline const void* elements(const array_view& view, bool is_span, std::size_t begin, std::size_t count,
                            block_buffer& buffer) {
  if (is_span) return view.data + begin * view.bytes;
  gather(view, begin, count, buffer.data());
  return buffer.data();
}

// Calls work() for `out`, or where `needed` for memory of its own in place of it, which is then copied there.
void through_copy_if(bool needed, array_view& out, const std::function<void()>& work);

// Codes in memory, `bytes` each: 1, 2 or 4.
code_span codes_at(void* codes, std::size_t bytes, std::size_t count) noexcept;
const_code_span codes_at(const void* codes, std::size_t bytes, std::size_t count) noexcept;

// The numbers of codes of `of`, exact wherever `to` holds them, in elements of `bytes`.
void put_numbers(const format& of, const_code_span codes, const format& to, std::size_t bytes, void* out,
                 unsigned threads);

}  // namespace ulp::python
