// Steps of two runs that have the same loss: for runs that advance at different speeds.
//
// The level of a run at a step is the least loss so far, of losses that were smoothed by a median: it never rises. A
// record is a step in which it falls. A record of A and one of B are a pair where each is the nearest of its run to the
// other, the earlier of two that are as near, and they are within `equal_losses` of each other. So no step is in two
// pairs, pairs ascend in both runs, and A and B may change places.
#ifndef ULP_MODEL_COMPARISON_LOSS_ALIGNMENT_HPP
#define ULP_MODEL_COMPARISON_LOSS_ALIGNMENT_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ulp {

// Relative to the larger magnitude.
inline constexpr double equal_losses = 0.01;
inline constexpr std::size_t usual_loss_window = 9;

struct step_loss {
  std::int64_t step = 0;
  double loss = 0;
  friend bool operator==(const step_loss&, const step_loss&) = default;
};

struct loss_pair {
  std::int64_t a = 0;  // steps
  std::int64_t b = 0;
  double level_a = 0;
  double level_b = 0;
  friend bool operator==(const loss_pair&, const loss_pair&) = default;
};

// The records, the first loss included: their steps ascend, their levels fall. Of `losses` of ascending steps those
// that are not finite are left out; the median is over `window` of the others, as many before as after, so that a loss
// that falls steadily stays what it is; near the ends over fewer. Precondition: window is odd.
[[nodiscard]] std::vector<step_loss> loss_records(const std::vector<step_loss>& losses, std::size_t window);

// A loss that ends well above the least that it was, which is the end of the records.
struct lasting_rise {
  std::int64_t from = 0;  // the first step from which on all smoothed losses are above
  double least = 0;       // smoothed
  double last = 0;        // the median of the last `window` losses
};

// Above is by a quarter of what it had fallen, by a fifth of the least, and for `window` losses at least. Of losses as above.
[[nodiscard]] std::optional<lasting_rise> rise_for_good(const std::vector<step_loss>& losses, std::size_t window);

[[nodiscard]] std::vector<loss_pair> pair_by_loss(const std::vector<step_loss>& records_a,
                                                  const std::vector<step_loss>& records_b);

}  // namespace ulp

#endif
