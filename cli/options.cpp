#include "options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <functional>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/formats/presets.hpp>
#include <ulp/formats/text.hpp>
#include <ulp/io/check.hpp>
#include <ulp/model/survey.hpp>
#include <ulp/report/table.hpp>

#include "command.hpp"
#include "incomplete.hpp"
#include "output.hpp"

namespace ulp::cli {
namespace {

template <typename Enum, typename Parse>
Enum named(const std::string& text, const std::string& option, const char* names, Parse parse) {
  if (const auto value = parse(text)) return *value;
  throw usage_error(fmt::format("{}: unknown '{}': one of {}", option, text, names));
}

constexpr const char* kind_names = "weight_grad, activation_grad, weight, update, activation, unknown";
constexpr const char* role_names = "low, float32, unknown";

tensor_kind kind_named(const std::string& text, const std::string& option) {
  return named<tensor_kind>(text, option, kind_names, parse_kind);
}
tensor_role role_named(const std::string& text, const std::string& option) {
  return named<tensor_role>(text, option, role_names, parse_role);
}

bool is_rule(const std::string& text) { return text.find('=') != std::string::npos; }

// REGEX=VALUE; the expression may contain '=' itself.
std::pair<regex, std::string> rule_of(const std::string& text, const std::string& option) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0)
    throw usage_error(fmt::format("{}: '{}' is not of the form REGEX=NAME", option, text));
  return {regex_of(text.substr(0, equals), option), text.substr(equals + 1)};
}

std::int64_t step_number(std::string_view text, const std::string& whole) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    throw usage_error(
        fmt::format("--steps: '{}' is not of the form A:B (steps A to B-1; either may be left out)", whole));
  return value;
}

}  // namespace

format format_named(const std::string& name) {
  auto found = parse_format(name);
  if (!found.value && name.find(',') != std::string::npos && name.find('=') == std::string::npos)
    throw usage_error(fmt::format("format '{}': one is wanted here; ulp outcomes and ulp sweep take several", name));
  if (!found.value) throw usage_error(found.error);
  return *found.value;
}

format value_format_named(const std::string& name) {
  const format f = format_named(name);
  if (!f.has_sign || !f.has_zero())
    throw usage_error(fmt::format(
        "{} has no sign and no zero: it holds the scales of blocks, see `ulp inspect`; values are not rounded to it",
        name));
  return f;
}

std::vector<std::string> joined_names(const std::vector<std::string>& parts) {
  std::vector<std::string> names;
  for (const std::string& part : parts)
    if (names.empty() || part.find('=') == std::string::npos)
      names.push_back(part);
    else
      names.back() += "," + part;
  return names;
}

double positive_number(const std::string& text, const std::string& option) {
  const auto x = parse_number(text);
  const double value = x ? std::bit_cast<double>(encode(binary64, *x).code) : 0;
  if (!(value > 0) || !std::isfinite(value))
    throw usage_error(fmt::format("{}: '{}' is not a positive number (like 1024, 0.5 or 2^15)", option, text));
  return value;
}

regex regex_of(const std::string& text, const std::string& option) {
  try {
    return regex(text);
  } catch (const std::invalid_argument& problem) {
    throw usage_error(fmt::format("{}: {}", option, problem.what()));
  }
}

std::pair<std::string, std::string> key_and_value(const std::string& text, const std::string& option) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw usage_error(fmt::format("{}: '{}' is not of the form key=value", option, text));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

rounding rounding_options::value(const format& to) const {
  const auto read = direction.empty() ? parsed<rounding>{rounding{.direction = own_direction(to)}, ""}
                                      : parse_rounding(direction, to);
  if (!read.value) throw usage_error("--rounding: " + read.error);
  rounding mode = *read.value;
  mode.overflow = saturate ? overflow_delivery::saturate : overflow_delivery::ieee;
  mode.daz = daz;
  mode.flush = flush == "before"   ? flush::before_rounding
               : flush == "after"  ? flush::after_rounding
               : flush == "result" ? flush::result
                                   : flush::never;
  mode.tininess = tininess == "before" ? tininess::before_rounding : tininess::after_rounding;
  return mode;
}

bool rounding_options::is_preset() const {
  const auto presets = rounding_presets();
  return std::any_of(presets.begin(), presets.end(), [&](const auto& p) { return p.name == direction; });
}

std::string rounding_options::text(const format& to) const {
  const std::string canonical = to_string(value(to));
  std::string words = is_preset() ? fmt::format("{} ({})", direction, canonical) : canonical;
  if (saturate) words += ", saturating";
  if (!flush.empty()) words += ", ftz " + flush;
  if (daz) words += ", daz";
  return words;
}

namespace {

constexpr const char* rounding_group = "Rounding";

// "nvidia (13 bits to float16, 16 to bfloat16), ..."
std::string text_of_presets() {
  std::string text;
  const rounding_preset* before = nullptr;
  for (const rounding_preset& p : rounding_presets()) {
    const int bits = p.rounding.random_bits;
    if (before == nullptr || before->name != p.name)
      text += fmt::format("{}{} ({} bits to {}", before == nullptr ? "" : "), ", p.name, bits, p.to_name);
    else if (before->rounding.random_bits != bits)
      text += fmt::format(", {} to {}", bits, p.to_name);
    else
      text += fmt::format(", {}", p.to_name);
    before = &p;
  }
  return text + ")";
}

}  // namespace

void add_rounding(command& to, rounding_options& options) {
  to.add("--rounding", &options.direction,
         "nearest-even, nearest-away, toward-zero, toward-positive, toward-negative, to-odd (rne rna rz ru rd "
         "ro), or stochastic[:A|B|C][,bits=1..32|all] (sr; A, 32 bits); as hardware is documented to convert float32, "
         "stochastic:A: " +
             text_of_presets() + ". Default: the format's own, nearest-even, for dlfloat16 nearest-away",
         {.type = "R", .group = rounding_group});
  add_rounding_details(to, options);
}

void add_rounding_details(command& to, rounding_options& options) {
  to.add("--saturate", &options.saturate, "deliver the largest finite number on overflow", {.group = rounding_group});
  to.add("--ftz", &options.flush, "flush subnormal results to zero",
         {.type = "WHEN", .group = rounding_group, .one_of = {"before", "after", "result"}});
  to.add("--daz", &options.daz, "read subnormal operands as zero", {.group = rounding_group});
  to.add("--tininess", &options.tininess, "when the underflow flag takes a result for tiny",
         {.type = "WHEN", .group = rounding_group, .show_default = true, .one_of = {"before", "after"}});
  to.add("--seed", &options.seed, "of the random bits of stochastic rounding",
         {.type = "N", .group = rounding_group, .show_default = true, .check = whole_number});
}

selection run_options::selected() const {
  selection s;
  if (!tensor.empty()) s.tensor = regex_of(tensor, "--tensor");
  for (const std::string& k : kinds)
    if (!is_rule(k)) s.kinds.push_back(kind_named(k, "--kind"));
  for (const std::string& r : roles)
    if (!is_rule(r)) s.roles.push_back(role_named(r, "--role"));
  if (!steps.empty()) {
    const std::size_t colon = steps.find(':');
    const std::string_view whole = steps;
    if (colon == std::string::npos) {
      s.first_step = step_number(whole, steps);
      s.end_step = s.first_step < s.end_step ? s.first_step + 1 : s.end_step;
    } else {
      if (colon > 0) s.first_step = step_number(whole.substr(0, colon), steps);
      if (colon + 1 < whole.size()) s.end_step = step_number(whole.substr(colon + 1), steps);
    }
  }
  if (s.first_step >= s.end_step) throw usage_error(fmt::format("--steps: '{}' selects no step", steps));
  if (every < 1) throw usage_error(fmt::format("--every: {} is not a positive number of steps", every));
  s.every = every;
  return s;
}

source_options run_options::how_to_read() const {
  source_options options;
  if (!steps_from.empty()) options.steps_from = regex_of(steps_from, "--steps-from");
  options.scalars = scalars;
  if (factor == "scale")
    options.factor_is_loss_scale = true;
  else if (!factor.empty())
    options.factor = positive_number(factor, "--factor (a number, or scale)");
  for (const std::string& text : kinds) {
    if (!is_rule(text)) continue;
    auto [expression, name] = rule_of(text, "--kind");
    options.kinds.emplace_back(std::move(expression), kind_named(name, "--kind"));
  }
  for (const std::string& text : roles) {
    if (!is_rule(text)) continue;
    auto [expression, name] = rule_of(text, "--role");
    options.roles.emplace_back(std::move(expression), role_named(name, "--role"));
  }
  options.allow_empty = allow_empty;
  try {
    for (const std::string& text : limits) set_limit(options.limits, text);
  } catch (const std::invalid_argument& problem) {
    throw usage_error(fmt::format("--limit: {}", problem.what()));
  }
  return options;
}

bool run_options::selects() const {
  const auto any_name = [](const auto& list) { return std::any_of(list.begin(), list.end(), std::not_fn(is_rule)); };
  return !tensor.empty() || !steps.empty() || every != 1 || any_name(kinds) || any_name(roles);
}

std::vector<tensor_group> run_options::named_groups() const {
  std::vector<tensor_group> all;
  for (const std::string& text : groups) {
    auto [name, expression] = key_and_value(text, "--group");
    if (name == name_of_rest) throw usage_error(fmt::format("--group: '{}' is what is in no group", name));
    if (std::ranges::find(all, name, &tensor_group::name) != all.end())
      throw usage_error(fmt::format("--group: {} is given twice; REGEX1|REGEX2 is one group", name));
    all.push_back({std::move(name), regex_of(expression, "--group")});
  }
  return all;
}

std::vector<std::string> run_options::files() const {
  std::vector<std::string> all = inputs;
  all.push_back(scalars);
  return all;
}

namespace {

std::unique_ptr<source> opened(const run_options& options, const source_options& how) {
  auto from = open_source(options.inputs, how);
  if (from->kind() == source_kind::recording) refuse_damaged(options.inputs.front());
  if (from->tensors().empty()) {
    for (const auto& [option, given] : {std::pair{"--tensor", !options.tensor.empty()},
                                        {"--kind", !options.kinds.empty()},
                                        {"--role", !options.roles.empty()},
                                        {"--group", !options.groups.empty()},
                                        {"--factor", !options.factor.empty()}})
      if (given)
        throw usage_error(fmt::format("{}: {} has no tensors: leave it out (maxabs in a step log is unscaled)", option,
                                      options.inputs.front()));
  }
  for (const std::string& line : from->notes()) note(line);
  return watch_ranks(std::move(from), options.inputs.front());
}

// With DAZ the type of the values counts too.
bool tells_tensors_apart(const scenario& s) {
  return s.counted.tensor || s.checked || !s.groups.empty() || s.rounding.daz || s.scaler.per_layer();
}

}  // namespace

std::unique_ptr<source> open_run(const run_options& options) { return open_run(options, options.how_to_read()); }

std::unique_ptr<source> open_run(const run_options& options, const source_options& how) { return opened(options, how); }

std::unique_ptr<source> open_run_for(const run_options& options, std::span<const scenario> scenarios, bool per_tensor) {
  source_options how = options.how_to_read();
  how.merged =
      !per_tensor && how.kinds.empty() && how.roles.empty() && std::ranges::none_of(scenarios, tells_tensors_apart);
  for (const scenario& s : scenarios)
    if (s.clip_value && !s.order.clip_before_unscale) how.edges.push_back(s.clip_value->max_value);
  return open_run(options, how);
}

void add_groups(command& to, run_options& options) {
  to.add("--group", &options.groups,
         "tensors whose name contains a match of this expression, under a name; the first that matches counts",
         {.type = "NAME=REGEX", .group = "Selection"});
}

void add_run(command& to, run_options& options) {
  to.add("INPUT", &options.inputs,
         "a recording; gradient dumps (.npy .npz .safetensors .pt), one a step; a histogram CSV; TensorBoard "
         "event files; a step log CSV; a training log with the loss scale; - for CSV or a log on standard input",
         {.required = true});

  const std::string selection_group = "Selection";
  to.add("--tensor", &options.tensor, "tensors whose name contains a match of this regular expression (RE2 syntax)",
         {.type = "REGEX", .group = selection_group});
  to.add("--kind", &options.kinds,
         fmt::format("tensors of these kinds ({}); REGEX=KIND says what tensors are instead", kind_names),
         {.type = "KIND", .group = selection_group});
  to.add("--role", &options.roles,
         fmt::format("tensors of these roles ({}); REGEX=ROLE says how tensors are kept instead", role_names),
         {.type = "ROLE", .group = selection_group});
  to.add("--steps", &options.steps, "steps A to B-1, either may be left out; A alone is one step",
         {.type = "A:B", .group = selection_group});
  to.add("--every", &options.every, "steps divisible by N",
         {.type = "N", .group = selection_group, .check = whole_number});

  const std::string input_group = "What inputs do not say themselves";
  to.add("--steps-from", &options.steps_from,
         "the step of a dump: the first group of this expression in its path (default: step<digits>, "
         "iter_<digits>; where no path has one, the order of the inputs)",
         {.type = "REGEX", .group = input_group});
  to.add("--scalars", &options.scalars,
         "a CSV with the column step and any of loss, grad_norm, lr, scale, found_inf, applied",
         {.type = "FILE.csv", .group = input_group});
  to.add("--factor", &options.factor,
         "recorded value = X * true gradient; 'scale': each step's loss scale from --scalars",
         {.type = "X", .group = input_group});

  const std::string trust_group = "What is refused";
  to.add("--allow-empty", &options.allow_empty, "take dumps without any tensor that is read as empty steps",
         {.group = trust_group});
  std::string defaults;
  for (const limit_name& l : limit_names())
    defaults += fmt::format("{}{}={}", defaults.empty() ? "" : " ", l.name, read_limits{}.*l.value);
  to.add("--limit", &options.limits,
         fmt::format("read inputs that cost more, where you trust them: a number, or none (default: {})", defaults),
         {.type = "NAME=VALUE", .group = trust_group});
}

void check_steps_counted(std::uint64_t steps, const run_options& options) {
  if (steps > 0) return;
  const std::string& input = options.inputs.front();
  if (!options.steps.empty() || options.every != 1)
    throw usage_error(fmt::format("{}: --steps and --every select no step of it (see ulp info)", input));
  throw usage_error(
      fmt::format("{}: holds no steps, so nothing can be said of it (microbatches alone are none)", input));
}

void check_tensors_exist(const std::string& check, const source& from) {
  if (!check.empty() && from.tensors().empty())
    throw usage_error(
        fmt::format("--check: a {} without tensors; its overflow is that of all of them", from.description()));
}

void check_tensors_counted(const tensor_choice& choice, const source& from) {
  if (!from.tensors().empty() && choice.counted_count() == 0)
    throw usage_error(fmt::format("--tensor, --kind and --role select none of {} (see ulp info)",
                                  count_text(from.tensors().size(), "tensor")));
}

}  // namespace ulp::cli
