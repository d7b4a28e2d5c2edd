// ulp replay: a recorded run under another scaler and format.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <ulp/io/printable.hpp>
#include <ulp/io/source.hpp>
#include <ulp/model/replay.hpp>
#include <ulp/model/trajectory_watch.hpp>
#include <ulp/report/run_notes.hpp>
#include <ulp/report/sparkline.hpp>

#include "command.hpp"
#include "configuration.hpp"
#include "interrupt.hpp"
#include "options.hpp"
#include "output.hpp"
#include "policy_text.hpp"

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

// One step's rows of --per-tensor.
table per_tensor_table(const std::vector<tensor_outcome>& outcomes, const std::vector<tensor_info>& tensors) {
  table t;
  t.columns = {
      {"step", ""},           {"tensor", ""},  {"kind", ""},           {"checked", ""},         {"scale", ""},
      {"numel", ""},          {"zero", ""},    {"nonfinite", ""},      {"underflow", "", true}, {"subnormal", "", true},
      {"overflow", "", true}, {"max_abs", ""}, {"critical_scale", ""}, {"maybe_zero", ""}};
  const auto count = [](std::uint64_t n) { return static_cast<std::int64_t>(n); };
  for (const tensor_outcome& r : outcomes) {
    const tensor_info& info = tensors[r.tensor];
    t.rows.push_back({r.key.step, info.name, std::string{to_string(info.kind)}, r.checked, r.scale,
                      count(r.counts.numel), count(r.counts.zero), count(r.counts.nonfinite), r.counts.underflow,
                      r.counts.subnormal, r.counts.overflow, r.max_abs, r.critical_scale, count(r.counts.maybe_zero)});
  }
  return t;
}

// `open_zeros`: of some values it is not known whether they are zero.
table trajectory_table(const std::vector<tensor_group>& groups, bool open_zeros) {
  table t;
  t.columns = {{"step", "step"},
               {"found_inf", ""},
               {"scale_used", ""},
               {"scale_next", ""},
               {"skipped", "skipped"},
               {"", "scale", false, true},
               {"critical_scale", ""},
               {"", "critical", false, true},
               {"", "found_inf"},
               {"found_inf_certain", ""},
               {"numel", ""},
               {"zero", "", open_zeros},
               {"nonfinite", ""},
               {"underflow", "underflow", true},
               {"subnormal", "subnormal", true},
               {"overflow", "overflow", true},
               {"norm", ""},
               {"", "norm", false, true},
               {"norm_exact", ""},
               {"clip_coefficient", ""},
               {"clipped", ""},
               {"", "clipped"},
               {"clamped", "clamped", true},
               {"clipped_norm", "", true},
               {"unscaled_by", ""},
               {"diverged", ""}};
  for (const tensor_group& g : groups) t.columns.push_back({"norm_" + g.name, "norm " + g.name});
  return t;
}

// What is not exact is said to be so.
std::string marked(const std::string& text, bool exact) { return exact ? text : "~" + text; }

void add_row(table& t, const trajectory_row& r, const scenario& s, const trajectory_summary& sum) {
  const bool clips = s.clip_norm || s.clip_value;
  const bool diverged = sum.first_divergence && r.key.step >= *sum.first_divergence;
  const auto count = [&](std::uint64_t n) { return r.has_counts ? table_value{count_range{n, n}} : table_value{}; };
  const auto range = [&](const count_range& c) { return r.has_counts ? table_value{c} : table_value{}; };
  t.rows.push_back({r.key.step,
                    r.found_inf,
                    r.scale_used,
                    r.scale_next,
                    r.skipped,
                    as_power(r.scale_used),
                    std::isnan(r.critical_scale) ? table_value{} : table_value{r.critical_scale},
                    std::isnan(r.critical_scale) ? table_value{} : table_value{log2_text(r.critical_scale)},
                    marked(r.found_inf ? "yes" : "no", r.found_inf_certain),
                    r.found_inf_certain,
                    count(r.counts.numel),
                    range(r.counts.zeros()),
                    count(r.counts.nonfinite),
                    range(r.counts.underflow),
                    range(r.counts.subnormal),
                    range(r.counts.overflow),
                    r.norm,
                    std::isnan(r.norm) ? "-" : marked(fmt::format("{:.6g}", r.norm), r.norm_exact),
                    std::isnan(r.norm) ? table_value{} : table_value{r.norm_exact},
                    r.clip_coefficient,
                    r.clipped ? table_value{*r.clipped} : table_value{},
                    clips && r.clipped ? table_value{*r.clipped} : table_value{},
                    r.clamped ? table_value{*r.clamped} : table_value{},
                    r.clipped_norm,
                    r.unscaled_by,
                    diverged});
  t.rows.back().insert(t.rows.back().end(), r.group_norms.begin(), r.group_norms.end());
}

// For machines: CSV in parts, since the text of all rows at once takes many times their own room.
void write_rows(const options& o, const scenario& s, const std::vector<trajectory_row>& rows,
                const trajectory_summary& sum, csv_stream* csv) {
  constexpr std::size_t in_a_part = 4096;
  if (o.output.json) {
    table all = trajectory_table(s.groups, sum.counts.maybe_zero > 0);
    for (const trajectory_row& row : rows) add_row(all, row, s, sum);
    write_table(all, o.output, false);
    return;
  }
  if (csv == nullptr) return;
  for (std::size_t first = 0; first < rows.size(); first += in_a_part) {
    table part = trajectory_table(s.groups, sum.counts.maybe_zero > 0);
    for (std::size_t i = first; i < std::min(rows.size(), first + in_a_part); ++i) add_row(part, rows[i], s, sum);
    csv->write(part);
  }
  csv->finish();
}

// "all 3 tensors"
std::string all_of(std::uint64_t n, std::string_view noun) {
  return n == 1 ? fmt::format("the only {}", noun) : "all " + count_text(n, noun);
}

std::string rule_text(const replayer& r) {
  const std::uint64_t n = r.choice().checked_count();
  switch (r.choice().rule()) {
    case check_rule::undecided: return "what the log says";
    case check_rule::expression: return count_text(n, "tensor") + ", by --check";
    case check_rule::counted: return count_text(n, "tensor") + ", by --tensor";
    case check_rule::low_weight_grads: return count_text(n, "weight gradient") + " of role low";
    case check_rule::all_weight_grads: return all_of(n, "weight gradient");
    case check_rule::everything: return all_of(n, "tensor");
  }
  return "";
}

std::string share(const count_range& c, const value_range& of_nonzero) {
  const double low = 100 * of_nonzero.low;
  const double high = 100 * of_nonzero.high;
  if (c.exact() && of_nonzero.exact()) return fmt::format("{} ({:.3g} % of nonzero)", grouped(c.low), low);
  return fmt::format("{} to {} ({:.3g} to {:.3g} % of nonzero)", grouped(c.low), grouped(c.high), low, high);
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

// What clipping left: elements that were clamped, the largest norm after it.
std::string left_by_clipping(const scenario& s, std::span<const trajectory_row> rows) {
  count_range clamped;
  double norm = not_known;
  bool exact = true;
  for (const trajectory_row& r : rows) {
    if (r.clamped) clamped += *r.clamped;
    if (!std::isfinite(r.clipped_norm.high)) continue;
    norm = std::fmax(norm, r.clipped_norm.high);
    exact = exact && r.norm_exact && r.clipped_norm.exact();
  }
  if (std::isnan(norm)) return "";
  std::string text = s.clip_value ? fmt::format("; {} elements clamped", to_cell(clamped)) : "";
  text += fmt::format("; the largest norm left is {}{:.6g}", exact ? "" : "up to ", norm);
  if (s.clip_value && !clamped.exact() && !s.order.clip_before_unscale)
    text += fmt::format(" (exact with ulp record --edge {})", shortest(s.clip_value->max_value));
  return text;
}

void print_summary(const options& o, const scenario& s, const replayer& r, std::span<const trajectory_row> rows,
                   const trajectory_summary& sum, std::span<const double> learning_rates) {
  const auto line = [](std::string_view what, const std::string& value) {
    if (!value.empty()) fmt::print("{:<12} {}\n", what, printable(value));
  };
  std::string parameters;
  for (const auto& p : s.scaler.parameters())
    if (!std::holds_alternative<std::monostate>(p.value)) parameters += " " + p.name + "=" + to_string(p.value);
  line("scaler", std::string{s.scaler.entry().name} + parameters);
  line("format", fmt::format("{}, {}", o.what.format, o.what.rounding.text(s.format)));
  line("checked", rule_text(r));
  line("steps", fmt::format("{}, of which {} skipped{}", grouped(sum.steps), grouped(sum.skipped),
                            sum.first_skip ? fmt::format(", the first at step {}", *sum.first_skip) : ""));
  line("scale", fmt::format("{} at the start, {} after the last step; used from {} to {}", as_power(sum.first_scale),
                            as_power(sum.last_scale), as_power(sum.least_scale), as_power(sum.greatest_scale)));
  line("critical", critical_text(rows));
  line("recovery", recovery_text(s.scaler));
  line("expected", prediction_text(s.scaler, rows, sum));
  if (sum.recorded_nan + sum.recorded_inf > 0)
    line("recorded", fmt::format("NaN in {}, infinities in {}, first in step {}: these skips come from the recorded "
                                 "run, not from scaler or format",
                                 count_text(sum.recorded_nan, "step"), count_text(sum.recorded_inf, "other"),
                                 *sum.first_recorded_nonfinite));
  if (sum.has_counts) {
    line("counted",
         fmt::format("{}, checked or not: {} (see --tensor, --kind)", count_text(r.choice().counted_count(), "tensor"),
                     count_text(sum.counts.numel, "element")));
    line("underflow", share(sum.counts.underflow, underflow_share(sum.counts)));
    line("overflow", share(sum.counts.overflow, share_of_nonzero(sum.counts, sum.counts.overflow)));
    line("scale of",
         sum.as_recorded ? "the values as recorded: their factor is not known (see --factor)" : "the true gradient");
  }
  const std::string wrong = s.order == step_order{} ? "" : fmt::format(" (in the order {})", o.what.order);
  if (s.clip_norm || s.clip_value)
    line("clipping",
         sum.clipping_unknown == sum.steps
             ? (s.clip_norm ? "unknown: the input has no norm" : "unknown: the input has no largest gradient")
             : fmt::format("{} of {}{}{}{}", grouped(sum.clipped), count_text(sum.steps, "step"),
                           sum.clipping_unknown == 0 ? ""
                                                     : fmt::format(", unknown for {}", grouped(sum.clipping_unknown)),
                           wrong, left_by_clipping(s, rows)));
  if (sum.uncertain > 0)
    line("uncertain", fmt::format("~ found_inf is estimated in {}", count_text(sum.uncertain, "step")));
  line("schedule", schedule_text(learning_rates, sum));
  line("open loop",
       sum.first_divergence
           ? fmt::format("diverges from the recorded run{} at step {}: later gradients would have been different",
                         sum.recorded_outcome_known ? "" : " (taken to have applied every step)", *sum.first_divergence)
           : fmt::format("no: the replay skips exactly what the recorded run{} skipped",
                         sum.recorded_outcome_known ? "" : " (taken to have applied every step)"));
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
    if (o.per_tensor == "-" || o.per_tensor == o.output.csv)
      throw usage_error("--per-tensor: name a separate file; standard output and --csv hold the trajectory");
    if (from->tensors().empty()) throw usage_error("--per-tensor: the input has no tensors");
    per_tensor.emplace(o.per_tensor);
  }
  std::vector<tensor_outcome> of_tensors;
  std::vector<double> learning_rates;
  {
    progress shown("steps", from->step_count());
    step now;
    while (from->next(now)) {
      shown.advance();
      if (!s.counted.takes(now.key.step) || now.key.microbatch != -1) continue;
      notes.see(now);
      learning_rates.push_back(now.scalars.learning_rate);
      of_tensors.clear();
      const trajectory_row row = r.advance(now, from->tensors(), per_tensor ? &of_tensors : nullptr);
      if (per_tensor) per_tensor->write(per_tensor_table(of_tensors, from->tensors()));
      if (row.lacks_input) throw usage_error(fmt::format("{}: {}", s.scaler.entry().name, row.error));
      sum.add(row);
      watch.add(row);
      rows.push_back(row);
      if (!row.error.empty()) break;
    }
  }
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
  write_rows(o, s, rows, sum, csv ? &*csv : nullptr);
  if (o.output.machine_stdout()) return done;
  print_summary(o, s, r, rows, sum, learning_rates);
  if (const std::size_t columns = terminal_columns(); columns > 0) fmt::print("\n{}", sparkline_of(rows, columns));
  table shown = trajectory_table(s.groups, sum.counts.maybe_zero > 0);
  for (const trajectory_row& row : changes_of(rows)) add_row(shown, row, s, sum);
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
