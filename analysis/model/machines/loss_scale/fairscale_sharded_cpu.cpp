// fairscale's ShardedGradScaler with its scale on the CPU: facebookresearch/fairscale @146f1602
// fairscale/optim/grad_scaler.py.
// Reproduced: as pytorch_fsdp_sharded_cpu. Not reproduced: the overflow flags of the ranks are summed and compared with
// 1, so that two ranks that overflow at once make the scale grow; a replay has one flag.
#include "gradscaler.hpp"

namespace ulp::scalers {
namespace {

struct fairscale_sharded_cpu : gradscaler_arguments {
  using machine = engine<float32_arithmetic, rules{}>;
};

}  // namespace

registration fairscale_sharded_cpu_row() {
  return ruled_row<fairscale_sharded_cpu>(
      {.aliases = {"fairscale_sharded"},
       .family = "A",
       .summary = "fairscale ShardedGradScaler, scale on the CPU",
       .overflow_test = gradscaler_tests,
       .floor = "none; 0 stays",
       .ceiling = "none",
       .window = "growth_interval",
       .rules = gradscaler_rules,
       .quirks = "no floor and no ceiling: 0 and infinity stay\n"
                 "with several ranks only a sum of flags of exactly 1 counts as overflow: two ranks that overflow "
                 "at once count as a good step",
       .source = "facebookresearch/fairscale fairscale/optim/grad_scaler.py @146f1602"});
}

}  // namespace ulp::scalers
