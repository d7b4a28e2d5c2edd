#include "module.hpp"

void ulp::python::bind_runs([[maybe_unused]] pybind11::module_& module) {}
