// The tables of a step, looked at and merged at once: what one call for each would cost is more than what it does.
#include <pybind11/stl.h>

#include <algorithm>
#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "counting.hpp"
#include "worker.hpp"

namespace py = pybind11;

namespace ulp::python {
namespace {

// Calls look with the tables at these places; with all of them without places.
template <typename Look>
void for_each(const tables& of, const std::optional<std::vector<std::size_t>>& at, Look look) {
  if (!at)
    for (const auto& t : of) look(t);
  else
    for (const std::size_t i : *at) look(of.at(i));
}

// Tables of one step after the other, column by column, merged when some have gathered: merging many costs little more than
// merging two. The merging is done beside Python.
class gathered {
 public:
  // The table i of a step goes to the column columns[i].
  void add(const tables& of, std::vector<std::size_t> columns) {
    if (columns.size() < of.size()) throw std::out_of_range("a column for each table is needed");
    last_ = later([all = all_, of, columns = std::move(columns)] {
      try {
        all->add(of, columns);
      } catch (...) {
        all->has_failed = true;
        throw;
      }
    });
  }
  [[nodiscard]] tables merged_columns() const {
    const py::gil_scoped_release released;
    if (last_.valid()) last_.get();
    if (all_->has_failed) throw std::runtime_error("tables could not be merged");
    tables all;
    all.reserve(all_->waiting.size());
    for (const tables& waiting : all_->waiting) all.push_back(merged(waiting));
    return all;
  }

 private:
  struct state {
    std::vector<tables> waiting;  // by column
    bool has_failed = false;

    void add(const tables& of, const std::vector<std::size_t>& columns) {
      for (std::size_t i = 0; i < of.size(); ++i) {
        const std::size_t at = columns[i];
        if (at >= waiting.size()) waiting.resize(at + 1);
        tables& here = waiting[at];
        if (here.size() >= 64 || (here.size() >= 16 && of[i]->row.table.cells.size() > 16)) here = {merged(here)};
        here.push_back(of[i]);
      }
    }
  };
  std::shared_ptr<state> all_ = std::make_shared<state>();
  std::shared_future<void> last_;
};

}  // namespace

std::shared_ptr<table> merged(const tables& of) {
  auto all = std::make_shared<table>();
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (i == 0)
      all->row.table = of[i]->row.table;
    else
      all->row.table.merge(of[i]->row.table);
  }
  return all;
}

void bind_tables(py::module_& counting) {
  using places = std::optional<std::vector<std::size_t>>;
  py::class_<tables>(counting, "Tables", "The tables of a step: as Tables in _counting/cells.py.")
      .def(py::init([](const py::iterable& of) {
             tables all;
             for (const py::handle t : of) all.push_back(t.cast<std::shared_ptr<table>>());
             return all;
           }),
           py::arg("tables") = py::tuple())
      .def("__len__", [](const tables& of) { return of.size(); })
      .def("__getitem__",
           [](const tables& of, std::ptrdiff_t i) {
             const auto n = static_cast<std::ptrdiff_t>(of.size());
             if (i < -n || i >= n) throw py::index_error();
             return of[static_cast<std::size_t>(i < 0 ? i + n : i)];
           })
      .def("extend", [](tables& of, const tables& more) { of.insert(of.end(), more.begin(), more.end()); })
      .def(
          "are_zero",
          [](const tables& of, const places& at) {
            bool all = true;
            for_each(of, at, [&](const auto& t) { all = all && t->row.table.zeros == t->row.table.numel; });
            return all;
          },
          py::arg("at") = py::none())
      .def(
          "are_finite",
          [](const tables& of, const places& at) {
            bool all = true;
            for_each(of, at, [&](const auto& t) { all = all && t->row.table.nonfinite() == 0; });
            return all;
          },
          py::arg("at") = py::none())
      .def(
          "largest",
          [](const tables& of, const places& at) {
            double most = 0;
            for_each(of, at, [&](const auto& t) { most = std::max(most, t->row.table.max_abs); });
            return most;
          },
          py::arg("at") = py::none())
      .def(
          "squares",
          [](const tables& of, const places& at) {
            double sum = 0;
            for_each(of, at, [&](const auto& t) { sum += squares_sum(t->row.table).value; });
            return sum;
          },
          py::arg("at") = py::none())
      .def(
          "merged",
          [](const tables& of, const places& at) {
            const py::gil_scoped_release released;
            if (!at) return merged(of);
            tables some;
            some.reserve(at->size());
            for_each(of, at, [&](const auto& t) { some.push_back(t); });
            return merged(some);
          },
          py::arg("at") = py::none())
      .def("drop_codes", [](const tables& of) {
        for (const auto& t : of)
          if (t->keeps_codes) {
            t->row.codes = {};
            t->keeps_codes = false;
          }
      });
  py::implicitly_convertible<py::iterable, tables>();
  py::class_<gathered>(counting, "Gathered", "Tables of many steps, by column: as Gathered in _counting/cells.py.")
      .def(py::init<>())
      .def("add", &gathered::add, py::arg("tables"), py::arg("columns"))
      .def("merged", &gathered::merged_columns);
}

}  // namespace ulp::python
