// The parts of the runs' bindings.
#ifndef ULP_PYTHON_RUNS_HPP
#define ULP_PYTHON_RUNS_HPP

#include <pybind11/pybind11.h>

namespace ulp::python {

// Without the interpreter's lock.
template <typename Work>
auto unlocked(Work work) {
  const pybind11::gil_scoped_release released;
  return work();
}

void bind_run_precision(pybind11::module_& module);
void bind_run_reading(pybind11::module_& module);
void bind_run_following(pybind11::module_& module);
void bind_scaler(pybind11::module_& module);

}  // namespace ulp::python

#endif
