#include "module.hpp"

void ulp::python::bind_arrays([[maybe_unused]] pybind11::module_& module) {}
