#include <ulp/report/tables/plan_files.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <ulp/io/bytes/printable.hpp>
#include <ulp/io/config/configuration_lines.hpp>
#include <ulp/report/tables/plan_table.hpp>

#include "plan_layers.hpp"

namespace ulp {
namespace {

using ordered_json = nlohmann::ordered_json;

// A string of Python, TOML and JSON alike.
std::string json_quoted(const std::string& text) { return nlohmann::json(text).dump(); }

// "['a', 'b']" over lines of one each, which Python and TOML read.
std::string list_of(const std::vector<std::string>& items) {
  if (items.empty()) return "[]";
  std::string text = "[\n";
  for (const std::string& item : items) text += "    " + json_quoted(item) + ",\n";
  return text + "]";
}

// What a plan is about, as a comment.
std::string heading(const plan_answer& plan, const layers_in_recipe& layers) {
  std::string text = fmt::format("# ulp plan for {}: no tensor loses more than {:.3g} of its energy in {}\n",
                                 plan.hardware->name, plan.most, steps_text(plan));
  text += "# 16 bits: " + setting_text(plan, plan.setting) + "\n";
  if (!layers.has_any()) text += "# no layer is in 8 bits or fewer:\n";
  if (layers.has_any() && !layers.recipe->name.starts_with("tensorwise"))
    text +=
        "# judged along the last axis: blocks of transposed operands lie along the other one "
        "(ulp outcomes --axis other)\n";
  for (const judged_layer& l : layers.layers)
    if (!l.why_not.empty()) text += fmt::format("#   {}: {}\n", printable(l.name), l.why_not);
  return text;
}

std::vector<std::string> layers_left_out(const layers_in_recipe& layers) {
  std::vector<std::string> names;
  for (const judged_layer& l : layers.layers)
    if (!l.why_not.empty()) names.push_back(l.name);
  return names;
}

// What is not in 8 bits. Where the plan has nothing in 16 bits, the first format without a scale in which all tensors
// hold.
std::string half_name(const plan_answer& plan) {
  if (plan.setting.half) return std::string{plan.treatment(*plan.setting.half).name};
  for (std::size_t i = 0; i < plan.treatments.size(); ++i)
    if (plan.treatments[i].is_half() && plan.treatments[i].scale == plan_scale::none &&
        std::ranges::all_of(plan.tensors, [&](const planned_tensor& t) {
          return !t.nothing_seen && t.of[i].verdict(plan.most) == plan_verdict::holds;
        }))
      return std::string{plan.treatments[i].name};
  return "float32";
}

std::string half_lines(std::string_view framework, const plan_answer& plan) {
  loss_scale_choice choice{.format = half_name(plan)};
  if (plan.setting.scale) choice.init_scale = std::ldexp(1.0, plan.setting.scale->log2);
  std::string text;
  for (const std::string& line : configuration_lines(framework, choice)) text += line + "\n";
  return text;
}

// A regular expression that finds this name alone.
std::string exactly_named(const std::string& name) {
  std::string text = "^";
  for (const char c : name) {
    constexpr std::string_view special = R"(\.^$|()[]{}*+?)";
    if (special.find(c) != std::string_view::npos) text += '\\';
    text += c;
  }
  return text + "$";
}

// What emulate() takes for it: a format, a row of blocks, or a format with a scale.
ordered_json emulated_treatment(const plan_answer& plan, const plan_treatment& chosen, const tensor_info& info) {
  if (chosen.scale == plan_scale::block) return std::string{chosen.row};
  const std::string format{chosen.format_name};
  if (chosen.scale == plan_scale::tensor) return {{"format", format}, {"scale", "current"}};
  if (chosen.scale == plan_scale::run && is_scaled(info) && plan.setting.scale)
    return {{"format", format}, {"scale", std::ldexp(1.0, plan.setting.scale->log2)}};
  return format;
}

// What the recorded weights, or their gradients, tell of layers.
struct known_layers {
  std::set<std::string> with_matrices;
  std::set<std::string> convolutions;  // of more than two dimensions: emulate() has no blocks of them

  // A module without a weight, such as a ReLU, or one that looks its rows up.
  [[nodiscard]] bool are_not(const std::string& layer) const {
    return (!with_matrices.empty() && !with_matrices.contains(layer)) ||
           (names_embedding(layer) && !convolutions.contains(layer));
  }
  // "model.embed_tokens", "transformer.wte"; nothing but the name tells an embedding from a linear layer.
  [[nodiscard]] static bool names_embedding(const std::string& layer) {
    constexpr std::array<std::string_view, 6> whole{"wte", "wpe", "emb", "embed", "embedding", "embeddings"};
    constexpr std::array<std::string_view, 7> endings{
        "token_embedding",       "word_embeddings", "position_embeddings", "position_embedding",
        "token_type_embeddings", "embed_tokens",    "embed_positions"};
    const std::string_view last = std::string_view(layer).substr(layer.rfind('.') + 1);
    return std::ranges::find(whole, last) != whole.end() ||
           std::ranges::any_of(endings, [&](std::string_view end) { return last.ends_with(end); });
  }
};

known_layers layers_in(const plan_answer& plan) {
  known_layers all;
  for (const tensor_info& info : plan.info) {
    const bool is_weight = info.kind == tensor_kind::weight || info.kind == tensor_kind::weight_grad;
    if (!is_weight || !may_be_narrow(info) || info.name.ends_with(".bias")) continue;
    all.with_matrices.insert(layer_of(info.name));
    if (info.shape.size() > 2) all.convolutions.insert(layer_of(info.name));
  }
  return all;
}

std::string some_of(const std::set<std::string>& names) {
  constexpr std::size_t shown = 4;
  std::string text;
  std::size_t n = 0;
  for (const std::string& name : names) {
    if (n++ == shown) return text + fmt::format(" and {} more", names.size() - shown);
    text += (text.empty() ? "" : ", ") + printable(name);
  }
  return text;
}

// {"^layer$": {"weight_grad": {"format": "float16", "scale": 4096.0}}}, a JSON object that emulate() takes once it is
// loaded.
plan_file for_emulate(const plan_answer& plan) {
  ordered_json recipe = ordered_json::object();
  const known_layers known = layers_in(plan);
  std::set<std::string> others;
  std::uint64_t left = 0;
  for (const planned_tensor& t : plan.tensors) {
    const tensor_info& info = plan.info[t.tensor];
    const plan_treatment& chosen = plan.treatment(t.chosen);
    const bool is_kind = info.kind == tensor_kind::activation || info.kind == tensor_kind::weight ||
                         info.kind == tensor_kind::activation_grad || info.kind == tensor_kind::weight_grad;
    if (!is_kind || info.name.starts_with("forward/") || info.name.ends_with(".bias")) continue;
    if ((info.kind == tensor_kind::weight || info.kind == tensor_kind::weight_grad) && !may_be_narrow(info)) continue;
    if (chosen.elements().width() == 32) continue;
    const std::string layer = layer_of(info.name);
    if (known.are_not(layer)) {
      others.insert(layer);
      continue;
    }
    if (chosen.scale == plan_scale::block && known.convolutions.contains(layer)) {
      ++left;
      continue;
    }
    recipe[exactly_named(layer)][std::string{to_string(info.kind)}] = emulated_treatment(plan, chosen, info);
  }
  plan_file made{.text = recipe.dump(2) + "\n", .notes = {}};
  if (left > 0)
    made.notes.push_back(
        fmt::format("{} of convolutions in blocks are left as they are: ulpscope.emulate has blocks of linear layers",
                    count_text(left, "tensor")));
  if (!others.empty())
    made.notes.push_back(
        fmt::format("{}: left out, as no weight was recorded of such a module, or its name is that of an embedding; "
                    "ulpscope.emulate rounds linear and convolution layers alone",
                    some_of(others)));
  if (known.with_matrices.empty() && !recipe.empty())
    made.notes.push_back(
        "no weight was recorded, nor its gradient: ulpscope.emulate refuses modules that are no linear or convolution "
        "layer; leave these out by --tensor");
  if (recipe.empty()) made.notes.push_back("no matrix of a layer is in 16 bits or fewer: the recipe is empty");
  return made;
}

std::string te_recipe(std::string_view name) {
  constexpr std::string_view powers =
      "    fp8_quant_fwd_inp=QParams(power_2_scale=True),\n    fp8_quant_fwd_weight=QParams(power_2_scale=True),\n"
      "    fp8_quant_bwd_grad=QParams(power_2_scale=True),\n";
  if (name == "tensorwise_hybrid")
    return fmt::format("Float8CurrentScaling(\n    fp8_format=Format.HYBRID,\n{})", powers);
  if (name == "tensorwise_e4m3") return fmt::format("Float8CurrentScaling(\n    fp8_format=Format.E4M3,\n{})", powers);
  if (name == "blockwise") return "Float8BlockScaling(fp8_format=Format.E4M3)";
  if (name == "mxfp8") return "MXFP8BlockScaling(fp8_format=Format.E4M3)";
  return "NVFP4BlockScaling(disable_rht=True, disable_stochastic_rounding=True, disable_2d_quantization=True)";
}

const std::vector<std::string_view> te_recipes{"nvfp4", "tensorwise_hybrid", "tensorwise_e4m3", "blockwise", "mxfp8"};

plan_file for_transformer_engine(const plan_answer& plan) {
  const layers_in_recipe layers = best_layers(plan, te_recipes);
  plan_file made{.text = heading(plan, layers), .notes = {}};
  if (!layers.has_any()) {
    made.text += "recipe = None\n";
  } else {
    made.text +=
        "from transformer_engine.common.recipe import (\n    Float8BlockScaling,\n    Float8CurrentScaling,\n"
        "    Format,\n"
        "    MXFP8BlockScaling,\n    NVFP4BlockScaling,\n    QParams,\n)\n\n";
    made.text += "recipe = " + te_recipe(layers.recipe->name) + "\n";
  }
  made.text += "# Layers outside of autocast(enabled=True, recipe=recipe), in " + half_name(plan) + ".\n";
  made.text += "high_precision_layers = " + list_of(layers_left_out(layers)) + "\n";
  return made;
}

// The number of the transformer layer that a name has: 3 of "decoder.layers.3.mlp.fc1".
std::optional<std::uint64_t> number_in(const std::string& name) {
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t end = std::min(name.find('.', at), name.size());
    const std::string part = name.substr(at, end - at);
    if (!part.empty() && part.size() < 10 && part.find_first_not_of("0123456789") == std::string::npos)
      return std::stoull(part);
    at = end + 1;
  }
  return std::nullopt;
}

// Megatron leaves out layers at both ends alone.
struct outer_layers {
  std::uint64_t at_start = 0;
  std::uint64_t at_end = 0;
  std::string why_not;  // it cannot say the plan
};
outer_layers outer_layers_of(const layers_in_recipe& layers) {
  std::map<std::uint64_t, bool> holds;  // by number
  for (const judged_layer& l : layers.layers)
    if (const auto number = number_in(l.name)) {
      const auto [at, is_new] = holds.try_emplace(*number, true);
      at->second = at->second && l.why_not.empty();
    }
  outer_layers made;
  for (auto at = holds.begin(); at != holds.end() && !at->second; ++at) ++made.at_start;
  if (made.at_start == holds.size()) return {.why_not = "no transformer layer holds whole"};
  for (auto at = holds.rbegin(); !at->second; ++at) ++made.at_end;
  const std::uint64_t others =
      static_cast<std::uint64_t>(std::ranges::count_if(holds, [](const auto& h) { return !h.second; }));
  if (others > made.at_start + made.at_end)
    made.why_not = "layers between others would have to stay in 16 bits, which no option says";
  return made;
}

plan_file for_megatron(const plan_answer& plan) {
  const layers_in_recipe layers = best_layers(plan, te_recipes);
  plan_file made{.text = heading(plan, layers), .notes = {}};
  const std::string half = half_lines("Megatron-LM", plan);
  made.text += half;
  if (!layers.has_any()) return made;
  const outer_layers outer = outer_layers_of(layers);
  if (!outer.why_not.empty()) {
    made.text += "# no FP8: " + outer.why_not + "\n";
    made.notes.push_back("Megatron-LM cannot say this plan: " + outer.why_not);
    return made;
  }
  const std::string_view name = layers.recipe->name;
  made.text += name == "nvfp4"               ? "--fp4-format e2m1 --fp4-recipe nvfp4\n"
               : name == "tensorwise_hybrid" ? "--fp8-format hybrid --fp8-recipe tensorwise\n"
               : name == "tensorwise_e4m3"   ? "--fp8-format e4m3 --fp8-recipe tensorwise\n"
               : name == "blockwise"         ? "--fp8-format e4m3 --fp8-recipe blockwise\n"
                                             : "--fp8-format e4m3 --fp8-recipe mxfp8\n";
  if (outer.at_start + outer.at_end > 0)
    made.text +=
        fmt::format("--first-last-layers-bf16 --num-layers-at-start-in-bf16 {} --num-layers-at-end-in-bf16 {}\n",
                    outer.at_start, outer.at_end);
  return made;
}

plan_file for_torchtitan(const plan_answer& plan) {
  const layers_in_recipe layers = best_layers(plan, {"tensorwise_hybrid", "rowwise", "mxfp8"});
  plan_file made{.text = heading(plan, layers), .notes = {}};
  const std::string type = half_name(plan);
  made.text += fmt::format("[training]\nmixed_precision_param = \"{}\"\n", type == "bfloat16" ? "bfloat16" : "float32");
  if (type != "bfloat16" && type != "float32")
    made.notes.push_back("torchtitan has no loss scale, so " + type + " is float32 here");
  if (!layers.has_any()) return made;
  const std::string_view name = layers.recipe->name;
  const std::string converter = name == "mxfp8" ? "quantize.linear.mx" : "quantize.linear.float8";
  made.text += fmt::format("\n[model]\nconverters = [\"{}\"]\n\n[{}]\n", converter, converter);
  made.text += fmt::format("recipe_name = \"{}\"\n", name == "mxfp8"     ? "mxfp8_cublas_rceil"
                                                     : name == "rowwise" ? "rowwise"
                                                                         : "tensorwise");
  if (name == "tensorwise_hybrid")
    made.notes.push_back("torchtitan's tensorwise scales are no powers of two, as those of the plan are");
  const std::vector<std::string> left_out = layers_left_out(layers);
  made.text += "filter_fqns = " + list_of(left_out) + "\n";
  for (const judged_layer& l : layers.layers)
    if (l.why_not.empty() &&
        std::ranges::any_of(left_out, [&](const std::string& part) { return l.name.find(part) != std::string::npos; }))
      made.notes.push_back(l.name + " holds, but is left out, too: torchtitan searches filter_fqns in names");
  return made;
}

plan_file for_torchao(const plan_answer& plan) {
  const layers_in_recipe layers = best_layers(plan, {"tensorwise_hybrid", "rowwise"});
  plan_file made{.text = heading(plan, layers), .notes = {}};
  if (!layers.has_any()) {
    made.text += "config = None\n";
    return made;
  }
  made.text += "from torchao.float8 import Float8LinearConfig, convert_to_float8_training\n\n";
  made.text += layers.recipe->name == "rowwise"
                   ? "config = Float8LinearConfig.from_recipe_name(\"rowwise\")\n"
                   : "config = Float8LinearConfig(round_scales_to_power_of_2=True)  # gradients in float8_e5m2\n";
  made.text += "filter_fqns = " + list_of(layers_left_out(layers)) + "\n\n\n";
  made.text +=
      "def in_float8(module, fqn):\n"
      "    # What multiplies FP8 takes multiples of 16.\n"
      "    return fqn not in filter_fqns and all(n % 16 == 0 for n in module.weight.shape)\n\n\n"
      "def convert(model):\n"
      "    return convert_to_float8_training(model, config=config, module_filter_fn=in_float8)\n";
  return made;
}

plan_file for_cerebras(const plan_answer& plan) {
  plan_file made{.text = heading(plan, {.recipe = &layer_recipes().front(), .layers = {}}), .notes = {}};
  made.text += "trainer:\n  init:\n    precision:\n";
  const std::string lines = half_lines("Cerebras", plan);
  std::size_t begin = 0;
  while (begin < lines.size()) {
    const std::size_t end = lines.find('\n', begin);
    made.text += "      " + lines.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  made.text += "      precision_opt_level: 1\n";
  for (const plan_level& level : plan.levels)
    made.text += fmt::format("# precision_opt_level {}: {}, {} in float32\n", level.level,
                             setting_text(plan, level.setting), count_text(level.in_float32, "tensor"));
  if (lines.empty()) made.notes.push_back("no tensor is in 16 bits, which Cerebras systems need");
  return made;
}

struct framework_row {
  std::string_view name;
  std::vector<std::string_view> hardware;  // empty: any
  plan_file (*write)(const plan_answer&);
};
const std::vector<framework_row>& rows() {
  static const std::vector<framework_row> all{{"emulate", {}, for_emulate},
                                              {"te", {"hopper", "blackwell"}, for_transformer_engine},
                                              {"megatron", {"hopper", "blackwell"}, for_megatron},
                                              {"torchtitan", {"hopper", "blackwell"}, for_torchtitan},
                                              {"torchao", {"hopper", "blackwell"}, for_torchao},
                                              {"cerebras", {"cs"}, for_cerebras}};
  return all;
}

}  // namespace

std::vector<std::string> plan_frameworks() {
  std::vector<std::string> names;
  for (const framework_row& r : rows()) names.emplace_back(r.name);
  return names;
}

plan_file plan_file_for(std::string_view framework, const plan_answer& plan) {
  const auto at = std::ranges::find(rows(), framework, &framework_row::name);
  if (at == rows().end()) throw std::invalid_argument("--for " + std::string{framework} + ": no such framework");
  if (!at->hardware.empty() && std::ranges::find(at->hardware, plan.hardware->name) == at->hardware.end())
    throw std::invalid_argument(fmt::format("--for {}: give --hardware {}, not {}", framework,
                                            fmt::join(at->hardware, " or "), plan.hardware->name));
  return at->write(plan);
}

std::string layer_of(std::string_view tensor) {
  tensor = without_kind(tensor);
  for (const std::string_view part : {".weight", ".bias"})
    if (tensor.ends_with(part)) {
      tensor.remove_suffix(part.size());
      break;
    }
  return std::string{tensor};
}

}  // namespace ulp
