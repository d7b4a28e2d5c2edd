// ulp replay: a recorded run under another scaler and format.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <ulp/ask/reading/reading.hpp>
#include <ulp/ask/runs/replay_answer.hpp>
#include <ulp/io/source/source.hpp>
#include <ulp/report/page/sparkline.hpp>
#include <ulp/report/tables/replay_summary.hpp>
#include <ulp/report/tables/trajectory_table.hpp>

#include "command.hpp"
#include "configuration.hpp"
#include "fp8_replay.hpp"
#include "interrupt.hpp"
#include "listening.hpp"
#include "live_rows.hpp"
#include "options.hpp"
#include "output.hpp"
#include "patience.hpp"
#include "tables/summary.hpp"

namespace ulp::cli {
namespace {

struct replay_arguments {
  replay_question asked;
  config_file config;
  std::string per_tensor;  // a CSV file
  std::string recipe;
  bool hexadecimal = false;
  bool follow = false;
  output_options output;
};

// For machines: CSV in parts, since the text of all rows at once takes many times their own room.
void write_csv(csv_stream& csv, std::span<const trajectory_row> rows, const scenario& s,
               const trajectory_summary& sum) {
  constexpr std::size_t in_a_part = 4096;
  for (; !rows.empty(); rows = rows.subspan(std::min(rows.size(), in_a_part)))
    csv.write(trajectory_table(rows.first(std::min(rows.size(), in_a_part)), s, sum));
  csv.finish();
}

// The few steps a person looks at: where the scale changed or a step was skipped; of a run of skipped steps the ends.
std::vector<trajectory_row> changes_of(const std::vector<trajectory_row>& rows) {
  constexpr std::size_t most = 40;
  const auto inside_run = [&](std::size_t i) {
    return i > 0 && i + 1 < rows.size() && rows[i - 1].skipped && rows[i].skipped && rows[i + 1].skipped;
  };
  const auto changed = [&](std::size_t i) {
    return rows[i].skipped || rows[i].scale_next != rows[i].scale_used || !rows[i].error.empty();
  };
  std::vector<trajectory_row> shown;
  for (std::size_t i = 0; i < rows.size() && shown.size() < most; ++i)
    if (changed(i) && !inside_run(i)) shown.push_back(rows[i]);
  return shown;
}

struct followed_run {
  replayed_run run;
  std::vector<trajectory_row> rows;
};

// Until the recording is closed, or a signal comes: then what was read is the run.
followed_run follow(source& from, const replay_arguments& o, const scenario& s) {
  followed_run all{.run = replayed_run(s), .rows = {}};
  live_rows shown(o.output.csv, !o.output.machine_stdout(), s);
  const auto see = [&](const step& now, const std::vector<tensor_info>& tensors) {
    all.rows.push_back(all.run.add(now, tensors, s));
    shown.add(all.rows.back(), all.run.sum());
    return all.rows.back().error.empty();
  };
  const auto begin_again = [&] {
    note(fmt::format("{}: steps were recorded again, as a run that was resumed does: the replay begins anew",
                     o.asked.run.inputs.front()));
    all = {.run = replayed_run(s), .rows = {}};
    shown.begin_again();
  };
  follow_steps(from, s.counted, {.see = see, .begin_again = begin_again, .is_stopped = progress::interrupted});
  return all;
}

void print_lines(const std::vector<summary_line>& lines, const std::vector<trajectory_row>& rows) {
  print_text(lines);
  if (const std::size_t columns = terminal_columns(); columns > 0) fmt::print("\n{}", sparkline_of(rows, columns));
}

// Following ends by a signal as a rule: what was read by then is the run.
int follow(const replay_arguments& o) {
  const run_text& run = o.asked.run;
  const scenario s = scenario_of(o.asked.what, run);
  const source_options how = reading_for(run, std::span{&s, 1});
  const interruptible guard;
  patience until_more(run.inputs.front(), std::chrono::milliseconds(500));
  const std::unique_ptr<source> from = follow_run(run, how, [&](recording_writer_state state) {
    until_more.tell_of(state);
    return until_more.wait();
  });
  const auto [all, rows] = follow(*from, o, s);
  const auto ended = [] { return progress::interrupted() ? end_interrupted() : done; };
  if (progress::interrupted() && rows.empty()) return ended();
  all.check(*from, o.asked);
  listening to(o.output.machine_stdout());
  all.tell(*from, o.asked, s, to, from->notes());
  if (o.output.csv == "-") return ended();
  const std::vector<summary_line> lines = lines_of(all, o.asked, s);
  if (o.output.json) {
    print_json("replay", lines, "steps", trajectory_table(rows, s, all.sum()));
  } else {
    fmt::print("\n");
    print_lines(lines, rows);
  }
  return ended();
}

int run(const replay_arguments& o) {
  std::vector<std::string> read = o.asked.run.files();
  read.push_back(o.config.path);
  refuse_overwriting_inputs(o.output, read);
  refuse_overwriting_inputs({.csv = o.per_tensor}, read);
  if (o.follow) return follow(o);
  const scenario s = scenario_of(o.asked.what, o.asked.run);
  if (o.per_tensor == "-") throw usage_error("--per-tensor: name a file; standard output is for the trajectory");
  refuse_one_output({{"--csv", o.output.csv}, {"--per-tensor", o.per_tensor}});
  std::optional<csv_stream> csv;
  if (!o.output.csv.empty()) csv.emplace(o.output.csv);
  std::optional<csv_stream> per_tensor;
  if (!o.per_tensor.empty()) per_tensor.emplace(o.per_tensor);
  std::vector<trajectory_row> rows;
  replay_hearers hears{.of_rows = [&](const trajectory_row& row) { rows.push_back(row); }};
  if (per_tensor)
    hears.of_tensors = [&](const std::vector<tensor_outcome>& outcomes, const std::vector<tensor_info>& tensors) {
      per_tensor->write(per_tensor_table(outcomes, tensors));
    };
  listening to(o.output.machine_stdout());
  const replayed_run all = replay_over(o.asked, s, to, hears);
  if (per_tensor) per_tensor->finish();
  if (csv) write_csv(*csv, rows, s, all.sum());
  if (o.output.csv == "-") return done;
  const std::vector<summary_line> lines = lines_of(all, o.asked, s);
  if (o.output.json) {
    print_json("replay", lines, "steps", trajectory_table(rows, s, all.sum()));
    return done;
  }
  print_lines(lines, rows);
  const table shown = trajectory_table(changes_of(rows), s, all.sum());
  if (!shown.rows.empty()) {
    fmt::print(
        "\n"
        "Steps at which the scale changed or the step was skipped; runs of skipped steps show first and last only{}\n",
        shown.rows.size() == 40 ? " (the first 40; all with --csv FILE)" : "");
    fmt::print("{}", to_text(shown));
  }
  return done;
}

// A question with a scale for each tensor knows nothing of what else loss scaling has.
void refuse_other_options(const replay_arguments& o, const std::string& why) {
  const scenario_text& what = o.asked.what;
  for (const auto& [option, is_given] : {std::pair{"--check", !what.check.empty()},
                                         {"--clip-norm", !what.clip_norm.empty()},
                                         {"--clip-value", !what.clip_value.empty()},
                                         {"--order", !what.order.empty()},
                                         {"--start", !what.start.empty()},
                                         {"--rounding or a switch of it", what.rounding != rounding_text{}},
                                         {"--group", !o.asked.run.groups.empty()},
                                         {"--per-tensor", !o.per_tensor.empty()},
                                         {"--follow", o.follow}})
    if (is_given)
      throw usage_error(fmt::format("{}: not with a scale for each tensor ({}); remove one of the two", option, why));
}

// The question with a scale for each tensor, where this is one.
fp8_question fp8_question_of(const replay_arguments& o) {
  const scenario_text& what = o.asked.what;
  const std::string why = o.recipe.empty() ? "--scaler " + what.scaler : "--recipe " + o.recipe;
  refuse_other_options(o, why);
  if (!o.config.empty())
    throw usage_error(fmt::format("--config: not with a scale for each tensor ({}); remove one of the two", why));
  return {.run = o.asked.run,
          .recipe = o.recipe,
          .scaler = what.scaler,
          .parameters = what.parameters,
          .format = what.format};
}

}  // namespace

command replay_command() {
  auto o = std::make_shared<replay_arguments>();
  command made{.name = "replay",
               .help = "compute a run's loss scale, or its FP8 scales of tensors, under another policy and format"};
  add_run(made, o->asked.run);
  add_groups(made, o->asked.run);
  add_options(made, options_of(o->asked.what));
  add_config(made, o->config, {.excludes = "--scaler"}, "takes scaler, parameters, format and clipping");
  add_output(made, o->output);
  made.add("--per-tensor", &o->per_tensor, "write CSV with a row for each step and counted tensor to this file",
           {.type = "FILE", .check = a_name});
  made.add(
      "--recipe", &o->recipe,
      "a scale for each tensor, as FP8 training has it: te_delayed:hybrid, te_current, torchao_tensorwise, flax, "
      "keras, msamp; ulp scalers lists the policies, which --scaler with --format takes for all tensors. INPUT may "
      "hold amaxes alone, too: a table with the columns step, tensor, amax, or what TransformerEngine keeps",
      {.type = "NAME", .excludes = "--scaler"});
  made.add("--hex", &o->hexadecimal, "with a scale for each tensor: numbers in CSV as C prints them with %a");
  made.add(
      "--follow", &o->follow,
      "keep reading a recording that is being written, from before it exists until it is closed or Ctrl-C: rows are "
      "written as they come, the summary at the end",
      {.excludes = "--per-tensor"});
  made.footer =
      "Norms, clipping and clamped elements are those of the counted weight gradients (of all counted tensors if there "
      "are none); --group NAME=REGEX adds a column norm_NAME. --csv and --json have a row for each step: what was "
      "found, scales, counts of underflow, subnormal and overflow, norm, clipping, and whether the replay has diverged. "
      "For a resumed run, only the last attempt of each step is replayed; --attempts all replays every attempt.\n"
      "Example:\n"
      "  ulp replay examples/digits.ulp --scaler pytorch_gradscaler --set growth_interval=200 --format fp16\n"
      "  ulp replay examples/digits.ulp --recipe te_delayed:hybrid --set amax_history_len=16";
  made.run = [o] {
    if (asks_for_fp8(o->recipe, o->asked.what.scaler))
      return replay_fp8(fp8_question_of(*o), o->output, o->hexadecimal);
    const std::optional<configuration> own = configuration_of(o->config, o->asked.what, o->asked.run);
    if (o->asked.what.scaler.empty() && o->asked.what.format.empty()) {
      if (const auto asked = own ? fp8_question_of(*own, o->asked.run, o->asked.what.parameters) : std::nullopt) {
        refuse_other_options(*o, "--config " + o->config.path);
        return replay_fp8(*asked, o->output, o->hexadecimal);
      }
    }
    if (o->hexadecimal) throw usage_error("--hex: only with a scale for each tensor (--recipe, or an FP8 --scaler)");
    o->asked = completed(o->asked, own);
    return run(*o);
  };
  return made;
}

}  // namespace ulp::cli
