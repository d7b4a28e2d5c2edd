// The mean loss of the last steps of a training, by which trainings are compared.
#ifndef ULP_TRAIN_JUDGED_LOSS_HPP
#define ULP_TRAIN_JUDGED_LOSS_HPP

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

namespace ulp::train {

class judged_loss {
 public:
  judged_loss(std::int64_t steps, std::int64_t judged) : from_(steps - judged), judged_(judged) {}
  void see(std::int64_t step, double loss) {
    if (std::isfinite(loss))
      lost_from_.reset();
    else if (!lost_from_)
      lost_from_ = step;
    if (step >= from_) sum_ += std::isfinite(loss) ? loss : std::numeric_limits<double>::infinity();
  }
  // Infinite where one of them is not finite.
  [[nodiscard]] double mean() const { return sum_ / static_cast<double>(judged_); }
  // The step from which on none is finite.
  [[nodiscard]] const std::optional<std::int64_t>& lost_from() const { return lost_from_; }

 private:
  std::int64_t from_;
  std::int64_t judged_;
  double sum_ = 0;
  std::optional<std::int64_t> lost_from_;
};

}  // namespace ulp::train

#endif
