// ulp precision accumulate: what accumulating micro-batches in a narrow format loses.
#include <fmt/format.h>

#include <memory>
#include <ulp/ask/precision/accumulate_answer.hpp>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/report/findings/accumulation.hpp>
#include <ulp/report/tables/accumulation_table.hpp>

#include "command.hpp"
#include "listening.hpp"
#include "options.hpp"
#include "output.hpp"
#include "precision/subcommands.hpp"
#include "runs/configuration.hpp"

namespace ulp::cli {
namespace {

struct accumulate_arguments {
  accumulate_question asked;
  output_options output;
};

void print_heading(const accumulate_answer& answer) {
  fmt::print("{} micro-batch{} accumulated{}\n\n", grouped(answer.microbatches), answer.microbatches == 1 ? "" : "es",
             answer.modelled ? ", ~ as modelled from the recording" : ": every element, against the exact sum");
  if (answer.modelled)
    fmt::print(
        "not normal: nonzero gradients that are subnormal, zero or too large in the format; there the model fails\n\n");
  else
    fmt::print(
        "rms error: relative to the exact sums; bits lost: beyond one rounding; swamped: nonzero addends that "
        "leave the sum as it is\n\n");
}

int run(const accumulate_arguments& o) {
  std::vector<std::string> read = o.asked.run.files();
  read.push_back(o.asked.config.path);
  refuse_overwriting_inputs(o.output, read);
  const accumulate_answer answer = accumulate_over(o.asked, on_stderr());
  print_conclusions(conclusions_of(answer), o.output.machine_stdout());
  if (!o.output.machine_stdout()) print_heading(answer);
  write_table("precision.accumulate", accumulation_table(answer.rows), o.output);
  return done;
}

}  // namespace

command precision_accumulate_command() {
  auto o = std::make_shared<accumulate_arguments>();
  command made{.name = "accumulate", .help = "measure what accumulating micro-batches in 16 bits loses"};
  add_run(made, o->asked.run, {},
          "a dump of each micro-batch, a folder of them, or one dump that holds all; or a recording");
  made.add("--format", &o->asked.formats,
           "the formats that sums are kept in (default: as --config says, else float16, bfloat16, cbfloat16)",
           {.type = "F,...", .split_at_commas = true});
  made.add("--chunk", &o->asked.chunks,
           "add up so many micro-batches by themselves, then the sums of these, in the format and in float32",
           {.type = "N,...", .split_at_commas = true});
  made.add("--microbatches", &o->asked.microbatches,
           "of dumps only the first N; "
           "of a recording how many were accumulated (default: as recorded, else as --config says)",
           {.type = "N", .check = positive});
  add_config(made, o->asked.config, {}, "says what gradients are accumulated in,");
  add_rounding(made, o->asked.rounding);
  add_output(made, o->output);
  made.footer =
      "INPUT: a dump of each micro-batch in their order, a folder of them, or one dump in which the first index of "
      "every array is the micro-batch: every element is added up, and compared with the exact sum. Or a recording: "
      "errors are modelled (~), for so many independent micro-batches of mean zero.\n"
      "Gradients are rounded to the format before they are added. docs/precision.md has the definitions and the "
      "model.\n"
      "Examples:\n"
      "  ulp precision accumulate examples/microbatches32.safetensors --format fp16,bf16 --chunk 8\n"
      "  ulp precision accumulate examples/digits.ulp --microbatches 32 --format bf16";
  made.run = [o] {
    o->asked.formats = joined_names(o->asked.formats);
    return run(*o);
  };
  return made;
}

}  // namespace ulp::cli
