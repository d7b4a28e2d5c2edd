// The questions that advice answers, one function each, and what they share.
#ifndef ULP_REPORT_FINDINGS_FINDINGS_HPP
#define ULP_REPORT_FINDINGS_FINDINGS_HPP

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <ulp/model/replay/trajectory_watch.hpp>
#include <ulp/report/findings/advice.hpp>
#include <vector>

#include "loss.hpp"

namespace ulp {

[[nodiscard]] std::string percent(double share);
// "2^15"
[[nodiscard]] std::string power(int k);
[[nodiscard]] std::string steps_text(std::uint64_t n);
// "step 5", "steps 5 to 27"
[[nodiscard]] std::string places_text(std::int64_t first, std::int64_t last);
// " 2 bad batches are not counted here."; nothing where there are none.
[[nodiscard]] std::string left_out_text(const advice_options& o);
// "1 zero was", "3 zeros were"
[[nodiscard]] std::string were(std::uint64_t n, std::string_view noun);
// "1.2 %", "[1.1, 1.3] %"
[[nodiscard]] std::string range_text(const value_range& share);

[[nodiscard]] table_value integer(const std::optional<int>& n);

inline constexpr value_range unknown_share{not_known, not_known};

// "very sure: x" as "not sure, since y: x".
[[nodiscard]] std::string hedged(std::string_view sure, const std::string& since);

// From which scales on steps overflow, as far as their gradients are known.
struct window {
  // Of each step the largest scale at which it cannot overflow, and the largest at which it need not; ascending, infinite
  // where there is no such limit.
  std::vector<double> safe;
  std::vector<double> open;
  // Of the steps that are finite as recorded the largest safe scale, by estimate where it is open; ascending.
  std::vector<double> finite;
  // The same where parts of a sum are taken to be no larger than the sum.
  std::vector<double> likely;

  [[nodiscard]] std::uint64_t overflowing(double scale) const;
  // Steps of which it is not known.
  [[nodiscard]] std::uint64_t undecided(double scale) const;
  // The largest power of two that no finite step overflows at; nullopt where every scale is safe.
  [[nodiscard]] std::optional<int> largest_safe() const;
  [[nodiscard]] std::optional<int> largest_likely_safe() const;
  // The few steps, one in a hundred at most, whose gradients are so much larger than all others that they alone hold that scale
  // down by three binades and more.
  struct outliers {
    std::uint64_t steps = 0;
    std::uint64_t of = 0;
    int without = 0;  // log2 of the largest safe scale of the others
  };
  [[nodiscard]] std::optional<outliers> held_down_by() const;
  // The largest that is likely safe in all steps but these.
  [[nodiscard]] std::optional<int> largest_usual_safe() const;
};
[[nodiscard]] window window_of(std::span<const step_survey> steps, const treatment& how);

// The same, step by step.
class window_maker {
 public:
  explicit window_maker(const treatment& how) : how_(how) {}
  void add(const step_survey& s);
  [[nodiscard]] window result();

 private:
  treatment how_;
  window made_;
};
// "3 steps", "3 steps (22 not decided)"
[[nodiscard]] std::string overflow_text(const window& w, double scale);

// A tensor that loses this share of its magnitude does not learn what its gradients say.
inline constexpr double much_of_a_tensor = 0.1;
// Skips more often than one step in so many are worth a look.
inline constexpr std::uint64_t steps_for_a_skip = 50;
[[nodiscard]] constexpr bool skips_often(std::uint64_t skipped, std::uint64_t steps) {
  return skipped > 2 && steps_for_a_skip * skipped > steps;
}
// Fewer steps carry no answer about growth intervals and quantiles.
inline constexpr std::size_t steps_for_rates = 30;

// What people call tensors of each kind.
struct kind_line {
  tensor_kind kind;
  std::string_view noun;
};
inline constexpr std::array kind_lines{kind_line{tensor_kind::activation, "activations"},
                                       kind_line{tensor_kind::weight, "weights"},
                                       kind_line{tensor_kind::activation_grad, "activation gradients"},
                                       kind_line{tensor_kind::weight_grad, "weight gradients"},
                                       kind_line{tensor_kind::update, "updates"},
                                       kind_line{tensor_kind::unknown, "tensors of unknown kind"}};

// The trial of the scaler that does best, in words: "init_scale=2^16 growth_interval=50: 1 step skipped, ...".
struct best_trial {
  double init_scale = 0;
  double growth_interval = 0;
  std::string text;
  bool is_decided = true;  // the recording tells which steps it skips
};

// What a training log says of overflow without any gradient: where, and how large gradients were; nullopt where it
// says nothing but which steps overflowed.
[[nodiscard]] std::optional<finding> what_log_shows(const survey& run);
// Shares are of `run`, which may be without bad batches; `steps` are all that are judged.
[[nodiscard]] finding which_format(const survey& run, std::span<const step_survey> steps,
                                   const std::vector<named_kind>& kinds, const advice_options& o);
// `single`: the tensors that matter.
[[nodiscard]] finding which_scale(const survey& run, const std::vector<named_kind>& kinds,
                                  const std::vector<tensor_set>& single, const window& w, const advice_options& o,
                                  bool has_values);
[[nodiscard]] finding which_policy(const survey& run, const std::vector<tensor_info>& tensors,
                                   const std::vector<scenario>& scenarios, const std::vector<sweep_result>& results,
                                   std::optional<best_trial>& best_of);
// Of formats with a scale for each tensor: which format, how long a history, and what no such scale holds. None where the
// trials are empty.
[[nodiscard]] std::vector<finding> which_tensor_scales(const fp8_trials& trials,
                                                       const std::vector<tensor_info>& tensors);
// What these amount to in a line, and how a recipe says it, in the words of `framework` where it has its own; nullopt where the
// trials are empty.
struct fp8_choice_told {
  std::string change;
  std::vector<std::string> lines;
};
[[nodiscard]] std::optional<fp8_choice_told> tell_recipe(const fp8_trials& trials,
                                                         const std::vector<tensor_info>& tensors,
                                                         std::string_view framework);

// Of formats of blocks: whether they would have held, in which elements and by which scale rule, and whether their noise drowns the
// gradients.
[[nodiscard]] std::vector<finding> which_blocks(const block_advice& blocks);
// As tell_recipe; nullopt where nothing was tried.
[[nodiscard]] std::optional<fp8_choice_told> tell_block_recipe(const block_advice& blocks, std::string_view framework);

// nullopt where every recorded tensor is finite throughout.
[[nodiscard]] std::optional<finding> which_overflow_first(const survey& run, const std::vector<tensor_info>& tensors,
                                                          const advice_options& o);
[[nodiscard]] finding which_clipping(const survey& run, const advice_options& o);
[[nodiscard]] finding what_scaling_cannot_help(const survey& run, const std::vector<tensor_info>& tensors,
                                               const window& w, const advice_options& o);

// Single tensors, or groups of them.
struct compared_sets {
  std::vector<tensor_set> sets;
  std::string_view noun;
};
// Single tensors but gradients of activations and those that are tiny beside the others.
[[nodiscard]] std::vector<tensor_set> sets_that_matter(const survey& run, const std::vector<tensor_info>& tensors);
[[nodiscard]] finding which_lose_most(const survey& run, const compared_sets& of, int scale_log2,
                                      const advice_options& o);
[[nodiscard]] finding which_need_own_scale(const survey& run, const compared_sets& of, const window& w,
                                           const advice_options& o);

}  // namespace ulp

#endif
