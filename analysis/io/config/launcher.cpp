// Options: huggingface/accelerate src/accelerate/commands/launch.py. They take the place of what the file says.
#include "launcher.hpp"

#include <algorithm>
#include <array>

#include <ulp/io/bytes/error.hpp>

#include "bytes/text.hpp"
#include "file_syntax.hpp"
#include "frameworks.hpp"

namespace ulp::io {
namespace {

constexpr std::array<std::string_view, 4> deciding{"deepspeed_config_file", "config_file", "use_deepspeed",
                                                   "use_megatron_lm"};

// An option and where the YAML has it.
struct place {
  std::string_view option;
  std::string_view section;  // empty: at the top
};
constexpr std::array places{
    place{"mixed_precision", ""},
    place{"zero_stage", "deepspeed_config"},
    place{"gradient_clipping", "deepspeed_config"},
    place{"megatron_lm_gradient_clipping", "megatron_lm_config"},
};

config_entry& entry_of(config_node& in, std::string_view key, std::size_t line) {
  const auto found = std::ranges::find(in.entries, key, &config_entry::key);
  if (found != in.entries.end()) return *found;
  in.entries.push_back({std::string{key}, line, {.what = config_node::kind::mapping}});
  return in.entries.back();
}

void set(config_node& in, std::string_view key, std::size_t line, std::string_view value) {
  entry_of(in, key, line).value = {.what = config_node::kind::scalar, .text = std::string{value}};
}

config_node file_of_settings(const import_run& run, const argument& option) {
  const std::string named = option.values.empty() ? "" : option.values.front();
  const auto path = path_beside(run.file, named);
  if (!path)
    throw input_error(
        run.file, at_line(option.line),
        "--config_file names " + in_quotes(named) +
            ", which is not here and says who keeps the loss scale; put it beside this file, or write its "
            "settings as options");
  config_node settings = parse_config(*path, text_of(*path));
  if (settings.what != config_node::kind::mapping)
    throw input_error(*path, "", "is not a mapping of keys to values, as accelerate writes it");
  return settings;
}

}  // namespace

const argument* deciding_option(const argument_list& list) {
  const bool launched = std::ranges::any_of(
      list.words, [](const std::string& word) { return word.find("accelerate") != std::string::npos; });
  if (!launched) return nullptr;
  for (const std::string_view name : deciding)
    for (const argument& a : list.of_launcher)
      if (bare_name(a.name) == name) return &a;
  return nullptr;
}

config_entry settings_of_launcher(const import_run& run, const argument_list& list) {
  config_entry all{.line = 1, .value = {.what = config_node::kind::mapping}};
  for (const argument& a : list.of_launcher) {
    const std::string name = bare_name(a.name);
    if (name == "deepspeed_config_file")
      throw input_error(run.file, at_line(a.line),
                        "--deepspeed_config_file names the file that sets the loss scale; give that one by --config");
    if (name == "config_file") all.value = file_of_settings(run, a);
  }
  for (const argument& a : list.of_launcher) {
    const std::string name = bare_name(a.name);
    if (name == "use_deepspeed") set(all.value, "distributed_type", a.line, "DEEPSPEED");
    if (name == "use_megatron_lm") set(all.value, "distributed_type", a.line, "MEGATRON_LM");
    const auto known = std::ranges::find(places, name, &place::option);
    if (known == places.end() || a.values.empty()) continue;
    config_node& in = known->section.empty() ? all.value : entry_of(all.value, known->section, a.line).value;
    in.what = config_node::kind::mapping;
    set(in, name, a.line, a.values.front());
  }
  return all;
}

bool hands_scale_on(const config_node& settings) {
  const config_entry* const distributed = settings.find("distributed_type");
  if (distributed != nullptr && distributed->value.what == config_node::kind::scalar)
    return distributed->value.text == "DEEPSPEED" || distributed->value.text == "MEGATRON_LM";
  const config_entry* const deepspeed = settings.find("deepspeed_config");
  return deepspeed != nullptr && !deepspeed->value.entries.empty();
}

}  // namespace ulp::io
