// The last amaxes of a tensor, and the largest of them without a walk through them all.
#ifndef ULP_MODEL_MACHINES_FP8_AMAX_HISTORY_HPP
#define ULP_MODEL_MACHINES_FP8_AMAX_HISTORY_HPP

#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>

namespace ulp::fp8 {

// Holds `length` amaxes, at first zeros. Each of them is looked at twice at most: what is not above a later one can never
// be the largest again.
class amax_history {
 public:
  explicit amax_history(std::int64_t length) : length_(length) {}

  // In place of the oldest.
  void push(float amax) {
    ++pushed_;
    if (!falling_.empty() && falling_.front().at <= pushed_ - length_) falling_.pop_front();
    if (std::isnan(amax)) {
      last_nan_ = pushed_;
      return;
    }
    while (!falling_.empty() && falling_.back().amax <= amax) falling_.pop_back();
    falling_.push_back({pushed_, amax});
  }

  // As fmaxf does: NaN is passed over.
  [[nodiscard]] float largest_number() const { return falling_.empty() ? 0 : falling_.front().amax; }
  // As torch.max and jnp.max do: NaN where any is.
  [[nodiscard]] float largest() const {
    const bool holds_nan = last_nan_ && *last_nan_ > pushed_ - length_;
    return holds_nan ? std::numeric_limits<float>::quiet_NaN() : largest_number();
  }

  template <typename With>
  void exchange(With& with) {
    std::int64_t last_nan = last_nan_.value_or(0);  // they are counted from 1
    std::size_t n = falling_.size();
    with(pushed_);
    with(last_nan);
    with.count(n);
    last_nan_ = last_nan > 0 ? std::optional(last_nan) : std::nullopt;
    falling_.resize(n);
    for (entry& e : falling_) {
      with(e.at);
      with(e.amax);
    }
  }

 private:
  struct entry {
    std::int64_t at;
    float amax;
  };
  std::int64_t length_;
  std::int64_t pushed_ = 0;
  std::optional<std::int64_t> last_nan_;
  std::deque<entry> falling_;  // the largest first, then the largest of what came after it
};

}  // namespace ulp::fp8

#endif
