#include "options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/model/machines/scaler.hpp>
#include <ulp/report/tables/table.hpp>
#include <utility>

#include "bindings/truth.hpp"

namespace ulp::python {
namespace {

namespace py = pybind11;

std::string option_name(std::string keyword) {
  std::ranges::replace(keyword, '_', '-');
  return keyword;
}

// Of arrays, and of numpy's numbers, as Python has them.
bool is_array(const py::handle& value) { return py::hasattr(value, "tolist"); }
py::object as_list(const py::handle& array) { return array.attr("tolist")(); }

// As it is typed: True is "true", None "none".
std::string typed(const py::handle& value, const std::string& name) {
  if (is_array(value)) return typed(as_list(value), name);
  if (value.is_none()) return "none";
  if (py::isinstance<py::bool_>(value)) return value.cast<bool>() ? "true" : "false";
  if (py::isinstance<py::str>(value)) {
    // As os.fsencode has it, so that any text arrives.
    PyObject* const octets = PyUnicode_AsEncodedString(value.ptr(), "utf-8", "surrogateescape");
    if (octets == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::bytes>(octets);
  }
  if (py::isinstance<py::bytes>(value)) return value.cast<std::string>();  // of paths
  if (PyIndex_Check(value.ptr()) != 0) {
    const py::object integer = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
    if (!integer) throw py::error_already_set();
    return py::str(integer);
  }
  if (PyNumber_Check(value.ptr()) != 0) {
    const py::object number = py::reinterpret_steal<py::object>(PyNumber_Float(value.ptr()));
    if (!number) throw py::error_already_set();
    return shortest(number.cast<double>());
  }
  throw py::type_error(fmt::format("{}: takes text or a number, not {}", name,
                                   py::str(py::type::of(value).attr("__name__")).cast<std::string>()));
}

bool is_several(const py::handle& value) {
  return PySequence_Check(value.ptr()) != 0 && !py::isinstance<py::str>(value) && !py::isinstance<py::bytes>(value);
}

std::vector<std::string> list_of(const py::handle& value, const std::string& name) {
  if (is_array(value)) return list_of(as_list(value), name);
  std::vector<std::string> texts;
  if (py::isinstance<py::dict>(value)) {
    for (const auto& [key, of_key] : py::reinterpret_borrow<py::dict>(value)) {
      texts.push_back(fmt::format("{}={}", typed(key, name), fmt::join(list_of(of_key, name), ",")));
    }
  } else if (is_several(value)) {
    for (const py::handle one : value) texts.push_back(typed(one, name));
  } else {
    texts.push_back(typed(value, name));
  }
  return texts;
}

struct setter {
  const py::handle& value;
  const std::string& name;

  void operator()(bool* to) const {
    const std::optional<bool> truth = truth_of(value);
    if (!truth)
      throw py::type_error(fmt::format("{}: {} is not True or False", name, py::repr(value).cast<std::string>()));
    *to = *truth;
  }
  void operator()(std::string* to) const { *to = typed(value, name); }
  void operator()(std::vector<std::string>* to) const {
    *to = list_of(value, name);
    if (to->empty()) throw py::value_error(fmt::format("--{}: the list is empty", option_name(name)));
  }
  void operator()(std::int64_t* to) const { *to = whole<std::int64_t>(); }
  void operator()(std::uint64_t* to) const { *to = whole<std::uint64_t>(); }

  template <typename T>
  [[nodiscard]] T whole() const {
    try {
      return value.cast<T>();
    } catch (const py::cast_error&) {
      throw py::value_error(fmt::format("--{}: '{}' is not a whole number of its range", option_name(name),
                                        py::str(value).cast<std::string>()));
    }
  }
};

}  // namespace

keywords::keywords(std::string function, const py::dict& given) : function_(std::move(function)) {
  for (const auto& [key, value] : given)
    if (!value.is_none()) given_[key] = value;
}

void keywords::take(const char* name, text_option::place to) {
  known_.emplace_back(name);
  if (!given_.contains(name)) return;
  const py::object value = given_[name];
  std::visit(setter{value, known_.back()}, to);
  PyDict_DelItemString(given_.ptr(), name);
}

void keywords::take(const std::vector<text_option>& options) {
  for (const text_option& o : options) {
    std::string name = o.name;
    std::ranges::replace(name, '-', '_');
    take(name.c_str(), o.value);
    const auto* const text = std::get_if<std::string*>(&o.value);
    if (text == nullptr || o.one_of.empty() || (*text)->empty()) continue;
    if (std::ranges::find(o.one_of, **text) == o.one_of.end())
      throw py::value_error(fmt::format("--{}: unknown '{}': one of {}", o.name, **text, fmt::join(o.one_of, ", ")));
  }
}

void keywords::take_parameters(const std::vector<std::string>& names, std::vector<std::string>& to) {
  for (const std::string& name : names) {
    known_.push_back(name);
    if (!given_.contains(name)) continue;
    const py::object value = given_[name.c_str()];
    const std::vector<std::string> values = list_of(value, name);
    to.push_back(fmt::format("{}={}", name, fmt::join(values, ",")));
    PyDict_DelItemString(given_.ptr(), name.c_str());
  }
}

void keywords::refuse_others() const {
  for (const auto& [key, value] : given_) {
    const auto name = py::str(key).cast<std::string>();
    throw py::type_error(fmt::format("{}() has no option '{}'{}", function_, name, did_you_mean(name, known_)));
  }
}

run_text run_of(const py::list& inputs, keywords& from) {
  run_text run;
  for (const py::handle input : inputs) run.inputs.push_back(input.cast<std::string>());
  from.take(options_of(run));
  return run;
}

std::vector<std::string> split_at_commas(const std::vector<std::string>& texts) {
  std::vector<std::string> all;
  for (const std::string& text : texts)
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find(',', at), text.size());
      all.push_back(text.substr(at, end - at));
      at = end + 1;
    }
  return all;
}

void check_each(const char* option, const std::vector<std::string>& values, const std::vector<std::string>& of) {
  for (const std::string& value : values)
    if (std::ranges::find(of, value) == of.end())
      throw std::invalid_argument(fmt::format("--{}: unknown '{}': one of {}", option, value, fmt::join(of, ", ")));
}

std::vector<std::string> parameters_of(const std::vector<std::string>& policies) {
  std::set<std::string> names;
  for (const std::string& policy : policies) {
    if (policy.empty()) continue;
    for (const scaler_parameter& p : scaler_named(policy).parameters) names.insert(p.name);
    names.insert("window");
  }
  return {names.begin(), names.end()};
}

}  // namespace ulp::python
