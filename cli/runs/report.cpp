// ulp report: one page of HTML about a run.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <ulp/io/atomic_file.hpp>
#include <ulp/io/printable.hpp>
#include <ulp/report/page.hpp>

#include "command.hpp"
#include "configuration.hpp"
#include "each_step.hpp"
#include "options.hpp"
#include "output.hpp"

namespace ulp::cli {
namespace {

struct options {
  run_text run;
  std::vector<std::string> scalers;
  scenario_text what;
  std::string config;
  std::string epsilon = "1e-5";
  std::string output;
};

std::vector<scenario_text> policies_of(const options& o, const std::optional<configuration>& own) {
  const std::vector<std::string> usual{"pytorch_gradscaler"};
  std::vector<scenario_text> all = under_each(o.what, o.scalers.empty() && !own ? usual : o.scalers, own);
  for (scenario_text& policy : all)
    if (policy.format.empty()) policy.format = "float16";
  return all;
}

int run(const options& o) {
  std::vector<std::string> read = o.run.files();
  read.push_back(o.config);
  refuse_overwriting_inputs({.csv = o.output}, read);
  const std::optional<configuration> own = configuration_of(o.config, o.what, o.run);
  page_maker maker({.run = o.run,
                    .policies = policies_of(o, own),
                    .epsilon = o.epsilon,
                    .configured = own ? std::optional{own_configuration_of(own->said)} : std::nullopt});

  const std::unique_ptr<source> from = open_run(o.run);
  check_tensors_exist(o.what.check, *from);
  std::optional<atomic_file> file;  // now: where it cannot be written nobody waits for it
  if (o.output != "-") file.emplace(o.output);
  for_each_step(*from, maker.counted(), [&](const step& now) { maker.add(now, from->tensors()); });
  check_steps_counted(maker.seen().steps().size(), o.run);
  check_tensors_counted(maker.seen().choice(), *from, o.run);
  if (const std::unique_ptr<source> twice = open_run_again(o.run))
    if (const std::optional<selection> less = maker.again(from->tensors()))
      for_each_step(*twice, *less, [&](const step& now) { maker.add_again(now, from->tensors()); });

  report_page page = maker.page(from->tensors());
  if (own) print_configuration(*own, true);
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
  auto o = std::make_shared<options>();
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
