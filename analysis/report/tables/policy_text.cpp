#include "policy_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ulp/model/machines/policy_analysis.hpp>
#include <ulp/model/machines/policy_probe.hpp>
#include <ulp/report/tables/table.hpp>
#include <vector>

namespace ulp {
namespace {

std::string recovery_from(const scaler& start, std::uint64_t overflows) {
  constexpr std::uint64_t patience = 1'000'000;
  const burst_recovery r = recovery_after(start, overflows, patience, {.max_abs = 1, .above_edge = 0, .up_to_edge = 1});
  if (!r.error.empty()) return "the policy raises an error";
  if (!r.steps) return fmt::format("none within {} good steps", grouped(patience));
  return *r.steps == 0 ? "the scale stays" : count_text(*r.steps, "good step");
}

}  // namespace

std::string critical_text(const std::vector<critical_step>& steps) {
  std::vector<double> known;
  const critical_step* least = nullptr;
  std::uint64_t hopeless = 0;
  for (const critical_step& s : steps) {
    if (s.scale == 0) ++hopeless;
    if (!(s.scale > 0)) continue;
    known.push_back(s.scale);
    if (least == nullptr || s.scale < least->scale) least = &s;
  }
  const std::string none = hopeless == 0 ? "" : fmt::format("; none in {}", count_text(hopeless, "step"));
  if (least == nullptr) return hopeless == 0 ? "" : "every step overflows at every scale";
  if (std::isinf(least->scale)) return "no scale overflows" + none;
  const auto middle = known.begin() + static_cast<std::ptrdiff_t>(known.size() / 2);
  std::ranges::nth_element(known, middle);
  return fmt::format("largest safe scale {} (step {}); median {}{}", log2_text(least->scale), least->step,
                     log2_text(*middle), none);
}

std::string recovery_text(const scaler& start) {
  const std::string after_one = recovery_from(start, 1);
  const std::string after_three = recovery_from(start, 3);
  if (after_one == after_three && after_one == "the scale stays") return "";
  return fmt::format("after one overflow {}, after three in a row {}", after_one, after_three);
}

std::string prediction_text(const scaler& start, const std::vector<critical_step>& steps,
                            const trajectory_summary& sum) {
  std::vector<double> critical;
  for (const critical_step& s : steps) critical.push_back(s.scale);
  const auto predicted = predict_markov(start, critical);
  if (!predicted) return "";
  const double skipped = static_cast<double>(sum.skipped) / static_cast<double>(sum.steps);
  return fmt::format(
      "{} of steps skipped in the long run, mean scale {}, if finite steps came in random order; this replay: {}, mean "
      "scale {}",
      percent_text({predicted->skip_rate, predicted->skip_rate}), power_text(predicted->mean_log2_scale),
      percent_text({skipped, skipped}), power_text(sum.mean_log2_scale()));
}

std::string schedule_text(std::span<const double> learning_rates, const trajectory_summary& sum) {
  if (sum.skipped == 0 || sum.skipped >= learning_rates.size()) return "";
  const double last = learning_rates.back();
  const double behind = learning_rates[learning_rates.size() - 1 - sum.skipped];
  if (std::isnan(last) || std::isnan(behind) || last == behind) return "";
  return fmt::format("counting applied steps only, the learning rate would be {} at the end, {} behind, not {}",
                     shortest(behind), count_text(sum.skipped, "step"), shortest(last));
}

}  // namespace ulp
