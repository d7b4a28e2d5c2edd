// The histograms of the recorder: what the parts of ulpscope._core.counting share.
#ifndef ULP_PYTHON_COUNTING_HPP
#define ULP_PYTHON_COUNTING_HPP

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <ulp/model/cells/array_counter.hpp>
#include <ulp/model/cells/step.hpp>
#include <utility>
#include <vector>

namespace ulp::python {

// The histogram of one tensor, or of several merged.
struct table {
  tensor_row row;
  bool keeps_codes = false;  // also where it has none
};

// (address, number of values, type) of an array in memory, aligned or not.
using array_tuple = std::tuple<std::uintptr_t, std::size_t, int>;
// Throws std::invalid_argument for a type that recordings do not know.
[[nodiscard]] value_array array_at(const array_tuple& place);

// Those of a step, one for each tensor.
using tables = std::vector<std::shared_ptr<table>>;

// The histograms of values in memory, aligned or not. Without the interpreter's lock.
[[nodiscard]] tables counted(const std::vector<value_array>& arrays, bool with_sums, int threads);

using kinds = std::vector<std::pair<std::uint64_t, int>>;
// What kernels wrote of tensors of so many values and such types: addresses of their headers and of the words behind these.
[[nodiscard]] tables tables_at(std::uintptr_t headers, std::uintptr_t words, const kinds& of, bool with_sums);

// The table of all values of several; without codes.
[[nodiscard]] std::shared_ptr<table> merged(const tables& of);

void bind_block_tables(pybind11::module_& counting);
void bind_content(pybind11::module_& counting);
void bind_joint(pybind11::module_& counting);
void bind_passes(pybind11::module_& counting);
void bind_tables(pybind11::module_& counting);
void bind_torch(pybind11::module_& counting);

}  // namespace ulp::python

// Lists of Python become such, and what is returned is not copied into one.
PYBIND11_MAKE_OPAQUE(ulp::python::tables);

#endif
