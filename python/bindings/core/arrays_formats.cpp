// What a format is, as Python sees it.
#include <cmath>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/names.hpp>

#include "array_numbers.hpp"
#include "module.hpp"

namespace ulp::python {
namespace {

namespace py = pybind11;

py::object number_if(bool there, const format& f, std::uint64_t code) {
  return there ? py::object(py::float_(to_double(f, code))) : py::object(py::none());
}

py::dict facts_of(const std::string& name) {
  using namespace py::literals;
  const format f = format_named(name);
  const std::string canonical = to_string(f);
  const catalog_entry* const row = find_entry(canonical);
  return py::dict("name"_a = canonical, "bits"_a = f.width(), "exponent_bits"_a = f.exponent_bits,
                  "fraction_bits"_a = f.fraction_bits, "bias"_a = f.bias, "emin"_a = f.emin(), "emax"_a = f.emax(),
                  "has_sign"_a = f.has_sign, "has_zero"_a = f.has_zero(), "has_subnormals"_a = f.has_subnormals(),
                  "has_infinity"_a = f.has_infinity(), "has_nan"_a = f.has_nan(),
                  "max"_a = to_double(f, f.max_finite_code()), "smallest_normal"_a = to_double(f, f.min_normal_code()),
                  "smallest_subnormal"_a = number_if(f.has_subnormals(), f, f.min_positive_code()),
                  "max_code"_a = f.max_finite_code(),
                  "infinity_code"_a = f.has_infinity() ? py::object(py::int_(f.infinity_code())) : py::none(),
                  "nan_code"_a = f.has_nan() ? py::object(py::int_(f.nan_code())) : py::none(),
                  "source"_a = row == nullptr ? "" : std::string{row->source},
                  "note"_a = row == nullptr ? "" : std::string{row->note});
}

py::list catalogue() {
  py::list names;
  for (const catalog_entry& row : format_catalog()) names.append(std::string{row.name});
  return names;
}

bool holds_all(const std::string& container, const std::string& format) {
  return holds(format_named(container), format_named(format));
}

bool is_float32(double x) { return holds(binary32, x); }

}  // namespace

void bind_formats(py::module_& module) {
  module.def("format_facts", facts_of);
  module.def("formats", catalogue);
  module.def("holds", holds_all);
  module.def("is_float32", is_float32);
  module.def("note_on_name", [](const std::string& name) { return note_on_name(name); });
}

}  // namespace ulp::python
