#include "module.hpp"

#include <exception>
#include <stdexcept>
#include <ulp/io/bytes/error.hpp>
#include <ulp/io/bytes/printable.hpp>

namespace {

// Raises the command line's message as a ValueError, printable as there.
void translate(std::exception_ptr problem) {
  try {
    if (problem) std::rethrow_exception(problem);
  } catch (const ulp::input_error& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const std::invalid_argument& error) {
    PyErr_SetString(PyExc_ValueError, ulp::printable(error.what()).c_str());
  }
}

}  // namespace

PYBIND11_MODULE(_runs, module) {
  module.doc() = "Files, replays and precision, compiled; the package's own functions document them.";
  module.attr("__version__") = ULP_VERSION;
  pybind11::register_local_exception_translator(&translate);
  ulp::python::bind_following(module);
  ulp::python::bind_precision(module);
  ulp::python::bind_questions(module);
  ulp::python::bind_reading(module);
  ulp::python::bind_scaler(module);
}
