#include "module.hpp"

PYBIND11_MODULE(_core, module) {
  module.doc() = "The compiled part of ulpscope; its names are those of the package.";
  module.attr("__version__") = ULP_VERSION;
  ulp::python::bind_arrays(module);
  ulp::python::bind_counting(module);
  ulp::python::bind_optim(module);
  ulp::python::bind_runs(module);
}
