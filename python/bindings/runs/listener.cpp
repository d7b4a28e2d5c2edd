#include "listener.hpp"

#include <fmt/format.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <ulp/ask/questions/scenario_text.hpp>
#include <ulp/io/bytes/printable.hpp>

namespace ulp::python {

void note_keeper::note(const std::string& any) {
  std::string line = printable(any);
  if (std::ranges::find(notes_, line) == notes_.end()) notes_.push_back(std::move(line));
}

void note_keeper::configured(const configuration& by) {
  for (const std::string& line : configuration_notes(by)) note(line);
}

void note_keeper::begin(const std::string& /*unit*/, std::uint64_t /*total*/) { advance(); }

void note_keeper::advance() {
  const auto now = std::chrono::steady_clock::now();
  if (now - looked_ < std::chrono::milliseconds(50)) return;
  looked_ = now;
  const pybind11::gil_scoped_acquire locked;
  if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
}

}  // namespace ulp::python
