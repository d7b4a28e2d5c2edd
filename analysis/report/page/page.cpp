#include <ulp/report/page/page.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <ulp/ask/questions/command_text.hpp>
#include <ulp/report/findings/format_matrix.hpp>
#include <ulp/report/findings/fp8_told.hpp>
#include <ulp/report/tables/fp8_table.hpp>
#include <ulp/report/tables/usual_formats.hpp>
#include <utility>
#include <variant>

#include "findings/findings.hpp"

namespace ulp {
namespace {

constexpr std::size_t inputs_shown = 3;

// "a.npz", "a.npz and 199 more files".
std::string input_text(const std::vector<std::string>& inputs) {
  return inputs.front() + (inputs.size() > 1 ? " and " + count_text(inputs.size() - 1, "more file") : "");
}

std::string set_parameters_of(const scaler& of) {
  std::string text;
  for (const scaler_parameter& p : of.parameters())
    if (!std::holds_alternative<std::monostate>(p.value))
      text += (text.empty() ? "" : " ") + p.name + "=" + to_string(p.value);
  return text;
}

void add_commands(report_page& to, const page_answer& answer) {
  const page_question& asked = answer.asked;
  run_text run = asked.run;
  run.groups.clear();
  const auto add = [&](const char* command, const std::string& options) {
    const auto text = [&](std::size_t inputs) {
      return fmt::format("ulp {} {}{}", command, command_words(run, inputs), options);
    };
    const std::size_t all = run.inputs.size();
    to.commands.push_back({text(all), all > inputs_shown ? text(inputs_shown) : ""});
  };
  for (const page_replay& r : answer.replays) add("replay", arguments_of(r.text));
  const scenario_text& first = answer.replays.front().text;
  const std::string rounded = arguments_of(first.rounding);
  const std::string grouping = group_words(asked.run);
  if (!to.findings.empty())
    add("advise", option_text("--format", first.format) + option_text("--epsilon", asked.epsilon) + rounded +
                      (first.check.empty() ? "" : option_text("--check", first.check)) + grouping);
  if (!to.matrix.rows.empty())
    add("outcomes", fmt::format(" --format {} --by {}{}{}", fmt::join(usual_formats(format_room::few), ","),
                                grouping.empty() ? "kind" : "group", grouping, rounded));
}

report_replay replay_of(page_replay&& one) {
  return {.name = std::string{one.what.recipe.machine().entry().name},
          .parameters = set_parameters_of(one.what.recipe.machine()),
          .sum = one.sum,
          .scales = std::move(one.scales),
          .warnings = std::move(one.warnings)};
}

// Beside the findings, which tell the others in sentences.
std::vector<summary_line> lines_not_told(std::vector<summary_line> lines) {
  std::erase_if(lines, [](const summary_line& line) {
    return line.title == "saturation" || line.title == "stale scale" || line.title == "amax not finite" ||
           line.title == "live scales";
  });
  return lines;
}

}  // namespace

report_page page_of(page_answer answer) {
  const examined_run& run = answer.examined;
  const page_replay& first = answer.replays.front();
  advice given = advice_on(run);
  report_page page;
  page.input = input_text(answer.asked.run.inputs);
  page.format_name = first.text.format;
  page.how = first.what.recipe.usual();
  if (first.what.clip_norm) page.clip_norm = first.what.clip_norm->max_norm;
  page.tensors = run.tensors;
  page.steps = run.whole.steps().size();
  page.first = std::move(given.first);
  page.findings = std::move(given.findings);
  page.matrix =
      set_format_matrix(run.shared(), answer.sets, run.options.groups.empty() ? "kind" : "group", first.text.rounding);
  page.matrix_note = left_out_text(run.options);
  add_commands(page, answer);
  page.logged = std::move(answer.logged);
  page.binades = std::move(answer.binades);
  page.losses = std::move(answer.losses);
  page.notes = std::move(answer.notes);
  for (page_replay& one : answer.replays) page.replays.push_back(replay_of(std::move(one)));
  return page;
}

void add_recipe(report_page& page, drawn_fp8 drawn) {
  fp8_told told = tell_recipe_run(drawn.answer, drawn.asked);
  report_recipe made{.name = told.under,
                     .happened = told.happened,
                     .grade = told.grade,
                     .lines = lines_not_told(lines_of(drawn.answer, drawn.asked)),
                     .findings = std::move(told.findings),
                     .tensors = fp8_tensors_table(drawn.answer),
                     .worst = {}};
  for (drawn_fp8::scales& one : drawn.worst)
    made.worst.push_back({drawn.answer.tensors[one.tensor].name, std::move(one.columns)});
  page.recipe = std::move(made);
  std::string options =
      drawn.asked.own ? option_text("--config", drawn.asked.own->file) : option_text("--recipe", drawn.asked.recipe);
  for (const std::string& p : drawn.asked.parameters) options += option_text("--set", p);
  page.commands.push_back({fmt::format("ulp replay {}{}", command_words(drawn.asked.run), options), ""});
}

void add_blocks(report_page& page, const run_text& run, std::vector<compared_blocks> blocks) {
  std::vector<std::string> counted;  // from block tables, as ulp outcomes counts
  for (const compared_blocks& of : blocks)
    if (of.has_outcomes && of.of.row->block.columns != 0) counted.push_back(of.of.name);
  if (!counted.empty())
    page.commands.push_back(
        {fmt::format("ulp outcomes {} --format {} --by kind", command_words(run), fmt::join(counted, ",")), ""});
  page.blocks = std::move(blocks);
}

void add_plan(report_page& page, const plan_question& asked, plan_answer plan) {
  page.commands.push_back(
      {fmt::format("ulp plan {}{}{}{}", command_words(asked.run), option_text("--hardware", asked.hardware),
                   asked.lose.empty() ? "" : option_text("--lose", asked.lose),
                   asked.budget.empty() ? "" : option_text("--budget", asked.budget)),
       ""});
  page.plan = std::move(plan);
}

void add_comparison(report_page& page, const compare_question& asked, compare_answer found) {
  const bool by_loss = asked.by == run_alignment::loss;
  run_text both = asked.run;
  both.inputs.push_back(asked.other);
  page.commands.push_back({fmt::format("ulp compare {}{}{}", command_words(both), by_loss ? " --align loss" : "",
                                       by_loss && asked.loss_window != usual_loss_window
                                           ? fmt::format(" --loss-window {}", asked.loss_window)
                                           : ""),
                           ""});
  page.comparisons.push_back(std::move(found));
}

}  // namespace ulp
