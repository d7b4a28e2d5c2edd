#include "module.hpp"

#include <exception>
#include <stdexcept>
#include <ulp/io/bytes/printable.hpp>

namespace {

// Messages may quote text that a terminal obeys.
void translate(std::exception_ptr problem) {
  try {
    if (problem) std::rethrow_exception(problem);
  } catch (const std::invalid_argument& error) {
    PyErr_SetString(PyExc_ValueError, ulp::printable(error.what()).c_str());
  }
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  module.doc() = "Formats, arrays and counting, compiled; the package's own functions document them.";
  module.attr("__version__") = ULP_VERSION;
  pybind11::register_local_exception_translator(&translate);
  ulp::python::bind_arrays(module);
  ulp::python::bind_blocks(module);
  ulp::python::bind_counting(module);
  ulp::python::bind_optim(module);
}
