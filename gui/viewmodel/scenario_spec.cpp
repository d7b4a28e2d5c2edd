#include "scenario_spec.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/formats/presets.hpp>
#include <ulp/io/regex.hpp>
#include <ulp/report/command_text.hpp>

namespace ulp::gui {
namespace {

double positive(const std::string& text, const char* what) {
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size() || !(value > 0) || !std::isfinite(value))
    throw std::invalid_argument(std::string{what} + ": '" + text + "' is no positive number");
  return value;
}

}  // namespace

scenario scenario_of(const scenario_spec& spec) {
  const scaler_entry* const entry = find_scaler(spec.scaler);
  if (entry == nullptr) throw std::invalid_argument("there is no scaler '" + spec.scaler + "'");
  std::vector<std::pair<std::string, parameter_value>> parameters;
  for (const auto& [name, value] : spec.parameters) {
    const auto is = [&](const auto& p) { return p.first == name; };
    if (std::ranges::any_of(parameters, is)) throw std::invalid_argument(name + " is given twice");
    parameters.emplace_back(name, parse_parameter(value));
  }
  scenario s{make_scaler(*entry, parameters)};  // parameter_error is an invalid_argument
  const parsed<format> to = parse_format(spec.format);
  if (!to.value) throw std::invalid_argument(to.error);
  s.format = *to.value;
  if (!spec.rounding.empty()) {
    const parsed<rounding> mode = parse_rounding(spec.rounding, s.format);
    if (!mode.value) throw std::invalid_argument(mode.error);
    s.rounding = *mode.value;
  } else {
    s.rounding.direction = own_direction(s.format);
  }
  if (!spec.clip_norm.empty() && !spec.clip_value.empty())
    throw std::invalid_argument("gradients are clipped by norm or by value, not by both");
  if (!spec.clip_norm.empty()) s.clip_norm = norm_clipping{positive(spec.clip_norm, "clip norm")};
  if (!spec.clip_value.empty()) s.clip_value = value_clipping{positive(spec.clip_value, "clip value")};
  if (!spec.order.empty()) {
    const auto order = parse_step_order(spec.order);
    if (!order)
      throw std::invalid_argument("order: '" + spec.order +
                                  "' is not unscale, check and clip in some order (unscale,check,clip)");
    s.order = *order;
  }
  if (!spec.check.empty()) {
    try {
      s.checked = regex(spec.check);
    } catch (const std::invalid_argument& mistake) {
      throw std::invalid_argument(std::string{"checked tensors: "} + mistake.what());
    }
  }
  return s;
}

std::string name_of(const scenario_spec& spec) {
  std::string text = spec.scaler;
  for (const auto& [name, value] : spec.parameters) text += " " + name + "=" + value;
  text += ", " + spec.format;
  const auto part = [&](const char* what, const std::string& value) {
    if (!value.empty()) text += std::string{", "} + what + value;
  };
  part("", spec.rounding);
  part("norm clipped to ", spec.clip_norm);
  part("values clipped to ", spec.clip_value);
  part("", spec.order);
  part("checked ", spec.check);
  return text;
}

std::string command_of(const scenario_spec& spec, const std::vector<std::string>& inputs, const source_options& how) {
  std::string line = "ulp replay";
  for (const std::string& input : inputs) line += " " + file_argument(input);
  const auto option = [&](const char* name, const std::string& value) {
    if (!value.empty()) line += option_text(name, value);
  };
  option("--scaler", spec.scaler);
  for (const auto& [name, value] : spec.parameters) option("--set", name + "=" + value);
  option("--format", spec.format);
  option("--rounding", spec.rounding);
  option("--clip-norm", spec.clip_norm);
  option("--clip-value", spec.clip_value);
  if (!spec.clip_norm.empty() || !spec.clip_value.empty()) option("--order", spec.order);
  option("--check", spec.check);
  for (const limit_name& l : limit_names())
    if (const std::uint64_t n = how.limits.*l.value; n != read_limits{}.*l.value)
      option("--limit", std::string{l.name} + "=" + (n == read_limits::none ? "none" : std::to_string(n)));
  if (how.allow_empty) line += " --allow-empty";
  return line;
}

}  // namespace ulp::gui
