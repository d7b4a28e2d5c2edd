#include <ulp/ask/questions/run_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <stdexcept>
#include <string_view>
#include <ulp/ask/questions/command_text.hpp>
#include <ulp/ask/questions/number_text.hpp>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/io/bytes/limits.hpp>
#include <ulp/io/inputs/open.hpp>
#include <ulp/io/table/columns.hpp>
#include <ulp/model/replay/survey.hpp>
#include <utility>

namespace ulp {
namespace {

template <typename Enum, typename Parse>
Enum named(const std::string& text, const std::string& option, const char* names, Parse parse) {
  if (const auto value = parse(text)) return *value;
  throw std::invalid_argument(fmt::format("{}: unknown '{}': one of {}", option, text, names));
}

constexpr const char* kind_names = "weight_grad, activation_grad, weight, update, activation, unknown";
constexpr const char* role_names = "low, float32, unknown";
constexpr std::array attempt_names{std::pair{"last", which_attempts::last}, std::pair{"first", which_attempts::first},
                                   std::pair{"all", which_attempts::all}};

which_attempts attempts_named(const std::string& text) {
  for (const auto& [name, which] : attempt_names)
    if (text == name) return which;
  throw std::invalid_argument(fmt::format("--attempts: unknown '{}': one of last, first, all", text));
}

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
    throw std::invalid_argument(fmt::format("{}: '{}' is not of the form REGEX=NAME", option, text));
  return {regex_of(text.substr(0, equals), option), text.substr(equals + 1)};
}

std::int64_t step_number(std::string_view text, const std::string& whole) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    throw std::invalid_argument(
        fmt::format("--steps: '{}' is not of the form A:B (steps A to B-1; either may be left out)", whole));
  if (value < 0)
    throw std::invalid_argument(
        fmt::format("--steps: '{}' has a step below 0: A and B are numbers of steps, which ulp info tells", whole));
  return value;
}

}  // namespace

selection run_text::selected() const {
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
  if (s.first_step >= s.end_step) throw std::invalid_argument(fmt::format("--steps: '{}' selects no step", steps));
  if (every < 1) throw std::invalid_argument(fmt::format("--every: {} is not a positive number of steps", every));
  s.every = every;
  return s;
}

source_options run_text::how_to_read() const {
  source_options options;
  if (!steps_from.empty()) options.steps_from = regex_of(steps_from, "--steps-from");
  options.scalars = scalars;
  try {
    options.columns = parse_columns(columns);
  } catch (const std::invalid_argument& problem) {
    throw std::invalid_argument(fmt::format("--columns: {}", problem.what()));
  }
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
  options.infer = true;
  options.attempts = attempts_named(attempts);
  options.allow_empty = allow_empty;
  options.limits.raw_codes = raw_codes;
  try {
    for (const std::string& text : limits) set_limit(options.limits, text);
  } catch (const std::invalid_argument& problem) {
    throw std::invalid_argument(fmt::format("--limit: {}", problem.what()));
  }
  return options;
}

bool run_text::selects() const {
  const auto any_name = [](const auto& list) { return std::any_of(list.begin(), list.end(), std::not_fn(is_rule)); };
  return !tensor.empty() || !steps.empty() || every != 1 || any_name(kinds) || any_name(roles);
}

std::vector<tensor_group> run_text::named_groups() const {
  std::vector<tensor_group> all;
  for (const std::string& text : groups) {
    auto [name, expression] = key_and_value(text, "--group");
    if (name == name_of_rest)
      throw std::invalid_argument(fmt::format("--group: '{}' is reserved for tensors in no group", name));
    if (name == "exact")
      throw std::invalid_argument(
          "--group: 'exact' is reserved: the column norm_exact says whether the norm is exact; choose another name");
    if (std::ranges::find(all, name, &tensor_group::name) != all.end())
      throw std::invalid_argument(fmt::format("--group: {} is given twice; REGEX1|REGEX2 is one group", name));
    all.push_back({std::move(name), regex_of(expression, "--group")});
  }
  return all;
}

std::vector<std::string> run_text::files() const {
  std::vector<std::string> all = inputs;
  all.push_back(scalars);
  return all;
}

std::vector<text_option> options_of(run_text& text) {
  const std::string selection = "Selection";
  const std::string unsaid = "Missing from inputs";
  const std::string trust = "Input limits";
  std::string limits;
  for (const limit_name& l : limit_names())
    limits += fmt::format("{}{}={}", limits.empty() ? "" : " ", l.name, read_limits{}.*l.value);
  return {{.name = "tensor",
           .value = &text.tensor,
           .type = "REGEX",
           .help = "tensors whose name contains a match of this regular expression (RE2 syntax)",
           .group = selection},
          {.name = "kind",
           .value = &text.kinds,
           .type = "KIND",
           .help = fmt::format("tensors of these kinds ({}); REGEX=KIND sets the kind of tensors instead", kind_names),
           .group = selection},
          {.name = "role",
           .value = &text.roles,
           .type = "ROLE",
           .help = fmt::format("tensors of these roles ({}); REGEX=ROLE sets the role of tensors instead", role_names),
           .group = selection},
          {.name = "steps",
           .value = &text.steps,
           .type = "A:B",
           .help = "steps A to B-1; either may be omitted; A alone is one step",
           .group = selection},
          {.name = "every", .value = &text.every, .type = "N", .help = "steps divisible by N", .group = selection},
          {.name = "attempts",
           .value = &text.attempts,
           .type = "WHICH",
           .help = "which attempt of the steps that a resumed run recorded more than once: last, first, or all, as so "
                   "many steps",
           .group = selection,
           .one_of = {"last", "first", "all"}},
          {.name = "steps-from",
           .value = &text.steps_from,
           .type = "REGEX",
           .help = "the step of a dump: the first group of this expression in its path (default: step<digits>, "
                   "iter_<digits>; if no path has one, the order of the inputs)",
           .group = unsaid},
          {.name = "allow-empty",
           .value = &text.allow_empty,
           .type = "",
           .help = "accept dumps without readable tensors as empty steps",
           .group = trust},
          {.name = "raw-codes",
           .value = &text.raw_codes,
           .type = "",
           .help = "read codes as numbers though scales lie beside them, and these as tensors of their own",
           .group = unsaid},
          {.name = "limit",
           .value = &text.limits,
           .type = "NAME=VALUE",
           .help = fmt::format("raise a limit for inputs that you trust: a number, or none (default: {})", limits),
           .group = trust},
          {.name = "scalars",
           .value = &text.scalars,
           .type = "FILE.csv",
           .help = "a table with the column step and any of loss, grad_norm, lr, scale, found_inf, applied",
           .group = unsaid,
           .is_file = true},
          {.name = "columns",
           .value = &text.columns,
           .type = "M=NAME,...",
           .help = "of a table of a run: the column that is the step, epoch, loss, norm, lr, scale, found_inf, skipped "
                   "or applied, where its name does not say so; M= without a name: none is",
           .group = unsaid},
          {.name = "factor",
           .value = &text.factor,
           .type = "X",
           .help = "recorded value = X * true gradient; 'scale': each step's loss scale from --scalars",
           .group = unsaid}};
}

std::string inputs_help() {
  std::string names;
  for (const input_format& form : input_formats())
    if (form.is_dump) names += (names.empty() ? "" : " ") + std::string{form.globs};
  std::erase(names, '*');
  return fmt::format(
      "a recording; gradient dumps ({}), one per step; a histogram CSV; TensorBoard event files; a step log CSV; a "
      "table of a run (CSV, JSON); a training log with the loss scale",
      names);
}

text_option group_option(run_text& text) {
  return {.name = "group",
          .value = &text.groups,
          .type = "NAME=REGEX",
          .help = "name the tensors whose name contains a match of this expression; the first matching group counts",
          .group = "Selection"};
}

std::string command_words(const run_text& text, std::size_t inputs_shown) {
  std::string words;
  const std::size_t shown = std::min(text.inputs.size(), inputs_shown);
  for (std::size_t i = 0; i < shown; ++i) words += (i == 0 ? "" : " ") + file_argument(text.inputs[i]);
  if (shown < text.inputs.size()) words += fmt::format(" [{}]", count_text(text.inputs.size() - shown, "more file"));
  return words + arguments_of(text);
}

std::string group_words(const run_text& text) {
  std::string words;
  for (const std::string& group : text.groups) words += option_text("--group", group);
  return words;
}

}  // namespace ulp
