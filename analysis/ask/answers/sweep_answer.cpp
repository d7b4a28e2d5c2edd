#include <ulp/ask/answers/sweep_answer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>
#include <ulp/ask/answers/reading.hpp>
#include <ulp/ask/answers/run_notes.hpp>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/formats/names.hpp>
#include <utility>

namespace ulp {
namespace {

// Names of one thing make scenarios twice.
template <typename T>
void refuse_twins(const std::string& option, const std::vector<std::string>& names, T meaning) {
  for (std::size_t i = 0; i < names.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (meaning(names[i]) == meaning(names[j]))
        throw std::invalid_argument(names[i] == names[j]
                                        ? fmt::format("{}: {} is given twice", option, names[i])
                                        : fmt::format("{}: {} and {} are the same", option, names[j], names[i]));
}

// Each once, however many scenarios it is true of.
void tell_notes(const std::vector<scenario_text>& grid, const std::vector<scenario>& scenarios,
                std::vector<std::string> lines, bool factor_unknown, listener& to) {
  if (factor_unknown) lines.emplace_back(factor_note);
  for (std::size_t i = 0; i < grid.size(); ++i)
    for (std::string& text : policy_notes(scenarios[i], grid[i].format))
      if (std::ranges::find(lines, text) == lines.end()) lines.push_back(std::move(text));
  for (const std::string& text : lines) to.note(text);
}

}  // namespace

grid_text completed(grid_text grid, const std::string& config_file, const run_text& run) {
  grid.formats = joined_names(grid.formats);
  scenario_text first = grid.base;
  if (!grid.formats.empty()) first.format = grid.formats.front();
  grid.own = configuration_of(config_file, first, run);
  if (grid.scalers.empty() && !grid.own)
    throw std::invalid_argument("--scaler or --config is required (see ulp sweep --help)");
  if (grid.formats.empty() && !(grid.own && grid.own->said.format))
    throw std::invalid_argument("--format is required (see ulp sweep --help)");
  refuse_twins("--scaler", grid.scalers, [](const std::string& name) { return scaler_named(name).name; });
  refuse_twins("--format", grid.formats, value_format_named);
  // Of hardware's roundings each format has its own.
  const std::vector<std::string> formats = grid.formats.empty() ? std::vector{*grid.own->said.format} : grid.formats;
  refuse_twins("--rounding", grid.roundings, [&](const std::string& name) {
    std::string meaning;
    for (const std::string& format : formats)
      meaning += to_string(rounding_text{.direction = name}.value(value_format_named(format))) + "\n";
    return meaning;
  });
  return grid;
}

sweep_answer sweep_over(const run_text& run, const grid_text& grid, const std::string& magnitude_cost, listener& to,
                        first_look look) {
  std::vector<scenario_text> texts = grid_of(grid);
  const std::vector<scenario> scenarios = scenarios_of(texts, run);
  sweep_answer answer;
  answer.grid = std::move(texts);
  const auto swept = std::make_shared<sweep>(scenarios, positive_number(magnitude_cost, "--magnitude-cost"));
  sweep& all = *swept;
  answer.all = swept;
  const std::unique_ptr<source> from = open_run(run, reading_for(run, scenarios), to, look);
  check_tensors_exist(grid.base.check, *from);
  run_notes notes;
  bool factor_unknown = false;
  for_each_step(*from, run.selected(), to, [&](const step& now) {
    notes.see(now, from->tensors());
    for (const tensor_row& t : now.tensors) factor_unknown = factor_unknown || std::isnan(t.factor);
    all.add(now, from->tensors());
  });
  check_steps_counted(all.steps(), run);
  {
    work following(to, "scenarios", answer.grid.size());
    answer.results = all.results([&] { following.advance(); });
  }
  for (std::size_t i = 0; i < answer.results.size(); ++i)
    if (answer.results[i].lacks_input)
      throw std::invalid_argument(fmt::format("{}: {}", answer.grid[i].scaler, answer.results[i].error));
  check_tensors_counted(all.choice(), *from, run);
  answer.policies = ranked(answer.grid, answer.results, all.steps());
  if (grid.own) to.configured(*grid.own);
  tell_notes(answer.grid, scenarios, notes.lines(all.choice()), factor_unknown, to);
  answer.steps = all.steps();
  answer.lost_to_all = all.steps_lost_to_all();
  answer.any_applied = std::ranges::any_of(answer.results, [](const sweep_result& r) { return r.poisoned > 0; });
  return answer;
}

}  // namespace ulp
