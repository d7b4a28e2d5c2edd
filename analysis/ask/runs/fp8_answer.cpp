#include <ulp/ask/runs/fp8_answer.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include <stdexcept>
#include <ulp/ask/questions/typed_values.hpp>

#include "fp8_reading.hpp"

namespace ulp {
namespace {

std::vector<std::pair<std::string, parameter_value>> values_of(const std::vector<std::string>& parameters) {
  std::vector<std::pair<std::string, parameter_value>> all;
  for (const std::string& text : parameters) {
    const auto [key, value] = key_and_value(text, "--set");
    if (std::ranges::find(all, key, [](const auto& p) { return p.first; }) != all.end())
      throw std::invalid_argument(fmt::format("--set: {} is given twice", key));
    all.emplace_back(key, parse_parameter(value));
  }
  return all;
}

// "a, b, c and 2 more"
std::string few_of(const std::vector<std::string>& names) {
  constexpr std::size_t few = 3;
  const std::string first = fmt::format(
      "{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(few, names.size())), ", "));
  return names.size() > few ? fmt::format("{} and {} more", first, names.size() - few) : first;
}

std::string names_of(const fp8_answer& answer, fp8_choice why) {
  std::vector<std::string> names;
  for (const auto& [tensor, choice] : answer.by.choices())
    if (choice == why) names.push_back(answer.tensors[tensor].name);
  return few_of(names);
}

// Of a recipe, the tensors that were cast without their kind being known.
std::string unknown_kinds(const fp8_answer& answer) {
  if (!answer.by.recipe().is_of_linear_layers) return "";
  std::vector<std::string> names;
  for (const auto& [tensor, sum] : answer.by.summaries())
    if (answer.tensors[tensor].kind == tensor_kind::unknown) names.push_back(answer.tensors[tensor].name);
  return few_of(names);
}

// What a user should know of what was cast and what was not.
void tell(const fp8_answer& answer, const fp8_question& asked, listener& to) {
  if (asked.run.every != 1)
    to.note("--every leaves steps out of the histories, too: they reach further back than in training");
  if (const std::string names = unknown_kinds(answer); !names.empty())
    to.note(
        fmt::format("what these are is not known, and {} casts them as forward tensors: {}; --kind REGEX=KIND says it",
                    answer.by.recipe().name, names));
  if (answer.by.recipe().name.ends_with(":e5m2"))
    to.note(fmt::format(
        "{} is a what-if: matrix units take no product of two factors in E5M2, and TransformerEngine refuses to train so",
        answer.by.recipe().name));
  if (asked.own) to.configured(*asked.own);
  if (const std::string names = names_of(answer, fp8_choice::kept_out); !names.empty())
    to.note(fmt::format("not cast, as the configuration has it: {}", names));
  if (const std::string names = names_of(answer, fp8_choice::vector); !names.empty())
    to.note(fmt::format("not cast, as vectors (biases, norms) are not: {}", names));
  if (const std::string names = names_of(answer, fp8_choice::output); !names.empty())
    to.note(fmt::format("not cast, as what products give is not: {}", names));
  if (const std::string names = names_of(answer, fp8_choice::in_place_of); !names.empty())
    to.note(fmt::format(
        "the input has no gradients of activations, which {} casts: weight gradients stand in for them ({})",
        answer.by.recipe().name, names));
  bool as_recorded = false;
  for (const auto& [tensor, sum] : answer.by.summaries()) as_recorded = as_recorded || sum.as_recorded;
  if (as_recorded && asked.run.factor.empty())
    to.note("what training multiplied these gradients by is not known: they are scaled as recorded; --factor says it");
}

// The recipe here of one that a configuration says.
std::string family_of(const std::string& file, const said_float8& said) {
  if (said.library == "MS-AMP") return "msamp";
  const bool is_torchao = said.library == "torchao";
  for (const auto& [word, recipe] : {std::pair{"delayed", "te_delayed"},
                                     {"tensorwise", is_torchao ? "torchao_tensorwise" : "te_current"},
                                     {"rowwise", "torchao_rowwise"},
                                     {"rowwise_with_gw_hp", "torchao_rowwise"},
                                     {"blockwise", "deepseek_v3"},
                                     {"mxfp8", "te_mxfp8"}})
    if (said.recipe == word) return recipe;
  if (said.recipe == "nvfp4")
    throw std::invalid_argument(fmt::format(
        "{}: its recipe is NVFP4, with a scale for each block of 16, and histograms do not know blocks", file));
  throw std::invalid_argument(
      fmt::format("{}: the FP8 recipe '{}' is not known here: name one with --recipe", file, said.recipe));
}

}  // namespace

void set_parameter(std::vector<std::string>& parameters, const std::string& text) {
  const std::string key = text.substr(0, text.find('='));
  std::erase_if(parameters, [&](const std::string& p) { return p.starts_with(key + "="); });
  parameters.push_back(text);
}

bool asks_for_fp8(const std::string& recipe, const std::string& scaler) {
  return !recipe.empty() || find_fp8_scaler(scaler) != nullptr;
}

std::optional<fp8_question> fp8_question_of(const configuration& own, const run_text& run,
                                            const std::vector<std::string>& given) {
  if (!own.said.float8 || own.said.scaler != "none") return std::nullopt;
  const said_float8& said = *own.said.float8;
  const std::string family = family_of(own.file, said);
  const bool is_of_history = family == "te_delayed";
  fp8_question asked{.run = run, .recipe = family, .scaler = {}, .parameters = {}, .format = {}};
  // What belongs to delayed scaling alone, frameworks keep beside other recipes too.
  if (is_of_history) {
    if (said.history) asked.parameters.push_back(fmt::format("amax_history_len={}", *said.history));
    if (!said.algorithm.empty()) asked.parameters.push_back("amax_compute_algo=" + said.algorithm);
    if (said.margin) asked.parameters.push_back("margin=" + to_string(parameter_value{*said.margin}));
  }
  if (said.powers_of_two == true && family == "te_current") asked.parameters.emplace_back("force_pow_2_scales=true");
  if (said.powers_of_two == true && family == "torchao_tensorwise")
    asked.parameters.emplace_back("round_scales_to_power_of_2=true");
  for (const std::string& text : given) set_parameter(asked.parameters, text);
  const auto is_known = [&](const std::string& key) {
    return std::ranges::any_of(asked.parameters, [&](const std::string& p) { return p.starts_with(key + "="); });
  };
  if (is_of_history && said.format.empty())
    throw std::invalid_argument(fmt::format(
        "{}: does not say the format: leave --config out and name it with --recipe te_delayed:FORMAT", own.file));
  if (is_of_history && !(is_known("amax_history_len") && is_known("amax_compute_algo")))
    throw std::invalid_argument(
        fmt::format("{}: does not say the length of the history and what is taken of it: add "
                    "--set amax_history_len=N --set amax_compute_algo=max or most_recent",
                    own.file));
  if (!said.format.empty()) asked.recipe += ":" + said.format;
  asked.kept_out = said.kept_out;
  asked.own = own;
  return asked;
}

const fp8_scaler_entry& policy_of(const fp8_question& asked) {
  return asked.recipe.empty() ? fp8_scaler_named(asked.scaler)
                              : *find_fp8_scaler(fp8_recipe_entry_named(asked.recipe).policy);
}

std::string name_of(const fp8_question& asked) {
  std::string name = asked.recipe.empty() ? asked.scaler + " " + asked.format : asked.recipe;
  for (const std::string& parameter : asked.parameters) name += " " + parameter;
  return name;
}

void take_parameters(fp8_question& asked, std::vector<std::string>& given) {
  const std::vector<scaler_parameter>& known = policy_of(asked).parameters;
  std::erase_if(given, [&](const std::string& text) {
    const bool is_own =
        std::ranges::find(known, text.substr(0, text.find('=')), &scaler_parameter::name) != known.end();
    if (is_own) set_parameter(asked.parameters, text);
    return is_own;
  });
}

fp8_recipe recipe_of(const fp8_question& asked) {
  const auto parameters = values_of(asked.parameters);
  if (!asked.recipe.empty()) {
    if (!asked.format.empty())
      throw std::invalid_argument("--format: a recipe has its own formats; remove one of the two (see --recipe)");
    fp8_recipe named = fp8_recipe_named(asked.recipe, parameters);
    named.kept_out = asked.kept_out;
    return named;
  }
  const fp8_scaler_entry& policy = policy_of(asked);
  if (asked.format.empty())
    throw std::invalid_argument(
        fmt::format("--format is required with --scaler {}: float8_e4m3fn or float8_e5m2", policy.name));
  const format to = value_format_named(asked.format);
  if (to.emax() > binary32.emax())
    throw std::invalid_argument(
        fmt::format("--format {}: scales are float32, and its largest number is not", asked.format));
  return uniform_recipe(
      {.how = {.format = to, .rounding = {.overflow = overflow_mode::saturate}, .scale = scale_source::tensor},
       .start = make_fp8_scaler(policy, to, parameters)});
}

fp8_answer fp8_replay_over(const fp8_question& asked, listener& to, const fp8_hearer& hears, with_noise noise) {
  std::vector<fp8_replayer> one;
  one.emplace_back(recipe_of(asked), asked.run.selected(), noise);
  const fp8_reading read = read_into(one, asked.run, to, hears);
  const fp8_answer answer{.by = std::move(one.front()),
                          .tensors = read.tensors,
                          .steps = read.steps,
                          .is_of_amaxes = read.is_of_amaxes,
                          .live = read.live};
  tell(answer, asked, to);
  return answer;
}

}  // namespace ulp
