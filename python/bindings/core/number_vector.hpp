// Vectors of numbers one behind the other, as codes of the format that they are asked for in.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <optional>
#include <string>
#include <ulp/formats/dot.hpp>
#include <vector>

#include "array_numbers.hpp"

namespace ulp::python {

class number_vector {
 public:
  // In memory of its own where the array is not one behind the other, or not of the format `in`. Throws std::invalid_argument
  // that begins with the argument's name where it is no vector, or an element is not a number of that format.
  number_vector(const pybind11::tuple& array, const char* argument, const std::optional<std::string>& in);
  [[nodiscard]] std::size_t size() const { return x_.view.size(); }
  [[nodiscard]] const format& own_format() const { return x_.format; }
  [[nodiscard]] number_span span() const;
  // Precondition: of at most 32 bits.
  [[nodiscard]] std::vector<std::uint32_t> codes() const;

 private:
  void encode_as(const format& f, const std::string& called);

  numbers x_;
  std::string name_;
  std::vector<double> memory_;
};

// None where Python passes None.
[[nodiscard]] std::optional<format> optional_format(const std::optional<std::string>& name);

}  // namespace ulp::python
