// Updates that are lost where weights are kept in a narrow format without a float32 master copy.
//
// The weight w, rounded to the format, is w'. An update d, finite and not zero, is lost if w' + d, the exact sum rounded once,
// is w' again. Under stochastic rounding it is lost with the probability that a draw gives w' back; w' is then the
// number of the format nearest to w. With as many random bits as the sum has that is 1 - |d| / s, s the distance from w' to
// its neighbour on the side of d. With N bits there are updates that no draw moves: docs/numerics.md, "Lost updates".
#ifndef ULP_MODEL_UPDATES_LOST_UPDATE_HPP
#define ULP_MODEL_UPDATES_LOST_UPDATE_HPP

#include <cstdint>
#include <limits>
#include <span>

#include <ulp/formats/treatment.hpp>
#include <ulp/model/outcomes/outcome.hpp>

namespace ulp {

// Of pairs of a weight and its update. Every range is exact where elements were rounded one by one.
struct lost_updates {
  std::uint64_t numel = 0;
  std::uint64_t zero_updates = 0;
  std::uint64_t zeros_at_one = 0;  // of these at most so many are of weights with |w'| = 1
  std::uint64_t nonfinite = 0;     // the weight or the update is infinite or NaN as recorded
  count_range overflowing;         // of the others with an update: the weight has no finite w'
  count_range updates;             // what is left: finite and not zero, on a finite w'
  count_range lost;                // of these; under stochastic rounding those that no draw moves
  value_range expected_lost;       // the mean over all draws; `lost` itself in other directions
  count_range at_one;              // of the updates: |w'| is exactly 1, where norm weights begin
  count_range lost_at_one;         // as `lost`
  std::uint64_t open_zeros = 0;    // see open_zero_updates
  // The largest distance between the numbers of the format at a w', as a power of two; none without updates.
  static constexpr int no_spacing = std::numeric_limits<int>::min();
  int largest_spacing = no_spacing;

  lost_updates& operator+=(const lost_updates& other) noexcept;
  // The updates are differences of weights that had been rounded to few bits: one that was lost is zero among them. So each
  // zero may be one, and the ranges reach so far.
  void open_zero_updates() noexcept;
  // Of the updates; NaN where there are none.
  [[nodiscard]] value_range lost_share() const noexcept;
  [[nodiscard]] value_range expected_share() const noexcept;
};

// Whether lost_updates can be counted with this rounding: stochastic rounding not with flushing or DAZ, nor in formats
// without subnormals.
[[nodiscard]] bool counts_lost_updates(const treatment& how) noexcept;

// Element by element, by the codec. As many weights as updates, else std::invalid_argument, as where it cannot be counted.
[[nodiscard]] lost_updates count_lost_updates(std::span<const double> weights, std::span<const double> updates,
                                              const treatment& how);

// How many weights the format does not hold as they are: what a checkpoint loses that keeps them in it. NaNs are not counted.
[[nodiscard]] std::uint64_t count_changed(std::span<const double> weights, const treatment& how) noexcept;

// The largest distance from its optimum at which a weight of that spacing stands still under gradient descent with the
// learning rate and the curvature L, both above zero: |lr L (w - w*)| <= spacing / 2, so spacing / (2 lr L).
[[nodiscard]] double stall_radius(int spacing, double learning_rate, double curvature) noexcept;

}  // namespace ulp

#endif
