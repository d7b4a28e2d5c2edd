// ulp outcomes: how many values underflow, become subnormal or overflow.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <ulp/ask/runs/block_outcome_answer.hpp>
#include <ulp/ask/runs/outcome_answer.hpp>
#include <ulp/report/tables/block_outcome_table.hpp>
#include <ulp/report/tables/outcome_table.hpp>
#include <ulp/report/tables/sorted.hpp>

#include "command.hpp"
#include "listening.hpp"
#include "numbers/block_words.hpp"
#include "options.hpp"
#include "output.hpp"

namespace ulp::cli {
namespace {

struct outcomes_arguments {
  outcome_question asked;
  std::string axis = "last";
  bool with_errors = false;
  row_order order;
  output_options output;
};

std::string text_of(const scale_units& u) {
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

void print_heading(const outcome_question& o, const counted_outcomes& all) {
  const outcome_case& first = all.questions.front();
  fmt::print("{}, {}, loss scale {} on {}\n", fmt::join(o.formats, ", "),
             all.one_rounding() ? o.rounding.text(first.how.format) : "rounded as listed",
             all.many_scales ? "as listed" : as_power(first.scale), text_of(all.unit));
  fmt::print(
      "underflow: nonzero rounded to zero; lost L1: its share of the sum of magnitudes; SQNR: ~ where it is "
      "modelled\n");
  fmt::print("[low, high] where the input does not decide{}\n\n",
             std::ranges::any_of(all.questions, &outcome_case::is_drawn)
                 ? "; mean ± standard deviation over all draws, "
                   "of values by the cells that they are in: "
                   "ulp convert counts one draw of a file exactly"
                 : "");
}

int run_of_blocks(const outcomes_arguments& o) {
  const block_outcome_answer answer =
      block_outcomes_over(o.asked, {.along_other = o.axis == "other", .with_errors = o.with_errors}, on_stderr(),
                          [&](const block_outcome_answer& none) { check_order(block_outcome_table(none), o.order); });
  table rows = block_outcome_table(answer);
  arrange(rows, o.order, on_stderr());
  if (!o.output.json && o.output.csv.empty()) {
    for (const block_case& format : answer.formats)
      fmt::print("{}: {}, elements of {} rounded {}, a scale for {}\n", format.format_name, format.row.name,
                 format.row.element.name, format.rounding_name, ulp::text_of(format.row.block));
    fmt::print(
        "{} underflow: nonzero rounded to zero; overflow: beyond the largest number, where most "
        "saturate;\nlost to NaN: in a block whose scale is NaN; clamped: blocks whose scale is an end of its type\n"
        "{}",
        answer.from_values ? "each value as recorded, quantized." : "of the values as recorded, by their block tables.",
        answer.from_values ? "\n" : "[low, high] where the block tables do not decide\n\n");
  }
  write_table("outcomes", rows, o.output);
  return done;
}

int run(const outcomes_arguments& o) {
  refuse_overwriting_inputs(o.output, o.asked.run.files());
  if (asks_of_blocks(o.asked)) return run_of_blocks(o);
  if (o.axis != "last") throw usage_error("--axis: is used with formats of blocks");
  if (o.with_errors)
    throw usage_error("--with-errors: is used with formats of blocks; of dumps, SQNR is exact without it");
  const outcome_answer answer = outcomes_over(
      o.asked, on_stderr(), [&](const counted_outcomes& none) { check_order(outcome_table(none, {}), o.order); });
  table rows = outcome_table(answer.counted, answer.tensors);
  arrange(rows, o.order, on_stderr());
  if (!o.output.json && o.output.csv.empty()) print_heading(o.asked, answer.counted);
  write_table("outcomes", rows, o.output);
  return done;
}

}  // namespace

command outcomes_command() {
  auto o = std::make_shared<outcomes_arguments>();
  command made{.name = "outcomes", .help = "count the values that underflow, become subnormal or overflow in a format"};
  add_run(made, o->asked.run);
  add_groups(made, o->asked.run);
  made.add("--format", &o->asked.formats,
           "the formats (see ulp formats), or formats of blocks (see ulp formats --blocks): all of them of dumps, of "
           "recordings made with ulp record --blocks those whose scales are powers of two",
           {.type = "F,...", .required = true, .split_at_commas = true});
  made.add("--axis", &o->axis, "of formats of blocks: along the last axis, or along the other one of its matrix",
           {.show_default = true, .one_of = {"last", "other"}});
  made.add("--with-errors", &o->with_errors,
           "of formats of blocks and dumps: the energy of the error, over that of the values and as SQNR");
  made.add("--scale", &o->asked.scales, "loss scales on the true gradient",
           {.type = "S,...", .show_default = true, .split_at_commas = true});
  made.add("--by", &o->asked.by, "separate rows by tensor, kind, step, group, or several of them; sum over the rest",
           {.type = "WHAT,...", .show_default = true, .split_at_commas = true, .one_of = outcome_groups});
  made.add("--as-recorded", &o->asked.as_recorded, "apply the scale to the values as recorded, whatever their factor");
  made.add(
      "--sort", &o->order.sort,
      "worst first by this key of --json and --csv: underflow, underflow_share, lost_l1_share, overflow, sqnr_db ... (the "
      "largest, of a range by its upper end; of SQNR and cosine the least)",
      {.type = "KEY"});
  made.add("--top", &o->order.top, "only the first rows", {.type = "N", .check = positive});
  add_rounding(made, o->asked.rounding);
  add_output(made, o->output);
  made.footer =
      "--csv and --json add L1 and L2 sums, the parts lost, MSE, cosine similarity, and whether these are exact. They "
      "are exact for dumps and for recordings made with ulp record --with-errors, otherwise modelled (~).\n"
      "Examples:\n"
      "  ulp outcomes examples/digits.ulp --format fp16,cb16 --scale 1,2^15 --by kind\n"
      "  ulp outcomes examples/digits.ulp --format fp16 --sort underflow --top 5\n"
      "  ulp outcomes examples/digits.step00100.safetensors --format mxfp8,nvfp4 --with-errors";
  made.run = [o] {
    o->asked.formats = joined_names(o->asked.formats);
    return run(*o);
  };
  return made;
}

}  // namespace ulp::cli
