#include <ulp/ask/questions/scenario_text.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <stdexcept>
#include <ulp/ask/questions/number_text.hpp>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/formats/name_suggestions.hpp>
#include <utility>
#include <variant>

namespace ulp {
namespace {

std::vector<std::pair<std::string, std::string>> pairs_of(const std::vector<std::string>& texts,
                                                          const std::string& option) {
  std::vector<std::pair<std::string, std::string>> all;
  std::set<std::string> keys;
  for (const std::string& text : texts) {
    all.push_back(key_and_value(text, option));
    if (const std::string& key = all.back().first; !keys.insert(key).second)
      throw std::invalid_argument(fmt::format("{}: {} is given twice", option, key));
  }
  return all;
}

// What stands for the growth interval of every policy, whatever its framework calls it.
constexpr std::string_view window_key = "window";

std::vector<std::string> parameters_of(const scaler_entry& entry) {
  std::vector<std::string> names;
  for (const scaler_parameter& p : entry.parameters) names.push_back(p.name);
  names.emplace_back(window_key);
  return names;
}

// Under the policy's own name. Throws where it has none.
std::vector<std::string> with_own_window(std::vector<std::string> parameters, const std::string& scaler) {
  for (std::string& text : parameters) {
    if (!text.starts_with(std::string{window_key} + "=")) continue;
    const scaler_entry& entry = scaler_named(scaler);
    if (entry.window.empty())
      throw std::invalid_argument(fmt::format(
          "--set: window is the growth interval of any policy, and {} has none; leave one of them out", scaler));
    text = std::string{entry.window} + text.substr(window_key.size());
  }
  return parameters;
}

std::vector<std::string> state_of(const scaler_entry& entry) {
  std::vector<std::string> names;
  for (const auto& [name, value] : make_scaler(entry).state()) names.push_back(name);
  return names;
}

// Of each policy the texts whose key it has.
std::vector<std::vector<std::string>> shared_out(const std::vector<std::string>& texts, const std::string& option,
                                                 const char* what, const std::vector<std::string>& policies,
                                                 std::vector<std::string> keys_of(const scaler_entry&)) {
  std::vector<std::vector<std::string>> own(policies.size());
  for (const auto& [key, value] : pairs_of(texts, option)) {
    std::vector<std::string> known;
    bool is_used = false;
    for (std::size_t i = 0; i < policies.size(); ++i) {
      const std::vector<std::string> keys = keys_of(scaler_named(policies[i]));
      std::ranges::copy_if(keys, std::back_inserter(known), [](const std::string& k) { return k != window_key; });
      if (std::ranges::find(keys, key) == keys.end()) continue;
      own[i].push_back(key + "=" + value);
      is_used = true;
    }
    if (is_used) continue;
    const std::string near{nearest_name(key, std::vector<std::string_view>(known.begin(), known.end()))};
    throw std::invalid_argument(fmt::format("{}: no {} '{}' in {}; near: {} (see ulp scalers NAME)", option, what, key,
                                            fmt::join(policies, ", "), near));
  }
  return own;
}

}  // namespace

std::vector<text_option> options_of(scenario_text& text) {
  std::vector<text_option> all{
      {.name = "scaler", .value = &text.scaler, .type = "NAME", .help = "the policy (see ulp scalers)"},
      {.name = "set",
       .value = &text.parameters,
       .type = "key=value",
       .help = "a parameter of the policy, under the framework's name; window is the growth interval of any policy"},
      {.name = "start",
       .value = &text.start,
       .type = "key=value",
       .help = "the policy's state before the first step: scale and counters"},
      {.name = "format",
       .value = &text.format,
       .type = "F",
       .help = "the format whose overflow the scaler sees (see ulp formats)"}};
  for (text_option& o : options_of(text.rounding)) all.push_back(std::move(o));
  all.push_back({.name = "check",
                 .value = &text.check,
                 .type = "REGEX",
                 .help = "the tensors whose overflow the scaler sees (default: what --tensor selects, else weight "
                         "gradients of role low, else all weight gradients, else all)"});
  all.push_back({.name = "clip-norm",
                 .value = &text.clip_norm,
                 .type = "X",
                 .help = "clip the unscaled gradients to this L2 norm"});
  all.push_back({.name = "clip-value",
                 .value = &text.clip_value,
                 .type = "X",
                 .help = "clip each unscaled gradient to [-X, X]",
                 .excludes = "clip-norm"});
  all.push_back({.name = "order",
                 .value = &text.order,
                 .type = "A,B,C",
                 .help = "the order of unscaling, checking for overflow and clipping (default: unscale,check,clip); "
                         "orders such as clip,unscale,check reproduce mistakes in training loops"});
  return all;
}

void set_parameter(scenario_text& text, const std::string& key, const std::string& value) {
  const auto is_key = [&](const std::string& p) { return p.starts_with(key + "="); };
  const auto known = std::ranges::find_if(text.parameters, is_key);
  if (known != text.parameters.end())
    *known = key + "=" + value;
  else
    text.parameters.push_back(key + "=" + value);
}

std::optional<std::string> parameter_of(const scenario_text& text, const std::string& key) {
  for (const std::string& p : text.parameters)
    if (p.starts_with(key + "=")) return p.substr(key.size() + 1);
  return std::nullopt;
}

scaler scaler_of(const scenario_text& text) {
  if (text.scaler.empty()) throw std::invalid_argument("--scaler: the name is empty (see ulp scalers)");
  std::vector<std::pair<std::string, parameter_value>> parameters;
  for (const auto& [key, value] : pairs_of(with_own_window(text.parameters, text.scaler), "--set")) {
    if (value.find(',') != std::string::npos)
      throw std::invalid_argument(
          fmt::format("--set: {}={} is several values, and a replay takes one; ulp sweep takes several", key, value));
    parameters.emplace_back(key, parse_parameter(value));
  }
  scaler made = make_scaler(scaler_named(text.scaler), parameters);
  for (const auto& [key, value] : pairs_of(text.start, "--start")) {
    const parameter_value parsed = parse_parameter(value);
    const double* const number = std::get_if<double>(&parsed);
    if (number == nullptr) throw std::invalid_argument(fmt::format("--start: '{}' is not a number", value));
    made.set_state(key, *number);
  }
  return made;
}

scenario scenario_of(const scenario_text& text, const run_text& run) {
  // In a sweep one of many.
  const std::string named =
      text.parameters.empty() ? text.scaler : fmt::format("{} with {}", text.scaler, fmt::join(text.parameters, " "));
  const auto machine_of = [&] {
    try {
      return scaler_of(text);
    } catch (const parameter_error& problem) {
      throw parameter_error(fmt::format("{}: {}", named, problem.what()));
    }
  };
  scaler machine = machine_of();
  if (!(machine.scale() >= 0))
    throw std::invalid_argument(
        fmt::format("{}: a replay cannot start from the scale {}", named, shortest(machine.scale())));
  const format to = value_format_named(text.format);
  scenario s{std::move(machine), {to, text.rounding.value(to)}};
  s.seed = text.rounding.seed;
  if (!text.clip_norm.empty() && !text.clip_value.empty())
    throw std::invalid_argument("--clip-value: gradients are clipped by norm or by value, not by both");
  if (!text.clip_norm.empty()) s.clip_norm = norm_clipping{positive_number(text.clip_norm, "--clip-norm")};
  if (!text.clip_value.empty()) s.clip_value = value_clipping{positive_number(text.clip_value, "--clip-value")};
  s.counted = run.selected();
  s.groups = run.named_groups();
  if (!text.order.empty()) {
    const auto order = parse_step_order(text.order);
    if (!order)
      throw std::invalid_argument(
          fmt::format("--order: '{}' is not unscale, check and clip in some order (unscale,check,clip)", text.order));
    if (*order != step_order{} && !s.clip_norm && !s.clip_value)
      throw std::invalid_argument("--order: without --clip-norm or --clip-value there is nothing to order");
    s.order = *order;
  }
  if (!text.check.empty()) s.checked = regex_of(text.check, "--check");
  return s;
}

std::string name_of(const scenario_text& text) {
  std::string name = text.scaler;
  for (const std::string& p : text.parameters) name += " " + p;
  for (const std::string& p : text.start) name += " from " + p;
  name += ", " + text.format;
  const auto part = [&](const char* what, const std::string& value) {
    if (!value.empty()) name += std::string{", "} + what + value;
  };
  part("", text.rounding.direction);
  name += text.rounding.switches();
  if (text.rounding.seed != 0) name += fmt::format(", seed {}", text.rounding.seed);
  part("norm clipped to ", text.clip_norm);
  part("values clipped to ", text.clip_value);
  part("", text.order);
  part("checked ", text.check);
  return name;
}

std::string command_of(const scenario_text& text, const run_text& run, std::size_t inputs_shown) {
  return "ulp replay " + command_words(run, inputs_shown) + group_words(run) + arguments_of(text);
}

configuration read_configuration(const config_file& file, const scenario_text& given) {
  std::optional<format> wanted;
  if (!given.format.empty()) wanted = format_named(given.format);
  return {file.path, import_config(file, wanted)};
}

std::vector<std::string> configuration_notes(const configuration& config) {
  std::vector<std::string> lines;
  for (const std::string& line : config.said.meanings)
    lines.push_back(fmt::format("{}: {}: {}", config.file, config.said.framework, line));
  for (const std::string& line : config.said.notes) lines.push_back(fmt::format("{}: {}", config.file, line));
  return lines;
}

scenario_text with_configuration(scenario_text given, const configuration& config) {
  const imported_config& said = config.said;
  const bool clips = said.clip_norm || said.clip_value;
  if (clips && !(given.clip_norm.empty() && given.clip_value.empty()))
    throw std::invalid_argument(fmt::format(
        "{}: {} clips already, to {} {}; remove one of them", given.clip_norm.empty() ? "--clip-value" : "--clip-norm",
        config.file, said.clip_norm ? "L2 norm" : "magnitude",
        to_string(parameter_value{said.clip_norm ? *said.clip_norm : *said.clip_value})));
  if (said.clip_norm) given.clip_norm = to_string(parameter_value{*said.clip_norm});
  if (said.clip_value) given.clip_value = to_string(parameter_value{*said.clip_value});

  given.scaler = said.scaler;
  given.parameters = with_own_window(given.parameters, given.scaler);
  std::vector<std::string> parameters;
  for (const auto& [name, value] : said.parameters) {
    if (!parameter_of(given, name)) parameters.push_back(name + "=" + to_string(value));
  }
  given.parameters.insert(given.parameters.begin(), parameters.begin(), parameters.end());
  if (given.format.empty()) given.format = said.format.value_or("");
  return given;
}

std::vector<scenario_text> under_each(const scenario_text& given, const std::vector<std::string>& scalers,
                                      const std::optional<configuration>& own) {
  std::vector<std::string> names = scalers;
  if (own) names.insert(names.begin(), own->said.scaler);
  const auto parameters = shared_out(given.parameters, "--set", "parameter", names, parameters_of);
  const auto start = shared_out(given.start, "--start", "state", names, state_of);
  std::vector<scenario_text> all(names.size(), given);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].scaler = names[i];
    all[i].parameters = with_own_window(parameters[i], names[i]);
    all[i].start = start[i];
  }
  if (!own) return all;
  all.front() = with_configuration(all.front(), *own);
  for (scenario_text& other : all) {
    other.format = all.front().format;
    other.clip_norm = all.front().clip_norm;
    other.clip_value = all.front().clip_value;
  }
  return all;
}

bool totals_suffice(const scenario& s) {
  // Whatever asks for single tensors stands here; with DAZ the type of the values counts too.
  return !s.counted.tensor && !s.checked && s.groups.empty() && !s.recipe.usual().rounding.daz &&
         s.recipe.machine().scope() == machine_scope::run;
}

source_options reading_for(const run_text& run, std::span<const scenario> scenarios) {
  source_options how = run.how_to_read();
  how.merged = how.kinds.empty() && how.roles.empty() && std::ranges::all_of(scenarios, totals_suffice);
  for (const scenario& s : scenarios)
    if (s.clip_value && !s.order.clip_before_unscale) how.edges.push_back(s.clip_value->max_value);
  // Of several scenarios with one bound.
  std::ranges::sort(how.edges);
  how.edges.erase(std::unique(how.edges.begin(), how.edges.end()), how.edges.end());
  return how;
}

}  // namespace ulp
