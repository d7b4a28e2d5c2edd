#include <fmt/format.h>
#include <ulp/report/tables/estimates.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

std::string skipped_text(std::uint64_t skipped, std::uint64_t uncertain, const bounds_of_run& bounds) {
  const bool decided = bounds.known && bounds.skipped.exact() && bounds.skipped.low == skipped;
  if (uncertain == 0 || decided) return grouped(skipped);
  return "~" + grouped(skipped) + (bounds.known ? " " + to_cell(bounds.skipped) : "");
}

std::string uncertain_text(const trajectory_summary& sum) {
  if (sum.uncertain == 0) return "";
  return fmt::format("found_inf is estimated in {}{}", count_text(sum.uncertain, "step"),
                     sum.bounds.known ? "; [low, high] holds whatever these gradients leave possible"
                                      : ", after which too much may have happened to give bounds");
}

std::string open_loop_text(const trajectory_summary& sum) {
  const std::string taken = sum.recorded_outcome_known ? "" : " (taken to have applied every step)";
  if (sum.first_divergence)
    return fmt::format("diverges from the recorded run{} at step {}{}: later gradients would have been different",
                       taken, *sum.first_divergence, sum.divergence_certain ? "" : ", by estimate");
  return fmt::format("no{}: the replay skips exactly what the recorded run{} skipped",
                     sum.uncertain == 0 ? "" : ", by estimate", taken);
}

}  // namespace ulp
