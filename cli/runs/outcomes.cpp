// ulp outcomes: how many values underflow, become subnormal or overflow.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <ulp/formats/names.hpp>
#include <ulp/io/source.hpp>
#include <ulp/model/recording_doubts.hpp>
#include <ulp/report/run_notes.hpp>

#include "command.hpp"
#include "each_step.hpp"
#include "options.hpp"
#include "output.hpp"
#include "tables/outcome_table.hpp"
#include "tables/sorted.hpp"

namespace ulp::cli {
namespace {

struct options {
  run_text run;
  std::vector<std::string> formats;
  std::vector<std::string> scales{"1"};
  std::vector<std::string> by{"tensor"};
  bool as_recorded = false;
  rounding_text rounding;
  std::string sort;
  std::uint64_t top = 0;  // rows; 0: all
  output_options output;
};

std::string text_of(const units& u) {
  std::string text = u.recorded && u.true_gradient
                         ? "the true gradient where its factor is known, else the values as recorded"
                     : u.recorded      ? "the values as recorded"
                     : u.true_gradient ? "the true gradient"
                                       : "";
  if (u.unscaled)
    text += text.empty() ? "no gradients: activations, weights and updates are never multiplied by it"
                         : "; activations, weights and updates as they are";
  return text;
}

std::vector<question> questions_of(const options& o) {
  std::vector<question> all;
  for (const std::string& name : o.formats) {
    const format to = value_format_named(name);
    const rounding mode = o.rounding.value(to);
    const std::string direction = o.rounding.direction.empty() ? to_string(mode) : o.rounding.direction;
    for (const std::string& scale : o.scales)
      all.push_back({name, to, mode, direction, positive_number(scale, "--scale")});
  }
  return all;
}

group group_of(const counted_outcomes& all, const tensor_row& row, const tensor_info& info, const step_key& key) {
  group g;
  if (all.is_by("group")) g.named = ulp::group_of(all.named, info.name);
  if (all.is_by("tensor")) g.tensor = row.tensor;
  if (all.is_by("kind")) g.kind = info.kind;
  if (all.is_by("step")) g.step = key.step;
  return g;
}

void add(answer& to, const tensor_row& row, const question& q, double factor, bool is_scaled) {
  const multiplier by{.scale = is_scaled ? q.scale : 1, .factor = factor};
  to.counts += outcomes_of(row, q.format, q.rounding, by);
  to.lost += lost_to_underflow(row, q.format, q.rounding, by);
  to.noise += noise_of(row, q.format, q.rounding, by);
  if (q.is_drawn()) to.expected += expected_outcomes_of(row, q.format, q.rounding, by);
}

void add(counted_outcomes& to, const tensor_row& row, const tensor_info& info, const step_key& key, bool as_recorded) {
  const bool known = !as_recorded && !std::isnan(row.factor);
  // What is no gradient has no loss scale, whatever is asked; --as-recorded multiplies everything.
  const bool is_scaled = as_recorded || ulp::is_scaled(info.kind);
  (!is_scaled ? to.unit.unscaled : known ? to.unit.true_gradient : to.unit.recorded) = true;
  group_counts& sums = to.groups[group_of(to, row, info, key)];
  sums.mixed_kinds = !sums.steps.empty() && (sums.mixed_kinds || sums.kind != info.kind);
  sums.kind = info.kind;
  sums.steps.insert(key.step);
  sums.of.resize(to.questions.size());
  const double factor = known ? row.factor : 1;
  // float16 loses gradients that the other types of dumps hold.
  if (row.type == dtype::float16 || !info.through.empty()) sums.censored += row.table.zeros;
  const value_range magnitudes = magnitudes_bounds(row.table);
  sums.magnitudes += {magnitudes.low / factor, magnitudes.high / factor};
  sums.squares += squares_sum(row.table).value / factor / factor;
  for (std::size_t q = 0; q < to.questions.size(); ++q) add(sums.of[q], row, to.questions[q], factor, is_scaled);
}

void print_heading(const options& o, const counted_outcomes& all) {
  const question& first = all.questions.front();
  fmt::print("{}, {}, loss scale {} on {}\n", fmt::join(o.formats, ", "),
             all.one_rounding() ? o.rounding.text(first.format) : "rounded as listed",
             all.many_scales ? "as listed" : as_power(first.scale), text_of(all.unit));
  fmt::print(
      "underflow: nonzero rounded to zero; lost L1: its share of the sum of magnitudes; SQNR: ~ where it is "
      "modelled\n");
  fmt::print("[low, high] where the input does not decide{}\n\n",
             std::ranges::any_of(all.questions, &question::is_drawn) ? "; mean ± standard deviation over all draws"
                                                                     : "");
}

int run(const options& o) {
  refuse_overwriting_inputs(o.output, o.run.files());
  counted_outcomes all{.by = o.by,
                       .questions = questions_of(o),
                       .many_formats = o.formats.size() > 1,
                       .many_scales = o.scales.size() > 1,
                       .named = o.run.named_groups()};
  const selection selected = o.run.selected();
  if (all.is_by("group") != !all.named.empty())
    throw usage_error(all.is_by("group") ? "--by group: say which groups by --group NAME=REGEX"
                                         : "--group: is used with --by group");
  if (!o.sort.empty()) check_key(outcome_table(all, {}), o.sort);
  source_options how = o.run.how_to_read();
  how.with_errors = true;  // dumps are read again anyway
  const std::unique_ptr<source> from = open_run(o.run, how);

  std::uint64_t steps = 0;
  recording_doubts doubts;
  for_each_step(*from, selected, [&](const step& now) {
    ++steps;
    doubts.see(now, from->tensors());
    for (const tensor_row& row : now.tensors)
      if (const tensor_info& info = from->tensors()[row.tensor]; selected.takes(info))
        add(all, row, info, now.key, o.as_recorded);
  });
  check_steps_counted(steps, o.run);
  if (all.groups.empty())
    throw usage_error(o.run.inputs.front() + ": has no values of the selected tensors" +
                      (from->tensors().empty() ? " (a step log has none)" : near_tensors(o.run.tensor, *from)));

  for (const std::string& line : doubts.lines()) note(line);
  for (const std::string& line : group_notes(all.named, from->tensors(), selected)) note(line);
  std::uint64_t censored = 0;
  for (const auto& [key, counts] : all.groups) censored += counts.censored;
  if (censored > 0)
    note(fmt::format(
        "{} zeros may have underflowed before recording: their values had already been rounded to a narrow format",
        grouped(censored)));
  table rows = outcome_table(all, from->tensors());
  if (!o.sort.empty()) sort_rows(rows, o.sort);
  if (const std::uint64_t left_out = cut_rows(rows, o.top); left_out > 0)
    note(fmt::format("--top {}: {} of {} {} left out", o.top, grouped(left_out), count_text(left_out + o.top, "row"),
                     left_out == 1 ? "is" : "are"));
  if (!o.output.machine_stdout()) print_heading(o, all);
  write_table("outcomes", rows, o.output);
  return done;
}

}  // namespace

command outcomes_command() {
  auto o = std::make_shared<options>();
  command made{.name = "outcomes", .help = "count the values that underflow, become subnormal or overflow in a format"};
  add_run(made, o->run);
  add_groups(made, o->run);
  made.add("--format", &o->formats, "the formats (see ulp formats)",
           {.type = "F,...", .required = true, .split_at_commas = true});
  made.add("--scale", &o->scales, "loss scales on the true gradient",
           {.type = "S,...", .show_default = true, .split_at_commas = true});
  made.add("--by", &o->by, "separate rows by tensor, kind, step, group, or several of them; sum over the rest",
           {.type = "WHAT,...",
            .show_default = true,
            .split_at_commas = true,
            .one_of = {"tensor", "kind", "step", "group"}});
  made.add("--as-recorded", &o->as_recorded, "apply the scale to the values as recorded, whatever their factor");
  made.add(
      "--sort", &o->sort,
      "largest first by this key of --json and --csv: underflow, lost_l1, overflow, sqnr_db ... (of a range by its "
      "upper end)",
      {.type = "KEY"});
  made.add("--top", &o->top, "only the first rows", {.type = "N", .check = positive});
  add_rounding(made, o->rounding);
  add_output(made, o->output);
  made.footer =
      "--csv and --json add L1 and L2 sums, the parts lost, MSE, cosine similarity, and whether these are exact. They "
      "are exact for dumps and for recordings made with ulp record --with-errors, otherwise modelled (~).\n"
      "Examples:\n"
      "  ulp outcomes examples/digits.ulp --format fp16,cb16 --scale 1,2^15 --by kind\n"
      "  ulp outcomes examples/digits.ulp --format fp16 --sort underflow --top 5";
  made.run = [o] {
    o->formats = joined_names(o->formats);
    return run(*o);
  };
  return made;
}

}  // namespace ulp::cli
