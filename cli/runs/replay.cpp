// ulp replay: a recorded run under another scaler and format.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <ulp/io/source.hpp>
#include <ulp/model/replay.hpp>
#include <ulp/model/trajectory_watch.hpp>
#include <ulp/report/run_notes.hpp>
#include <ulp/report/sparkline.hpp>
#include <ulp/report/trajectory_table.hpp>

#include "command.hpp"
#include "configuration.hpp"
#include "each_step.hpp"
#include "live_rows.hpp"
#include "options.hpp"
#include "output.hpp"
#include "patience.hpp"
#include "tables/summary.hpp"

namespace ulp::cli {
namespace {

struct options {
  run_text run;
  scenario_text what;
  std::string config;
  std::optional<configuration> own;  // what it holds
  std::string per_tensor;            // a CSV file
  bool follow = false;
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

// Steps that count more than once where all attempts do. Tries of one update are none (see counted_attempts).
class repeated_steps {
 public:
  void see(const step_key& key, const step_scalars& logged) {
    if (!last_ || last_->step != key.step) {
      is_repeated_ = false;
    } else if (!is_repeated_ && !(was_skipped_ && !(logged.loss_scale >= scale_))) {
      is_repeated_ = true;
      ++count_;
    }
    last_ = key;
    scale_ = logged.loss_scale;
    was_skipped_ = logged.found_inf.value_or(false) || !logged.applied.value_or(true);
  }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

 private:
  std::optional<step_key> last_;
  double scale_ = not_known;
  bool was_skipped_ = false;
  bool is_repeated_ = false;
  std::uint64_t count_ = 0;
};

// The run so far.
struct replayed {
  replayer by;
  trajectory_watch watch;
  trajectory_summary sum;
  run_notes notes;
  repeated_steps repeated;
  std::vector<trajectory_row> rows;
  std::vector<double> learning_rates;

  explicit replayed(const scenario& s) : by(s), watch(s.scaler) {}

  // False where the scaler ends the run.
  bool add(const step& now, const std::vector<tensor_info>& tensors, const scenario& s,
           std::vector<tensor_outcome>* of_tensors = nullptr) {
    notes.see(now, tensors);
    repeated.see(now.key, now.scalars);
    learning_rates.push_back(now.scalars.learning_rate);
    const trajectory_row row = by.advance(now, tensors, of_tensors);
    if (row.lacks_input) throw usage_error(fmt::format("{}: {}", s.scaler.entry().name, row.error));
    sum.add(row);
    watch.add(row);
    rows.push_back(row);
    return row.error.empty();
  }
};

// Until the recording is closed, or a signal comes: then what was read is the run.
void follow(source& from, const options& o, const scenario& s, replayed& run) {
  live_rows shown(o.output.csv, !o.output.machine_stdout(), s);
  std::optional<step_key> last;
  step now;
  while (next_unless_interrupted(from, now)) {
    if (last && !(*last < now.key)) {
      note(fmt::format("{}: steps were recorded again, as a run that was resumed does: the replay begins anew",
                       o.run.inputs.front()));
      run = replayed(s);
      shown.begin_again();
    }
    last = now.key;
    if (!s.counted.takes(now.key.step)) continue;
    const bool goes_on = run.add(now, from.tensors(), s);
    shown.add(run.rows.back(), run.sum);
    if (!goes_on) return;
  }
}

int run(const options& o) {
  std::vector<std::string> read = o.run.files();
  read.push_back(o.config);
  refuse_overwriting_inputs(o.output, read);
  refuse_overwriting_inputs({.csv = o.per_tensor}, read);
  const scenario s = scenario_of(o.what, o.run);
  source_options how = reading_for(o.run, std::span{&s, 1});
  how.merged = how.merged && o.per_tensor.empty();
  std::optional<interruptible> guard;
  if (o.follow) guard.emplace();
  patience until_more(o.run.inputs.front(), std::chrono::milliseconds(500));
  const std::unique_ptr<source> from = o.follow ? follow_run(o.run, how,
                                                             [&](recording_writer_state state) {
                                                               until_more.tell_of(state);
                                                               return until_more.wait();
                                                             })
                                                : open_run(o.run, how);
  if (!o.follow) check_tensors_exist(o.what.check, *from);
  replayed all(s);
  std::optional<csv_stream> csv;
  if (!o.output.csv.empty() && !o.follow) csv.emplace(o.output.csv);
  std::optional<csv_stream> per_tensor;
  if (!o.per_tensor.empty()) {
    if (o.per_tensor == "-" || is_one_of(o.per_tensor, {o.output.csv}))
      throw usage_error("--per-tensor: name a separate file; standard output and --csv hold the trajectory");
    if (from->tensors().empty()) throw usage_error("--per-tensor: the input has no tensors");
    per_tensor.emplace(o.per_tensor);
  }
  std::vector<tensor_outcome> of_tensors;
  if (o.follow)
    follow(*from, o, s, all);
  else
    for_each_step(*from, s.counted, [&](const step& now) {
      of_tensors.clear();
      const bool goes_on = all.add(now, from->tensors(), s, per_tensor ? &of_tensors : nullptr);
      if (per_tensor) per_tensor->write(per_tensor_table(of_tensors, from->tensors()));
      return goes_on;
    });
  const replayer& r = all.by;
  const trajectory_summary& sum = all.sum;
  const std::vector<trajectory_row>& rows = all.rows;
  // Following ends by a signal as a rule: what was read by then is the run.
  const auto ended = [] { return progress::interrupted() ? end_interrupted() : done; };
  if (progress::interrupted() && rows.empty()) return ended();
  check_steps_counted(sum.steps, o.run);
  check_tensors_counted(r.choice(), *from, o.run);
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
  if (o.follow)
    for (const std::string& text : from->notes()) note(text);
  if (const std::uint64_t n = all.repeated.count(); n > 0 && how.attempts == which_attempts::all)
    note(
        fmt::format("{} recorded more than once, as a run that was resumed does: with --attempts all every attempt of "
                    "{} counts as a step of its own",
                    count_text(n, "step") + (n == 1 ? " was" : " were"), n == 1 ? "it" : "them"));
  for (const std::string& text : all.notes.lines(r.choice())) note(text);
  for (const std::string& text : all.watch.warnings()) warn(text);
  if (csv) write_csv(*csv, rows, s, sum);
  if (o.output.csv == "-") return ended();
  replay_account account;
  for (const trajectory_row& row : rows) account.add(row);
  const summary lines = lines_of({o.what, s, r.choice(), account, sum, all.learning_rates});
  if (o.output.json) {
    print_json("replay", lines, "steps", trajectory_table(rows, s, sum));
    return ended();
  }
  if (o.follow) fmt::print("\n");
  print_text(lines);
  if (const std::size_t columns = terminal_columns(); columns > 0) fmt::print("\n{}", sparkline_of(rows, columns));
  if (o.follow) return ended();
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
  made.add(
      "--follow", &o->follow,
      "keep reading a recording that is being written, from before it exists until it is closed or Ctrl-C: rows are "
      "written as they come, the summary at the end",
      {.excludes = "--per-tensor"});
  made.footer =
      "Norms, clipping and clamped elements are those of the counted weight gradients (of all counted tensors if there "
      "are none); --group NAME=REGEX adds a column norm_NAME. --csv and --json have a row for each step: what was "
      "found, "
      "scales, counts of underflow, subnormal and overflow, norm, clipping, and whether the replay has diverged. "
      "Of a resumed run the last attempt of each step is replayed; with --attempts all every attempt is a step of its "
      "own.\n"
      "Example:\n"
      "  ulp replay examples/digits.ulp --scaler pytorch_gradscaler --set growth_interval=200 --format fp16";
  made.run = [o] { return run(completed(*o)); };
  return made;
}

}  // namespace ulp::cli
