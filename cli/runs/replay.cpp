// ulp replay: a recorded run under another scaler and format.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <ulp/io/source.hpp>
#include <ulp/model/replay.hpp>
#include <ulp/model/trajectory_watch.hpp>
#include <ulp/report/run_notes.hpp>
#include <ulp/report/sparkline.hpp>

#include "command.hpp"
#include "configuration.hpp"
#include "each_step.hpp"
#include "options.hpp"
#include "output.hpp"
#include "tables/replay_summary.hpp"
#include "tables/replay_table.hpp"

namespace ulp::cli {
namespace {

struct options {
  run_text run;
  scenario_text what;
  std::string config;
  std::optional<configuration> own;  // what it holds
  std::string per_tensor;            // a CSV file
  output_options output;
};

// With what --config says, and nothing missing.
options completed(options o) {
  o.own = configuration_of(o.config, o.what, o.run);
  if (o.own) o.what = with_configuration(o.what, *o.own);
  if (o.what.scaler.empty()) throw usage_error("--scaler or --config is required (see ulp replay --help)");
  if (o.what.format.empty()) throw usage_error("--format is required (see ulp replay --help)");
  return o;
}

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

int run(const options& o) {
  std::vector<std::string> read = o.run.files();
  read.push_back(o.config);
  refuse_overwriting_inputs(o.output, read);
  refuse_overwriting_inputs({.csv = o.per_tensor}, read);
  const scenario s = scenario_of(o.what, o.run);
  source_options how = reading_for(o.run, std::span{&s, 1});
  how.merged = how.merged && o.per_tensor.empty();
  const std::unique_ptr<source> from = open_run(o.run, how);
  check_tensors_exist(o.what.check, *from);
  replayer r(s);
  trajectory_summary sum;
  trajectory_watch watch(s.scaler);
  run_notes notes;
  std::vector<trajectory_row> rows;
  std::optional<csv_stream> csv;
  if (!o.output.csv.empty()) csv.emplace(o.output.csv);
  std::optional<csv_stream> per_tensor;
  if (!o.per_tensor.empty()) {
    if (o.per_tensor == "-" || is_one_of(o.per_tensor, {o.output.csv}))
      throw usage_error("--per-tensor: name a separate file; standard output and --csv hold the trajectory");
    if (from->tensors().empty()) throw usage_error("--per-tensor: the input has no tensors");
    per_tensor.emplace(o.per_tensor);
  }
  std::vector<tensor_outcome> of_tensors;
  std::vector<double> learning_rates;
  for_each_step(*from, s.counted, [&](const step& now) {
    notes.see(now, from->tensors());
    learning_rates.push_back(now.scalars.learning_rate);
    of_tensors.clear();
    const trajectory_row row = r.advance(now, from->tensors(), per_tensor ? &of_tensors : nullptr);
    if (per_tensor) per_tensor->write(per_tensor_table(of_tensors, from->tensors()));
    if (row.lacks_input) throw usage_error(fmt::format("{}: {}", s.scaler.entry().name, row.error));
    sum.add(row);
    watch.add(row);
    rows.push_back(row);
    return row.error.empty();
  });
  check_steps_counted(sum.steps, o.run);
  check_tensors_counted(r.choice(), *from);
  if (r.choice().rule() != check_rule::undecided && r.checked_rows() == 0) {
    const std::size_t others = from->tensors().size() - 1;
    throw usage_error(
        fmt::format("no overflow can be seen: {} match no recorded tensor (there {} '{}'{})",
                    o.what.check.empty() ? "--tensor, --kind and --role" : "--check '" + o.what.check + "'",
                    others == 0 ? "is" : "are", from->tensors().front().name,
                    others == 0 ? "" : " and " + count_text(others, "other")));
  }
  if (!sum.error.empty()) tell(fmt::format("{} ends the run: {}", s.scaler.entry().name, sum.error));

  if (per_tensor) per_tensor->finish();
  if (o.own) print_configuration(*o.own, o.output.machine_stdout());
  for (const std::string& text : policy_notes(s, o.what.format)) note(text);
  for (const std::string& text : group_notes(s.groups, from->tensors(), s.counted)) note(text);
  for (const std::string& text : notes.lines(r.choice())) note(text);
  for (const std::string& text : watch.warnings()) warn(text);
  if (csv) write_csv(*csv, rows, s, sum);
  if (o.output.csv == "-") return done;
  const summary lines = summary_of({o.what, s, r, rows, sum, learning_rates});
  if (o.output.json) {
    print_json("replay", lines, "steps", trajectory_table(rows, s, sum));
    return done;
  }
  print_text(lines);
  if (const std::size_t columns = terminal_columns(); columns > 0) fmt::print("\n{}", sparkline_of(rows, columns));
  const table shown = trajectory_table(changes_of(rows), s, sum);
  if (!shown.rows.empty()) {
    fmt::print(
        "\n"
        "Steps at which the scale changed or the step was skipped; runs of skipped steps show first and last only{}\n",
        shown.rows.size() == 40 ? " (the first 40; all with --csv FILE)" : "");
    fmt::print("{}", to_text(shown));
  }
  return done;
}

}  // namespace

command replay_command() {
  auto o = std::make_shared<options>();
  command made{.name = "replay", .help = "compute a run's loss-scale trajectory under another scaler and format"};
  add_run(made, o->run);
  add_groups(made, o->run);
  add_options(made, options_of(o->what));
  add_config(made, o->config, {.excludes = "--scaler"}, "takes scaler, parameters, format and clipping");
  add_output(made, o->output);
  made.add("--per-tensor", &o->per_tensor, "write CSV with a row for each step and counted tensor to this file",
           {.type = "FILE", .check = a_name});
  made.footer =
      "Norms, clipping and clamped elements are those of the counted weight gradients (of all counted tensors if there "
      "are none); --group NAME=REGEX adds a column norm_NAME. --csv and --json have a row for each step: what was "
      "found, "
      "scales, counts of underflow, subnormal and overflow, norm, clipping, and whether the replay has diverged.\n"
      "Example:\n"
      "  ulp replay examples/digits.ulp --scaler pytorch_gradscaler --set growth_interval=200 --format fp16";
  made.run = [o] { return run(completed(*o)); };
  return made;
}

}  // namespace ulp::cli
