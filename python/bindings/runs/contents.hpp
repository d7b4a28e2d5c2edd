// What is read of the steps of a run, as columns.
#ifndef ULP_PYTHON_RUNS_CONTENTS_HPP
#define ULP_PYTHON_RUNS_CONTENTS_HPP

#include <pybind11/pybind11.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/io/source/source.hpp>
#include <ulp/model/replay/scenario.hpp>
#include <vector>

#include "columns.hpp"

namespace ulp::python {

// Columns under fixed names, which are there without rows too.
class columns {
 public:
  columns(std::initializer_list<const char*> names) : names_(names), columns_(names.size()) {}

  void add(std::initializer_list<plain_value> row);
  [[nodiscard]] pybind11::dict arrays();  // afterwards they are empty

 private:
  std::vector<const char*> names_;
  std::vector<growing_column> columns_;
};

// Cells of rows by their plain types: there are many.
struct cells {
  std::vector<std::int64_t> row;
  std::vector<std::int8_t> sign;
  std::vector<std::int16_t> exponent;
  std::vector<std::int8_t> slot;
  std::vector<std::int64_t> count;

  void add(std::int64_t at, const cell_table& table);
  [[nodiscard]] pybind11::dict arrays();
};

// How much, each with what is before it.
enum class depth : std::uint8_t { head, steps, rows, cells };
[[nodiscard]] const char* name_of(depth what);
[[nodiscard]] depth depth_of(const std::string& name);  // throws std::invalid_argument

class contents {
 public:
  contents();
  void add(const step& now, const std::vector<tensor_info>& tensors, const selection& selected, depth what);
  // The columns "steps", "rows", "cells" and "buckets", as far as asked; afterwards it is empty.
  void put(pybind11::dict& into, depth what);

 private:
  columns steps_;
  columns rows_;
  columns buckets_;
  cells cells_;
  std::int64_t row_ = 0;
};

// The inputs, bytes of their paths, with the keywords of `function`, of which none is left.
[[nodiscard]] run_text opened_as(const pybind11::list& inputs, const pybind11::dict& options, const char* function);

// Without what nobody said of it.
[[nodiscard]] source_options as_recorded(const run_text& run);

[[nodiscard]] pybind11::dict tensors_of(const std::vector<tensor_info>& all, const selection& selected);

}  // namespace ulp::python

#endif
