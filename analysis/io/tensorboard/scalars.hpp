// Which scalars of TensorBoard tell the loss, the learning rate, the loss scale, the gradient norm.
#ifndef ULP_IO_TENSORBOARD_SCALARS_HPP
#define ULP_IO_TENSORBOARD_SCALARS_HPP

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/model/cells/step.hpp>

namespace ulp::io {

// The field that a tag fills, by the last part of its path without regard to case, blanks and dashes being underscores;
// nullptr for any other tag.
[[nodiscard]] double step_scalars::*scalar_field(std::string_view tag);

// Scalars by step. Of several tags for one field the first that comes counts. A norm below 0 is none: it says that no norm was
// computed, or that it was not finite, and which of the two a tag does not tell.
class tf_scalars {
 public:
  void add(const std::string& tag, std::int64_t step, double value);
  // Those of this step and later ones are void.
  void forget_from(std::int64_t step);
  [[nodiscard]] const step_scalars* at(std::int64_t step) const;
  [[nodiscard]] const std::map<std::int64_t, step_scalars>& all() const noexcept { return by_step_; }
  // The tags that were left out.
  [[nodiscard]] const std::vector<std::string>& ignored() const noexcept { return ignored_; }
  // Of how many steps the norm was below 0.
  [[nodiscard]] std::uint64_t negative_norms() const noexcept { return negative_norms_; }

 private:
  std::map<std::int64_t, step_scalars> by_step_;
  std::map<std::string, double step_scalars::*> fields_;  // by tag; nullptr for those that are left out
  std::vector<double step_scalars::*> taken_;
  std::vector<std::string> ignored_;
  std::uint64_t negative_norms_ = 0;
};

}  // namespace ulp::io

#endif
