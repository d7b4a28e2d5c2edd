// How two norms usually are to each other, at steps that have seen other data: the ratios that were seen, and how far a
// new one is from their median. What batches add to a norm is in the spread of these ratios and, as runs may begin with
// the same batches, in how far each norm goes from one pair to the next.
#ifndef ULP_MODEL_COMPARISON_USUAL_RATIO_HPP
#define ULP_MODEL_COMPARISON_USUAL_RATIO_HPP

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace ulp {

class usual_ratio {
 public:
  // With fewer nothing is usual.
  static constexpr std::size_t enough = 8;

  // Logarithms of positive norms.
  void see(double log_a, double log_b);
  [[nodiscard]] bool is_known() const noexcept { return ratios_.size() >= enough; }
  // A norm that is zero in one run alone has no ratio. So many, before any ratio is usual, are no chance.
  void see_zero_alone() noexcept { ++zeros_alone_; }
  [[nodiscard]] bool is_zero_alone() const noexcept { return zeros_alone_ >= enough; }
  // Of B over A. Precondition of what follows: something was seen.
  [[nodiscard]] double median() const noexcept;
  // What is explained: four times the farthest of them from it, or three times the farthest way of a norm.
  [[nodiscard]] double bound() const noexcept;

 private:
  std::vector<double> ratios_;  // ascending
  std::optional<std::pair<double, double>> last_;
  double farthest_way_ = 0;
  std::size_t zeros_alone_ = 0;
};

}  // namespace ulp

#endif
