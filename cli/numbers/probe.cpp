// ulp probe: which unit, order and split an unknown kernel adds with, from what it makes of given operands.
#include <fmt/format.h>

#include <memory>
#include <ulp/ask/precision/probe_answer.hpp>
#include <ulp/ask/questions/number_text.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/io/bytes/printable.hpp>

#include "command.hpp"
#include "listening.hpp"
#include "options.hpp"
#include "output.hpp"

namespace ulp::cli {
namespace {

struct probe_arguments {
  std::string probe;
  std::string format;
  std::uint64_t depth = 0;
  std::string written;
  std::string results;
  run_text run;  // of which --limit and --raw-codes are taken
  output_options output;
};

std::string joined(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& one : all) text += (text.empty() ? "" : " or ") + one;
  return text;
}

const char* rounding_of(const kernel_candidate& kernel) {
  return kernel.order.how.rounding.direction == direction::toward_zero ? "toward zero" : "to nearest even";
}

table table_of_kernels(const probe_answer& answer) {
  using row = probed_kernel;
  const std::vector<column<row>> columns{
      {"unit", "unit", [](const row& r) { return joined(r.kernel.names); }},
      {"order", "order", [](const row& r) { return joined(r.kernel.orders); }},
      {"rounding", "rounding", [](const row& r) { return std::string(rounding_of(r.kernel)); }},
      {"accumulator", "in", [](const row& r) { return to_string(r.kernel.order.how.accumulator); }},
      {"output", "then rounded to",
       [](const row& r) {
         return value_if(r.kernel.output.has_value(), r.kernel.output ? to_string(*r.kernel.output) : std::string());
       }},
      {"differing", "differing", [](const row& r) { return integer(r.differing); }},
      {"source", "", [](const row& r) { return value_if(!r.kernel.order.source.empty(), r.kernel.order.source); }},
  };
  return table_of(columns, answer.kernels);
}

// What the pairs show of a kernel that nobody knows.
void print_reaches(const probe_answer& answer) {
  fmt::print("\nproducts that meet product 0 before product K does, K with them:\n");
  constexpr std::size_t most = 24;
  for (std::size_t i = 0; i < std::min(most, answer.reaches.size()); ++i) {
    const pair_reach& r = answer.reaches[i];
    fmt::print("  K {:>11}  {}\n",
               r.first == r.last ? fmt::format("{}", r.first) : fmt::format("{}-{}", r.first, r.last),
               r.products ? count_text(*r.products, "product") : std::string("small ones are kept in part"));
  }
  if (answer.reaches.size() > most) fmt::print("  and others\n");
}

int find(const probe_arguments& o) {
  refuse_overwriting_inputs(o.output, {o.probe, o.results});
  const probe_answer answer = kernels_behind(o.probe, o.results, o.run, on_stderr());
  if (!o.output.machine_stdout()) {
    const std::size_t found = answer.is_known() ? answer.kernels.size() : 0;
    fmt::print("{} of {} products in {}: {} of {} kernels give these results{}\n\n",
               count_text(answer.rows, "dot product"), grouped(answer.depth), to_string(answer.operands),
               found == 0 ? std::string("none") : grouped(found), grouped(answer.candidates),
               found == 0   ? "; the nearest:"
               : found == 1 ? ":"
                            : "; these are still possible:");
  }
  write_table("probe", table_of_kernels(answer), o.output);
  if (!answer.is_known() && !o.output.machine_stdout()) print_reaches(answer);
  return answer.is_known() ? done : differences;
}

int run(const probe_arguments& o) {
  if (!o.results.empty()) {
    if (o.probe.empty()) throw usage_error("--results: give the probe, too: ulp probe PROBE.npz --results C.npy");
    if (!o.format.empty() || o.depth != 0 || !o.written.empty())
      throw usage_error("--format, -k and -o write a probe; --results reads what a kernel made of one: one of these");
    return find(o);
  }
  if (!o.probe.empty()) throw usage_error(fmt::format("{}: give what the kernel made of it with --results", o.probe));
  if (o.format.empty() || o.depth == 0 || o.written.empty())
    throw usage_error("a probe is written with --format F -k K -o PROBE.npz; read with PROBE.npz --results C.npy");
  if (o.written == "-") throw usage_error("-o -: an .npz is not written to standard output; name a file");
  const std::size_t rows = write_probe(o.written, o.format, o.depth);
  fmt::print(
      "{}: a and b, {} x {} in {}\n"
      "Let the kernel make row i of a times row i of b, c being 0: {} results, or a times the transposed b, whose "
      "diagonal they are. Then:\n"
      "  ulp probe {} --results C.npy\n",
      printable(o.written), rows, o.depth, printable(o.format), rows, printable(o.written));
  return done;
}

}  // namespace

command probe_command() {
  auto o = std::make_shared<probe_arguments>();
  command made{.name = "probe", .help = "name the matrix unit, order and split of an unknown kernel"};
  made.add("PROBE", &o->probe, "what was written before, for --results", {.check = a_name});
  made.add("--format", &o->format, "of the operands that are written", {.type = "F"});
  made.add("-k,--depth", &o->depth, "products of a dot product", {.type = "K", .check = positive});
  made.add("-o,--output", &o->written, "the .npz to write: a, b [rows, K] in float32, a_codes, b_codes as bits",
           {.type = "FILE", .check = a_name});
  made.add("--results", &o->results,
           "what the kernel made of them: a dump of one array, a result for each row, or a times the transposed b",
           {.type = "FILE", .check = a_name});
  add_limits(made, o->run);
  add_output(made, o->output);
  made.footer =
      "Every unit that is known, in every order and split, is compared bit by bit; the exit code is 1 where none gives "
      "the results. K should be that of the kernel in question, or several times what it adds at once: orders that "
      "are the same sums of K products are told together. docs/precision.md says what cannot be told.\n"
      "What the kernel made of it is read by ulp probe PROBE.npz --results C.npy.\n"
      "Example:\n"
      "  ulp probe --format float16 -k 256 -o /tmp/probe.npz";
  made.run = [o] { return run(*o); };
  return made;
}

}  // namespace ulp::cli
