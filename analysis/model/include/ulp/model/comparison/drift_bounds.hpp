// How far apart two runs of the same thing may be: by the format they are computed in, by what they showed before, by
// repeats.
//
// The format. Rounding and another order of sums change a gradient by some roundoffs u of the coarsest format in which
// it is computed: more with the depth of the network, for which the root of the number of tensors stands, as errors of
// either sign add up, and slowly more with the steps: u 12 sqrt(sqrt(tensors)) sqrt(1 + steps / 16); of few values,
// among which errors do not average out, 1 + 8 / sqrt(numel) times that, and of the loss a quarter. An update may turn
// where a gradient is within u of zero, which is a share u of its values and sqrt(u) of its norm: 8 sqrt(u), and of a
// weight that times the way that it goes in a step.
// Kinks. A unit of a ReLU or a maximum that lies within rounding of
// its kink may fall on the other side: the loss hardly changes, but gradients before it jump by far more than u, and
// what follows drifts from there: at least 5 % after a kink.
// The history. Runs drift apart further by themselves, but
// not by leaps: at least 4 times the largest change that the pair showed of the same tensor before, and twice that of
// any.
// Repeats. The spread of n + 1 runs that are the same, up to this step, takes the place of both in the same way, times
// 1 + 3 / n in place of 4, but no less than a quarter of the format's bound: roundings in one place may begin to differ
// late.
// docs/compare-runs.md has the measurements.
#ifndef ULP_MODEL_COMPARISON_DRIFT_BOUNDS_HPP
#define ULP_MODEL_COMPARISON_DRIFT_BOUNDS_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ulp {

// What a bound is made of.
enum class bound_source : std::uint8_t {
  format,   // the coarsest format of both runs
  history,  // what the pair showed before
  repeats   // the spread of runs that are the same
};

struct drift_bound {
  double value = 0;
  bound_source by = bound_source::format;
};

// Of gradients in the coarsest format, whose roundoff is u, in the n-th step; `tensors` of them.
[[nodiscard]] double gradient_bound(double roundoff, std::size_t tensors, std::uint64_t step) noexcept;
// Of an update.
[[nodiscard]] double update_bound(double roundoff) noexcept;
// What a kink explains.
inline constexpr double kink_bound = 0.05;

// Changes are relative; of several series of one kind, which are numbered.
class drift_bounds {
 public:
  explicit drift_bounds(std::size_t repeats = 0) : runs_(repeats) {}

  // What was seen between two runs that are the same, at this step, which counts for it.
  void see_repeat(std::size_t series, double change) { repeats_.see(series, change); }
  // Between the pair; counts for the steps to come.
  void see_pair(std::size_t series, double change) { now_.see(series, change); }
  void end_step();

  [[nodiscard]] drift_bound of(std::size_t series, double of_format) const noexcept;
  // Of a series that nothing is known of.
  [[nodiscard]] drift_bound usual(double of_format) const noexcept {
    return of(static_cast<std::size_t>(-1), of_format);
  }
  // Repeats tell something once they differ.
  [[nodiscard]] bool by_repeats() const noexcept { return repeats_.all > 0; }

 private:
  // The largest change of each series, and of all.
  struct largest {
    std::vector<double> own;
    double all = 0;
    void see(std::size_t series, double change);
    [[nodiscard]] double bound(std::size_t series, double times) const noexcept;
  };

  std::size_t runs_ = 0;
  largest before_;
  largest now_;
  largest repeats_;
};

}  // namespace ulp

#endif
