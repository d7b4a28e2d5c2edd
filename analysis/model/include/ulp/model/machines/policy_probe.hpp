// What a loss-scale policy does of its own, found by running copies of it.
#ifndef ULP_MODEL_MACHINES_POLICY_PROBE_HPP
#define ULP_MODEL_MACHINES_POLICY_PROBE_HPP

#include <cstdint>
#include <optional>
#include <string>

#include <ulp/model/machines/scaler.hpp>

namespace ulp {

// Where overflows without end lead a policy; 0 where there is no floor, overflows do not lower the scale, or it raises
// before.
[[nodiscard]] double floor_of(scaler s);
// Good steps without end do not lead above it; nullopt where that takes too long to find out.
[[nodiscard]] std::optional<double> ceiling_of(const scaler& s);
// The good steps from one growth to the next of a policy that halves at every overflow and doubles after so many good
// steps; nullopt for others.
[[nodiscard]] std::optional<std::int64_t> doubling_period(scaler s);
// Whether so many good steps make the scale grow after overflows have lowered it once; true too where overflows do not
// lower it, or it raises.
[[nodiscard]] bool grows_back_within(scaler s, std::uint64_t steps);

// What a policy makes of a burst: `overflows` in a row from the state that `s` is in, then good steps until the scale
// is back. `good` is what it sees of a good step.
struct burst_recovery {
  double scale_before = 0;
  double scale_after = 0;              // after the burst
  double least_scale = 0;              // also in the steps after it: some policies react late
  std::optional<std::uint64_t> steps;  // good steps until the scale is back; nullopt: not within most_steps
  std::string error;                   // the policy raised
};
[[nodiscard]] burst_recovery recovery_after(scaler s, std::uint64_t overflows, std::uint64_t most_steps = 10'000'000,
                                            const scaler_input& good = {});

}  // namespace ulp

#endif
