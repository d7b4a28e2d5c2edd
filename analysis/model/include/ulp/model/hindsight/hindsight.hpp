// The best loss-scale trajectory in hindsight, and how far a policy is from it: its regret.
//
// The cost of a trajectory is in skipped steps, a sum over the steps of the run:
//   1                 where the step is lost: skipped, left undone after the policy raised an error, or applied with
//                     infinities or NaN;
//   min(1, w * p)     where it is applied, with p the share of the sum of |gradient| of the step that the format loses at
//                     the scale (magnitude_loss.hpp, over the counted tensors that the scale multiplies) and a weight w.
// Both are what the optimizer did not get: a skipped step loses all of its gradient, an applied one the share p. Therefore
// w is 1 unless it is given. A larger one says that small gradients matter more than their size; no step costs more than a
// skip, as it could be skipped. A step whose magnitudes are not known, as in logs, loses none of them. What unscaling by
// another scale than the loss was scaled with does to a step costs nothing.
//
// A trajectory is one global scale 2^k for each step. One of a class starts at a given scale and moves between two steps at
// most `up` binades up and `down` binades down; the free ones start and move as they like. The best of a class costs no
// more than any policy whose scales are a trajectory of the class, and their difference, the regret, is not negative: both
// sums are of the same doubles, in the order of the steps, and rounding to nearest keeps their order. Shares are rounded
// to float32.
//
// Open loop, as a replay is: gradients are those that were recorded. Where it is not decided whether a step overflows, an
// answer is chosen for all trajectories alike: `open_steps`.
//
// Found by dynamic programming over the scales that can matter, in time steps * scales * log(up + down) and memory
// sqrt(steps) * scales beside the costs: a million steps and 60 scales in less than a second.
#ifndef ULP_MODEL_HINDSIGHT_HINDSIGHT_HPP
#define ULP_MODEL_HINDSIGHT_HINDSIGHT_HPP

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <ulp/model/outcomes/magnitude_loss.hpp>
#include <ulp/model/outcomes/outcome.hpp>

namespace ulp {

// Which answers are taken where it is not decided whether a step overflows.
enum class open_steps : std::uint8_t {
  fine,      // none of these overflow
  estimate,  // as the replay estimates
  overflow   // all do
};

// A step overflows at the scales 2^k from these k on; never_overflows and always_overflows are two of the numbers.
inline constexpr int never_overflows = std::numeric_limits<std::int16_t>::max();
inline constexpr int always_overflows = std::numeric_limits<std::int16_t>::min();
struct overflow_exponents {
  int certain = never_overflows;
  int likely = never_overflows;  // the estimate, between the two
  int possible = never_overflows;
};

// The least k with 2^k >= scale: always_overflows for the smallest double or less, never_overflows for infinity.
[[nodiscard]] int overflow_exponent_of(double scale);

// What each step of a run costs at each power of two. About 200 bytes a step, 24 without magnitudes.
class run_costs {
 public:
  // The weight w, finite and not negative.
  explicit run_costs(double magnitude_weight = 1) : weight_(magnitude_weight) {}

  void add(const overflow_exponents& overflow, const magnitude_loss& loss);

  [[nodiscard]] std::size_t steps() const noexcept { return steps_; }
  [[nodiscard]] bool overflows(std::size_t step, int exponent, open_steps open) const;
  // Of a step that is applied: min(1, w * p).
  [[nodiscard]] double of_magnitude(std::size_t step, int exponent) const;
  // Of a step at the scale 2^exponent.
  [[nodiscard]] double at(std::size_t step, int exponent, open_steps open) const {
    return overflows(step, exponent, open) ? 1 : of_magnitude(step, exponent);
  }
  // The same at the scales 2^first, 2^(first + 1), ...
  void fill(std::size_t step, int first, open_steps open, std::vector<double>& costs) const;

  // Whether any step is not decided at some scale.
  [[nodiscard]] bool has_open_steps() const noexcept { return has_open_steps_; }

  // Below `falls_to` no step costs less, nor above `rises_from`: a trajectory that is clamped between them costs no more.
  // The first may be the greater: then all scales between the two cost every step its least.
  struct range {
    int falls_to = never_overflows;
    int rises_from = always_overflows;
  };
  [[nodiscard]] range range_that_matters(open_steps open) const;

 private:
  struct one_step {
    std::uint32_t first = 0;  // in its block's costs
    std::uint16_t count = 0;
    std::int16_t exponent = 0;  // of the first
    std::int16_t certain = 0;
    std::int16_t likely = 0;
    std::int16_t possible = 0;
    // Of the costs alone, as in `range`.
    std::int16_t falls_to = 0;
    std::int16_t rises_from = 0;
    [[nodiscard]] int overflows_from(open_steps open) const noexcept;
  };
  // Of 4096 steps, so that a long run grows without a copy of what it holds.
  struct block {
    std::vector<one_step> steps;
    std::vector<float> costs;
  };
  static constexpr std::size_t block_steps = 4096;
  [[nodiscard]] const block& block_of(std::size_t step) const { return blocks_[step / block_steps]; }

  double weight_;
  std::size_t steps_ = 0;
  std::vector<block> blocks_;
  bool has_open_steps_ = false;
};

// The most that a trajectory moves between two steps, in binades; not negative.
struct largest_moves {
  int up = 0;
  int down = 0;
  friend bool operator==(const largest_moves&, const largest_moves&) = default;
};
inline constexpr largest_moves any_moves{std::numeric_limits<std::int16_t>::max(),
                                         std::numeric_limits<std::int16_t>::max()};

struct best_trajectory {
  double cost = 0;
  std::uint64_t skipped = 0;
  double of_magnitude = 0;  // the part of the cost that is not skips
  int least = 0;            // scales, as exponents
  int greatest = 0;
  std::uint64_t moves = 0;              // steps whose scale is another than that of the step before
  std::vector<std::int16_t> exponents;  // of each step

  // The rest without the scale of each step.
  [[nodiscard]] best_trajectory summary() const;
};

// The cheapest trajectory from 2^start, or from anywhere. Of equal ones one that, seen from its end, which is at the lowest
// scale, stays where it can and else moves least, up before down.
[[nodiscard]] best_trajectory best_in_hindsight(const run_costs& costs, std::optional<int> start,
                                                const largest_moves& moves, open_steps open = open_steps::estimate);

// What a policy cost along a run, and the best trajectories it is compared with.
struct policy_regret {
  double cost = 0;
  double of_magnitude = 0;  // the part of the cost that is not lost steps
  int start = 0;            // its first scale, as an exponent
  largest_moves moves;      // the largest of its own, at least one binade
  bool decided = true;      // no step on its way is open
  value_range cost_bounds;  // whatever the open steps were; NaN where too much may have happened
  best_trajectory best;     // of those that start where it does and move as far
  best_trajectory free;     // of all
  // Costs of the best if open steps are fine, and if they overflow.
  value_range best_cost;
  value_range free_cost;

  [[nodiscard]] double regret() const noexcept { return cost - best.cost; }
  [[nodiscard]] double free_regret() const noexcept { return cost - free.cost; }
  // Whatever the open steps were, in the class that the estimate gives; not as narrow as can be where the policy's own way
  // depends on them, and NaN where too much may have happened.
  [[nodiscard]] value_range regret_bounds() const noexcept;
  [[nodiscard]] value_range free_regret_bounds() const noexcept;
};

}  // namespace ulp

#endif
