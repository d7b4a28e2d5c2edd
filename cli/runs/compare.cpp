// ulp compare: two runs, and the first step and tensor in which they part.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <ulp/ask/runs/compare_answer.hpp>
#include <ulp/report/tables/compare_summary.hpp>
#include <ulp/report/tables/sorted.hpp>

#include "command.hpp"
#include "listening.hpp"
#include "options.hpp"
#include "output.hpp"
#include "tables/summary.hpp"

namespace ulp::cli {
namespace {

struct compare_arguments {
  compare_question asked;
  std::string first;
  row_order order;
  std::string align = "step";
  std::optional<std::uint32_t> loss_window;
  std::uint64_t show = 40;
  output_options output;
};

int run(const compare_arguments& o) {
  std::vector<std::string> read = o.asked.run.files();
  read.push_back(o.asked.other);
  read.insert(read.end(), o.asked.repeats.begin(), o.asked.repeats.end());
  refuse_overwriting_inputs(o.output, read);
  listening to(o.output.machine_stdout());
  check_order(compare_table({}), o.order);
  const compare_answer answer = compare_runs(o.asked, to);
  table rows = compare_table(answer);
  arrange(rows, o.order, to);
  const summary lines = lines_of(answer);
  if (o.output.json) {
    print_json("compare", lines, "tensors", rows);
    return done;
  }
  write_table("compare", rows, o.output, false);
  if (o.output.csv == "-") return done;
  print_text(lines);
  if (!o.output.csv.empty() || rows.rows.empty()) return done;
  const std::size_t all = rows.rows.size();
  if (all > o.show) rows.rows.resize(o.show);
  fmt::print("\n{}", to_text(rows));
  if (all > o.show) fmt::print("\nthe first {} of {}; more with --show N, all with --csv FILE\n", o.show, grouped(all));
  return done;
}

}  // namespace

command compare_command() {
  auto o = std::make_shared<compare_arguments>();
  command made{.name = "compare",
               .help = "compare two runs: the first step and tensor that differ by more than rounding explains"};
  made.add("A", &o->first, inputs_help(), {.required = true, .check = a_name});
  made.add("B", &o->asked.other, "the other run: another device, commit, format or setting",
           {.required = true, .check = a_name});
  made.add(
      "--repeat", &o->asked.repeats,
      "another run of what A is, on another device or with another seed: what such runs differ is explained; repeat it "
      "for several",
      {.type = "FILE", .check = a_name});
  made.add("--smooth", &o->asked.is_smooth,
           "the network has no kinks, such as ReLU or max pooling: small jumps of gradients are not explained by them");
  made.add("--align", &o->align,
           "which steps are compared: those of one number or, for runs that advance at different speeds, those of one "
           "loss",
           {.show_default = true, .one_of = {"step", "loss"}});
  made.add("--loss-window", &o->loss_window,
           fmt::format("losses that --align loss smooths together, by their median; an odd number (default: {})",
                       usual_loss_window),
           {.type = "N", .check = positive});
  add_options(made, options_of(o->asked.run));
  made.add("--sort", &o->order.sort, "largest first by this key of --json and --csv: largest_change, zeros_b ...",
           {.type = "KEY"});
  made.add("--top", &o->order.top, "only the first rows", {.type = "N", .check = positive});
  made.add("--show", &o->show, "number of rows to print", {.type = "N", .show_default = true, .check = whole_number});
  add_output(made, o->output);
  made.footer =
      "Tables of values do not tell which value is whose. A change is therefore the least that two of them "
      "prove: it is real "
      "where it is reported, and may be larger. docs/compare-runs.md says what it is held against.\n"
      "Examples:\n"
      "  ulp compare examples/digits.ulp examples/digits.ulp\n"
      "  ulp compare examples/digits.ulp examples/digits.ulp --align loss";
  made.run = [o] {
    o->asked.run.inputs = {o->first};
    o->asked.by = o->align == "loss" ? run_alignment::loss : run_alignment::step;
    if (o->loss_window && o->asked.by != run_alignment::loss)
      throw usage_error("--loss-window: is of steps that are compared by loss; add --align loss");
    o->asked.loss_window = o->loss_window.value_or(usual_loss_window);
    return run(*o);
  };
  return made;
}

}  // namespace ulp::cli
