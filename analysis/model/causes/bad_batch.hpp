// Single steps among healthy ones: what their data did.
#ifndef ULP_MODEL_CAUSES_BAD_BATCH_HPP
#define ULP_MODEL_CAUSES_BAD_BATCH_HPP

#include <cstddef>
#include <optional>
#include <vector>

#include <ulp/model/causes/diagnosis.hpp>

#include "divergence.hpp"
#include "places.hpp"

namespace ulp {

// Whether what was lost would have fitted the scale by far by what the steps around it hold, or has a finite loss far above
// theirs.
[[nodiscard]] bool is_batch(const std::vector<step_survey>& steps, const lost_place& place);
// What the distances of such steps are all whole numbers of, counted in the steps of the input, most of them one: in numbers of
// steps. 0 where they are fewer than four, or as good as next to each other.
[[nodiscard]] std::int64_t period_of(const std::vector<std::int64_t>& batches, const std::vector<step_survey>& steps);
struct found_batches {
  bad_batch what;
  std::size_t last = 0;  // index of the last one
};
// Steps before the index `end` whose gradients are finite and far larger than those of the steps around them.
[[nodiscard]] found_batches outliers_of(const std::vector<step_survey>& steps, std::size_t end);
// The largest of the last five steps before the loss was lost - at the index `lost_from`, to the end - where it was applied, stands as far
// above those before these, and the run had survived none of its size.
struct last_outlier {
  std::size_t at = 0;        // its index
  double times = not_known;  // the middle one of those before
  bool is_alone = false;     // the others of the five are as usual
};
[[nodiscard]] std::optional<last_outlier> outlier_before(const std::vector<step_survey>& steps, std::size_t lost_from);
// The step that a divergence consists of, or that came just before it, where the learning rate had no part in it: what it
// updated never came back.
[[nodiscard]] std::optional<found_batches> ruinous_batch_of(const std::vector<step_survey>& steps,
                                                            const found_divergence& found, std::size_t end);

}  // namespace ulp

#endif
