// What the steps of a run tell, one after the other, of how it was recorded.
#ifndef ULP_MODEL_REPLAY_RECORDED_RUN_HPP
#define ULP_MODEL_REPLAY_RECORDED_RUN_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <ulp/formats/format.hpp>
#include <ulp/model/cells/step.hpp>

namespace ulp {

// A gradient that is larger is no sum of float16 numbers: of 64 of the largest.
inline constexpr double most_of_sum = 0x1p22;

class recorded_run {
 public:
  // The next step; the tensors seen so far, more than before or as many.
  void see(const step& now, const std::vector<tensor_info>& tensors);

  // The format that a tensor was rounded to before it was recorded. nullptr: not known to have been rounded.
  [[nodiscard]] const format* rounded_to(std::size_t tensor) const { return of_[tensor] ? &*of_[tensor] : nullptr; }
  // That of all that were rounded; nullptr where none was, or to several.
  [[nodiscard]] const format* rounded_to() const { return several_ || !all_ ? nullptr : &*all_; }
  [[nodiscard]] bool has_several_formats() const noexcept { return several_; }
  // Whether the loss of the step was infinite or NaN. A recording has no NaN: it is one where every step whose gradients
  // were finite has a loss, and there were a few of them. Logs say NaN; what they leave out was not lost.
  [[nodiscard]] bool loss_is_lost() const noexcept { return loss_is_lost_; }

 private:
  std::vector<std::optional<format>> of_;
  std::optional<format> all_;
  bool several_ = false;
  std::uint64_t losses_ = 0;  // of steps whose gradients are finite
  bool lacks_loss_ = false;   // of such a step
  bool loss_is_lost_ = false;
};

}  // namespace ulp

#endif
