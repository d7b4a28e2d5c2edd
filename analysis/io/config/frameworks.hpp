// One function for each framework: reads its configuration into `run`, whose file is set. They throw input_error.
#ifndef ULP_IO_CONFIG_FRAMEWORKS_HPP
#define ULP_IO_CONFIG_FRAMEWORKS_HPP

#include <string_view>

#include "section.hpp"

namespace ulp::io {

void import_deepspeed(import_run& run, const config_entry& root);
void import_accelerate(import_run& run, const config_entry& root);
void import_lightning(import_run& run, const config_entry& root);
void import_cerebras(import_run& run, const config_entry& root);
void import_nxd(import_run& run, const config_entry& root);
// Arguments of the command line, alone or in a shell script.
void import_megatron(import_run& run, std::string_view text);

// How many of the keys at the top are the framework's: which of them a file is for.
[[nodiscard]] std::size_t deepspeed_keys_in(const config_node& root);
[[nodiscard]] std::size_t accelerate_keys_in(const config_node& root);
[[nodiscard]] std::size_t lightning_keys_in(const config_node& root);
[[nodiscard]] std::size_t cerebras_keys_in(const config_node& root);
[[nodiscard]] std::size_t nxd_keys_in(const config_node& root);

[[nodiscard]] std::size_t keys_in(const config_node& node, const known_keys& known);

// The tree of a file, JSON or YAML by its first character. `text_of` checks that a file is a text of sensible size.
[[nodiscard]] std::string text_of(const std::string& file);
[[nodiscard]] config_node parse_config(const std::string& file, std::string_view text);

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
