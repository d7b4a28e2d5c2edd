// The first three lines, and the causes as findings.
#ifndef ULP_REPORT_FINDINGS_SUMMARY_HPP
#define ULP_REPORT_FINDINGS_SUMMARY_HPP

#include <optional>
#include <vector>

#include "findings.hpp"
#include "told.hpp"

namespace ulp {

class summary_of {
 public:
  // `judged` are the steps of `whole` before the run's death, and `w` is theirs. `weights`: worst first.
  summary_of(const survey& whole, const survey& judged, const std::vector<tensor_info>& tensors,
             const advice_options& options, const diagnosis& found, const window& w,
             const std::vector<weights_told>& weights);

  [[nodiscard]] const std::vector<finding>& causes() const noexcept { return causes_; }
  // Other than what the scaler handled.
  [[nodiscard]] bool has_cause() const noexcept { return first_.has_value(); }
  // `recipe`: of formats with a scale for each tensor.
  [[nodiscard]] advice_summary summary(const std::optional<best_trial>& best,
                                       const std::optional<fp8_choice_told>& recipe) const;

 private:
  [[nodiscard]] advice_summary without_cause(const std::optional<best_trial>& best,
                                             const std::optional<fp8_choice_told>& recipe) const;
  [[nodiscard]] std::optional<advice_summary> not_judged() const;
  void say_what_overflowed(advice_summary& s, bool has_values) const;
  void say_the_loss_rose(advice_summary& s) const;
  void say_what_stands_out(advice_summary& s) const;
  void say_what_stands_still(advice_summary& s) const;
  void say_what_follows_the_scale(advice_summary& s) const;
  [[nodiscard]] bool say_what_underflows(advice_summary& s) const;
  void say_what_would_underflow(advice_summary& s, bool has_scale_of_run) const;
  void say_it_is_short(advice_summary& s, bool has_values) const;
  void recommend(advice_summary& s, const best_trial& best) const;
  void recommend_no_scale(advice_summary& s) const;
  void take_weights(advice_summary& s) const;
  void say_what_was_not_read(advice_summary& s) const;
  void say_the_doubts(advice_summary& s) const;
  void say_how_it_ended(advice_summary& s) const;

  const survey& judged_;
  const std::vector<tensor_info>& tensors_;
  const advice_options& options_;
  const window& window_;
  std::uint64_t all_steps_;
  std::uint64_t told_steps_;
  std::optional<loss_rise> rise_;
  std::optional<excerpt> excerpt_;
  telling about_;
  std::vector<finding> causes_;
  std::optional<told> first_;
  std::string first_name_;
  std::optional<weights_told> weights_;         // the first that are not well
  std::string open_of_weights_;                 // how sure it is that they are well, where that is not certain
  std::string not_of_this_run_;                 // why the configuration is not
  std::string handled_;                         // what the scaler handled, in words
  std::uint64_t skipped_ = 0;                   // of that,
  std::uint64_t may_end_ = 0, may_end_of_ = 0;  // as gradient_overflow has them
  double fell_from_ = not_known, fell_to_ = not_known;
  bool stayed_there_ = false;
  std::uint64_t skipped_of_ = told_steps_;  // and of how many steps: of all where it is not told which they were
};

}  // namespace ulp

#endif
