// A run that is opened, and read as far as somebody asks.
#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <string_view>
#include <ulp/ask/reading/reading.hpp>

#include "contents.hpp"
#include "listener.hpp"
#include "module.hpp"

namespace ulp::python {
namespace {

namespace py = pybind11;

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
  made["read"] = text_of(name_of(what));
  made["step_count"] =
      run.steps.empty() && run.every == 1 ? py::object(py::int_(from->step_count())) : py::object(py::none());
  made["notes"] = heard.notes();
  return made;
}

}  // namespace

void bind_reading(py::module_& module) { module.def("run_read", &read_run); }

}  // namespace ulp::python
