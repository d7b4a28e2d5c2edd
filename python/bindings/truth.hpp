// Options that are on or off.
#ifndef ULP_PYTHON_BINDINGS_TRUTH_HPP
#define ULP_PYTHON_BINDINGS_TRUTH_HPP

#include <pybind11/pybind11.h>

#include <optional>

namespace ulp::python {

// Of True, False and what is equal to one of them, such as numpy's; nullopt for anything else, of which Python would make
// True.
[[nodiscard]] inline std::optional<bool> truth_of(const pybind11::handle& value) {
  for (PyObject* const known : {Py_True, Py_False}) {
    const int equal = PyObject_RichCompareBool(value.ptr(), known, Py_EQ);
    if (equal < 0) PyErr_Clear();  // arrays of several
    if (equal > 0) return known == Py_True;
  }
  return std::nullopt;
}

}  // namespace ulp::python

#endif
