// The parts of the extension module ulpscope._core: formats, arrays, counting. Each adds its functions and classes to the module.
#pragma once

#include <pybind11/pybind11.h>

namespace ulp::python {

void bind_arrays(pybind11::module_& module);
void bind_blocks(pybind11::module_& module);
void bind_counting(pybind11::module_& module);
void bind_optim(pybind11::module_& module);

// Of bind_arrays.
void bind_array_arithmetic(pybind11::module_& module);
void bind_device_rounding(pybind11::module_& module);
void bind_dot(pybind11::module_& module);
void bind_formats(pybind11::module_& module);
void bind_matmul(pybind11::module_& module);

}  // namespace ulp::python
