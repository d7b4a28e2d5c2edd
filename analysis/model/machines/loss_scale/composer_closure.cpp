// Composer's ClosureGradScaler: mosaicml/composer @64051888 composer/trainer/_scaler.py.
// Reproduced: torch's GradScaler, whose flag is summed over all ranks before the update.
#include "gradscaler.hpp"

namespace ulp::scalers {
namespace {

struct composer_closure : gradscaler_arguments {
  using machine = gradscaler_machine;
};

}  // namespace

registration composer_closure_row() {
  return ruled_row<composer_closure>(
      {.aliases = {"composer"},
       .family = "A",
       .summary = "Composer ClosureGradScaler, torch's GradScaler for optimizers with closures",
       .overflow_test = "element of the scaled gradients of any rank",
       .floor = "none; 0 stays",
       .ceiling = "kept finite",
       .window = "growth_interval",
       .rules = gradscaler_rules,
       .quirks = "as pytorch_gradscaler\n"
                 "the closure returns None where any rank overflowed",
       .source = "mosaicml/composer composer/trainer/_scaler.py @64051888"});
}

}  // namespace ulp::scalers
