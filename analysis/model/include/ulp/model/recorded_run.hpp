// What the steps of a run tell, one after the other, of how it was recorded.
#ifndef ULP_MODEL_RECORDED_RUN_HPP
#define ULP_MODEL_RECORDED_RUN_HPP

#include <cstddef>
#include <optional>
#include <vector>

#include <ulp/formats/format.hpp>
#include <ulp/model/step.hpp>

namespace ulp {

class recorded_run {
 public:
  // The next step; the tensors seen so far, more than before or as many.
  void see(const step& now, const std::vector<tensor_info>& tensors);

  // The format that a tensor was rounded to before it was recorded. nullptr: not known to have been rounded.
  [[nodiscard]] const format* rounded_to(std::size_t tensor) const { return of_[tensor] ? &*of_[tensor] : nullptr; }
  // That of all that were rounded; nullptr where none was, or to several.
  [[nodiscard]] const format* rounded_to() const { return several_ || !all_ ? nullptr : &*all_; }
  // Whether the loss of the step was infinite or NaN. A recording has no NaN: it is one where every other loss is there.
  [[nodiscard]] bool loss_is_lost() const noexcept { return loss_is_lost_; }

 private:
  std::vector<std::optional<format>> of_;
  std::optional<format> all_;
  bool several_ = false;
  bool has_loss_ = false;
  bool lacks_loss_ = false;  // of a step whose gradients are finite
  bool loss_is_lost_ = false;
};

}  // namespace ulp

#endif
