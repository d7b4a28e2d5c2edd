// Policies, stepped from Python.
#include <pybind11/stl.h>

#include <algorithm>
#include <string>
#include <ulp/ask/questions/scenario_text.hpp>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/ask/runs/fp8_answer.hpp>
#include <ulp/model/machines/fp8_scaler.hpp>
#include <ulp/model/machines/scaler.hpp>
#include <utility>
#include <variant>
#include <vector>

#include "columns.hpp"
#include "module.hpp"
#include "options.hpp"

namespace ulp::python {
namespace {

namespace py = pybind11;

scaler made_scaler(const std::string& name, const py::dict& start, const py::dict& parameters) {
  keywords given("scaler", parameters);
  scenario_text text{.scaler = name};
  given.take_parameters(parameters_of({name}), text.parameters);
  given.refuse_others();
  keywords state("scaler", start);
  std::vector<std::string> names;
  for (const auto& [key, value] : make_scaler(scaler_named(name)).state()) names.push_back(key);
  state.take_parameters(names, text.start);
  state.refuse_others();
  return scaler_of(text);
}

py::object value_of(const parameter_value& value) {
  if (const auto* const word = std::get_if<std::string>(&value)) return text_of(*word);
  if (const auto* const number = std::get_if<double>(&value)) return py::float_(*number);
  if (const auto* const truth = std::get_if<bool>(&value)) return py::bool_(*truth);
  return py::none();
}

template <typename Policy>
py::dict parameters(const Policy& of) {
  py::dict all;
  for (const scaler_parameter& p : of.parameters()) all[py::str(p.name)] = value_of(p.value);
  return all;
}

py::dict state(const scaler& of) {
  py::dict all;
  for (const auto& [name, value] : of.state()) all[py::str(name)] = value;
  return all;
}

// (skipped, the framework's error, whether it was not told what it needs)
py::tuple update(scaler& of, bool found_inf, double unscaled_norm, double max_abs, double above_edge,
                 double up_to_edge) {
  const scaler_verdict verdict = of.update({found_inf, unscaled_norm, max_abs, above_edge, up_to_edge});
  return py::make_tuple(verdict.skipped, text_of(verdict.error), verdict.lacks_input);
}

fp8_scaler made_fp8_scaler(const std::string& name, const std::string& of, const py::dict& parameters) {
  keywords given("scaler", parameters);
  fp8_question asked{.scaler = name, .format = of};
  std::vector<std::string> names;
  for (const scaler_parameter& p : policy_of(asked).parameters) names.push_back(p.name);
  given.take_parameters(names, asked.parameters);
  given.refuse_others();
  return recipe_of(asked).forward.start;
}

// (scales before, used, after; whether each was held) of steps with these amaxes, float32 numbers.
py::tuple run_amaxes(fp8_scaler& of, const py::array_t<float, py::array::c_style | py::array::forcecast>& amaxes) {
  const std::vector<float> given(amaxes.data(), amaxes.data() + amaxes.size());
  std::vector<double> before(given.size());
  std::vector<double> used(given.size());
  std::vector<double> after(given.size());
  std::vector<std::uint8_t> held(given.size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    const fp8_scales s = of.update(static_cast<double>(given[i]));
    before[i] = s.before;
    used[i] = s.used;
    after[i] = s.after;
    held[i] = s.held ? 1 : 0;
  }
  return py::make_tuple(array_of(std::move(before)), array_of(std::move(used)), array_of(std::move(after)),
                        array_of(std::move(held)));
}

using flags = py::array_t<std::uint8_t, py::array::c_style | py::array::forcecast>;

// (scales after each step, skips, the framework's error); of the steps up to the one that raised it.
py::tuple run(scaler& of, const flags& found_inf) {
  const std::vector<std::uint8_t> found(found_inf.data(), found_inf.data() + found_inf.size());
  std::vector<double> scales(found.size());
  std::vector<std::uint8_t> skips(found.size());
  // With the interpreter's lock, so that no other thread steps it meanwhile.
  const series_totals totals = of.run({.found_inf = found, .max_abs = {}}, scales, skips);
  scales.resize(totals.steps);
  skips.resize(totals.steps);
  return py::make_tuple(array_of(std::move(scales)), array_of(std::move(skips)), text_of(totals.error));
}

}  // namespace

void bind_scaler(py::module_& module) {
  py::class_<scaler>(module, "Scaler")
      .def(py::init(&made_scaler))
      .def("copy", [](const scaler& of) { return scaler(of); })
      .def("name", [](const scaler& of) { return text_of(of.entry().name); })
      .def("scale", &scaler::scale)
      .def("edge", &scaler::edge)
      .def("per_layer", [](const scaler& s) { return s.scope() == machine_scope::tensor; })
      .def("parameters", &parameters<scaler>)
      .def("state", &state)
      .def("set_state", [](scaler& of, const std::string& name, double value) { of.set_state(name, value); })
      .def("update", &update)
      .def("run", &run);
  py::class_<fp8_scaler>(module, "Fp8Scaler")
      .def(py::init(&made_fp8_scaler))
      .def("copy", [](const fp8_scaler& of) { return fp8_scaler(of); })
      .def("name", [](const fp8_scaler& of) { return text_of(of.entry().name); })
      .def("scale", &fp8_scaler::scale)
      .def("divides", [](const fp8_scaler& of) { return of.entry().divides; })
      .def("largest", &fp8_scaler::largest)
      .def("parameters", &parameters<fp8_scaler>)
      .def("state", &fp8_scaler::state)
      .def("set_state", [](fp8_scaler& of, const std::vector<double>& numbers) { of.set_state(numbers); })
      .def("run", &run_amaxes);
}

}  // namespace ulp::python
