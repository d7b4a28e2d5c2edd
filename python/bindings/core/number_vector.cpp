#include "number_vector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>

namespace ulp::python {

namespace py = pybind11;

number_vector::number_vector(const py::tuple& array, const char* argument, const std::optional<std::string>& in)
    : x_(numbers_of(array)), name_(argument) {
  if (x_.view.shape.size() != 1)
    throw std::invalid_argument(fmt::format("{}: has {} dimensions, not 1", argument, x_.view.shape.size()));
  if (!x_.view.is_span()) {
    memory_.resize(size() * x_.view.bytes / sizeof(double) + 1);
    if (size() != 0) gather(x_.view, 0, size(), memory_.data());
    x_.view.data = reinterpret_cast<std::byte*>(memory_.data());
  }
  if (in) encode_as(array_format_named(*in), *in);
}

number_span number_vector::span() const {
  if (x_.format == binary64) return std::span{reinterpret_cast<const double*>(x_.view.data), size()};
  return {x_.format, codes_at(static_cast<const void*>(x_.view.data), x_.view.bytes, size())};
}

std::vector<std::uint32_t> number_vector::codes() const {
  std::vector<std::uint32_t> all(size());
  const auto copy = [&](auto word) {
    const auto* const from = reinterpret_cast<const decltype(word)*>(x_.view.data);
    std::copy(from, from + size(), all.begin());
  };
  switch (x_.view.bytes) {
    case 1: copy(std::uint8_t{}); break;
    case 2: copy(std::uint16_t{}); break;
    default: copy(std::uint32_t{}); break;
  }
  return all;
}

void number_vector::encode_as(const format& f, const std::string& called) {
  if (f == x_.format) return;
  std::vector<double> values(size());
  if (x_.format == binary64)
    std::copy_n(reinterpret_cast<const double*>(x_.view.data), size(), values.data());
  else
    decode_array(x_.format, codes_at(static_cast<const void*>(x_.view.data), x_.view.bytes, size()), values);
  std::vector<double> memory(size() / 2 + 1);
  const code_span codes = codes_at(static_cast<void*>(memory.data()), 4, size());
  for (std::size_t i = 0; i < size(); ++i)
    if (!holds(f, values[i]))
      throw std::invalid_argument(
          fmt::format("{}: element {}, {}, is not a number of {}: quantize it first", name_, i, values[i], called));
  encode_array(f, values, codes);
  memory_ = std::move(memory);
  x_.view.data = reinterpret_cast<std::byte*>(memory_.data());
  x_.view.bytes = 4;
  x_.format = f;
}

std::optional<format> optional_format(const std::optional<std::string>& name) {
  if (!name) return {};
  return format_named(*name);
}

}  // namespace ulp::python
