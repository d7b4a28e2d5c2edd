// ulp plan: for each tensor the cheapest treatment that loses little enough.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <ulp/ask/runs/plan_answer.hpp>
#include <ulp/report/tables/plan_files.hpp>
#include <ulp/report/tables/plan_table.hpp>
#include <vector>

#include "command.hpp"
#include "listening.hpp"
#include "options.hpp"
#include "output.hpp"
#include "tables/summary.hpp"

namespace ulp::cli {
namespace {

struct plan_arguments {
  plan_question asked;
  std::string framework;  // whose words are printed, and nothing else
  output_options output;
};

int run(const plan_arguments& o) {
  refuse_overwriting_inputs(o.output, o.asked.run.files());
  if (!o.framework.empty() && o.output.machine_stdout())
    throw usage_error("--for: is what is printed; remove --json, or --csv -");
  const plan_answer plan = plan_over(o.asked, on_stderr());
  if (!o.framework.empty()) {
    const plan_file file = plan_file_for(o.framework, plan);
    for (const std::string& line : file.notes) note(line);
    fmt::print("{}", file.text);
    if (!o.output.csv.empty()) write_table("plan", plan_table(plan), {.csv = o.output.csv}, false);
    return done;
  }
  const std::vector<summary_line> lines = lines_of(plan);
  const table tensors = plan_table(plan);
  if (o.output.json) print_json("plan", lines, "tensors", tensors);
  if (!o.output.machine_stdout()) {
    print_text(lines);
    fmt::print("\n");
  }
  write_table("plan", tensors, {.csv = o.output.csv}, !o.output.json);
  return done;
}

}  // namespace

command plan_command() {
  auto o = std::make_shared<plan_arguments>();
  command made{.name = "plan", .help = "find for each tensor the fewest bits that lose little enough"};
  add_run(made, o->asked.run);
  made.add("--hardware", &o->asked.hardware, "only treatments that it has",
           {.show_default = true, .one_of = plan_hardware_names()});
  made.add(
      "--lose", &o->asked.lose,
      "the share of a tensor's energy, its sum of squares, that rounding and underflow may take in any step (1e-3)",
      {.type = "X"});
  made.add("--budget", &o->asked.budget,
           "instead: lose as little as so many bits allow, of all tensors together or as 8.5/element",
           {.type = "BITS", .excludes = "--lose"});
  made.add("--for", &o->framework, "print the plan as this framework takes it, and nothing else",
           {.type = "NAME", .one_of = plan_frameworks()});
  add_output(made, o->output);
  made.footer =
      "What the input does not decide never counts as holding: the last columns say what to record. Dumps, and "
      "recordings made with ulp record --blocks 32,128,128x128 --with-errors, decide nearly everything. docs/plan.md "
      "explains it.\n"
      "Examples:\n"
      "  ulp plan examples/digits.ulp --hardware hopper\n"
      "  ulp plan examples/digits.step00100.safetensors --hardware blackwell --budget 9/element";
  made.run = [o] { return run(*o); };
  return made;
}

}  // namespace ulp::cli
