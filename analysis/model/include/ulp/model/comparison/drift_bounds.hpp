// How far apart two runs of the same thing may be: by the format they are computed in, by what they showed before, by repeats.
//
// Rounding and another order of sums change a gradient by some roundoffs u of the coarsest format in which it is computed: a
// change grows with the root of the number of roundings on the way, for which the number of tensors stands, and slowly with
// the steps. So the format's bound is u 4 sqrt(tensors) sqrt(1 + steps / 16). A tensor that is much smaller than the others
// is rounded with them, and its bound is as much larger. Runs drift apart further by themselves, but not by leaps: a bound is at least
// 4 times the largest change that the pair showed of the same tensor in steps before, and twice that of any. Where runs are known
// to be the same, 4 times the spread of the tensor among them and twice the largest take the place of all this, but no less
// than 4 u: roundings in one place may begin to differ late. docs/compare-runs.md has the measurements.
#ifndef ULP_MODEL_COMPARISON_DRIFT_BOUNDS_HPP
#define ULP_MODEL_COMPARISON_DRIFT_BOUNDS_HPP

#include <algorithm>
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

// Changes are relative. Of several series, which are tensors or logged numbers, numbered from 0 on.
class drift_bounds {
 public:
  // The roundoff of the coarsest format, and how many tensors there are; before the first step.
  void begin(double roundoff, std::size_t tensors) noexcept {
    roundoff_ = roundoff;
    tensors_ = std::max<std::size_t>(tensors, 1);
  }
  [[nodiscard]] double roundoff() const noexcept { return roundoff_; }

  // What was seen between two runs that are the same, at this step, which counts for it.
  void see_repeat(std::size_t series, double change) { repeats_.see(series, change); }
  // Between the pair; counts for the steps to come.
  void see_pair(std::size_t series, double change) { now_.see(series, change); }
  void end_step();

  // `larger`: by how much the format's bound is larger than a usual tensor's; at least 1.
  [[nodiscard]] drift_bound of(std::size_t series, double larger = 1) const noexcept;
  // Of a usual tensor.
  [[nodiscard]] drift_bound usual() const noexcept;
  // Repeats tell something once they differ.
  [[nodiscard]] bool by_repeats() const noexcept { return repeats_.all > 0; }

 private:
  // The largest change of each series, and of all.
  struct largest {
    std::vector<double> own;
    double all = 0;
    void see(std::size_t series, double change);
    [[nodiscard]] double bound(std::size_t series) const noexcept;
  };

  double roundoff_ = 0;
  std::size_t tensors_ = 1;
  std::uint64_t steps_ = 0;
  largest before_;
  largest now_;
  largest repeats_;
};

}  // namespace ulp

#endif
