// torch.distributed.fsdp.ShardedGradScaler with its scale on the CPU: pytorch/pytorch @005dc9fc
// torch/distributed/fsdp/sharded_grad_scaler.py; with the scale on a GPU it is pytorch_gradscaler.
// Reproduced: the update is Python on a float32 tensor, so factors are rounded to float32 first, and growth to infinity
// is not caught.
#include "gradscaler.hpp"

namespace ulp::scalers {
namespace {

struct pytorch_fsdp_sharded_cpu : gradscaler_arguments {
  using machine = engine<float32_arithmetic, rules{}>;
};

}  // namespace

registration pytorch_fsdp_sharded_cpu_row() {
  return ruled_row<pytorch_fsdp_sharded_cpu>(
      {.aliases = {"fsdp", "pytorch_fsdp"},
       .family = "A",
       .summary = "FSDP ShardedGradScaler, scale on the CPU",
       .overflow_test = "element of the scaled gradients of any rank",
       .floor = "none; 0 stays",
       .ceiling = "none",
       .window = "growth_interval",
       .rules = gradscaler_rules,
       .quirks = "no floor, and none of the kernel's guard: the scale grows to infinity and stays there\n"
                 "in torch 1.13 the flag is read on the CPU before the ranks have agreed on it",
       .source = "pytorch/pytorch torch/distributed/fsdp/sharded_grad_scaler.py @005dc9fc"});
}

}  // namespace ulp::scalers
