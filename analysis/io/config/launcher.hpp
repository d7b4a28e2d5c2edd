// What `accelerate launch` brings to the program that it starts.
#ifndef ULP_IO_CONFIG_LAUNCHER_HPP
#define ULP_IO_CONFIG_LAUNCHER_HPP

#include "arguments.hpp"
#include "section.hpp"

namespace ulp::io {

// Its options that name a file of settings or another keeper of the loss scale; nullptr where there is none.
[[nodiscard]] const argument* deciding_option(const argument_list& list);

// Those options, and what is in the file of --config_file, as Accelerate's own YAML has them. Throws input_error where the
// file that decides is not there.
[[nodiscard]] config_entry settings_of_launcher(const import_run& run, const argument_list& list);

// Whether DeepSpeed or Megatron-LM keeps the loss scale by these settings.
[[nodiscard]] bool hands_scale_on(const config_node& settings);

}  // namespace ulp::io

#endif
