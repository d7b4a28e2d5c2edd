// The reverse of config_import.hpp: what to write in a framework's own configuration for a chosen format and loss scale.
#ifndef ULP_IO_CONFIG_CONFIGURATION_LINES_HPP
#define ULP_IO_CONFIG_CONFIGURATION_LINES_HPP

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ulp {

struct loss_scale_choice {
  std::string format;                     // of the gradients, a name of the catalogue; empty: float16
  std::optional<double> init_scale;       // of a dynamic scale
  std::optional<double> growth_interval;  // as the framework's own parameter counts it
  std::optional<double> static_scale;     // above 0: constant, and the two above say nothing
};

// One line for each place to edit, of the framework's JSON, YAML, command line or Python; what is not chosen is left to the
// framework's default. The name is that of imported_config::framework, in any case, or a scaler's name or alias. Where a
// framework cannot do exactly what is chosen, the nearest that it can, and a comment that says what differs: DeepSpeed
// takes powers of two (the next below), scales of torch.amp.GradScaler are never constant. Empty where the framework has
// nothing of the kind, as formats other than float16, bfloat16 and float32 (cbfloat16 on Cerebras), or the name is unknown.
[[nodiscard]] std::vector<std::string> configuration_lines(std::string_view framework_or_scaler,
                                                           const loss_scale_choice& choice);

}  // namespace ulp

#endif
