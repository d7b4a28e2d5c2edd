// NeMo's GradScaler: NVIDIA/NeMo @8cfedd72 nemo/collections/nlp/parts/nlp_overrides.py.
// Reproduced: the hysteresis is consecutive, any good step refills it; once spent, each further overflow in a row
// lowers the scale, the tracker going below 0. A resumed run starts with a tracker of 1, because loading looks for a
// misspelt key: --start _hysteresis_tracker=1.
#include "gradscaler.hpp"

namespace ulp::scalers {
namespace {

using nemo_gradscaler = hysteresis_arguments;

}  // namespace

registration nemo_gradscaler_row() {
  return ruled_row<nemo_gradscaler>(
      {.aliases = {"nemo"},
       .family = "A / Hc",
       .summary = "NeMo's GradScaler with hysteresis",
       .overflow_test = gradscaler_tests,
       .floor = "none; 0 stays",
       .ceiling = "kept finite",
       .window = "growth_interval",
       .rules = hysteresis_rules,
       .quirks = "the hysteresis is for overflows in a row: any good step refills it\n"
                 "after a resume the hysteresis tracker is 1, whatever was saved: the first overflow backs off\n"
                 "no floor; growth that would leave float32 is dropped",
       .source = "NVIDIA/NeMo nemo/collections/nlp/parts/nlp_overrides.py @8cfedd72"});
}

registration nemo_megatron_row() {
  nemo_gradscaler built;
  built.init_scale = 0x1p32;
  built.growth_interval = 1000;
  built.hysteresis = 2;
  return preset(nemo_gradscaler_row(), "nemo_gradscaler as NeMo's Megatron trainer builds it", built);
}

}  // namespace ulp::scalers
