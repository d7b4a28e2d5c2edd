// ulp precision dot: what dot products of narrow numbers lose, by the order in which they are added.
#include <fmt/format.h>

#include <memory>
#include <ulp/ask/precision/dot_answer.hpp>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/io/bytes/printable.hpp>
#include <ulp/report/tables/dot_table.hpp>

#include "command.hpp"
#include "listening.hpp"
#include "options.hpp"
#include "output.hpp"
#include "precision/subcommands.hpp"

namespace ulp::cli {
namespace {

struct dot_arguments {
  dot_question asked;
  output_options output;
};

int run(const dot_arguments& o) {
  refuse_overwriting_inputs(o.output, o.asked.inputs);
  const dot_answer answer = dots_over(o.asked, on_stderr());
  if (!o.output.machine_stdout()) {
    fmt::print("{} of {}: {}\n", count_text(answer.products, "dot product"), count_text(answer.length, "element"),
               printable(answer.operands));
    fmt::print(
        "errors: against the exact sum of the rounded operands' products, relative to the sum of |a b|; bias: mean, "
        "away from zero\n"
        "measured: as a library or processor was found to add; assumed: a model of what its vendor says, see "
        "--json\n"
        "\n");
  }
  write_table("precision.dot", dot_table(answer.rows), o.output);
  return done;
}

}  // namespace

command precision_dot_command() {
  auto o = std::make_shared<dot_arguments>();
  command made{.name = "dot", .help = "measure what dot products lose in the orders in which they are added"};
  made.add("INPUT", &o->asked.inputs,
           "a dump with both arrays, or one with a and one with b: npy, npz, safetensors, pt", {.check = a_name});
  made.add("--a", &o->asked.a, "the array of the first operands", {.type = "NAME"});
  made.add("--b", &o->asked.b, "the array of the second ones", {.type = "NAME"});
  made.add("--generate", &o->asked.generate,
           "make numbers up instead: (0, 1), (-1, 1), normal, mean and deviation 1, or 1",
           {.one_of = dot_distributions});
  made.add("--format", &o->asked.formats,
           "the formats that operands are rounded to; of blocks: mxfp8, mxfp4, nvfp4, ...",
           {.type = "F,...", .show_default = true, .split_at_commas = true});
  made.add("--length", &o->asked.length,
           "of a dot product: arrays are cut into rows of K (default: their last dimension; 1024 where made up)",
           {.type = "K", .check = positive});
  made.add("--rows", &o->asked.rows,
           "dot products at most: row i of a with row i of b, the shorter array from its start again",
           {.type = "N", .show_default = true, .check = positive});
  made.add("--chunk", &o->asked.chunk, "products in a chunk, where sums of chunks are added up",
           {.type = "N", .show_default = true, .check = positive});
  made.add("--unit", &o->asked.unit,
           "as this matrix unit adds, and no other order: an architecture or a processor, hopper or H100",
           {.type = "NAME"});
  made.add("--accumulate", &o->asked.accumulate, "the format of its accumulator (default: the widest that it has)",
           {.type = "F"});
  made.add("--promote", &o->asked.promote,
           "also with so many of its groups added up before their sum is added in float32; 0: all of them",
           {.type = "N"});
  made.add("--seed", &o->asked.seed, "of numbers that are made up",
           {.type = "N", .show_default = true, .check = whole_number});
  add_limits(made, o->asked.run);
  add_output(made, o->output);
  made.footer =
      "--json and --csv add the source of each order and what is assumed of it. Cerebras documents in words what "
      "precision_opt_level 0, 1 and 2 accumulate in, not the order or the number of products: those rows are assumed.\n"
      "Examples:\n"
      "  ulp precision dot --generate uniform --length 1024 --rows 8 --format fp16,bf16\n"
      "  ulp precision dot --generate normal --length 4096 --rows 8 --format e4m3fn --unit H100 --promote 4\n"
      "  ulp precision dot --generate normal --length 4096 --rows 8 --format mxfp8,nvfp4\n"
      "  ulp precision dot examples/digits.step00100.safetensors --a wgrad/fc2.weight --b wgrad/fc2.weight --format bf16";
  made.run = [o] {
    o->asked.formats = joined_names(o->asked.formats);
    return run(*o);
  };
  return made;
}

}  // namespace ulp::cli
