#include <ulp/ask/runs/judged_treatment.hpp>

namespace ulp {

void judged_treatment::add(std::int64_t step, const lost_energy& here) {
  if (steps == 0 || here.share.low > worst.low) {
    worst.low = here.share.low;
    step_of_low = step;
  }
  if (steps == 0 || here.share.high > worst.high) {
    worst.high = here.share.high;
    estimate = here.estimate;
    step_of_high = step;
  }
  if (here.may_saturate && may_saturate++ == 0) saturates_first = step;
  if (here.saturates && saturating++ == 0) saturates_first = step;
  if (here.makes_nonfinite && nonfinite++ == 0) nonfinite_first = step;
  ++steps;
}

double judged_treatment::share() const noexcept {
  return unfit || steps == 0 || may_saturate > 0 ? no_bound : worst.high;
}

plan_verdict judged_treatment::verdict(double most) const noexcept {
  if (unfit) return plan_verdict::unfit;
  if (saturating > 0 || worst.low > most) return plan_verdict::fails;
  return share() <= most ? plan_verdict::holds : plan_verdict::open;
}

}  // namespace ulp
