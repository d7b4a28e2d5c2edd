// ulp precision optimizer: a run of gradients through an optimizer as a library steps it.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ulp/ask/precision/optimizer_answer.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/io/output/atomic_file.hpp>
#include <ulp/model/optimizers/optimizer.hpp>

#include "command.hpp"
#include "listening.hpp"
#include "options.hpp"
#include "output.hpp"
#include "precision/subcommands.hpp"
#include "tables/summary.hpp"

namespace ulp::cli {
namespace {

struct optimizer_arguments {
  optimizer_question asked;
  std::string output;
  output_options shown;
};

std::string defaults_of(const optimizer_entry& entry) {
  std::string text;
  for (const optimizer_parameter& p : entry.parameters)
    text += (text.empty() ? "" : " ") + p.name + "=" + to_string(p.value);
  return text;
}

table dialect_table() {
  using row = optimizer_entry;
  const auto text = [](std::string_view row::*of) { return [of](const row& e) { return std::string{e.*of}; }; };
  const std::vector<column<row>> columns = {
      {"dialect", "dialect", text(&row::name)},
      {"aliases", "", [](const row& e) { return fmt::format("{}", fmt::join(e.aliases, ", ")); }},
      {"family", "of", text(&row::family)},
      {"summary", "what", text(&row::summary)},
      {"states", "", text(&row::states)},
      {"defaults", "", defaults_of},
      {"rules", "", text(&row::rules)},
      {"quirks", "", text(&row::quirks)},
      {"source", "", text(&row::source)},
  };
  return table_of(columns, optimizer_catalog());
}

table parameter_table_of(const optimizer_entry& entry) {
  using row = optimizer_parameter;
  const std::vector<column<row>> columns = {
      {"dialect", "", [&](const row&) { return std::string{entry.name}; }},
      {"parameter", "", &row::name},
      {"default", "", [](const row& p) { return to_string(p.value); }},
      {"meaning", "", &row::meaning},
  };
  return table_of(columns, entry.parameters);
}

void print_card(const optimizer_entry& entry) {
  fmt::print("{}: {} ({})\n", entry.name, entry.summary, entry.family);
  if (!entry.aliases.empty()) fmt::print("also {}\n", fmt::join(entry.aliases, ", "));
  fmt::print("\nParameters (--set)\n");
  for (const auto& p : entry.parameters) fmt::print("  {:<26} {:<14} {}\n", p.name, to_string(p.value), p.meaning);
  print_titled_lines("States", entry.states);
  print_titled_lines("A step (R rounds to the storage format, fl to float32)", entry.rules);
  print_titled_lines("Quirks", entry.quirks);
  print_titled_lines("Source", entry.source);
}

table moment_table(const std::vector<optimizer_moment>& moments) {
  const std::vector<column<optimizer_moment>> columns = {
      {"step", "step", [](const optimizer_moment& m) { return m.step; }},
      {"moved", "moved", [](const optimizer_moment& m) { return exactly(m.moved); }},
      {"rms_move", "rms of w - w0", [](const optimizer_moment& m) { return m.rms; }},
      {"largest_move", "largest", [](const optimizer_moment& m) { return m.largest; }},
      {"nonfinite", "inf or NaN", [](const optimizer_moment& m) { return exactly(m.nonfinite); }},
  };
  return table_of(columns, moments);
}

int describe(const optimizer_arguments& o) {
  if (o.asked.dialect.empty() || o.asked.dialect == "list") {
    write_table("precision.optimizers", dialect_table(), o.shown);
    if (!o.shown.machine_stdout())
      fmt::print("\nulp precision optimizer --dialect NAME shows parameters, rules, quirks and source.\n");
    return done;
  }
  const optimizer_entry& entry = dialect_named(o.asked.dialect);
  write_table("precision.optimizer", parameter_table_of(entry), o.shown, false);
  if (!o.shown.machine_stdout()) print_card(entry);
  return done;
}

int run(const optimizer_arguments& o) {
  if (o.asked.inputs.empty()) return describe(o);
  if (o.asked.dialect.empty() || o.asked.dialect == "list")
    throw usage_error("--dialect is missing: whose optimizer steps; ulp precision optimizer lists them");
  check_optimizer(o.asked);  // what is wrong with the parameters, before anything is read
  if (o.output.empty()) throw usage_error("-o is missing: the .npz to write");
  std::vector<std::string> read = o.asked.inputs;
  if (!o.asked.first_weights.empty()) read.push_back(o.asked.first_weights);
  if (o.output == "-") throw usage_error("-o -: an .npz is not written to standard output; name a file");
  refuse_overwriting_inputs({.csv = o.output}, read);
  refuse_overwriting_inputs(o.shown, read);
  refuse_one_output({{"-o", o.output}, {"--csv", o.shown.csv}});
  const optimizer_answer answer = optimize_over(o.asked, on_stderr());
  npz_writer file(o.output);
  answer.arrays.write(file, answer.stepped, o.asked.elements);
  file.finish();

  std::string parameters;
  std::vector<named_value> values;
  for (const optimizer_parameter& p : answer.stepped.parameters()) {
    parameters += (parameters.empty() ? "" : " ") + p.name + "=" + to_string(p.value);
    values.push_back({p.name, std::visit([](const auto& value) { return table_value{value}; }, p.value)});
  }
  const summary lines{
      {"dialect",
       fmt::format("{} ({})", answer.entry->name, answer.entry->summary),
       {{"dialect", std::string{answer.entry->name}}}},
      {"parameters", parameters, {{"parameters", named_values{values}}}},
      {"weights",
       o.asked.rounding == "own" ? o.asked.weights : o.asked.weights + ", rounded " + o.asked.rounding,
       {{"weights", o.asked.weights}, {"weight_rounding", o.asked.rounding}}},
      {"elements", grouped(answer.elements), {{"elements", integer(answer.elements)}}},
      {"output", o.output, {{"output", o.output}}},
  };
  const table t = moment_table(answer.moments);
  if (!o.shown.csv.empty()) write_table("precision.optimizer-run", t, {.csv = o.shown.csv}, false);
  if (o.shown.json) {
    print_json("precision.optimizer-run", lines, "steps", t);
  } else if (!o.shown.machine_stdout()) {
    print_text(lines);
    fmt::print("\n{}", to_text(t));
  }
  return done;
}

}  // namespace

command precision_optimizer_command() {
  auto o = std::make_shared<optimizer_arguments>();
  command made{.name = "optimizer", .help = "step recorded gradients as the optimizer of a library does, bit for bit"};
  made.add("INPUT", &o->asked.inputs,
           "one .npz with grads [steps, elements], w0 and perhaps sr_bits (uint16), or dumps of steps or their folder; "
           "none: list the dialects");
  made.add("--dialect", &o->asked.dialect, "whose optimizer; list: all of them; without INPUT: describe it",
           {.type = "NAME"});
  made.add("--weights", &o->asked.weights, "format of weights and gradients: fp32, bf16, fp16 or another",
           {.type = "FORMAT", .show_default = true});
  made.add("--lr", &o->asked.learning_rate, "the learning rate, as --set lr=X", {.type = "X"});
  made.add("--set", &o->asked.set, "a parameter of the dialect", {.type = "NAME=VALUE"});
  made.add("--steps", &o->asked.steps, "steps to write, from 1; default 1,2,3,10,50,200,... and the last",
           {.type = "N,N,..."});
  made.add("--elements", &o->asked.elements, "the first elements of each gradient only; 0: all",
           {.type = "N", .check = whole_number});
  made.add("--w0", &o->asked.first_weights, "a dump of the first weights", {.type = "FILE", .check = a_name});
  made.add("--weight-rounding", &o->asked.rounding, "how new weights are rounded; own: as the dialect does",
           {.type = "R", .show_default = true, .one_of = {"own", "nearest", "stochastic", "kahan"}});
  made.add("--seed", &o->asked.seed, "of random bits that the input does not hold",
           {.type = "N", .check = whole_number});
  made.add("-o,--output", &o->output, "the .npz to write", {.type = "FILE", .check = a_name});
  add_limits(made, o->asked.run);
  add_output(made, o->shown);
  made.footer =
      "Examples:\n"
      "  ulp precision optimizer --dialect bnb_cuda_text_adam8bit\n"
      "  ulp precision optimizer examples/optimizer_steps.npz --dialect torch_adamw --weights bf16 --lr 0.01 "
      "-o /tmp/run.npz";
  made.run = [o] { return run(*o); };
  return made;
}

}  // namespace ulp::cli
