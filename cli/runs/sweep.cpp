// ulp sweep: a grid of scalers, parameters, formats and roundings over one run.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <ulp/formats/names.hpp>
#include <ulp/io/source.hpp>
#include <ulp/model/sweep.hpp>
#include <ulp/report/estimates.hpp>
#include <ulp/report/policy_grid.hpp>
#include <ulp/report/regret_text.hpp>
#include <ulp/report/run_notes.hpp>
#include <ulp/report/sweep_table.hpp>
#include <ulp/report/typed_values.hpp>

#include "command.hpp"
#include "configuration.hpp"
#include "each_step.hpp"
#include "hindsight_csv.hpp"
#include "interrupt.hpp"
#include "options.hpp"
#include "output.hpp"

namespace ulp::cli {
namespace {

struct options {
  run_text run;
  grid_text grid;
  std::string config;
  std::string magnitude_cost = "1";
  std::string hindsight;  // a CSV file
  std::uint64_t show = 40;
  output_options output;
};

// Each once, however many scenarios it is true of.
void print_notes(const std::vector<scenario_text>& grid, const std::vector<scenario>& scenarios,
                 std::vector<std::string> lines, bool factor_unknown) {
  if (factor_unknown) lines.emplace_back(factor_note);
  for (std::size_t i = 0; i < grid.size(); ++i)
    for (std::string& text : policy_notes(scenarios[i], grid[i].format))
      if (std::ranges::find(lines, text) == lines.end()) lines.push_back(std::move(text));
  for (const std::string& text : lines) note(text);
}

// Names of one thing make scenarios twice.
template <typename T>
void refuse_twins(const std::string& option, const std::vector<std::string>& names, T meaning) {
  for (std::size_t i = 0; i < names.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (meaning(names[i]) == meaning(names[j]))
        throw usage_error(names[i] == names[j] ? fmt::format("{}: {} is given twice", option, names[i])
                                               : fmt::format("{}: {} and {} are the same", option, names[j], names[i]));
}

// With what --config says, and nothing missing or twice.
grid_text completed(const options& o) {
  grid_text grid = o.grid;
  grid.formats = joined_names(grid.formats);
  scenario_text first = grid.base;
  if (!grid.formats.empty()) first.format = grid.formats.front();
  grid.own = configuration_of(o.config, first, o.run);
  if (grid.scalers.empty() && !grid.own) throw usage_error("--scaler or --config is required (see ulp sweep --help)");
  if (grid.formats.empty() && !(grid.own && grid.own->said.format))
    throw usage_error("--format is required (see ulp sweep --help)");
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

int run(const options& o) {
  std::vector<std::string> read = o.run.files();
  read.push_back(o.config);
  refuse_overwriting_inputs(o.output, read);
  read.push_back(o.output.csv);
  refuse_hindsight_file(o.hindsight, read);
  const grid_text asked = completed(o);
  const std::vector<scenario_text> grid = grid_of(asked);
  const std::vector<scenario> scenarios = scenarios_of(grid, o.run);
  sweep all(scenarios, positive_number(o.magnitude_cost, "--magnitude-cost"));
  const std::unique_ptr<source> from = open_run(o.run, reading_for(o.run, scenarios));
  check_tensors_exist(asked.base.check, *from);
  run_notes notes;
  bool factor_unknown = false;
  for_each_step(*from, o.run.selected(), [&](const step& now) {
    notes.see(now, from->tensors());
    for (const tensor_row& t : now.tensors) factor_unknown = factor_unknown || std::isnan(t.factor);
    all.add(now, from->tensors());
  });
  check_steps_counted(all.steps(), o.run);
  std::vector<sweep_result> results;
  {
    progress shown("scenarios", grid.size());
    results = all.results([&] { shown.advance(); });
  }
  for (std::size_t i = 0; i < results.size(); ++i)
    if (results[i].lacks_input) throw usage_error(fmt::format("{}: {}", grid[i].scaler, results[i].error));
  check_tensors_counted(all.choice(), *from, o.run);
  const std::vector<swept_policy> policies = ranked(grid, results, all.steps());
  table t = sweep_table(policies, all.steps());
  if (asked.own) print_configuration(*asked.own, o.output.machine_stdout());
  print_notes(grid, scenarios, notes.lines(all.choice()), factor_unknown);
  const bool any_applied = std::ranges::any_of(results, [](const sweep_result& r) { return r.poisoned > 0; });
  const std::string lost_to_all = lost_to_all_text(all.steps_lost_to_all(), any_applied);
  if (!lost_to_all.empty() && o.output.machine_stdout()) note(lost_to_all);
  write_table("sweep", t, o.output, false);
  if (!o.hindsight.empty()) write_hindsight(o.hindsight, all, grid);
  if (o.output.machine_stdout()) return done;
  const auto counted = [](std::uint64_t n, const char* what) { return count_text(n, what); };
  fmt::print("{} over {}; * Pareto-optimal in skipped steps and underflow\n", counted(grid.size(), "scenario"),
             counted(all.steps(), "step"));
  if (std::ranges::any_of(results, [](const sweep_result& r) { return !r.error.empty(); }))
    fmt::print("steps after a policy raised an error count as skipped; its underflow covers the steps before\n");
  if (any_applied) fmt::print("steps whose infinities or NaN were applied count as skipped\n");
  if (std::ranges::any_of(results, [](const sweep_result& r) { return r.uncertain > 0; }))
    fmt::print(
        "~ estimates: the recording does not decide every step at other scales and formats than its own. Rows are "
        "ranked by the estimate; [low, high] is what may have been, so rows whose ranges overlap could swap\n");
  const std::vector<std::string> best = best_lines(policies);
  for (const std::string& line : best) fmt::print("{}\n", line);
  if (!best.empty())
    fmt::print("{}. A skipped step costs 1, losing a step's whole magnitude {} (--magnitude-cost)\n", regret_meaning,
               o.magnitude_cost);
  fmt::print("\n");
  const std::size_t rows = t.rows.size();
  if (rows > o.show) t.rows.resize(o.show);
  fmt::print("{}", to_text(t));
  if (rows > o.show)
    fmt::print("\nthe first {} of {}; more with --show N, all with --csv FILE\n", o.show, grouped(rows));
  if (!lost_to_all.empty()) fmt::print("\n{}\n", lost_to_all);
  return done;
}

}  // namespace

command sweep_command() {
  auto o = std::make_shared<options>();
  command made{.name = "sweep", .help = "rank many scalers, parameters, formats and roundings over one run"};
  add_run(made, o->run);
  made.add("--scaler", &o->grid.scalers, "the policies (see ulp scalers)",
           {.type = "NAME,...", .split_at_commas = true});
  add_config(made, o->config, {}, "adds a policy, and takes format and clipping unless given,");
  made.add(
      "--set", &o->grid.base.parameters,
      "a parameter and its values, for the policies that have it; window is the growth interval of each; repeat it for "
      "a grid",
      {.type = "key=v1,v2"});
  made.add("--format", &o->grid.formats, "the formats (see ulp formats)", {.type = "F,...", .split_at_commas = true});
  add_options(made, options_of(o->grid.base), {"scaler", "set", "format", "rounding"});
  made.add("--rounding", &o->grid.roundings, "as in ulp replay; repeat it for several",
           {.type = "R", .group = "Rounding"});
  made.add(
      "--magnitude-cost", &o->magnitude_cost,
      "what losing a step's whole gradient magnitude to the format costs, in skipped steps; never more than a skip",
      {.type = "W", .show_default = true});
  made.add("--hindsight", &o->hindsight,
           "write CSV to this file: of each format the best scale of each step in hindsight",
           {.type = "FILE", .check = a_name});
  made.add("--show", &o->show, "number of rows to print", {.type = "N", .show_default = true, .check = whole_number});
  add_output(made, o->output);
  made.footer =
      "Each scenario gives the numbers of ulp replay. Ranges of underflow may be wider; they rank by their upper end.\n"
      "Example:\n"
      "  ulp sweep examples/digits.ulp --scaler pytorch,tf_keras,cerebras --set growth_interval=50,200 --format "
      "fp16,cb16";
  made.run = [o] { return run(*o); };
  return made;
}

}  // namespace ulp::cli
