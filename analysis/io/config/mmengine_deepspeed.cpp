// MMEngine's strategy that hands precision and loss scale to DeepSpeed: open-mmlab/mmengine @05f631ff mmengine/_strategy/deepspeed.py
// (its arguments are DeepSpeed's sections, and take the place of those in `config`).
#include <algorithm>

#include <ulp/io/bytes/error.hpp>

#include "bytes/text.hpp"
#include "frameworks.hpp"
#include "programs/rows.hpp"

namespace ulp::io {
namespace {

constexpr std::string_view its_own = "type config inputs_to_half exclude_frozen_parameters steps_per_print";

void import_strategy(import_run& run, const config_entry& root) {
  config_entry strategy = *root.value.find("strategy");
  if (const config_entry* const config = strategy.value.find("config");
      config != nullptr && config->value.what != config_node::kind::null)
    throw input_error(run.file, at_line(config->line),
                      "strategy.config holds DeepSpeed's configuration, beside which this one is only a part; give "
                      "DeepSpeed's own file");
  std::erase_if(strategy.value.entries, [](const config_entry& e) {
    const std::vector<std::string_view> own = words_of(its_own);
    return std::ranges::find(own, e.key) != own.end();
  });
  import_deepspeed(run, strategy);
  run.out.words = "MMEngine with DeepSpeed";
}

}  // namespace

program_row mmengine_deepspeed_program() {
  return {.name = "MMEngine", .markers = "strategy.type=deepspeedstrategy", .import = import_strategy};
}

}  // namespace ulp::io
