// Where the gradients of a run are not finite.
#ifndef ULP_MODEL_CAUSES_PLACES_HPP
#define ULP_MODEL_CAUSES_PLACES_HPP

#include <cstddef>
#include <optional>
#include <vector>

#include <ulp/model/causes/diagnosis.hpp>

namespace ulp {

// As recorded, or as the log says.
[[nodiscard]] bool is_lost(const step_survey& s);

// Whether the loss is not finite, or stands as 0 where gradients of a log are not: what programs write for it.
[[nodiscard]] bool has_lost_loss(const step_survey& s);

// Whether the norm that is logged beside such a loss is finite, and nothing else tells of an overflow: they contradict each other.
[[nodiscard]] bool has_finite_norm(const step_survey& s);

// Whether the input tells that, or the opposite, of the step; whether it tells anything of it, be it a finite loss.
[[nodiscard]] bool tells_of_overflow(const step_survey& s);
[[nodiscard]] bool tells(const step_survey& s);
// What the loss was scaled with, as logged, or as a bound on the gradient has it.
[[nodiscard]] double scale_of(const step_survey& s);

// Successive steps that are lost, by their indices.
struct lost_place {
  std::size_t first = 0;
  std::size_t last = 0;
  std::size_t losses = 0;  // of these steps whose loss is infinite or NaN
  bool has_infinities = false;
  bool has_values = false;  // whether tensors were recorded

  [[nodiscard]] std::size_t length() const noexcept { return last - first + 1; }
};

[[nodiscard]] std::vector<lost_place> lost_places_of(const std::vector<step_survey>& steps);

// The end of a run that does not come back: lost steps with at most as many finite ones between them.
struct lost_end {
  std::size_t first = 0;
  std::size_t lost = 0;
  std::size_t losses = 0;
  bool has_infinities = false;
};

// nullopt where the run goes on, or might: a few overflows at its end are a scaler at work.
[[nodiscard]] std::optional<lost_end> lost_end_of(const std::vector<step_survey>& steps,
                                                  const std::vector<lost_place>& places);

}  // namespace ulp

#endif
