#include "module.hpp"

void ulp::python::bind_counting([[maybe_unused]] pybind11::module_& module) {}
