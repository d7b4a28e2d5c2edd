#include <ulp/ask/answers/sweep_answer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <ulp/ask/answers/reading.hpp>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/report/tables/regret_text.hpp>
#include <ulp/report/tables/run_notes.hpp>
#include <ulp/report/tables/sweep_table.hpp>
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

table sweep_answer::rows() const { return sweep_table(policies, all->steps()); }

void sweep_answer::hindsight(const std::function<void(const table&)>& part) const {
  constexpr std::size_t in_a_part = 4096;
  table rows;
  rows.columns = {{"step", ""}, {"format", ""}, {"rounding", ""}, {"scale", ""}};
  std::set<std::pair<std::string, std::string>> written;
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const std::string rounding = grid[i].rounding.text(value_format_named(grid[i].format));
    if (written.contains({grid[i].format, rounding})) continue;
    const std::optional<best_trajectory> best = all->free_best(i);
    if (!best) continue;
    written.emplace(grid[i].format, rounding);
    for (std::size_t t = 0; t < best->exponents.size(); ++t) {
      rows.rows.push_back({all->step_number(t), grid[i].format, rounding, std::ldexp(1.0, best->exponents[t])});
      if (rows.rows.size() < in_a_part) continue;
      part(rows);
      rows.rows.clear();
    }
  }
  part(rows);
}

sweep_answer sweep_over(const run_text& run, const grid_text& grid, const std::string& magnitude_cost, listener& to) {
  std::vector<scenario_text> texts = grid_of(grid);
  const std::vector<scenario> scenarios = scenarios_of(texts, run);
  sweep_answer answer;
  answer.grid = std::move(texts);
  answer.all = std::make_unique<sweep>(scenarios, positive_number(magnitude_cost, "--magnitude-cost"));
  sweep& all = *answer.all;
  const std::unique_ptr<source> from = open_run(run, reading_for(run, scenarios), to);
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
  const bool any_applied = std::ranges::any_of(answer.results, [](const sweep_result& r) { return r.poisoned > 0; });
  answer.lost_to_all = lost_to_all_text(all.steps_lost_to_all(), any_applied);
  return answer;
}

}  // namespace ulp
