#include <ulp/ask/runs/fp8_answer.hpp>

#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <stdexcept>
#include <ulp/ask/questions/number_text.hpp>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/ask/reading/reading.hpp>
#include <ulp/io/amax/amax_table.hpp>
#include <ulp/io/source/source.hpp>
#include <unordered_map>

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

// A tensor of which only the name is known: --kind says what it is.
tensor_info named_tensor(const std::string& name, const source_options& how) {
  tensor_info t{.name = name};
  for (const auto& [expression, kind] : how.kinds)
    if (t.kind == tensor_kind::unknown && expression.matches(name)) t.kind = kind;
  return t;
}

void replay_amaxes(fp8_answer& answer, amax_table& from, const fp8_question& asked, listener& to,
                   const fp8_hearer& hears) {
  const source_options how = asked.run.how_to_read();
  const selection selected = asked.run.selected();
  std::unordered_map<std::string, std::uint32_t> indices;
  std::set<std::int64_t> steps;
  std::vector<fp8_row> rows;
  work reading(to, "rows", 0);
  for (amax_row now; from.next(now);) {
    reading.advance();
    if (!selected.takes(now.step)) continue;
    const auto [index, is_new] = indices.try_emplace(now.tensor, static_cast<std::uint32_t>(answer.tensors.size()));
    if (is_new) answer.tensors.push_back(named_tensor(now.tensor, how));
    steps.insert(now.step);
    const auto row =
        answer.by.advance({.step = now.step}, index->second, static_cast<double>(now.amax), answer.tensors);
    if (!row) continue;
    rows.assign(1, *row);
    if (hears) hears(rows, answer.tensors);
  }
  answer.is_of_amaxes = true;
  answer.steps = steps.size();
}

void replay_tables(fp8_answer& answer, const fp8_question& asked, listener& to, const fp8_hearer& hears) {
  source_options how = asked.run.how_to_read();
  how.infer = true;
  const std::unique_ptr<source> from = open_run(asked.run, how, to);
  if (from->tensors().empty())
    throw std::invalid_argument(fmt::format(
        "{}: a {} knows no tensors, and these policies scale each: give a recording, dumps, or a table with the columns "
        "step, tensor, amax",
        asked.run.inputs.front(), from->description()));
  const selection selected = asked.run.selected();
  for_each_step(*from, selected, to, [&](const step& now) {
    ++answer.steps;
    const std::vector<fp8_row> rows = answer.by.advance(now, from->tensors());
    if (hears) hears(rows, from->tensors());
  });
  answer.tensors = from->tensors();
}

// nullptr where the input is something else.
std::unique_ptr<amax_table> amaxes_of(const run_text& run) {
  if (run.inputs.size() != 1 || std::filesystem::is_directory(run.inputs.front())) return nullptr;
  return amax_table::open(run.inputs.front(), run.how_to_read().limits);
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
  fp8_answer answer{.by = fp8_replayer(recipe_of(asked), asked.run.selected()), .tensors = {}};
  const std::unique_ptr<amax_table> amaxes = amaxes_of(asked.run);
  if (amaxes != nullptr)
    replay_amaxes(answer, *amaxes, asked, to, hears);
  else if (asked.run.inputs.front() == "-")
    throw std::invalid_argument(
        "standard input is no table with the columns step, tensor, amax, which these policies take from there");
  else
    replay_tables(answer, asked, to, hears);
  check_steps_counted(answer.steps, asked.run);
  if (answer.by.summaries().empty())
    throw std::invalid_argument(fmt::format("{}: no tensor is cast under {}: --tensor, --kind and --role leave none",
                                            asked.run.inputs.front(), answer.by.recipe().name));
  tell(answer, asked, to);
  return answer;
}

}  // namespace ulp
