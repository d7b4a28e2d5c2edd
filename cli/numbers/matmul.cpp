// ulp matmul: a product of matrices as a matrix unit makes it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <ulp/ask/precision/matmul_answer.hpp>
#include <ulp/ask/questions/number_text.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/io/bytes/printable.hpp>

#include "command.hpp"
#include "listening.hpp"
#include "options.hpp"
#include "output.hpp"

namespace ulp::cli {
namespace {

struct matmul_arguments {
  matmul_question asked;
  output_options output;
};

table values_of(const matmul_answer& answer, const matmul_question& asked) {
  const matmul_errors& e = answer.errors;
  const bool measured = !std::isnan(e.largest_ulps);
  return table_of_one({{"operands", answer.operands},
                       {"format", answer.format},
                       {"unit", answer.unit},
                       {"promote", value_if(asked.promote.has_value(), integer(asked.promote.value_or(0)))},
                       {"split_k", integer(answer.parts)},
                       {"rows", integer(answer.rows)},
                       {"depth", integer(answer.depth)},
                       {"columns", integer(answer.columns)},
                       {"result", to_string(answer.result)},
                       {"elements", integer(e.elements)},
                       {"nonfinite", integer(e.nonfinite)},
                       {"overflowed", integer(e.overflowed)},
                       {"differing", integer(e.differing)},
                       {"largest_error_ulps", e.largest_ulps},
                       {"largest_row", value_if(measured, integer(e.row))},
                       {"largest_column", value_if(measured, integer(e.column))},
                       {"seconds", answer.seconds},
                       {"source", answer.source},
                       {"note", value_if(!answer.note.empty(), answer.note)}});
}

void print_text(const matmul_answer& answer, const matmul_question& asked) {
  const matmul_errors& e = answer.errors;
  fmt::print("{}: {} x {} x {} in {}, on {}{}{}\n", printable(answer.operands), answer.rows, answer.depth,
             answer.columns, printable(answer.format), answer.unit,
             !asked.promote        ? ""
             : *asked.promote == 0 ? ", added to c in float32"
                                   : fmt::format(", every {} groups added in float32", *asked.promote),
             asked.split_k == 1 ? "" : fmt::format(", split in {}", answer.parts));
  fmt::print("source       {}\n", answer.source);
  if (!answer.note.empty()) fmt::print("note         {}\n", answer.note);
  if (std::isnan(e.largest_ulps))
    fmt::print("largest      no element has an error\n");
  else
    fmt::print("largest      {:.4g} ulp of {}, at [{}, {}], against the exact product of the operands\n",
               e.largest_ulps, to_string(answer.result), e.row, e.column);
  fmt::print("differing    {} of {} from the exact product rounded once, {:.3g} %\n", grouped(e.differing),
             count_text(e.elements, "element"),
             100 * static_cast<double>(e.differing) / static_cast<double>(e.elements));
  if (e.overflowed > 0) fmt::print("overflowed   {}\n", grouped(e.overflowed));
  if (e.nonfinite > 0) fmt::print("nonfinite    {}: an operand is infinite or NaN\n", grouped(e.nonfinite));
  fmt::print("time         {:.3g} s\n", answer.seconds);
  if (!asked.output.empty()) fmt::print("written      {}\n", printable(asked.output));
}

int run(const matmul_arguments& o) {
  refuse_overwriting_inputs(o.output, o.asked.inputs);
  if (o.asked.output == "-") throw usage_error("-o -: a .npy is not written to standard output; name a file");
  refuse_overwriting_inputs({.csv = o.asked.output}, o.asked.inputs);
  refuse_one_output({{"-o", o.asked.output}, {"--csv", o.output.csv}});
  const matmul_answer answer = matmul_over(o.asked, on_stderr());
  if (answer.parts != o.asked.split_k)
    note(fmt::format("--split-k {}: K makes {} of whole groups, all but the last alike", o.asked.split_k,
                     count_text(answer.parts, "part")));
  if (!o.output.machine_stdout()) print_text(answer, o.asked);
  write_table("matmul", values_of(answer, o.asked), o.output, false);
  return done;
}

}  // namespace

command matmul_command() {
  auto o = std::make_shared<matmul_arguments>();
  command made{.name = "matmul", .help = "multiply matrices as a matrix unit does, bit for bit"};
  made.add("INPUT", &o->asked.inputs,
           "dumps of A [M, K] and of B [K, N], or one dump with both: npy, npz, safetensors, pt", {.check = a_name});
  made.add("--a", &o->asked.a, "the array A", {.type = "NAME"});
  made.add("--b", &o->asked.b, "the array B", {.type = "NAME"});
  made.add("--unit", &o->asked.unit, "the matrix unit: an architecture or a processor, hopper or H100",
           {.type = "NAME", .required = true});
  made.add(
      "--format", &o->asked.format,
      "the format that operands are rounded to, or one of blocks along K: mxfp8, mxfp4, nvfp4, ... (default: that of A's "
      "elements)",
      {.type = "F"});
  made.add("--accumulate", &o->asked.accumulate,
           "the format of the unit's accumulator (default: the widest that it has)", {.type = "F"});
  made.add("--promote", &o->asked.promote,
           "so many groups of products are added up before their sum is added in float32; 0: all of them",
           {.type = "N"});
  made.add("--split-k", &o->asked.split_k,
           "cut K into so many parts, whole groups, whose sums are added in float32, in their order",
           {.type = "N", .show_default = true, .check = positive});
  made.add("-o,--output", &o->asked.output, "the .npy for the product, float32, or float16 where the unit gives that",
           {.type = "FILE", .check = a_name});
  add_limits(made, o->asked.run);
  add_output(made, o->output);
  made.footer =
      "Prints the largest error against the exact product of the rounded operands, in units in the last place, and how "
      "many elements are not the exact ones rounded once. docs/numerics.md has the units.\n"
      "Examples:\n"
      "  ulp matmul examples/digits.step00100.safetensors --a wgrad/fc2.weight --b wgrad/fc1.weight --unit H100 --format bf16\n"
      "  ulp matmul examples/digits.step00100.safetensors --a wgrad/fc2.weight --b wgrad/fc1.weight --unit B200 --format mxfp8";
  made.run = [o] { return run(*o); };
  return made;
}

}  // namespace ulp::cli
