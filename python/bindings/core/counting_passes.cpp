// What python/ulpscope/_recorder/passes.py takes in place of its own: the same, in hooks that cost a backward pass little.
#include <pybind11/stl.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "counting.hpp"

namespace py = pybind11;

namespace ulp::python {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

// What came since the last backward pass began.
struct calls {
  std::uint64_t now = 0;
  std::optional<std::uint64_t> right;  // what must come before a pass of which the uses are known; none: anything
  std::uint64_t number = 0;
  bool has_pass = false;

  void see(std::uint64_t what) {
    if (has_pass) {
      now = 0;
      has_pass = false;
      ++number;
    }
    now += what;
  }
};

py::object attribute(py::handle of, const char* name) { return py::getattr(of, name); }

std::int64_t version_of(py::handle gradient) {
  static PyObject* const name = PyUnicode_InternFromString("_version");
  const auto version = py::reinterpret_steal<py::object>(PyObject_GetAttr(gradient.ptr(), name));
  if (!version) throw py::error_already_set();
  return version.cast<std::int64_t>();
}

py::object gradient_of(py::handle parameter) {
  static PyObject* const name = PyUnicode_InternFromString("grad");
  auto gradient = py::reinterpret_steal<py::object>(PyObject_GetAttr(parameter.ptr(), name));
  if (!gradient) throw py::error_already_set();
  return gradient;
}

// Counts the backward passes that come to a parameter.
class passes {
 public:
  std::pair<int, int> uses;
  bool is_known = true;
  double since_zero;
  std::int64_t ever = 0;

  passes(const py::object& parameter, std::pair<int, int> uses, std::shared_ptr<calls> calls, bool is_open)
      : uses(uses),
        since_zero(gradient_of(parameter).is_none() ? 0 : unknown),
        may_repeat_(is_open && uses.first + uses.second == 1),
        calls_(std::move(calls)),
        parameter_(parameter) {}

  // Before a pass is added to the gradient.
  void see(py::handle gradient, bool is_added) {
    const py::object parameter = parameter_();
    const py::object before = gradient_of(parameter);
    came_ = before.is_none() ? none : version_of(before);
    if (!is_added) return;
    if (before.is_none())
      count(gradient, version_of(gradient));
    else
      count(before, version_of(before) + 1);
  }
  // After it was.
  void added(py::handle parameter) {
    if (!came_) return;
    const py::object gradient = gradient_of(parameter);
    count(gradient, version_of(gradient));
  }
  void lose() {
    came_.reset();
    since_zero = unknown;
  }
  // What is recorded is the sum of the passes that were counted.
  void take(py::handle gradient) {
    const std::int64_t version = version_of(gradient);
    if (came_ && version != *came_) lose();
    version_ = version;
    is_taken_ = true;
  }
  void end() { is_taken_ = is_ended_ = true; }

 private:
  static constexpr std::int64_t none = -1;  // there was no gradient

  void count(py::handle gradient, std::int64_t version) {
    const auto came = std::exchange(came_, std::nullopt);
    ++ever;
    if (came == none)
      since_zero = 1;
    else if (came == version_)
      since_zero += is_ended_ ? unknown : 1;
    else
      since_zero = is_taken_ && !attribute(gradient, "_is_view")().cast<bool>() ? 1 : unknown;
    if (calls_->right && (calls_->now != *calls_->right || (calls_->number == number_ && !may_repeat_)))
      since_zero = unknown;
    number_ = calls_->number;
    calls_->has_pass = true;
    version_ = version;
    is_taken_ = is_ended_ = false;
  }

  bool may_repeat_;
  std::shared_ptr<calls> calls_;
  py::weakref parameter_;
  std::optional<std::uint64_t> number_;  // of the calls before the last pass
  std::optional<std::int64_t> came_;
  std::optional<std::int64_t> version_;
  bool is_taken_ = false;
  bool is_ended_ = false;
};

// A hook that calls this with what it is of: training goes on, whatever happens. Python's own kind of function, which costs least.
template <void (*Call)(passes&, py::handle)>
PyObject* hooked(PyObject* self, PyObject* of) {
  try {
    auto& its = py::handle(self).cast<passes&>();
    try {
      Call(its, of);
    } catch (...) {
      its.lose();
    }
  } catch (...) {
    PyErr_Clear();
  }
  Py_RETURN_NONE;
}
void see(passes& its, py::handle gradient) { its.see(gradient, false); }
void see_added(passes& its, py::handle gradient) { its.see(gradient, true); }
void added(passes& its, py::handle parameter) { its.added(parameter); }

template <void (*Call)(passes&, py::handle)>
py::object hook_of(const py::object& its) {
  static PyMethodDef method{"ulpscope", &hooked<Call>, METH_O, "Counts a backward pass."};
  return py::reinterpret_steal<py::object>(PyCFunction_New(&method, its.ptr()));
}

// As Parts.parts_of for each gradient that there is: how many parts it is a sum of. counted: by parameter, None where nothing is known.
std::vector<std::uint16_t> parts_of(const py::list& counted, const std::vector<py::object>& gradients,
                                    const std::vector<bool>& in_few_bits, bool one_pass, int summed) {
  std::vector<std::uint16_t> all;
  all.reserve(in_few_bits.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i].is_none()) continue;
    std::uint16_t parts = in_few_bits.at(all.size()) ? 1 : 0;
    const py::handle of = counted[i];
    if (parts == 0 && !of.is_none()) {
      auto& its = of.cast<passes&>();
      its.take(gradients[i]);
      if (its.is_known && its.since_zero > 0 && !(one_pass && its.since_zero > 1)) {
        const auto number = [&](int uses) {
          return static_cast<std::uint16_t>(std::min(255.0, uses * its.since_zero * summed));
        };
        parts = static_cast<std::uint16_t>(number(its.uses.second) << 8 | number(its.uses.first));
      }
    }
    all.push_back(parts);
  }
  return all;
}

}  // namespace

void bind_passes(py::module_& counting) {
  py::class_<calls, std::shared_ptr<calls>>(counting, "Calls", "As Calls in _recorder/passes.py.")
      .def(py::init<>())
      .def("see", &calls::see)
      .def_readwrite("now", &calls::now)
      .def_readwrite("right", &calls::right)
      .def_readwrite("number", &calls::number)
      .def_readwrite("has_pass", &calls::has_pass);
  py::class_<passes>(counting, "Passes", "As Counted in _recorder/passes.py.")
      .def(py::init<const py::object&, std::pair<int, int>, std::shared_ptr<calls>, bool>())
      .def_readonly("uses", &passes::uses)
      .def_readwrite("is_known", &passes::is_known)
      .def_property_readonly("since_zero",
                             [](const passes& of) -> py::object {
                               if (std::isnan(of.since_zero)) return py::float_(unknown);
                               return py::int_(static_cast<std::int64_t>(of.since_zero));
                             })
      .def_readonly("ever", &passes::ever)
      .def("take", &passes::take)
      .def("end", &passes::end)
      .def_property_readonly("see", &hook_of<see>)
      .def_property_readonly("see_added", &hook_of<see_added>)
      .def_property_readonly("added", &hook_of<added>);
  counting.def("parts_of", &parts_of, py::arg("counted"), py::arg("gradients"), py::arg("in_few_bits"),
               py::arg("one_pass"), py::arg("summed"), "How many parts each gradient that there is is a sum of.");
}

}  // namespace ulp::python
