// One function for each framework: reads its configuration into `run`, whose file is set. They throw input_error.
#ifndef ULP_IO_CONFIG_FRAMEWORKS_HPP
#define ULP_IO_CONFIG_FRAMEWORKS_HPP

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.hpp"
#include "section.hpp"

namespace ulp::io {

void import_deepspeed(import_run& run, const config_entry& root);
void import_accelerate(import_run& run, const config_entry& root);
void import_lightning(import_run& run, const config_entry& root);
void import_cerebras(import_run& run, const config_entry& root);
void import_cerebras_params(import_run& run, const config_entry& root);  // of before there was a Trainer
void import_nxd(import_run& run, const config_entry& root);
void import_hugging_face(import_run& run, const config_entry& root);
void import_neox(import_run& run, const config_entry& root);
void import_fairseq(import_run& run, const config_entry& root);
void import_megatron(import_run& run, const config_entry& root);  // of run.command
// A text that is no more than a recipe of TransformerEngine, as it prints it; false where it is something else.
[[nodiscard]] bool import_printed_recipe(import_run& run, std::string_view text);
// What torchao's Float8LinearConfig says of 8-bit floats, for whoever takes it.
void read_torchao(import_run& run, const config_entry& root);

// Whether a file is the framework's, beside its markers.
[[nodiscard]] bool is_cerebras(const config_node& root);
[[nodiscard]] bool is_cerebras_params(const config_node& root);

// The arguments that decide on the loss scale.
[[nodiscard]] std::vector<std::string_view> megatron_scale_arguments();

[[nodiscard]] std::size_t keys_in(const config_node& node, const known_keys& known);
// How many micro-batches are accumulated for a step, where the key's value is a number above 0; the Trainer's "auto" and the
// variables of scripts are none.
void read_microbatches(const config_section& s, std::string_view key);

// DeepSpeed's part of another framework's configuration: scaler, format and clipping are DeepSpeed's. `file` is for
// messages.
void import_inner_deepspeed(import_run& run, const std::string& file, const std::string& text);
// The file of that name: from the current folder, else beside `file`; nothing where it is in neither.
[[nodiscard]] std::optional<std::string> path_beside(const std::string& file, const std::string& named);

// The scalers that several frameworks choose.
struct deepspeed_loss_scale {
  enum class wrapper { zero, fused, unfused };
  wrapper kind = wrapper::zero;
  double static_scale = 0;  // 0: dynamic
  // Whether any of the keys of dynamic scaling is given; without one the classes' own defaults count, not these.
  bool any_key = false;
  double initial_scale_power = 16;
  double loss_scale_window = 1000;
  double hysteresis = 2;
  bool consecutive_hysteresis = false;
  double min_loss_scale = 1;
};
void set_deepspeed_scaler(import_run& run, const deepspeed_loss_scale& settings);
struct megatron_loss_scale {
  double static_scale = 0;  // 0: dynamic
  double initial_scale = 0x1p32;
  double min_scale = 1;
  double growth_interval = 1000;
  double hysteresis = 2;
};
void set_megatron_scaler(import_run& run, const megatron_loss_scale& settings);
// torch.amp.GradScaler() as Lightning and Accelerate construct it.
void set_grad_scaler(import_run& run);

}  // namespace ulp::io

#endif
