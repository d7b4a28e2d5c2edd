// Megatron-LM's command-line arguments: NVIDIA/Megatron-LM @000c4ac2 megatron/training/arguments.py (the arguments and
// their defaults), @d98e8a64 megatron/core/optimizer/__init__.py (which scaler), grad_scaler.py (what they refuse).
// Reproduced: --loss-scale makes the scale constant also with --bf16; gradients are clipped to norm 1 unless --clip-grad
// says otherwise, and accumulated in float32 with --bf16.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "arguments.hpp"
#include "bytes/text.hpp"
#include "config/shell/script.hpp"
#include "frameworks.hpp"
#include "megatron_arguments.hpp"
#include "programs/rows.hpp"

namespace ulp::io {
namespace {

constexpr std::string_view read_arguments_of =
    "--fp16 --bf16 --loss-scale --initial-loss-scale --min-loss-scale --min-scale --loss-scale-window --hysteresis "
    "--clip-grad --use-distributed-optimizer --no-check-for-nan-in-loss-and-grad "
    "--accumulate-allreduce-grads-in-fp32 --grad-reduce-in-bf16 --main-grads-dtype --use-precision-aware-optimizer "
    "--fp8-format --fp8-hybrid --fp8-e4m3 --fp8-recipe --fp8-margin --fp8-amax-history-len --fp8-amax-compute-algo "
    "--first-last-layers-bf16 --num-layers-at-start-in-bf16 --num-layers-at-end-in-bf16 --deepspeed --yaml-cfg";
constexpr std::array flags{"--fp16",
                           "--bf16",
                           "--accumulate-allreduce-grads-in-fp32",
                           "--grad-reduce-in-bf16",
                           "--use-precision-aware-optimizer",
                           "--use-distributed-optimizer",
                           "--no-check-for-nan-in-loss-and-grad",
                           "--fp8-hybrid",
                           "--fp8-e4m3",
                           "--first-last-layers-bf16"};

class command_line {
 public:
  command_line(import_run& run, const argument_list& list) : run_(run), list_(list) {
    const std::vector<std::string_view> read = words_of(read_arguments_of);
    const std::vector<std::string_view> megatron = words_of(megatron_arguments);
    const std::vector<std::string_view> launcher = words_of(launcher_arguments);
    const auto among = [](const auto& names, const std::string& name) {
      return std::ranges::find(names, name) != names.end();
    };
    for (const argument& a : list_.arguments) {
      const config_node given{.what = config_node::kind::scalar, .text = a.values.empty() ? "true" : a.values.front()};
      if (among(read, a.name)) {
        if (!a.doubt.empty()) fail(a, a.doubt);
        run.settles(a.name, given);
        continue;
      }
      const bool known = among(megatron, a.name) || among(launcher, a.name);
      if (const std::string near = known ? "" : near_key(a.name, read); !near.empty())
        throw input_error(run.file, at_line(a.line), unknown_text(a.name, "argument of Megatron-LM", near));
      if (known && !among(run.not_read, a.name)) run.not_read.push_back(a.name);
      const auto is_it = [&](const unknown_key& key) { return key.name == a.name; };
      if (!known && std::ranges::none_of(run.unknown, is_it)) run.unknown.push_back({a.name, a.line, given});
    }
    for (const argument& a : list_.perhaps)
      if (among(read, a.name)) fail(a, a.doubt);
  }

  // The argument; where it stands twice with different values, an error, since the last one would count.
  [[nodiscard]] const argument* find(std::string_view name) const {
    const argument* found = nullptr;
    for (const argument& a : list_.arguments) {
      if (a.name != name) continue;
      if (found != nullptr && takes_value(name) && value(a) != value(*found))
        fail(a, "is given twice, first on line " + std::to_string(found->line) + " with another value");
      found = &a;
    }
    return found;
  }
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }

  [[nodiscard]] double number(std::string_view name, double otherwise) const {
    const argument* const a = find(name);
    if (a == nullptr) return otherwise;
    const std::string text = value(*a);
    double result = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
    if (text.find('$') != std::string::npos || text.find('`') != std::string::npos)
      fail(*a, "is " + in_quotes(text) + ", whose value this file does not say; write it");
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(result))
      fail(*a, "takes a number, not " + in_quotes(text));
    return result;
  }
  [[nodiscard]] std::string text(std::string_view name) const {
    const argument* const a = find(name);
    return a == nullptr ? "" : value(*a);
  }
  // Writes the meaning down, where the argument is given.
  void means(std::string_view name, const std::string& meaning) const {
    const argument* const a = find(name);
    if (a != nullptr) run_.means(takes_value(name) ? a->name + " " + value(*a) : a->name, meaning);
  }
  [[noreturn]] void fail(const argument& a, const std::string& reason) const {
    throw input_error(run_.file, at_line(a.line), a.name + " " + reason);
  }
  [[noreturn]] void fail(std::string_view name, const std::string& reason) const {
    const argument* const a = find(name);
    if (a != nullptr) fail(*a, reason);
    throw input_error(run_.file, "", std::string{name} + " " + reason);
  }

 private:
  static bool takes_value(std::string_view name) { return std::ranges::find(flags, name) == flags.end(); }
  [[nodiscard]] static std::string value(const argument& a) { return a.values.empty() ? "" : a.values.front(); }

  import_run& run_;
  const argument_list& list_;
};

void check_dynamic(const command_line& args, std::string_view least, const megatron_loss_scale& s) {
  if (!(s.initial_scale > 0)) args.fail("--initial-loss-scale", "must be above 0");
  if (!(s.min_scale > 0)) args.fail(least, "must be above 0");
  if (s.min_scale > s.initial_scale) args.fail(least, "must not be above --initial-loss-scale");
  if (!(s.growth_interval > 0)) args.fail("--loss-scale-window", "must be above 0");
  if (!(s.hysteresis > 0) || s.hysteresis != std::floor(s.hysteresis))
    args.fail("--hysteresis", "must be an integer above 0");
}

void read_accumulation(const command_line& args, import_run& run) {
  std::optional<said_accumulation>& in = run.out.accumulates_in;
  const std::string main = args.text("--main-grads-dtype");
  if (!main.empty() && main != "fp32" && main != "bf16") args.fail("--main-grads-dtype", "must be fp32 or bf16");
  if (main == "bf16" && !args.has("--use-precision-aware-optimizer"))
    args.fail("--main-grads-dtype", "needs --use-precision-aware-optimizer: Megatron-LM refuses it without");
  if (!main.empty())
    args.means("--main-grads-dtype",
               "gradients are accumulated in " + std::string{main == "bf16" ? "bfloat16" : "float32"});
  if (main == "bf16")
    in = {"bfloat16", ""};
  else if (args.has("--bf16") && args.has("--grad-reduce-in-bf16"))
    in = {"bfloat16", ""};
  else if (args.has("--accumulate-allreduce-grads-in-fp32") || !(args.has("--fp16") || args.has("--bf16")))
    in = {"float32", ""};
  else if (args.has("--bf16"))
    in = {"float32", "Megatron-LM turns on --accumulate-allreduce-grads-in-fp32 with --bf16"};
  else
    in = {"float16", "--accumulate-allreduce-grads-in-fp32 is not given: Megatron-LM takes the model's type"};
}

// The value, which is one of `choices`, or left to the run.
void check_choice(const command_line& args, std::string_view name, std::initializer_list<std::string_view> choices) {
  const std::string given = args.text(name);
  if (given.empty() || given.find_first_of("$`") != std::string::npos) return;
  if (std::ranges::find(choices, given) != choices.end()) return;
  std::string all;
  for (const std::string_view choice : choices)
    all += (all.empty() ? "" : choice == *(choices.end() - 1) ? " or " : ", ") + std::string{choice};
  args.fail(name, "must be " + all + ", not " + in_quotes(given));
}

// Which format 8-bit floats have; empty where there are none, or nothing says it. The switches are the first versions'.
std::string read_float8_format(const command_line& args, bool& on) {
  check_choice(args, "--fp8-format", {"e4m3", "hybrid"});
  constexpr std::array ways{std::pair{"--fp8-format", ""}, std::pair{"--fp8-hybrid", "hybrid"},
                            std::pair{"--fp8-e4m3", "e4m3"}};
  const char* way = nullptr;
  std::string format;
  for (const auto& [name, means] : ways) {
    if (!args.has(name)) continue;
    if (way != nullptr) args.fail(name, std::string{"and "} + way + " cannot both be given");
    way = name;
    format = *means == '\0' ? args.text(name) : means;
    args.means(name, "8-bit floats in matrix products: the loss scale is what it is without them");
  }
  on = way != nullptr;
  return format;
}

// core/fp8_utils.py (get_fp8_context): by their number in the whole model. Under delayed scaling Megatron-LM refuses it.
void read_layers_in_16_bits(const command_line& args, import_run& run, bool on, bool delayed) {
  constexpr std::string_view all = "--first-last-layers-bf16";
  const bool has_some = on && args.has(all);
  if (has_some && delayed)
    args.fail(all, "is not for delayed scaling, Megatron-LM refuses it; leave one of the two out");
  args.means(all, has_some ? "layers that stay in 16 bits" : "nothing without --fp8-format");
  double ends[2] = {1, 1};
  for (const auto& [end, name] :
       {std::pair{&ends[0], "--num-layers-at-start-in-bf16"}, {&ends[1], "--num-layers-at-end-in-bf16"}}) {
    args.means(name, has_some ? "how many of them" : "nothing without --first-last-layers-bf16");
    *end = args.number(name, 1);
    if (!(*end >= 0) || *end != std::floor(*end)) args.fail(name, "must be an integer of at least 0");
  }
  if (!has_some || ends[0] + ends[1] == 0) return;
  run.note("the first " + decimal_text(ends[0]) + " and the last " + decimal_text(ends[1]) +
           " of the transformer layers stay in 16 bits (--first-last-layers-bf16): --tensor REGEX leaves them out");
}

// core/transformer/transformer_config.py @d98e8a64 (defaults), core/fp8_utils.py (get_fp8_recipe).
void read_float8(const command_line& args, import_run& run) {
  bool on = false;
  const std::string format = read_float8_format(args, on);
  const auto or_default = [&](std::string_view name, const char* otherwise) {
    const std::string given = args.text(name);
    return given.empty() ? otherwise : given;
  };
  const std::string recipe = or_default("--fp8-recipe", "delayed");
  const bool delayed = recipe == "delayed";
  const char* const nothing = on ? "nothing: the recipe has no history" : "nothing without --fp8-format";
  args.means("--fp8-recipe", on ? "how these are scaled" : nothing);
  args.means("--fp8-margin", on && delayed ? "powers of two that their scales leave above the amax"
                             : on          ? "nothing: delayed scaling alone has one"
                                           : nothing);
  args.means("--fp8-amax-history-len", on && delayed ? "amaxes that the next scale is from" : nothing);
  args.means("--fp8-amax-compute-algo", on && delayed ? "which of these it is" : nothing);
  read_layers_in_16_bits(args, run, on, delayed);
  if (!on) return;
  check_choice(args, "--fp8-amax-compute-algo", {"most_recent", "max"});
  // What only a run would tell is not said: the loss scale does not depend on it.
  const auto is_literal = [](const std::string& text) { return text.find_first_of("$`") == std::string::npos; };
  const auto is_said = [&](std::string_view name) { return is_literal(args.text(name)); };
  said_float8& said = run.out.float8.emplace();
  if (is_said("--fp8-recipe")) said.recipe = recipe;
  if (is_literal(format)) said.format = format;
  if ((delayed || args.has("--fp8-margin")) && is_said("--fp8-margin")) said.margin = args.number("--fp8-margin", 0);
  if (!delayed) return;
  if (is_said("--fp8-amax-history-len")) {
    const double length = args.number("--fp8-amax-history-len", 1);
    if (!(length >= 1) || length != std::floor(length) || length > 0x1p53)
      args.fail("--fp8-amax-history-len", "must be an integer above 0");
    said.history = static_cast<std::uint64_t>(length);
  }
  if (is_said("--fp8-amax-compute-algo")) said.algorithm = or_default("--fp8-amax-compute-algo", "most_recent");
}

}  // namespace

void set_megatron_scaler(import_run& run, const megatron_loss_scale& s) {
  run.out.format = "float16";
  if (s.static_scale > 0) {
    run.out.scaler = "megatron_constant";
    run.parameter("initial_scale", s.static_scale);
    return;
  }
  run.out.scaler = "megatron_dynamic";
  run.parameter("initial_scale", s.initial_scale);
  run.parameter("min_scale", s.min_scale);
  run.parameter("growth_interval", s.growth_interval);
  run.parameter("hysteresis", s.hysteresis);
}

std::vector<std::string_view> megatron_scale_arguments() { return words_of(read_arguments_of); }

void import_megatron(import_run& run, const config_entry& /*root*/) {
  if (run.command == nullptr)
    throw input_error(run.file, "",
                      "is read as Megatron-LM's from its arguments alone; give the script that starts it");
  const argument_list& list = *run.command;
  const command_line args(run, list);
  if (args.has("--deepspeed")) {
    const auto named = std::ranges::find_if(
        list.arguments, [](const argument& a) { return bare_name(a.name) == "deepspeed_config" && !a.values.empty(); });
    if (named != list.arguments.end() && list.files.contains(named->values.front())) {
      run.means("--deepspeed", "DeepSpeed keeps the loss scale: what follows is of " + named->values.front() +
                                   ", which this script writes");
      run.out.words = "DeepSpeed";
      import_inner_deepspeed(run, run.file, json_of_script(list.files.at(named->values.front())));
      return;
    }
    args.fail("--deepspeed", "hands the loss scale to DeepSpeed; give the JSON that --deepspeed_config names" +
                                 (named == list.arguments.end() ? "" : ": " + in_quotes(named->values.front())));
  }
  if (args.has("--yaml-cfg")) args.fail("--yaml-cfg", "moves the arguments into another file, which is not read");
  const bool fp16 = args.has("--fp16");
  const bool bf16 = args.has("--bf16");
  if (fp16 && bf16) args.fail("--bf16", "and --fp16 cannot both be given");
  args.means("--fp16", "gradients in float16, the loss is scaled");
  args.means("--bf16", "gradients in bfloat16");

  // As it was called in the first versions.
  const std::string_view least = args.has("--min-scale") ? "--min-scale" : "--min-loss-scale";
  if (args.has("--min-scale") && args.has("--min-loss-scale"))
    args.fail("--min-scale", "is the old name of --min-loss-scale; give one of them");
  const megatron_loss_scale s{.static_scale = args.number("--loss-scale", 0),
                              .initial_scale = args.number("--initial-loss-scale", 0x1p32),
                              .min_scale = args.number(least, 1),
                              .growth_interval = args.number("--loss-scale-window", 1000),
                              .hysteresis = args.number("--hysteresis", 2)};
  if (s.static_scale < 0) args.fail("--loss-scale", "must not be negative");
  const bool dynamic = fp16 && s.static_scale == 0;
  const bool distributed = args.has("--use-distributed-optimizer");
  const bool constant = s.static_scale > 0 && (fp16 || bf16 || distributed);
  if (dynamic) check_dynamic(args, least, s);
  args.means("--loss-scale", s.static_scale == 0 ? "as if it were not given"
                             : constant          ? "constant scale, overflowed steps are skipped"
                                                 : "nothing in float32");
  const auto means = [&](std::string_view name, const std::string& meaning) {
    args.means(name, dynamic ? meaning : "nothing, since the loss scale is not dynamic");
  };
  means("--initial-loss-scale", "scale of the first step");
  means(least, "floor of the scale");
  means("--loss-scale-window", "good steps in a row before the scale doubles");
  means("--hysteresis", "overflows since the scale last grew that halve it");
  args.means("--accumulate-allreduce-grads-in-fp32", "nothing for overflow: the backward pass has rounded before");
  args.means("--use-distributed-optimizer",
             constant && !fp16 && !bf16 ? "keeps the constant scale in float32 too" : "nothing for the loss scale");
  args.means("--no-check-for-nan-in-loss-and-grad",
             constant ? "steps that overflow are skipped, not the end of the run" : "nothing for the loss scale");
  if (constant && !args.has("--no-check-for-nan-in-loss-and-grad"))
    run.note(
        "newer versions of Megatron-LM end the run at the first gradient that is not finite where the scale is "
        "constant, unless --no-check-for-nan-in-loss-and-grad is given; the replay skips the step");
  read_float8(args, run);

  if (fp16) {
    set_megatron_scaler(run, s);
  } else if (constant) {
    set_megatron_scaler(run, s);
    run.out.format = bf16 ? "bfloat16" : "float32";
  } else {
    if (!bf16) run.means("neither --fp16 nor --bf16", "float32, the loss is not scaled");
    run.no_scaling(bf16 ? "bfloat16" : "float32");
  }
  read_accumulation(args, run);
  // core/optimizer/optimizer.py: main parameters are float32 copies. With
  // --use-precision-aware-optimizer --main-params-dtype may change that.
  const auto is_of_main = [](const argument& a) { return a.name == "--main-params-dtype"; };
  if (std::ranges::none_of(list.arguments, is_of_main)) run.out.weights_kept_in = "float32";
  const double clip = args.number("--clip-grad", 1);
  if (clip < 0) args.fail("--clip-grad", "must not be negative");
  args.means("--clip-grad", clip > 0 ? "clipped to this L2 norm" : "no clipping");
  if (!args.has("--clip-grad")) run.means("--clip-grad is not given", "clipped to L2 norm 1, Megatron's default");
  if (clip > 0) run.out.clip_norm = clip;
}

program_row megatron_program() {
  return {
      .name = "Megatron-LM",
      .markers =
          R"(tensor_model_parallel_size pipeline_model_parallel_size initial_loss_scale hysteresis loss_scale_window
          accumulate_allreduce_grads_in_fp32 use_distributed_optimizer use_mcore_models num_layers+num_attention_heads
          num_layers+hidden_size train_iters+lr_decay_style micro_batch_size+global_batch_size no_masked_softmax_fusion
          apply_query_key_layer_scaling attention_softmax_in_fp32 yaml_cfg)",
      .started_by =
          "pretrain_gpt*.py pretrain_bert*.py pretrain_t5*.py pretrain_mamba.py pretrain_vlm.py pretrain_ict.py pretrain_vision_*.py",
      .keys = {.read = "fp16 bf16 loss_scale clip_grad"},
      .place = written_in::arguments,
      .import = import_megatron};
}

}  // namespace ulp::io
