// The parts of the extension module ulpscope._runs: everything that reads files. Each adds its functions and classes to the module.
#ifndef ULP_PYTHON_RUNS_MODULE_HPP
#define ULP_PYTHON_RUNS_MODULE_HPP

#include <pybind11/pybind11.h>

namespace ulp::python {

// Without the interpreter's lock.
template <typename Work>
auto unlocked(Work work) {
  const pybind11::gil_scoped_release released;
  return work();
}

void bind_following(pybind11::module_& module);
void bind_precision(pybind11::module_& module);
void bind_questions(pybind11::module_& module);
void bind_reading(pybind11::module_& module);
void bind_scaler(pybind11::module_& module);

}  // namespace ulp::python

#endif
