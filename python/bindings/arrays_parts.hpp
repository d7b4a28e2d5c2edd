// The functions on arrays, by what they do.
#pragma once

#include <pybind11/pybind11.h>

namespace ulp::python {

void bind_array_arithmetic(pybind11::module_& module);
void bind_dot(pybind11::module_& module);
void bind_formats(pybind11::module_& module);

}  // namespace ulp::python
