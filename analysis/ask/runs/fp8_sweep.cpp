#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/ask/runs/fp8_answer.hpp>
#include <ulp/formats/names.hpp>
#include <variant>

#include "fp8_reading.hpp"

namespace ulp {
namespace {

bool has_parameter(const fp8_question& asked, const std::string& key) {
  return std::ranges::any_of(policy_of(asked).parameters, [&](const scaler_parameter& p) { return p.name == key; });
}

// Each of `all` with each of the values, where its policy has the parameter; others stay as they are.
std::vector<fp8_question> with_values(const std::vector<fp8_question>& all, const std::string& text) {
  const auto [key, values] = key_and_value(text, "--set");
  if (std::ranges::none_of(all, [&, &key = key](const fp8_question& q) { return has_parameter(q, key); }))
    throw std::invalid_argument(fmt::format("--set: none of the policies has a parameter '{}' (see ulp scalers)", key));
  std::vector<fp8_question> made;
  for (const fp8_question& asked : all) {
    if (!has_parameter(asked, key)) {
      made.push_back(asked);
      continue;
    }
    for (std::size_t at = 0; at <= values.size();) {
      const std::size_t end = std::min(values.find(',', at), values.size());
      made.push_back(asked);
      set_parameter(made.back().parameters, key + "=" + values.substr(at, end - at));
      at = end + 1;
    }
  }
  return made;
}

// All that two ways may differ in; of a recipe its name says the formats.
std::string identity_of(const fp8_question& asked) {
  const fp8_recipe made = recipe_of(asked);
  std::string text = made.name + " " + to_string(made.forward.how.format);
  for (const auto& p : made.forward.start.parameters())
    if (!std::holds_alternative<std::monostate>(p.value)) text += " " + p.name + "=" + to_string(p.value);
  return text;
}

// The configuration's own question may be asked by name, too.
void refuse_twins(std::span<const fp8_question> all) {
  std::set<std::string> seen;
  for (const fp8_question& asked : all)
    if (const std::string text = identity_of(asked); !seen.insert(text).second)
      throw std::invalid_argument(fmt::format("{}: is asked for twice (see --recipe, --scaler, --set)", text));
}

// What few lose.
auto cost_of(const fp8_tensor_summary& sum) {
  return std::tuple{sum.saturating + sum.infinite + sum.nan, underflow_share(sum.counts).high};
}

bool is_better(const fp8_tensor_summary& a, const fp8_tensor_summary& b) {
  const auto [a_steps, a_share] = cost_of(a);
  const auto [b_steps, b_share] = cost_of(b);
  return a_steps <= b_steps && a_share <= b_share && (a_steps < b_steps || a_share < b_share);
}

}  // namespace

std::vector<fp8_question> questions_of(const fp8_grid& grid, const run_text& run) {
  std::vector<fp8_question> all;
  if (grid.own) all.push_back(*grid.own);
  if (std::ranges::find(grid.recipes, "") != grid.recipes.end())
    throw std::invalid_argument("--recipe: a name is missing (see ulp scalers)");
  for (const std::string& recipe : grid.recipes)
    all.push_back({.run = run, .recipe = recipe, .scaler = {}, .parameters = {}, .format = {}});
  if (!grid.scalers.empty() && grid.formats.empty())
    throw std::invalid_argument("--format is required with --scaler: float8_e4m3fn or float8_e5m2, or both");
  if (grid.scalers.empty() && !grid.formats.empty())
    throw std::invalid_argument("--format: recipes have their own formats; remove one of the two (see --recipe)");
  for (const std::string& scaler : grid.scalers)
    for (const std::string& format : grid.formats)
      all.push_back({.run = run, .recipe = {}, .scaler = scaler, .parameters = {}, .format = format});
  for (const fp8_question& asked : all)
    if (asked.recipe.empty() && find_fp8_scaler(asked.scaler) == nullptr)
      throw std::invalid_argument(fmt::format(
          "--scaler: {} scales the whole run, others here scale each tensor; ask for them apart", asked.scaler));
  for (const std::string& text : grid.parameters) all = with_values(all, text);
  refuse_twins(std::span(all).subspan(grid.own ? 1 : 0));
  return all;
}

fp8_sweep_answer fp8_sweep_over(const fp8_grid& grid, const run_text& run, listener& to) {
  const std::vector<fp8_question> asked = questions_of(grid, run);
  std::vector<fp8_replayer> replays;
  for (const fp8_question& q : asked) replays.emplace_back(recipe_of(q), run.selected());
  if (grid.own) to.configured(*grid.own->own);
  const fp8_reading read = read_into(replays, run, to);
  fp8_sweep_answer answer{.recipes = {}, .steps = read.steps, .is_of_amaxes = read.is_of_amaxes};
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const fp8_recipe& recipe = replays[i].recipe();
    swept_fp8 one{.asked = asked[i], .formats = {recipe.forward.how.format, recipe.gradient.how.format}, .sum = {}};
    for (const auto& [tensor, sum] : replays[i].summaries()) one.sum += sum;
    answer.recipes.push_back(std::move(one));
    answer.tensors = std::max<std::uint64_t>(answer.tensors, replays[i].summaries().size());
  }
  for (swept_fp8& one : answer.recipes)
    one.on_front = std::ranges::none_of(answer.recipes, [&](const swept_fp8& other) {
      return other.formats == one.formats && is_better(other.sum, one.sum);
    });
  std::ranges::stable_sort(answer.recipes, {}, [](const swept_fp8& one) {
    return std::tuple{!one.on_front, cost_of(one.sum)};
  });
  return answer;
}

}  // namespace ulp
