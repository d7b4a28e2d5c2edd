// ulp precision optimizer8: what optimizer states of 8, 4 and 16 bits, and 16-bit weights, do to the weights of a run.
#include <fmt/format.h>

#include <memory>
#include <ulp/ask/precision/optimizer8_answer.hpp>
#include <ulp/ask/questions/recipe_text.hpp>
#include <ulp/report/findings/drift.hpp>

#include "command.hpp"
#include "listening.hpp"
#include "options.hpp"
#include "output.hpp"
#include "precision/subcommands.hpp"
#include "runs/configuration.hpp"

namespace ulp::cli {
namespace {

struct optimizer8_arguments {
  optimizer8_question asked;
  std::vector<std::string> recipes;
  std::string learning_rate;
  std::string beta2;
  std::string block_size;
  bool by_tensor = false;
  bool quantizers = false;
  output_options output;
};

void print_heading(const optimizer8_arguments& o, const optimizer8_answer& answer) {
  fmt::print("{} of {}, open loop: the gradients do not react\n", count_text(answer.steps, "step"),
             count_text(answer.elements, "element"));
  if (o.quantizers) {
    fmt::print("float32 moments at the end in the codes of each quantizer; differ: from those of bnb_default\n\n");
    return;
  }
  fmt::print(
      "deviation: rms(w - float32's) / rms(float32's movement); loss change: of that, to first order\n"
      "run away: moved further, and further from float32's, than that ever moved any weight of the tensor, and than "
      "rounding makes\n"
      "v = 0: stored so while m was not; m codes, v codes, weights: not as under the first recipe with such codes\n\n");
}

// A dialect's own parameters under the names that libraries give them.
optimizer8_question question_of(const optimizer8_arguments& o) {
  optimizer8_question asked = o.asked;
  asked.quantizers = o.quantizers;
  if (!o.recipes.empty()) asked.recipes = joined_recipes(o.recipes);
  for (const auto& [name, value] : {std::pair{"lr", o.learning_rate}, {"beta2", o.beta2}, {"block_size", o.block_size}})
    if (!value.empty()) asked.settings.push_back(fmt::format("{}={}", name, value));
  return asked;
}

int run(const optimizer8_arguments& o) {
  std::vector<std::string> read = o.asked.run.files();
  read.push_back(o.asked.weights);
  refuse_overwriting_inputs(o.output, read);
  const optimizer8_answer answer = optimizer8_over(question_of(o), on_stderr());
  const bool machine = o.output.machine_stdout();
  if (!o.quantizers) print_conclusions(conclusions_of(answer), machine);
  if (!machine) print_heading(o, answer);
  if (o.quantizers)
    write_table("precision.quantizers", quantizer_table(answer.quantizers), o.output);
  else
    write_table("precision.optimizer8", drift_table(answer, o.by_tensor), o.output);
  return done;
}

}  // namespace

command precision_optimizer8_command() {
  auto o = std::make_shared<optimizer8_arguments>();
  command made{.name = "optimizer8",
               .help = "measure what 8-, 4- and 16-bit optimizer states, and weights without a master copy, do"};
  add_run(made, o->asked.run, {"attempts", "role", "allow-empty"},
          "a dump of each step, a folder of them, or one dump that holds all steps");
  made.add("--dialect", &o->recipes,
           "optimizers that are compared, DIALECT[:WEIGHTS[:ROUNDING]][:NAME=VALUE]...: see ulp precision optimizer; "
           "WEIGHTS is a format, ROUNDING is nearest, stochastic or kahan (default: eleven usual ones)",
           {.type = "D,...", .split_at_commas = true});
  made.add("--lr", &o->learning_rate, "the learning rate (default: that of the dialects, 0.001)", {.type = "X"});
  made.add("--beta2", &o->beta2, "the decay of second moments", {.type = "X"});
  made.add("--block-size", &o->block_size, "elements that share an absmax", {.type = "N"});
  made.add("--set", &o->asked.settings, "another parameter, of all dialects that have it", {.type = "NAME=VALUE"});
  made.add("--w0", &o->asked.weights,
           "a dump of the weights before the first step (default: weight/NAME in the first dump, "
           "w0 of one dump, else zeros)",
           {.type = "FILE", .check = a_name});
  made.add("--parts", &o->asked.parts, "what the elements of one flat tensor belong to, in their order",
           {.type = "NAME=N,...", .split_at_commas = true});
  made.add("--elements", &o->asked.elements, "the first elements of each tensor only",
           {.type = "N", .check = positive});
  made.add("--by-tensor", &o->by_tensor, "a row for each tensor too");
  made.add("--mark", &o->asked.mark,
           "count the second moments that are lower at the end than after this step (default: a quarter of the steps)",
           {.type = "N", .check = positive});
  made.add("--quantizers", &o->quantizers,
           "instead: the codes of the float32 moments in each library's quantizer, and how many differ");
  made.add("--seed", &o->asked.seed, "of stochastic rounding", {.type = "N", .check = whole_number});
  add_output(made, o->output);
  made.footer =
      "INPUT: dumps of gradients, each of a step, or their folder; or one dump in which the first index of every "
      "array is the step. Each recipe takes the same gradients as the same optimizer in float32; weights are "
      "compared at the end. Tensors of all sizes have quantized states here; bitsandbytes and torchao quantize none "
      "below 4096 elements. docs/optimizer-states.md has the definitions, and how far this can be trusted.\n"
      "Examples:\n"
      "  ulp precision optimizer8 examples/optimizer_steps.npz\n"
      "  ulp precision optimizer8 examples/optimizer_steps.npz --dialect "
      "bnb_cpu_default_adam8bit,torch_adam:bf16 --lr 0.01 --by-tensor";
  made.run = [o] { return run(*o); };
  return made;
}

}  // namespace ulp::cli
