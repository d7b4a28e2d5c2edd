// ulp report: one page of HTML about a run.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <ulp/ask/reading/reading.hpp>
#include <ulp/ask/runs/compare_answer.hpp>
#include <ulp/ask/runs/compared_blocks.hpp>
#include <ulp/ask/runs/fp8_answer.hpp>
#include <ulp/ask/runs/page_answer.hpp>
#include <ulp/ask/runs/plan_answer.hpp>
#include <ulp/io/bytes/printable.hpp>
#include <ulp/io/output/atomic_file.hpp>
#include <ulp/report/page/page.hpp>
#include <utility>

#include "command.hpp"
#include "configuration.hpp"
#include "listening.hpp"
#include "options.hpp"
#include "output.hpp"

namespace ulp::cli {
namespace {

struct report_arguments {
  run_text run;
  std::vector<std::string> scalers;
  scenario_text what;
  config_file config;
  std::string epsilon = "1e-5";
  std::string recipe;
  std::vector<std::string> blocks;
  plan_question plan{.hardware = {}};
  std::vector<std::string> others;
  std::string align = "step";
  std::string output;
};

// Those asked for; else the usual ones, where the recording has their blocks.
std::vector<compared_blocks> blocks_of(const report_arguments& o) {
  if (!o.blocks.empty()) return blocks_over(o.run, block_formats_named(o.blocks, "--block"), on_stderr());
  if (!keeps_block_tables(o.run)) return {};
  std::vector<compared_blocks> all = blocks_over(o.run, usual_block_formats(), on_stderr());
  std::erase_if(all, [](const compared_blocks& of) { return !of.has_outcomes; });
  return all;
}

int run(const report_arguments& o) {
  static_cast<void>(block_formats_named(o.blocks, "--block"));
  refuse_blocks_as_format(o.what.format);
  std::vector<std::string> read = o.run.files();
  read.push_back(o.config.path);
  read.insert(read.end(), o.others.begin(), o.others.end());
  if (o.plan.hardware.empty() && !(o.plan.lose.empty() && o.plan.budget.empty()))
    throw usage_error("--lose and --budget: are of a plan; add --hardware NAME, such as any");
  if (o.others.empty() && o.align != "step")
    throw usage_error("--align: is of a comparison; add --compare FILE, or remove it");
  if (!o.others.empty() && o.run.inputs.size() > 1)
    throw usage_error("--compare: takes one INPUT to compare with, a recording for instance");
  refuse_overwriting_inputs({.csv = o.output}, read);
  scenario_text what = o.what;
  std::optional<fp8_question> scales;
  if (!o.recipe.empty()) {
    scales = {.run = o.run, .recipe = o.recipe, .scaler = {}, .parameters = {}, .format = {}};
    take_parameters(*scales, what.parameters);
  }
  const std::optional<configuration> own = configuration_of(o.config, what, o.run);
  if (!scales && own && what.format.empty()) scales = fp8_question_of(*own, o.run, what.parameters);
  if (scales && o.recipe.empty()) what.parameters.clear();
  const page_question asked = page_about(o.run, what, o.scalers, own, o.epsilon);
  std::optional<atomic_file> file;  // now: where it cannot be written nobody waits for it
  if (o.output != "-") file.emplace(o.output);
  report_page page = page_of(page_over(asked, on_stderr()));
  constexpr std::size_t tensors_drawn = 30;
  if (scales) add_recipe(page, drawn_fp8_over(*scales, tensors_drawn, on_stderr()));
  if (std::vector<compared_blocks> blocks = blocks_of(o); !blocks.empty()) add_blocks(page, o.run, std::move(blocks));
  if (!o.plan.hardware.empty()) {
    plan_question planned = o.plan;
    planned.run = o.run;
    add_plan(page, planned, plan_over(planned, on_stderr()));
  }
  for (const std::string& other : o.others) {
    const compare_question compared{
        .run = o.run, .other = other, .by = o.align == "loss" ? run_alignment::loss : run_alignment::step};
    add_comparison(page, compared, compare_runs(compared, on_stderr()));
  }
  if (own && !(scales && scales->own)) print_configuration(*own, true);  // else its replay has told of it
  for (const std::string& line : page.notes) note(line);
  page.notes = told();
  if (!file) {
    fmt::print("{}", html_of(page));
    return done;
  }
  file->write(html_of(page));
  file->finish();
  fmt::print("{}: {} of {} under {} polic{}\n", printable(o.output), count_text(page.steps, "step"),
             printable(page.input), page.replays.size(), page.replays.size() == 1 ? "y" : "ies");
  return done;
}

}  // namespace

command report_command() {
  auto o = std::make_shared<report_arguments>();
  command made{.name = "report", .help = "write an HTML page about a run: findings, pictures, numbers"};
  add_run(made, o->run);
  add_groups(made, o->run);
  made.add("-o,--output", &o->output, "the page to write; - for standard output",
           {.type = "FILE.html", .required = true, .check = a_name});
  made.add("--scaler", &o->scalers,
           "the policies to replay (see ulp scalers; default: that of --config, else pytorch_gradscaler)",
           {.type = "NAME,...", .split_at_commas = true});
  add_config(made, o->config, {}, "adds a first policy, and takes format and clipping unless given,");
  add_options(made, options_of(o->what), {"scaler"});
  made.add("--recipe", &o->recipe,
           "adds a section on scales of tensors under a recipe of FP8 training, as in ulp replay; takes the --set that "
           "its policy has (default: that of --config, where this trains in FP8)",
           {.type = "NAME"});
  made.add("--block", &o->blocks,
           "adds a section on formats whose blocks share a scale (see ulp formats --blocks; default: the usual ones, "
           "where the recording was made with ulp record --blocks)",
           {.type = "NAME,...", .split_at_commas = true});
  made.add("--hardware", &o->plan.hardware, "adds a map of what each tensor may be kept in there, as ulp plan has it",
           {.type = "NAME", .one_of = plan_hardware_names()});
  made.add("--lose", &o->plan.lose, "the share of a tensor's energy that it may lose (1e-3)", {.type = "X"});
  made.add("--budget", &o->plan.budget, "instead: so many bits, as in ulp plan",
           {.type = "BITS", .excludes = "--lose"});
  made.add("--compare", &o->others,
           "adds where the run parts from another one, as ulp compare has it; repeat it for several",
           {.type = "FILE", .check = a_name});
  made.add("--align", &o->align, "of --compare: which steps are compared, those of one number or of one loss",
           {.show_default = true, .one_of = {"step", "loss"}});
  made.add("--epsilon", &o->epsilon, "the share of the magnitude of gradients that underflow may take",
           {.type = "X", .show_default = true});
  made.footer =
      "--set and --start apply to the policies that have them. The default format is float16.\n"
      "Example:\n"
      "  ulp report examples/digits.ulp --scaler pytorch,cerebras --clip-norm 1 -o /tmp/digits.html";
  made.run = [o] { return run(*o); };
  return made;
}

}  // namespace ulp::cli
