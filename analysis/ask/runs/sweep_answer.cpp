#include <ulp/ask/runs/sweep_answer.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/ask/reading/lost_end.hpp>
#include <ulp/ask/reading/reading.hpp>
#include <ulp/ask/reading/run_notes.hpp>
#include <ulp/formats/names.hpp>
#include <utility>

namespace ulp {
namespace {

// A parameter and the values it takes in turn.
struct axis {
  std::string name;
  std::vector<std::string> values;
};

axis axis_of(const std::string& text) {
  const auto [name, values] = key_and_value(text, "--set");
  axis a{name, {}};
  for (std::size_t at = 0; at <= values.size();) {
    const std::size_t comma = std::min(values.find(',', at), values.size());
    a.values.push_back(values.substr(at, comma - at));
    if (a.values.back().empty()) throw std::invalid_argument(fmt::format("--set: '{}' has an empty value", text));
    at = comma + 1;
  }
  return a;
}

// The last parameter runs fastest.
std::vector<scenario_text> combinations_of(const scenario_text& policy) {
  std::vector<scenario_text> all{policy};
  all.front().parameters.clear();
  for (const std::string& text : policy.parameters) {
    const axis a = axis_of(text);
    std::vector<scenario_text> more;
    for (const scenario_text& so_far : all)
      for (const std::string& value : a.values) {
        more.push_back(so_far);
        more.back().parameters.push_back(a.name + "=" + value);
      }
    all = std::move(more);
  }
  return all;
}

// What it may have lost at most: where nothing bounds that, more than any that is bounded.
std::uint64_t most_lost(const sweep_result& r, std::uint64_t steps) {
  if (r.uncertain == 0) return r.lost_steps(steps);
  if (!r.bounds.known) return std::numeric_limits<std::uint64_t>::max();
  return r.bounds.skipped.high + r.bounds.poisoned.high;
}

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

std::vector<scenario_text> grid_of(const grid_text& grid) {
  std::vector<std::string> scalers = grid.scalers;
  if (scalers.empty() && !grid.own) scalers = {grid.base.scaler};
  std::vector<scenario_text> all;
  for (const scenario_text& policy : under_each(grid.base, scalers, grid.own)) {
    const auto formats = grid.formats.empty() ? std::vector{policy.format} : grid.formats;
    const auto roundings = grid.roundings.empty() ? std::vector{policy.rounding.direction} : grid.roundings;
    for (const scenario_text& combination : combinations_of(policy))
      for (const std::string& format : formats)
        for (const std::string& direction : roundings) {
          all.push_back(combination);
          all.back().format = format;
          all.back().rounding.direction = direction;
        }
  }
  return all;
}

std::vector<scenario> scenarios_of(const std::vector<scenario_text>& grid, const run_text& run) {
  std::vector<scenario> all;
  for (const scenario_text& text : grid) all.push_back(scenario_of(text, run));
  return all;
}

std::vector<swept_policy> ranked(const std::vector<scenario_text>& grid, const std::vector<sweep_result>& results,
                                 std::uint64_t steps) {
  const std::vector<bool> front = pareto_front(results, steps);
  std::vector<swept_policy> all;
  for (std::size_t i = 0; i < grid.size(); ++i) all.push_back({grid[i], results[i], front[i]});
  std::ranges::stable_sort(all, {}, [&](const swept_policy& p) {
    return std::tuple{!p.on_front, p.result.lost_share(steps), most_lost(p.result, steps)};
  });
  return all;
}

std::string parameters_text(const scenario_text& text) { return fmt::format("{}", fmt::join(text.parameters, " ")); }

grid_text completed(grid_text grid, const config_file& file, const run_text& run) {
  scenario_text first = grid.base;
  if (const auto formats = joined_names(grid.formats); !formats.empty()) first.format = formats.front();
  return completed(std::move(grid), configuration_of(file, first, run));
}

grid_text completed(grid_text grid, const std::optional<configuration>& own) {
  grid.formats = joined_names(grid.formats);
  grid.own = own;
  if (grid.scalers.empty() && !grid.own)
    throw std::invalid_argument("--scaler, --recipe or --config is required (see ulp sweep --help)");
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
  lost_end end;
  bool factor_unknown = false;
  work parts(to, "", 2);
  for_each_step(*from, run.selected(), to, [&](const step& now) {
    notes.see(now, from->tensors());
    end.see(now);
    for (const tensor_row& t : now.tensors) factor_unknown = factor_unknown || std::isnan(t.factor);
    all.add(now, from->tensors());
  });
  check_steps_counted(all.steps(), run);
  parts.advance();
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
  tell_notes(answer.grid, scenarios, notes.lines(all.choice(), run), factor_unknown, to);
  for (const std::string& line : end.lines()) to.note(line);
  answer.steps = all.steps();
  answer.lost_to_all = all.steps_lost_to_all();
  answer.any_applied = std::ranges::any_of(answer.results, [](const sweep_result& r) { return r.poisoned > 0; });
  return answer;
}

}  // namespace ulp
