// ColossalAI: "Found overflow. Skip step" for each step that was skipped, without numbers and without the loss scale:
// hpcaitech/ColossalAI colossalai/nn/optimizer/zero_optimizer.py (step) and zero/low_level/low_level_optim.py.
#include <array>

#include "rows.hpp"

namespace ulp::io {
namespace {

record_match read_colossal_overflow(const record_text&, std::size_t at, bool) {
  return whole_record({.what = scale_record::kind::overflow}, at);
}

constexpr std::array colossal_starts{record_start{"Foundoverflow.Skipstep", read_colossal_overflow, true}};

}  // namespace

log_dialect colossal_dialect() { return {.name = "ColossalAI", .starts = colossal_starts}; }

}  // namespace ulp::io
