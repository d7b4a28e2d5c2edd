// Whether a run diverged before its gradients were lost, or without that.
#ifndef ULP_MODEL_CAUSES_DIVERGENCE_HPP
#define ULP_MODEL_CAUSES_DIVERGENCE_HPP

#include <cstddef>
#include <optional>
#include <vector>

#include <ulp/model/causes/diagnosis.hpp>

namespace ulp {

// The size of a step's gradients, of the kind that most steps have; NaN where it has none.
[[nodiscard]] gradient_size size_kept(const std::vector<step_survey>& steps);
[[nodiscard]] double size_of(const step_survey& s, gradient_size of);

// The largest rise of the learning rate, doubling it at least, in the steps [from, to].
[[nodiscard]] std::optional<rate_jump> largest_jump(const std::vector<step_survey>& steps, std::size_t from,
                                                    std::size_t to);

// Looks at the steps before `end`, where the run was lost, or at all. `onset` is the index of the first step that belongs
// to it.
struct found_divergence {
  divergence what;
  std::size_t onset = 0;
  double level = not_known;  // of the gradients before it
  std::size_t grown_at = 0;  // the index of the step where they are largest
};
[[nodiscard]] std::optional<found_divergence> divergence_of(const std::vector<step_survey>& steps, std::size_t end);
// Whether the losses after the onset are all above those before it, half of them 1.5 times.
[[nodiscard]] bool stays_above_all_before(const std::vector<step_survey>& steps, std::size_t onset, std::size_t end);
// Gradients that grow a hundredfold over several steps, whatever comes then: a divergence where something else tells that
// the training was thrown back.
[[nodiscard]] std::optional<found_divergence> peak_of(const std::vector<step_survey>& steps, std::size_t end);
// The loss rises, and does not come back, or never falls below where it began.
[[nodiscard]] std::optional<loss_rise> lasting_rise_of(const std::vector<step_survey>& steps);

}  // namespace ulp

#endif
