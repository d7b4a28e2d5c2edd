// The parts of the runs' bindings.
#ifndef ULP_PYTHON_RUNS_HPP
#define ULP_PYTHON_RUNS_HPP

#include <pybind11/pybind11.h>

namespace ulp::python {

void bind_run_reading(pybind11::module_& module);
void bind_run_following(pybind11::module_& module);
void bind_scaler(pybind11::module_& module);

}  // namespace ulp::python

#endif
