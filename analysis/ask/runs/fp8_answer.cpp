#include <ulp/ask/runs/fp8_answer.hpp>

#include <fmt/format.h>

#include <stdexcept>
#include <ulp/ask/questions/typed_values.hpp>

#include "fp8_reading.hpp"

namespace ulp {
namespace {

std::vector<std::pair<std::string, parameter_value>> values_of(const std::vector<std::string>& parameters) {
  std::vector<std::pair<std::string, parameter_value>> all;
  for (const std::string& text : parameters) {
    const auto [key, value] = key_and_value(text, "--set");
    all.emplace_back(key, parse_parameter(value));
  }
  return all;
}

std::string names_of(const fp8_answer& answer, fp8_choice why) {
  std::string names;
  std::size_t n = 0;
  for (const auto& [tensor, choice] : answer.by.choices()) {
    if (choice != why) continue;
    if (n < 3) names += (n == 0 ? "" : ", ") + answer.tensors[tensor].name;
    ++n;
  }
  return n > 3 ? fmt::format("{} and {} more", names, n - 3) : names;
}

// What a user should know of what was cast and what was not.
void tell(const fp8_answer& answer, const fp8_question& asked, listener& to) {
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

}  // namespace

bool asks_for_fp8(const std::string& recipe, const std::string& scaler) {
  return !recipe.empty() || find_fp8_scaler(scaler) != nullptr;
}

const fp8_scaler_entry& policy_of(const fp8_question& asked) {
  return *find_fp8_scaler(asked.recipe.empty() ? asked.scaler : fp8_recipe_entry_named(asked.recipe).policy);
}

fp8_recipe recipe_of(const fp8_question& asked) {
  const auto parameters = values_of(asked.parameters);
  if (!asked.recipe.empty()) {
    if (!asked.format.empty())
      throw std::invalid_argument("--format: a recipe has its own formats; remove one of the two (see --recipe)");
    return fp8_recipe_named(asked.recipe, parameters);
  }
  const fp8_scaler_entry& policy = policy_of(asked);
  if (asked.format.empty())
    throw std::invalid_argument(
        fmt::format("--format is required with --scaler {}: float8_e4m3fn or float8_e5m2", policy.name));
  const format to = value_format_named(asked.format);
  return uniform_recipe(
      {.how = {.format = to, .rounding = {.overflow = overflow_mode::saturate}, .scale = scale_source::tensor},
       .start = make_fp8_scaler(policy, to, parameters)});
}

fp8_answer fp8_replay_over(const fp8_question& asked, listener& to, const fp8_hearer& hears) {
  std::vector<fp8_replayer> one;
  one.emplace_back(recipe_of(asked), asked.run.selected());
  const fp8_reading read = read_into(one, asked.run, to, hears);
  const fp8_answer answer{
      .by = std::move(one.front()), .tensors = read.tensors, .steps = read.steps, .is_of_amaxes = read.is_of_amaxes};
  tell(answer, asked, to);
  return answer;
}

}  // namespace ulp
