// ulp selfcheck: what is promised, checked on this machine.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>
#include <ulp/ask/questions/recipe_text.hpp>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/formats/block_formats.hpp>
#include <ulp/io/output/atomic_file.hpp>
#include <ulp/model/recipe/fp8_recipe.hpp>
#include <ulp/report/tables/table.hpp>
#include <ulp/train/closed_loop.hpp>
#include <vector>

#include "command.hpp"
#include "interrupt.hpp"
#include "loop_recorder.hpp"
#include "options.hpp"
#include "output.hpp"
#include "runs/block_loops.hpp"
#include "runs/fp8_loops.hpp"
#include "runs/optimizer_loops.hpp"
#include "selfcheck/self_test.hpp"
#include "tables/closed_loop_table.hpp"

namespace ulp::cli {
namespace {

struct selfcheck_arguments {
  std::string what;
  std::string model = "transformer";
  std::string optimizer = "adam";
  std::string learning_rate;
  std::vector<std::string> modes;
  bool by_layer = false;
  std::uint64_t width = 16;
  bool tied = false;
  std::uint64_t accumulate = 1;
  bool activations = false;
  std::uint64_t steps = 500;
  std::uint64_t seed = 1;
  std::uint64_t seeds = 5;
  scenario_text policy;
  std::string format;  // empty: fp16 with a scaler, bf16 without
  std::string closed;  // recordings to write
  std::string twin;
  std::string recipe;  // of FP8, in place of a scaler
  bool append = false;
  bool joint = false;
  output_options output;
};

// Without --scaler: one whose scale reaches its limit many times in 500 steps.
scenario_text completed(scenario_text text) {
  if (text.scaler.empty()) {
    text.scaler = "pytorch_gradscaler";
    if (!parameter_of(text, "growth_interval")) set_parameter(text, "growth_interval", "20");
  }
  return text;
}

bool is_sgd(const std::string& optimizer) { return optimizer.find("sgd") != std::string::npos; }

training_options training_of(const selfcheck_arguments& o) {
  for (const auto& [option, n] : {std::pair{"--steps", o.steps}, {"--seeds", o.seeds}, {"--accumulate", o.accumulate}})
    if (n == 0 || n > 1'000'000) throw usage_error(fmt::format("{}: {} is not from 1 to 1,000,000", option, n));
  if (o.width == 0 || o.width > 256 || o.width % 2 != 0)
    throw usage_error(fmt::format("--width: {} is not an even number from 2 to 256", o.width));
  training_options made{.network = o.model == "mlp" ? network_kind::mlp : network_kind::transformer,
                        .width = o.width,
                        .tied = o.tied,
                        .microbatches = static_cast<int>(o.accumulate),
                        .optimizer = is_sgd(o.optimizer) ? optimizer_kind::sgd : optimizer_kind::adam,
                        .seed = o.seed,
                        .activation_grads = o.activations,
                        .joint = o.joint};
  if (o.optimizer != "adam" && o.optimizer != "sgd") made.recipe = recipe_of(o.optimizer, "--optimizer");
  if (!o.learning_rate.empty()) made.learning_rate = positive_number(o.learning_rate, "--lr");
  return made;
}

// What any closed loop refuses.
void refuse_other_options(const selfcheck_arguments& o) {
  if (!o.modes.empty() || o.by_layer) throw usage_error("--modes and --by-layer go with ulp selfcheck optimizers");
  for (const auto& [option, given] : {std::pair{"--append", o.append}, {"--joint", o.joint}})
    if (given && o.closed.empty() && o.twin.empty())
      throw usage_error(fmt::format("{}: name the recording with -o or --twin", option));
}

// What belongs to loss scaling, or to gradients of weights.
void refuse_loss_scaling(const selfcheck_arguments& o) {
  scenario_text others = o.policy;
  others.parameters.clear();
  others.format = o.format;
  std::string option = arguments_of(std::move(others));
  if (!option.empty()) option = option.substr(1, option.find(' ', 1) - 1);
  if (o.joint) option = "--joint";
  if (o.activations) option = "--activations";
  if (!option.empty())
    throw usage_error(fmt::format(
        "{}: not with --recipe, which has formats, rounding and scales of its own and records what is cast; "
        "remove one of the two",
        option));
  if (o.accumulate != 1)
    throw usage_error(fmt::format("--accumulate: with --recipe a step has one micro-batch, not {}", o.accumulate));
}

closed_loop_options loop_of(const selfcheck_arguments& o) {
  if (o.joint && training_of(o).recipe && !(training_of(o).recipe->weights == float32))
    throw usage_error(
        fmt::format("--joint: {} has no master copy: what it adds to weights is known after rounding alone; name an "
                    "optimizer with float32 weights",
                    o.optimizer));
  closed_loop_options made(scenario_of(completed(o.policy)));
  made.training = training_of(o);
  made.steps = static_cast<std::int64_t>(o.steps);
  return made;
}

std::string model_text(const selfcheck_arguments& o) {
  return fmt::format("{} of width {}{} with {}{}", o.model, o.width, o.tied ? ", tied," : "", o.optimizer,
                     o.accumulate > 1 ? fmt::format(", {} micro-batches", o.accumulate) : "");
}

// A training for each seed.
std::vector<closed_loop_result> train(const selfcheck_arguments& o, closed_loop_options loop, loop_recorders& to,
                                      std::uint64_t& parameters) {
  progress shown("steps", 2 * o.steps * o.seeds);
  std::vector<closed_loop_result> seeds;
  for (std::uint64_t i = 0; i < o.seeds; ++i) {
    closed_loop_watch watch{.after_step = [&] { shown.advance(); }};
    if (i == 0) {
      to.listen(watch);
      watch.closed = [&, record = watch.closed](const trained_step& now, const std::vector<tensor_info>& tensors) {
        if (record) record(now, tensors);
        parameters = 0;
        for (const tensor_info& t : tensors) parameters += t.kind == tensor_kind::weight_grad ? t.numel : 0;
      };
    }
    loop.training.seed = o.seed + i;
    seeds.push_back(run_closed_loop(loop, watch));
    if (i == 0) to.finish(!o.output.machine_stdout());
  }
  return seeds;
}

// Whether something was asked that only a training answers.
bool asks_for_loop(const selfcheck_arguments& o) {
  const selfcheck_arguments usual;
  scenario_text policy = o.policy;
  policy.format = usual.policy.format;
  return o.model != usual.model || o.optimizer != usual.optimizer || o.width != usual.width || o.tied || o.append ||
         o.activations || o.joint || o.accumulate != usual.accumulate || o.steps != usual.steps ||
         o.seed != usual.seed || o.seeds != usual.seeds || !o.closed.empty() || !o.twin.empty() || !o.format.empty() ||
         !o.modes.empty() || !o.learning_rate.empty() || !o.recipe.empty() || o.by_layer || !(policy == usual.policy);
}

// What belongs to a scaler in the loop.
void refuse_closed_loop_options(const selfcheck_arguments& o) {
  scenario_text usual;
  usual.format = o.policy.format;
  const bool recorded = !o.closed.empty() || !o.twin.empty() || o.append || o.joint;
  if (o.policy != usual || recorded || o.activations || o.optimizer != "adam" || !o.recipe.empty())
    throw usage_error(
        "of selfcheck optimizers: no scaler, recipe or rounding option, no recording, --activations or --optimizer; "
        "optimizers are named by --modes");
}

int run_optimizers(const selfcheck_arguments& o) {
  refuse_closed_loop_options(o);
  return run_optimizer_loops(
      {.model = fmt::format("{} of width {}{}{}", o.model, o.width, o.tied ? ", tied" : "",
                            o.accumulate > 1 ? fmt::format(", {} micro-batches", o.accumulate) : ""),
       .training = training_of(o),
       .modes = o.modes,
       .passes = o.format.empty() ? "bf16" : o.format,
       .steps = o.steps,
       .seeds = o.seeds,
       .by_layer = o.by_layer,
       .output = o.output});
}

void open(loop_recorders& to, const selfcheck_arguments& o) {
  if (!o.closed.empty()) to.closed.emplace(o.closed, o.append);
  if (!o.twin.empty()) to.twin.emplace(o.twin, o.append);
}

int run_blocks(const selfcheck_arguments& o, const block_format& row) {
  if (!o.policy.parameters.empty())
    throw usage_error(fmt::format("--set: {} has blocks, and no policy with parameters", o.recipe));
  if (!o.closed.empty() || !o.twin.empty())
    throw usage_error(
        fmt::format("-o and --twin: trainings in blocks are not recorded; {} is a row of blocks", o.recipe));
  if (row.transposed_hadamard)
    throw usage_error(fmt::format(
        "--recipe: {} transforms what it quantizes, as both operands of a product would have to be", row.name));
  return run_block_loops({.model = model_text(o),
                          .training = training_of(o),
                          .row = row,
                          .steps = o.steps,
                          .seeds = o.seeds,
                          .output = o.output});
}

int run_recipe(const selfcheck_arguments& o, loop_recorders& to) {
  refuse_loss_scaling(o);
  if (const block_format* const row = find_block_format(o.recipe)) return run_blocks(o, *row);
  std::vector<std::string_view> in_blocks;
  for (const block_alias& alias : block_aliases()) in_blocks.push_back(alias.name);
  static_cast<void>(fp8_recipe_entry_named(o.recipe, in_blocks));
  const fp8_loops asked{.model = model_text(o),
                        .training = training_of(o),
                        .recipe = o.recipe,
                        .parameters = o.policy.parameters,
                        .steps = o.steps,
                        .seeds = o.seeds,
                        .output = o.output};
  open(to, o);
  return run_fp8_loops(asked, to);
}

int run_scaler(const selfcheck_arguments& o, loop_recorders& to) {
  const closed_loop_options loop = loop_of(o);
  open(to, o);
  std::uint64_t parameters = 0;
  const std::vector<closed_loop_result> seeds = train(o, loop, to, parameters);
  const summary lines = summary_of({model_text(o), o.policy.format, loop, parameters, seeds});
  const table t = loops_table(seeds);
  if (o.output.json) print_json("selfcheck", lines, "loops", t);
  if (!o.output.machine_stdout()) {
    print_text(lines);
    fmt::print("\n");
  }
  write_table("selfcheck", t, {.csv = o.output.csv}, !o.output.json);
  return is_identical(seeds) ? done : differences;
}

int run(const selfcheck_arguments& o) {
  if (o.what.empty()) {
    if (asks_for_loop(o)) throw usage_error("these options are of ulp selfcheck closed-loop: add closed-loop");
    return check_machine(o.output);
  }
  refuse_overwriting_inputs(o.output, {});
  refuse_one_output({{"--csv", o.output.csv}, {"-o", o.closed}, {"--twin", o.twin}});
  refuse_other_options(o);
  loop_recorders to;
  try {
    return o.recipe.empty() ? run_scaler(o, to) : run_recipe(o, to);
  } catch (const interrupted_error&) {
    to.tell_what_stays();
    throw;
  }
}

}  // namespace

command selfcheck_command() {
  auto o = std::make_shared<selfcheck_arguments>();
  command made{.name = "selfcheck", .help = "verify this machine, or by training how far replays can be trusted"};
  made.add("WHAT", &o->what,
           "nothing: this machine; closed-loop: train small networks with a scaler in the loop, and replay them; "
           "optimizers: train them with narrow optimizer states and weights, and step the gradients of a float32 "
           "training",
           {.one_of = {"closed-loop", "optimizers"}});
  made.add("--model", &o->model, "what is trained: characters of generated sentences are predicted",
           {.show_default = true, .one_of = {"mlp", "transformer"}});
  made.add("--width", &o->width, "of a character in the network; hidden layers are four times as wide",
           {.type = "N", .show_default = true, .check = whole_number});
  made.add("--tied", &o->tied, "one weight is the embedding and the head");
  made.add("--accumulate", &o->accumulate, "micro-batches whose gradients are added up in each step",
           {.type = "N", .show_default = true, .check = whole_number});
  made.add("--optimizer", &o->optimizer,
           "adam or sgd (with PyTorch's defaults, momentum 0.9), or DIALECT[:WEIGHTS[:ROUNDING]][:NAME=VALUE]...: see "
           "ulp precision optimizer; weights in a format have no master copy",
           {.type = "D", .show_default = true});
  made.add("--lr", &o->learning_rate, "the learning rate (default: 0.003, of SGD 0.1)", {.type = "X"});
  made.add("--modes", &o->modes, "of optimizers: what is trained, named as for --optimizer (default: ten usual ones)",
           {.type = "D,...", .split_at_commas = true});
  made.add("--by-layer", &o->by_layer, "of optimizers: a row for each mode and layer");
  made.add("--activations", &o->activations, "record and check the gradients of activations too");
  made.add("--steps", &o->steps, "of each training", {.type = "N", .show_default = true, .check = whole_number});
  made.add("--seed", &o->seed, "the first, of initial weights, batches and random bits",
           {.type = "N", .show_default = true, .check = whole_number});
  made.add("--seeds", &o->seeds, "how many, one after the other",
           {.type = "N", .show_default = true, .check = whole_number});
  made.add("--scaler", &o->policy.scaler,
           "the policy, see ulp scalers (default: pytorch_gradscaler with growth_interval=20)", {.type = "NAME"});
  made.add(
      "--recipe", &o->recipe,
      "in place of a scaler: cast what linear layers take to 8 bits, with a scale for each tensor (te_delayed:hybrid, "
      "te_current, torchao_tensorwise, flax, keras, msamp); --set is of its policy. Or in blocks that share a scale: "
      "mxfp8, mxfp4, nvfp4, see ulp formats --blocks",
      {.type = "NAME"});
  made.add("--format", &o->format,
           "what is low is rounded to this, see ulp formats (default: fp16; of optimizers bf16)", {.type = "F"});
  add_options(made, options_of(o->policy), {"scaler", "format", "seed", "check", "clip-norm", "clip-value", "order"});
  made.add("-o,--output", &o->closed, "record the closed loop of the first seed", {.type = "RUN.ulp", .check = a_name});
  made.add("--twin", &o->twin, "record the float32 training of the first seed", {.type = "RUN.ulp", .check = a_name});
  made.add("--append", &o->append,
           "go on with recordings that broke off: their steps are trained again and compared, the rest is added");
  made.add("--joint", &o->joint,
           "record the weights too, and their joint tables with updates: ulp precision weights then says which updates "
           "weights without a float32 copy would have lost");
  add_output(made, o->output);
  made.footer =
      "This machine: kernels against the reference on every target that the processor has, independence of its "
      "rounding and flushing, libraries, locale, random bits and a short closed loop, a line each. Exit code 1 where "
      "one fails, with the first difference.\n"
      "Closed loop: the network is trained in the low format, as PyTorch's autocast does, with the scaler at work. "
      "Its recorded gradients are replayed under the same scaler, which must repeat every step (else exit code 1). "
      "Open loop: the same network is trained in float32 and those gradients are replayed under the scaler, which is "
      "what a what-if is; its skips are compared with those of the closed loop.\n"
      "With --recipe: inputs, weights and gradients of outputs of all linear layers are cast as the recipe says, and "
      "recorded before that (-o, --twin). Their replay must give every scale bit for bit, and counts that hold the "
      "true ones (else exit code 1); scales, saturation and underflow of a float32 training are compared with those. "
      "In blocks (--recipe mxfp8) they are quantized along the sums of each product; the share of its energy that each "
      "tensor loses is compared with what float32 foretells.\n"
      "Optimizers: each mode is trained with passes in the low format and no scaler; the gradients of a float32 "
      "training are stepped by its optimizer, the open loop. Exit code 1 where that names another mode than the one "
      "that trains worst. docs/optimizer-states.md has results.\n"
      "The results are the same on every machine (of dialects: with the same C library).\n"
      "Examples:\n"
      "  ulp selfcheck\n"
      "  ulp selfcheck closed-loop --model mlp --seeds 3\n"
      "  ulp selfcheck closed-loop --recipe te_delayed:hybrid --model mlp --seeds 1 --steps 100\n"
      "  ulp selfcheck optimizers --model mlp --steps 50 --seeds 2 --modes "
      "torch_adam,torch_adam:bf16,bnb_cpu_default_adam8bit";
  made.run = [o] {
    if (o->what == "optimizers") return run_optimizers(*o);
    o->policy.format = o->format.empty() ? "fp16" : o->format;
    return run(*o);
  };
  return made;
}

}  // namespace ulp::cli
