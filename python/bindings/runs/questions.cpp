// Questions about runs: each takes the paths of its inputs and options, and gives what the command's --json has, as
// (columns, notes, ...). The modules of the package make classes of it.
#include <pybind11/stl.h>

#include <algorithm>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/ask/reading/reading.hpp>
#include <ulp/ask/runs/advice_answer.hpp>
#include <ulp/ask/runs/fp8_answer.hpp>
#include <ulp/ask/runs/outcome_answer.hpp>
#include <ulp/ask/runs/page_answer.hpp>
#include <ulp/ask/runs/replay_answer.hpp>
#include <ulp/ask/runs/sweep_answer.hpp>
#include <ulp/io/bytes/error.hpp>
#include <ulp/io/bytes/printable.hpp>
#include <ulp/report/findings/advice.hpp>
#include <ulp/report/page/figures.hpp>
#include <ulp/report/page/page.hpp>
#include <ulp/report/tables/fp8_table.hpp>
#include <ulp/report/tables/outcome_table.hpp>
#include <ulp/report/tables/regret_text.hpp>
#include <ulp/report/tables/replay_summary.hpp>
#include <ulp/report/tables/scaler_table.hpp>
#include <ulp/report/tables/sorted.hpp>
#include <ulp/report/tables/sweep_table.hpp>
#include <ulp/report/tables/trajectory_table.hpp>
#include <utility>
#include <vector>

#include "columns.hpp"
#include "listener.hpp"
#include "module.hpp"
#include "options.hpp"

namespace ulp::python {
namespace {

namespace py = pybind11;

// With all columns of a table at once.
py::dict arrays_of(const table& t) {
  growing_table columns;
  columns.add(t);
  return columns.arrays();
}

// What makes a replay, out of the keywords of `function`.
replay_question replay_question_of(const py::list& inputs, keywords& given) {
  replay_question asked;
  config_file config;
  given.take("config", &config.path);
  given.take("framework", &config.framework);
  asked.run = run_of(inputs, given);
  given.take({group_option(asked.run)});
  given.take(options_of(asked.what));
  if (!config.empty()) {
    const auto own = configuration_of(config, asked.what, asked.run);
    given.take_parameters(parameters_of({own->said.scaler}), asked.what.parameters);
  }
  given.take_parameters(parameters_of({asked.what.scaler}), asked.what.parameters);
  given.refuse_others();
  if (!config.empty() && !asked.what.scaler.empty())
    throw std::invalid_argument("--config excludes --scaler: a configuration says which policy it is");
  return completed(asked, config);
}

py::dict dict_of_lines(const std::vector<summary_line>& lines) {
  named_values all;
  for (const summary_line& line : lines) all.all.insert(all.all.end(), line.values.begin(), line.values.end());
  return dict_of(all);
}

// (columns, notes, summary, columns by tensor or None)
py::tuple replay(const py::list& inputs, const py::dict& options) {
  keywords given("replay", options);
  bool per_tensor = false;
  given.take("per_tensor", &per_tensor);
  const replay_question asked = replay_question_of(inputs, given);
  note_keeper heard;
  growing_table steps;
  growing_table tensors;
  std::vector<summary_line> lines;
  unlocked([&] {
    const scenario s = scenario_of(asked.what, asked.run);
    std::vector<trajectory_row> all_rows;
    replay_hearers hears{.of_rows = [&](const trajectory_row& row) { all_rows.push_back(row); }};
    if (per_tensor)
      hears.of_tensors = [&](const std::vector<tensor_outcome>& outcomes, const std::vector<tensor_info>& all) {
        tensors.add(per_tensor_table(outcomes, all));
      };
    const replayed_run run = replay_over(asked, s, heard, hears);
    lines = lines_of(run, asked, s);
    // In parts, since the table of all rows at once takes many times their own room.
    constexpr std::size_t in_a_part = 4096;
    std::span<const trajectory_row> rows = all_rows;
    do {
      const std::size_t n = std::min(rows.size(), in_a_part);
      steps.add(trajectory_table(rows.first(n), s, run.sum()));
      rows = rows.subspan(n);
    } while (!rows.empty());
  });
  return py::make_tuple(steps.arrays(), heard.notes(), dict_of_lines(lines),
                        per_tensor ? py::object(tensors.arrays()) : py::none());
}

// (columns, notes, summary, columns by tensor)
py::tuple replay_fp8(const py::list& inputs, const py::dict& options) {
  keywords given("replay", options);
  fp8_question asked{.run = run_of(inputs, given)};
  given.take("recipe", &asked.recipe);
  given.take("scaler", &asked.scaler);
  given.take("format", &asked.format);
  std::vector<std::string> names;
  for (const scaler_parameter& p : policy_of(asked).parameters) names.push_back(p.name);
  given.take_parameters(names, asked.parameters);
  given.refuse_others();
  note_keeper heard;
  growing_table rows;
  std::vector<summary_line> lines;
  table of_tensors;
  unlocked([&] {
    std::vector<fp8_row> kept;
    std::vector<tensor_info> known;
    const auto write = [&] {
      if (kept.empty()) return;
      rows.add(fp8_rows_table(kept, known, real_text::decimal, fp8_columns_of(kept.front())));
      kept.clear();
    };
    constexpr std::size_t in_a_part = 4096;
    const fp8_answer answer = fp8_replay_over(asked, heard, [&](const auto& now, const auto& tensors) {
      kept.insert(kept.end(), now.begin(), now.end());
      if (kept.size() < in_a_part) return;
      known = tensors;
      write();
    });
    known = answer.tensors;
    write();
    lines = lines_of(answer, asked);
    of_tensors = fp8_tensors_table(answer);
  });
  return py::make_tuple(rows.arrays(), heard.notes(), dict_of_lines(lines), arrays_of(of_tensors));
}

// The command line that does the same.
py::str replay_command(const py::list& inputs, const py::dict& options) {
  keywords given("command", options);
  const replay_question asked = replay_question_of(inputs, given);
  return text_of(command_of(asked.what, asked.run));
}

// (columns, notes, columns of the best scales or None)
py::tuple sweep(const py::list& inputs, const py::dict& options) {
  keywords given("sweep", options);
  grid_text grid;
  config_file config;
  std::string magnitude_cost = "1";
  bool hindsight = false;
  given.take("config", &config.path);
  given.take("framework", &config.framework);
  given.take("magnitude_cost", &magnitude_cost);
  given.take("hindsight", &hindsight);
  given.take("scaler", &grid.scalers);
  given.take("format", &grid.formats);
  given.take("rounding", &grid.roundings);
  const run_text run = run_of(inputs, given);
  std::vector<text_option> rest = options_of(grid.base);
  std::erase_if(rest,
                [](const text_option& o) { return o.name == "scaler" || o.name == "format" || o.name == "rounding"; });
  given.take(rest);
  grid.scalers = split_at_commas(grid.scalers);
  grid.formats = split_at_commas(grid.formats);
  if (!config.empty()) {
    scenario_text first = grid.base;
    if (!grid.formats.empty()) first.format = joined_names(grid.formats).front();
    given.take_parameters(parameters_of({configuration_of(config, first, run)->said.scaler}), grid.base.parameters);
  }
  given.take_parameters(parameters_of(grid.scalers), grid.base.parameters);
  given.refuse_others();
  note_keeper heard;
  growing_table rows;
  growing_table best;
  unlocked([&] {
    const sweep_answer answer = sweep_over(run, completed(grid, config, run), magnitude_cost, heard);
    if (const std::string lost = lost_to_all_text(answer.lost_to_all, answer.any_applied); !lost.empty())
      heard.note(lost);
    rows.add(sweep_table(answer.policies, answer.steps));
    if (hindsight) hindsight_table(answer, [&](const table& part) { best.add(part); });
  });
  return py::make_tuple(rows.arrays(), heard.notes(), hindsight ? py::object(best.arrays()) : py::none());
}

// (columns, notes)
py::tuple sweep_fp8(const py::list& inputs, const py::dict& options) {
  keywords given("sweep", options);
  fp8_grid grid;
  const run_text run = run_of(inputs, given);
  given.take("recipe", &grid.recipes);
  given.take("scaler", &grid.scalers);
  given.take("format", &grid.formats);
  grid.recipes = split_at_commas(grid.recipes);
  grid.scalers = split_at_commas(grid.scalers);
  grid.formats = split_at_commas(grid.formats);
  std::vector<std::string> names;
  const auto take_names_of = [&](const fp8_scaler_entry* policy) {
    if (policy != nullptr)
      for (const scaler_parameter& p : policy->parameters) names.push_back(p.name);
  };
  for (const std::string& recipe : grid.recipes) take_names_of(find_fp8_scaler(fp8_recipe_entry_named(recipe).policy));
  for (const std::string& scaler : grid.scalers) take_names_of(find_fp8_scaler(scaler));
  given.take_parameters(names, grid.parameters);
  given.refuse_others();
  note_keeper heard;
  growing_table rows;
  unlocked([&] { rows.add(fp8_sweep_table(fp8_sweep_over(grid, run, heard))); });
  return py::make_tuple(rows.arrays(), heard.notes());
}

// (columns, notes)
py::tuple outcomes(const py::list& inputs, const py::dict& options) {
  keywords given("outcomes", options);
  outcome_question asked;
  given.take("format", &asked.formats);
  given.take("scale", &asked.scales);
  given.take("by", &asked.by);
  given.take("as_recorded", &asked.as_recorded);
  row_order order;
  given.take("sort", &order.sort);
  given.take("top", &order.top);
  asked.run = run_of(inputs, given);
  given.take({group_option(asked.run)});
  given.take(options_of(asked.rounding));
  given.refuse_others();
  if (asked.formats.empty()) throw std::invalid_argument("--format is required (see ulp outcomes --help)");
  asked.formats = joined_names(split_at_commas(asked.formats));
  asked.scales = split_at_commas(asked.scales);
  asked.by = split_at_commas(asked.by);
  check_each("by", asked.by, outcome_groups);
  note_keeper heard;
  growing_table rows;
  unlocked([&] {
    const outcome_answer answer =
        outcomes_over(asked, heard, [&](const counted_outcomes& none) { check_order(outcome_table(none, {}), order); });
    table all = outcome_table(answer.counted, answer.tensors);
    arrange(all, order, heard);
    rows.add(all);
  });
  return py::make_tuple(rows.arrays(), heard.notes());
}

// (columns, notes)
py::tuple advise(const py::list& inputs, const py::dict& options) {
  keywords given("advise", options);
  advice_question asked;
  given.take("format", &asked.format);
  given.take("check", &asked.check);
  given.take("epsilon", &asked.epsilon);
  given.take("config", &asked.config.path);
  given.take("framework", &asked.config.framework);
  asked.run = run_of(inputs, given);
  given.take({group_option(asked.run)});
  given.take(options_of(asked.rounding));
  given.refuse_others();
  note_keeper heard;
  growing_table rows;
  unlocked([&] { rows.add(advice_table(advice_on(advice_over(asked, heard)))); });
  return py::make_tuple(rows.arrays(), heard.notes());
}

// (SVG, notes)
py::tuple plot(const py::list& inputs, const std::string& view, const py::dict& options) {
  keywords given("plot", options);
  scenario_text what;
  config_file config;
  std::string epsilon = "1e-5";
  given.take("config", &config.path);
  given.take("framework", &config.framework);
  run_text run = run_of(inputs, given);
  given.take({group_option(run)});
  given.take(options_of(what));
  check_figure_name(view);
  const auto own = configuration_of(config, what, run);
  const std::string usual = own ? own->said.scaler : "pytorch_gradscaler";
  given.take_parameters(parameters_of({what.scaler.empty() ? usual : what.scaler}), what.parameters);
  given.refuse_others();
  note_keeper heard;
  std::string svg;
  unlocked([&] {
    const std::vector<std::string> scalers =
        what.scaler.empty() ? std::vector<std::string>{} : std::vector{what.scaler};
    const report_page page = page_of(page_over(page_about(run, what, scalers, own, epsilon), heard));
    if (own) heard.configured(*own);
    for (const std::string& line : page.notes) heard.note(line);
    svg = figure_of(page, view);
  });
  return py::make_tuple(text_of(svg), heard.notes());
}

}  // namespace

void bind_questions(py::module_& module) {
  module.def("run_replay", &replay);
  module.def("run_command", &replay_command);
  module.def("run_sweep", &sweep);
  module.def("run_outcomes", &outcomes);
  module.def("run_advise", &advise);
  module.def("run_plot", &plot);
  module.def("run_views", &figure_names);
  module.def("scaler_catalog", [] { return arrays_of(scaler_table()); });
  module.def("scaler_parameters", [](const std::string& name) {
    if (const fp8_scaler_entry* const e = find_fp8_scaler(name))
      return arrays_of(parameter_table(e->name, e->parameters));
    const scaler_entry& e = scaler_named(name);
    return arrays_of(parameter_table(e.name, e.parameters));
  });
  module.def("run_replay_fp8", &replay_fp8);
  module.def("run_sweep_fp8", &sweep_fp8);
  module.def("asks_for_fp8", &asks_for_fp8);
}

}  // namespace ulp::python
