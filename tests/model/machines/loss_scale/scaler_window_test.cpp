// The parameter that each policy calls its growth interval: from a given start the scale doubles by as many good steps later as
// it is longer, whatever the policy counts from.
#include <algorithm>
#include <string>
#include <vector>

#include <ulp/model/machines/scaler.hpp>

#include "support/catch.hpp"

using namespace ulp;

namespace {

// Good steps until the scale has doubled; of policies that start at their ceiling, or grow at once until the first overflow,
// after an overflow; of PopART, which doubles in the first step too, after that.
int steps_to_double(const scaler_entry& entry, double window) {
  const std::vector<std::string_view> after_overflow{"openseq2seq_backoff", "cerebras_dls", "cerebras_tf_legacy",
                                                     "chainer_dynamic"};
  scaler policy = make_scaler(entry, {{std::string{entry.window}, window}});
  const scaler_input good{.unscaled_norm = 1, .max_abs = 0x1p-20, .above_edge = 0, .up_to_edge = 1};
  if (std::ranges::find(after_overflow, entry.name) != after_overflow.end()) (void)policy.update({.found_inf = true});
  if (entry.name == "popart_als") (void)policy.update(good);
  const double wanted = 2 * policy.scale() * (1 - 1e-9);
  for (int steps = 1; steps < 1000; ++steps) {
    (void)policy.update(good);
    if (policy.scale() >= wanted) return steps;
  }
  return 0;
}

}  // namespace

TEST_CASE("the growth interval of every policy is known, or there is none") {
  int without = 0;
  for (const scaler_entry& entry : scaler_catalog()) {
    CAPTURE(entry.name);
    if (entry.window.empty()) {
      ++without;
      continue;
    }
    CHECK(std::ranges::find(entry.parameters, entry.window, &scaler_parameter::name) != entry.parameters.end());
    const int first = steps_to_double(entry, 20);
    CHECK(first >= 19);
    CHECK(first <= 22);
    CHECK(steps_to_double(entry, 50) - first == 30);
  }
  // icefall_gradscaler, megatron_constant, openseq2seq_logmax, ada_loss_zhao, static, none
  CHECK(without == 6);
}
