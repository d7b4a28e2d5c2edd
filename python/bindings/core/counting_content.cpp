// What is written of a step's tables, as bytes; made beside Python where kernels counted.
#include <pybind11/stl.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <ulp/io/bytes/table_bytes.hpp>

#include "counting.hpp"
#include "worker.hpp"

namespace py = pybind11;

namespace ulp::python {
namespace {

// What a summary record has besides the table, by tensor.
struct summary_columns {
  std::vector<std::uint32_t> tensors;
  std::vector<int> types;
  std::vector<double> factors;
};

std::string summaries_of(const tables& of, const summary_columns& by, const std::vector<std::uint16_t>& parts) {
  std::string records;
  for (std::size_t i = 0; i < of.size(); ++i) {
    tensor_row& row = of[i]->row;
    const dtype own = std::exchange(row.type, static_cast<dtype>(by.types.at(i)));
    row.factor = by.factors.at(i);
    const std::uint16_t both = parts.empty() ? std::uint16_t{0} : parts.at(i);
    row.parts = {static_cast<std::uint8_t>(both & 255), static_cast<std::uint8_t>(both >> 8)};
    io::append_summary(records, row, by.tensors.at(i));
    row.type = own;
  }
  return records;
}

py::bytes summaries(const tables& of, const summary_columns& by, const std::vector<std::uint16_t>& parts) {
  std::string records;
  {
    const py::gil_scoped_release released;
    records = summaries_of(of, by, parts);
  }
  return {records};
}

std::string payloads_of(const tables& of) {
  std::string bytes;
  for (const auto& t : of) io::append_payload(bytes, t->row);
  return bytes;
}

py::bytes payloads(const tables& of) {
  std::string bytes;
  {
    const py::gil_scoped_release released;
    bytes = payloads_of(of);
  }
  return {bytes};
}

using places = std::vector<std::vector<std::size_t>>;

// Of a step: its compressed payloads; of each group of its tables, their total, and its payload.
struct written {
  std::string cells;
  tables totals;
  std::vector<std::string> total_cells;
};
written written_of(const tables& of, const places& groups) {
  written all{.cells = io::compressed_payloads(payloads_of(of)), .totals = {}, .total_cells = {}};
  for (const std::vector<std::size_t>& group : groups) {
    tables some;
    some.reserve(group.size());
    for (const std::size_t at : group) some.push_back(of.at(at));
    const tables total{all.totals.emplace_back(merged(some))};
    all.total_cells.push_back(io::compressed_payloads(payloads_of(total)));
  }
  return all;
}

// What kernels write of a step on a device, made into tables and what is written of them as soon as it has come.
class arriving {
 public:
  // An address of a function that returns 0, or 0 for none; and its argument, another address.
  using call = std::pair<std::uintptr_t, std::uintptr_t>;
  // enter: makes the device's context that of the thread; wait: for what the device writes; exchange_mode: address of CUDA's
  // cuThreadExchangeStreamCaptureMode, as waiting would end the capture of a graph in another thread; or 0.
  arriving(worker& by, call enter, std::uintptr_t exchange_mode, call wait, std::uintptr_t headers,
           std::uintptr_t words, kinds of, bool with_sums, std::optional<places> groups)
      : its_(std::make_shared<result>()) {
    its_->groups = std::move(groups);
    its_->done = by.later([its = its_, enter, exchange_mode, wait, headers, words, of = std::move(of), with_sums] {
      const auto called = [](std::uintptr_t function, void* argument) {
        return function == 0 ? 0 : reinterpret_cast<int (*)(void*)>(function)(argument);
      };
      called(enter.first, reinterpret_cast<void*>(enter.second));
      int mode = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED; it becomes what the mode was
      called(exchange_mode, &mode);
      const int code = called(wait.first, reinterpret_cast<void*>(wait.second));
      called(exchange_mode, &mode);
      if (code != 0) throw std::runtime_error("the device reports error " + std::to_string(code));
      its->of = tables_at(headers, words, of, with_sums);
      if (its->groups) its->content = written_of(its->of, *its->groups);
    });
  }
  [[nodiscard]] bool is_done() const {
    return its_->done.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  // Waits.
  [[nodiscard]] const tables& of() const {
    // Interrupts are seen meanwhile.
    for (bool is_done = false; !is_done;) {
      {
        const py::gil_scoped_release released;
        is_done = its_->done.wait_for(std::chrono::milliseconds(50)) == std::future_status::ready;
      }
      if (!is_done && PyErr_CheckSignals() != 0) throw py::error_already_set();
    }
    its_->done.get();
    return its_->of;
  }
  // Of these groups; nullptr where they are others than were asked for.
  [[nodiscard]] const written* content(const places& groups) const {
    return its_->groups && groups == *its_->groups ? &its_->content : nullptr;
  }

 private:
  struct result {
    std::optional<places> groups;
    tables of;
    written content;
    std::shared_future<void> done;
  };
  std::shared_ptr<result> its_;
};

// What is written of a step: summaries and compressed payloads of its tables; of each group of them, its table, and the same of it.
// made: what has arrived of the same tables, or None.
py::tuple content(const tables& of, const summary_columns& by, const std::vector<std::uint16_t>& parts,
                  const places& groups, const std::vector<double>& factors, const arriving* made) {
  written own;
  const written* its = made == nullptr ? nullptr : made->content(groups);
  std::string records;
  std::vector<std::string> group_records;
  {
    const py::gil_scoped_release released;
    records = summaries_of(of, by, parts);
    if (its == nullptr) its = &(own = written_of(of, groups));
    for (std::size_t i = 0; i < groups.size(); ++i)
      group_records.push_back(
          summaries_of({its->totals[i]}, {.tensors = {0}, .types = {0}, .factors = {factors.at(i)}}, {}));
  }
  py::list of_groups;
  for (std::size_t i = 0; i < groups.size(); ++i)
    of_groups.append(py::make_tuple(its->totals[i], py::bytes(group_records[i]), py::bytes(its->total_cells[i])));
  return py::make_tuple(py::bytes(records), py::bytes(its->cells), of_groups);
}

}  // namespace

void bind_content(py::module_& counting) {
  counting.def("forget_threads", &forget_threads, "In a fork.");
  py::class_<worker>(counting, "Worker", "A thread that never takes the interpreter's lock.").def(py::init<>());
  py::class_<arriving>(counting, "Arriving",
                       "The same, and what is written of them, made beside Python once it is there.")
      .def(py::init<worker&, arriving::call, std::uintptr_t, arriving::call, std::uintptr_t, std::uintptr_t, kinds,
                    bool, std::optional<places>>(),
           py::arg("by"), py::arg("enter"), py::arg("exchange_mode"), py::arg("wait"), py::arg("headers"),
           py::arg("words"), py::arg("kinds"), py::arg("with_sums"), py::arg("groups") = std::nullopt)
      .def("is_done", &arriving::is_done)
      .def("tables", &arriving::of);
  py::class_<summary_columns>(counting, "Columns", "What summary records have besides tables.")
      .def(py::init<std::vector<std::uint32_t>, std::vector<int>, std::vector<double>>(), py::arg("tensors"),
           py::arg("types"), py::arg("factors"));
  counting.def("summaries", &summaries, py::arg("tables"), py::arg("columns"), py::arg("parts"),
               "The summary records, one after the other.");
  counting.def("payloads", &payloads, "The payloads, one after the other.");
  counting.def("content", &content, py::arg("tables"), py::arg("columns"), py::arg("parts"), py::arg("groups"),
               py::arg("factors"), py::arg("made") = nullptr, "As written_of in _counting/tables.py.");
}

}  // namespace ulp::python
