#include "contents.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "options.hpp"

namespace ulp::python {
namespace {

namespace py = pybind11;

constexpr std::array depth_names{"head", "steps", "rows", "cells"};

plain_value count(std::uint64_t n) { return static_cast<std::int64_t>(n); }

plain_value flag(const std::optional<bool>& b) { return b ? plain_value{*b} : plain_value{}; }

plain_value known(bool is_known, const plain_value& value) { return is_known ? value : plain_value{}; }

std::string_view name_of(sum_quality quality) {
  switch (quality) {
    case sum_quality::exact: return "exact";
    case sum_quality::reported: return "reported";
    case sum_quality::estimated: return "estimated";
  }
  return "unknown";
}

columns step_columns() {
  return {"step",      "attempt", "microbatch", "loss",        "grad_norm",    "lr",   "scale",
          "found_inf", "applied", "max_abs",    "max_abs_low", "max_abs_high", "ranks"};
}

void add_step(columns& to, const step& s) {
  const max_abs_bounds bounds = s.bounds.value_or(max_abs_bounds{not_known, not_known});
  to.add({s.key.step, std::int64_t{s.key.attempt}, std::int64_t{s.key.microbatch}, s.scalars.loss, s.scalars.grad_norm,
          s.scalars.learning_rate, s.scalars.loss_scale, flag(s.scalars.found_inf), flag(s.scalars.applied),
          s.max_abs.value_or(not_known), s.max_abs.value_or(bounds.low), s.max_abs.value_or(bounds.high),
          count(s.ranks.size())});
}

columns row_columns() {
  return {"step",    "attempt", "microbatch", "tensor",       "index",        "type", "factor",
          "numel",   "zero",    "maybe_zero", "positive_inf", "negative_inf", "inf",  "nan",
          "max_abs", "min_abs", "l1",         "square_sum",   "sums"};
}

void add_row(columns& to, const step_key& key, const tensor_row& row, const tensor_info& info) {
  const cell_table& t = row.table;
  const value_sum magnitudes = magnitudes_sum(t);
  const value_sum squares = squares_sum(t);
  to.add({key.step, std::int64_t{key.attempt}, std::int64_t{key.microbatch}, std::string_view{info.name},
          std::int64_t{row.tensor}, to_string(row.type), row.factor, count(t.numel), count(t.zeros),
          count(t.maybe_zeros), count(t.positive_infinities), count(t.negative_infinities), count(t.infinities()),
          count(t.nans), t.max_abs, t.min_abs, magnitudes.value, squares.value,
          name_of(std::max(magnitudes.quality, squares.quality))});
}

}  // namespace

void columns::add(std::initializer_list<plain_value> row) {
  std::size_t i = 0;
  for (const plain_value& value : row) columns_[i++].put(value);
}

py::dict columns::arrays() {
  py::dict made;
  for (std::size_t i = 0; i < names_.size(); ++i) made[names_[i]] = columns_[i].array();
  return made;
}

void cells::add(std::int64_t at, const cell_table& table) {
  for (const cell& c : table.cells) {
    row.push_back(at);
    sign.push_back(c.sign == cell_sign::positive ? 1 : c.sign == cell_sign::negative ? -1 : 0);
    exponent.push_back(c.exponent);
    slot.push_back(c.slot == whole_binade ? std::int8_t{-1} : static_cast<std::int8_t>(c.slot));
    count.push_back(static_cast<std::int64_t>(c.count));
  }
}

py::dict cells::arrays() {
  py::dict made;
  made["row"] = array_of(std::exchange(row, {}));
  made["sign"] = array_of(std::exchange(sign, {}));
  made["exponent"] = array_of(std::exchange(exponent, {}));
  made["slot"] = array_of(std::exchange(slot, {}));
  made["count"] = array_of(std::exchange(count, {}));
  return made;
}

const char* name_of(depth what) { return depth_names[static_cast<std::size_t>(what)]; }

depth depth_of(const std::string& name) {
  const auto* const found = std::ranges::find(depth_names, name);
  if (found == depth_names.end()) throw std::invalid_argument(name + ": none of head, steps, rows, cells");
  return static_cast<depth>(found - depth_names.begin());
}

contents::contents() : steps_(step_columns()), rows_(row_columns()), buckets_{"row", "low", "high", "count"} {}

void contents::add(const step& now, const std::vector<tensor_info>& tensors, const selection& selected, depth what) {
  add_step(steps_, now);
  for (const tensor_row& t : now.tensors) {
    const tensor_info& info = tensors[t.tensor];
    if (what < depth::rows || !selected.takes(info)) continue;
    add_row(rows_, now.key, t, info);
    if (what == depth::cells) {
      cells_.add(row_, t.table);
      for (const bucket& b : t.table.buckets) buckets_.add({row_, b.low, b.high, count(b.count)});
    }
    ++row_;
  }
}

void contents::put(py::dict& into, depth what) {
  into["steps"] = steps_.arrays();
  if (what >= depth::rows) into["rows"] = rows_.arrays();
  if (what < depth::cells) return;
  into["cells"] = cells_.arrays();
  into["buckets"] = buckets_.arrays();
}

run_text opened_as(const py::list& inputs, const py::dict& options, const char* function) {
  keywords given(function, options);
  run_text run;
  run.attempts = "all";
  for (const py::handle input : inputs) run.inputs.push_back(input.cast<std::string>());
  given.take(options_of(run));
  given.refuse_others();
  return run;
}

source_options as_recorded(const run_text& run) {
  source_options how = run.how_to_read();
  how.infer = false;
  return how;
}

py::dict tensors_of(const std::vector<tensor_info>& all, const selection& selected) {
  columns made{"tensor", "index", "kind", "role", "through", "numel"};
  py::list shapes;
  std::int64_t index = 0;
  for (const tensor_info& t : all) {
    const std::int64_t at = index++;
    if (!selected.takes(t)) continue;
    made.add({std::string_view{t.name}, at, to_string(t.kind), to_string(t.role),
              known(!t.through.empty(), std::string_view{t.through}), known(t.numel > 0, count(t.numel))});
    shapes.append(py::tuple(py::cast(t.shape)));
  }
  py::dict arrays = made.arrays();
  py::array column(py::dtype("O"), std::vector<py::ssize_t>{static_cast<py::ssize_t>(shapes.size())});
  for (py::size_t i = 0; i < shapes.size(); ++i) column.attr("__setitem__")(i, shapes[i]);
  arrays["shape"] = column;
  return arrays;
}

}  // namespace ulp::python
