// ulp sweep: a grid of scalers, parameters, formats and roundings over one run.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/ask/reading/reading.hpp>
#include <ulp/ask/runs/sweep_answer.hpp>
#include <ulp/report/tables/estimates.hpp>
#include <ulp/report/tables/regret_text.hpp>
#include <ulp/report/tables/sweep_table.hpp>

#include "block_sweep.hpp"
#include "command.hpp"
#include "configuration.hpp"
#include "fp8_replay.hpp"
#include "hindsight_csv.hpp"
#include "listening.hpp"
#include "options.hpp"
#include "output.hpp"

namespace ulp::cli {
namespace {

struct sweep_arguments {
  run_text run;
  grid_text grid;
  config_file config;
  std::vector<std::string> recipes;
  std::string magnitude_cost = "1";
  std::string hindsight;  // a CSV file
  std::uint64_t show = 40;
  output_options output;
};

// The grid with a scale for each tensor, where this is one; it knows nothing of what else loss scaling has.
fp8_grid fp8_grid_of(const sweep_arguments& o, std::optional<fp8_question> own) {
  const scenario_text& base = o.grid.base;
  for (const auto& [option, is_given] :
       {std::pair{"--check", !base.check.empty()},
        {"--clip-norm", !base.clip_norm.empty()},
        {"--clip-value", !base.clip_value.empty()},
        {"--order", !base.order.empty()},
        {"--start", !base.start.empty()},
        {"--rounding or a switch of it", !o.grid.roundings.empty() || base.rounding != rounding_text{}},
        {"--hindsight", !o.hindsight.empty()}})
    if (is_given) throw usage_error(fmt::format("{}: not with a scale for each tensor or block; remove it", option));
  return {.recipes = o.recipes,
          .scalers = o.grid.scalers,
          .formats = o.grid.formats,
          .parameters = base.parameters,
          .own = std::move(own)};
}

// The question of a configuration that trains in FP8; of what it leaves open the first value of a grid holds until each has
// its turn.
std::optional<fp8_question> fp8_question_of(const std::optional<configuration>& own, const sweep_arguments& o) {
  if (!own) return std::nullopt;
  std::vector<std::string> given;
  const bool is_of_history = own->said.float8 && own->said.float8->recipe == "delayed";
  const std::vector<scaler_parameter>& its = find_fp8_scaler(fp8_recipe_entry_named("te_delayed").policy)->parameters;
  for (const std::string& text : o.grid.base.parameters)
    if (is_of_history && std::ranges::find(its, text.substr(0, text.find('=')), &scaler_parameter::name) != its.end())
      given.push_back(text.substr(0, text.find(',')));
  return fp8_question_of(*own, o.run, given);
}

std::optional<configuration> configuration_of(const sweep_arguments& o) {
  scenario_text first = o.grid.base;
  if (const auto formats = joined_names(o.grid.formats); !formats.empty()) first.format = formats.front();
  return configuration_of(o.config, first, o.run);
}

// What sweeps of blocks know nothing of.
void check_blocks_alone(const sweep_arguments& o) {
  for (const auto& [option, is_given] : {std::pair{"--scaler", !o.grid.scalers.empty()},
                                         {"--format", !o.grid.formats.empty()},
                                         {"--set", !o.grid.base.parameters.empty()},
                                         {"--config", !o.config.path.empty()}})
    if (is_given) throw usage_error(fmt::format("{}: not with formats of blocks; remove it", option));
  static_cast<void>(fp8_grid_of(o, std::nullopt));
}

int run(const sweep_arguments& o) {
  if (are_blocks(o.recipes)) {
    check_blocks_alone(o);
    return sweep_blocks(o.recipes, o.run, o.output, o.show);
  }
  const bool is_of_scalers = std::ranges::any_of(o.grid.scalers, find_fp8_scaler);
  const bool asks_for_scales = !o.recipes.empty() || is_of_scalers;
  const std::optional<configuration> config = configuration_of(o);
  const bool may_be_of_scales = asks_for_scales || (o.grid.scalers.empty() && o.grid.formats.empty());
  std::optional<fp8_question> own = may_be_of_scales ? fp8_question_of(config, o) : std::nullopt;
  if (asks_for_scales && config && !own)
    throw usage_error(
        fmt::format("--config: {} does not train with a scale for each tensor; remove it", o.config.path));
  if (asks_for_scales || own) return sweep_fp8(fp8_grid_of(o, std::move(own)), o.run, o.output, o.show);
  std::vector<std::string> read = o.run.files();
  read.push_back(o.config.path);
  refuse_overwriting_inputs(o.output, read);
  if (o.hindsight == "-") throw usage_error("--hindsight: name a file; standard output is for the table");
  refuse_overwriting_inputs({.csv = o.hindsight}, read);
  refuse_one_output({{"--csv", o.output.csv}, {"--hindsight", o.hindsight}});
  const grid_text asked = completed(o.grid, config);
  listening to(o.output.machine_stdout());
  const sweep_answer answer = sweep_over(o.run, asked, o.magnitude_cost, to);
  const std::vector<sweep_result>& results = answer.results;
  const std::string lost_to_all = lost_to_all_text(answer.lost_to_all, answer.any_applied);
  if (!lost_to_all.empty() && o.output.machine_stdout()) note(lost_to_all);
  table t = sweep_table(answer.policies, answer.steps);
  write_table("sweep", t, o.output, false);
  if (!o.hindsight.empty()) write_hindsight(o.hindsight, answer);
  if (o.output.machine_stdout()) return done;
  const auto counted = [](std::uint64_t n, const char* what) { return count_text(n, what); };
  fmt::print("{} over {}; * Pareto-optimal in skipped steps and underflow\n", counted(answer.grid.size(), "scenario"),
             counted(answer.steps, "step"));
  if (std::ranges::any_of(results, [](const sweep_result& r) { return !r.error.empty(); }))
    fmt::print("steps after a policy raised an error count as skipped; its underflow covers the steps before\n");
  if (std::ranges::any_of(results, [](const sweep_result& r) { return r.poisoned > 0; }))
    fmt::print("steps whose infinities or NaN were applied count as skipped\n");
  if (std::ranges::any_of(results, [](const sweep_result& r) { return r.uncertain > 0; }))
    print_sentences(
        "~ ",
        "estimates: the recording does not decide every step at other scales and formats than its own. Rows are "
        "ranked by the estimate; [low, high] is what may have been, so rows whose ranges overlap could swap");
  const std::vector<std::string> best = best_lines(answer.policies);
  for (const std::string& line : best) print_sentences("", line);
  if (!best.empty())
    print_sentences("", fmt::format("{}. A skipped step costs 1, losing a step's whole magnitude {} (--magnitude-cost)",
                                    regret_meaning, o.magnitude_cost));
  if (!o.output.csv.empty()) {
    if (!lost_to_all.empty()) print_sentences("", lost_to_all);
    return done;
  }
  fmt::print("\n");
  const std::size_t rows = t.rows.size();
  if (rows > o.show) t.rows.resize(o.show);
  fmt::print("{}", to_text(t));
  if (rows > o.show)
    fmt::print("\nthe first {} of {}; more with --show N, all with --csv FILE\n", o.show, grouped(rows));
  if (!lost_to_all.empty()) print_sentences("\n", lost_to_all);
  return done;
}

}  // namespace

command sweep_command() {
  auto o = std::make_shared<sweep_arguments>();
  command made{.name = "sweep",
               .help = "rank many scalers, FP8 recipes, parameters, formats and roundings over one run"};
  add_run(made, o->run);
  made.add("--scaler", &o->grid.scalers, "the policies (see ulp scalers)",
           {.type = "NAME,...", .split_at_commas = true});
  made.add(
      "--recipe", &o->recipes,
      "a scale for each tensor, as in ulp replay: recipes of FP8 training; or formats of blocks (mxfp8, nvfp4, ...; see "
      "ulp formats --blocks)",
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
      "fp16,cb16\n"
      "  ulp sweep examples/digits.ulp --recipe te_delayed,te_current --set amax_history_len=1,16,1024\n"
      "  ulp sweep examples/digits.step00100.safetensors --recipe mxfp8,mxfp4,nvfp4,fp8_1x128";
  made.run = [o] { return run(*o); };
  return made;
}

}  // namespace ulp::cli
