// What is in a run: its steps, tensors, rows and cells as columns.
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <ulp/report/partial_reading.hpp>
#include <utility>
#include <vector>

#include "runs.hpp"
#include "runs_columns.hpp"
#include "runs_listener.hpp"
#include "runs_options.hpp"

namespace ulp::python {
namespace {

namespace py = pybind11;

// Columns under fixed names, which are there without rows too.
class columns {
 public:
  columns(std::initializer_list<const char*> names) : names_(names), columns_(names.size()) {}

  void add(std::initializer_list<plain_value> row) {
    std::size_t i = 0;
    for (const plain_value& value : row) columns_[i++].put(value);
  }
  [[nodiscard]] py::dict arrays() {
    py::dict made;
    for (std::size_t i = 0; i < names_.size(); ++i) made[names_[i]] = columns_[i].array();
    return made;
  }

 private:
  std::vector<const char*> names_;
  std::vector<growing_column> columns_;
};

plain_value count(std::uint64_t n) { return static_cast<std::int64_t>(n); }

plain_value flag(const std::optional<bool>& b) { return b ? plain_value{*b} : plain_value{}; }

plain_value known(bool is_known, const plain_value& value) { return is_known ? value : plain_value{}; }

std::string_view name_of(source_kind kind) {
  switch (kind) {
    case source_kind::recording: return "recording";
    case source_kind::dump: return "dump";
    case source_kind::histogram_csv: return "histogram_csv";
    case source_kind::event_files: return "event_files";
    case source_kind::step_log: return "step_log";
    case source_kind::training_log: return "training_log";
  }
  return "unknown";
}

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

// Cells and buckets of a row by their plain types: there are many.
struct cells {
  std::vector<std::int64_t> row;
  std::vector<std::int8_t> sign;
  std::vector<std::int16_t> exponent;
  std::vector<std::int8_t> slot;
  std::vector<std::int64_t> count;

  void add(std::int64_t at, const cell_table& table) {
    for (const cell& c : table.cells) {
      row.push_back(at);
      sign.push_back(c.sign == cell_sign::positive ? 1 : c.sign == cell_sign::negative ? -1 : 0);
      exponent.push_back(c.exponent);
      slot.push_back(c.slot == whole_binade ? std::int8_t{-1} : static_cast<std::int8_t>(c.slot));
      count.push_back(static_cast<std::int64_t>(c.count));
    }
  }
  [[nodiscard]] py::dict arrays() {
    py::dict made;
    made["row"] = array_of(std::move(row));
    made["sign"] = array_of(std::move(sign));
    made["exponent"] = array_of(std::move(exponent));
    made["slot"] = array_of(std::move(slot));
    made["count"] = array_of(std::move(count));
    return made;
  }
};

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

// What is read of a run, each with what is before it.
enum class depth : std::uint8_t { head, steps, rows, cells };

constexpr std::array depth_names{"head", "steps", "rows", "cells"};

depth depth_of(const std::string& name) {
  const auto* const found = std::ranges::find(depth_names, name);
  if (found == depth_names.end()) throw std::invalid_argument(name + ": none of head, steps, rows, cells");
  return static_cast<depth>(found - depth_names.begin());
}

// The columns that are read of steps and their tensors.
struct contents {
  columns steps = step_columns();
  columns rows = row_columns();
  columns buckets{"row", "low", "high", "count"};
  cells all;
  std::int64_t row = 0;

  void add(const step& now, const std::vector<tensor_info>& tensors, const selection& selected, depth what) {
    add_step(steps, now);
    for (const tensor_row& t : now.tensors) {
      const tensor_info& info = tensors[t.tensor];
      if (what < depth::rows || !selected.takes(info)) continue;
      add_row(rows, now.key, t, info);
      if (what == depth::cells) {
        all.add(row, t.table);
        for (const bucket& b : t.table.buckets) buckets.add({row, b.low, b.high, count(b.count)});
      }
      ++row;
    }
  }
  void put(py::dict& into, depth what) {
    into["steps"] = steps.arrays();
    if (what < depth::rows) return;
    into["rows"] = rows.arrays();
    if (what < depth::cells) return;
    into["cells"] = all.arrays();
    into["buckets"] = buckets.arrays();
  }
};

// The columns "tensors", "steps", "rows", "cells", "buckets", as far as `name` asks; and "kind", "description", "header", "notes",
// and the number of steps, where it is known and nothing is selected.
py::dict read_run(const py::list& inputs, const py::dict& options, const std::string& name) {
  const run_text run = opened_as(inputs, options, "open");
  depth what = depth_of(name);
  note_keeper heard;
  std::unique_ptr<source> from;
  selection selected;
  contents read;
  {
    const py::gil_scoped_release released;
    selected = run.selected();
    from = open_part_of(run, what <= depth::steps ? run_part::steps : run_part::tables, as_recorded(run), heard);
    // Others say nothing of steps without reading them.
    if (what == depth::steps && from->kind() != source_kind::recording) what = depth::rows;
    step now;
    while (what > depth::head && from->next(now)) {
      heard.advance();
      if (selected.takes(now.key.step)) read.add(now, from->tensors(), selected, what);
    }
  }
  const run_header header = from->header();
  py::dict made;
  made["kind"] = text_of(name_of(from->kind()));
  made["description"] = text_of(from->description());
  py::dict of_run;
  if (!header.run_id.empty()) {
    of_run["run_id"] = text_of(header.run_id);
    of_run["rank"] = header.rank;
    of_run["world"] = header.world;
    of_run["reduction"] = text_of(header.reduction);
    of_run["layout"] = text_of(header.layout);
  }
  made["header"] = of_run;
  made["tensors"] = tensors_of(from->tensors(), selected);
  if (what > depth::head) read.put(made, what);
  made["read"] = text_of(depth_names[static_cast<std::size_t>(what)]);
  made["step_count"] =
      run.steps.empty() && run.every == 1 ? py::object(py::int_(from->step_count())) : py::object(py::none());
  made["notes"] = heard.notes();
  return made;
}

}  // namespace

void bind_run_reading(py::module_& module) { module.def("run_read", &read_run); }

}  // namespace ulp::python
