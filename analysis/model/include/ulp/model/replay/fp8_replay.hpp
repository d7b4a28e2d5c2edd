// A recorded run under policies that scale each tensor: open loop, step by step.
//
// In each step a tensor's amax is the largest magnitude that was recorded, divided by its factor (what training multiplied
// gradients by is not there under FP8); where the factor is not known, the values count as recorded. An infinity makes it
// infinite; a NaN makes it NaN, or is passed over by policies that do so. Values are multiplied by the scale in float32,
// then rounded to the format. Counts are exact at scales that are powers of two and of rows that keep all codes; at other
// scales a cell that a threshold cuts makes a range: docs/numerics.md.
#ifndef ULP_MODEL_REPLAY_FP8_REPLAY_HPP
#define ULP_MODEL_REPLAY_FP8_REPLAY_HPP

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include <ulp/model/cells/step.hpp>
#include <ulp/model/outcomes/noise.hpp>
#include <ulp/model/outcomes/outcome.hpp>
#include <ulp/model/recipe/fp8_recipe.hpp>
#include <ulp/model/replay/scenario.hpp>

namespace ulp {

// A step of one tensor.
struct fp8_row {
  step_key key;
  std::uint32_t tensor = 0;  // index into the source's tensors
  double amax = 0;           // float32
  fp8_scales scales;         // as the policy has them
  // What values were multiplied by, and what would take amax to the largest number; the inverse of a scale that divides.
  // `ideal` is NaN where amax is 0 or not finite.
  double multiplied_by = 0;
  double ideal = not_known;
  bool saturates = false;   // a finite value is above what rounds to the largest number
  bool has_counts = false;  // values are known, not amax alone; then
  outcome_counts counts;    // where the scale is NaN, and all values with it, only numel, zero and nonfinite
  rounding_noise noise;
  bool as_recorded = false;              // the factor is not known
  bool is_live = false;                  // of an 8-bit run; then, where it is known,
  std::optional<float> live_scale = {};  // what the run itself had after the step

  // log2 of multiplied_by / ideal: above 0 values saturate, below 0 range is left unused; NaN where there is no ideal.
  [[nodiscard]] double binades_off() const noexcept;
  // The scale is off by more than a binade.
  [[nodiscard]] bool is_stale() const noexcept;
};

// All steps of one tensor.
struct fp8_tensor_summary {
  std::uint64_t steps = 0;
  std::uint64_t saturating = 0;  // steps in which a finite value saturates
  std::optional<std::int64_t> first_saturating;
  std::uint64_t stale = 0;
  std::optional<std::int64_t> first_stale;
  double most_binades_above = 0;  // of binades_off(), over the steps
  double most_binades_below = 0;
  std::uint64_t infinite = 0;  // steps whose amax was infinite
  std::uint64_t nan = 0;       // likewise NaN
  std::optional<std::int64_t> first_not_finite;
  std::uint64_t held = 0;            // steps in which the scale was kept because of one of these
  std::uint64_t longest_held = 0;    // of these, one after the other
  std::uint64_t holding = 0;         // likewise, up to the last step
  count_range not_finite_underflow;  // of `counts`, in the steps whose amax was infinite or NaN
  double first_scale = not_known;
  double last_scale = not_known;
  outcome_counts counts;
  rounding_noise noise;
  bool as_recorded = false;

  void add(const fp8_row& row);
  fp8_tensor_summary& operator+=(const fp8_tensor_summary& other);  // of another tensor; scales are of neither then
};

// Whether a tensor is cast, and why not.
enum class fp8_choice : std::uint8_t {
  cast,
  kept_out,     // by name
  vector,       // biases, norms: fewer than two dimensions
  output,       // a weight gradient or an update: what a product gives stays in more bits
  in_place_of,  // a weight gradient, cast all the same: the input has no other gradients
};
// `has_activation_grads`: the input has gradients that are cast.
[[nodiscard]] fp8_choice choice_of(const tensor_info& t, const fp8_recipe& recipe, bool has_activation_grads);
// Whether products of linear layers read it, or it stands in for what they read.
[[nodiscard]] bool is_read_by_products(const tensor_info& t, bool has_activation_grads);

// Whether rounding errors are summed, which takes most of the time.
enum class with_noise : std::uint8_t { no, yes };

class fp8_replayer {
 public:
  // Of what `counted` takes.
  fp8_replayer(fp8_recipe recipe, selection counted, with_noise noise = with_noise::yes)
      : recipe_(std::move(recipe)), counted_(std::move(counted)), noise_(noise) {}

  // The rows of the next step, of the tensors that are cast. Steps are those that the selection takes, in ascending order.
  // Throws std::invalid_argument where the input does not know a tensor's largest magnitude.
  [[nodiscard]] std::vector<fp8_row> advance(const step& now, const std::vector<tensor_info>& tensors);
  // Likewise of one tensor in one step, of which only amax is known; nullopt where it is not cast.
  [[nodiscard]] std::optional<fp8_row> advance(const step_key& key, std::uint32_t tensor, double amax,
                                               const std::vector<tensor_info>& tensors);

  // By tensor, of those that were cast.
  [[nodiscard]] const std::map<std::uint32_t, fp8_tensor_summary>& summaries() const noexcept { return summaries_; }
  [[nodiscard]] const fp8_recipe& recipe() const noexcept { return recipe_; }
  // Tensors that were left out, by reason, and those that stand in for others: for as long as no gradient of an
  // activation has come.
  [[nodiscard]] const std::map<std::uint32_t, fp8_choice>& choices() const noexcept { return choices_; }

 private:
  struct machine {
    fp8_scaler of;
    treatment how;

    // `largest`: of the finite values.
    [[nodiscard]] fp8_row advance(const step_key& key, std::uint32_t tensor, double amax, double largest);
  };
  [[nodiscard]] machine* machine_of(std::uint32_t index, const std::vector<tensor_info>& tensors);
  void see(const std::vector<tensor_info>& tensors);

  fp8_recipe recipe_;
  selection counted_;
  with_noise noise_;
  std::size_t seen_ = 0;
  bool has_activation_grads_ = false;
  std::map<std::uint32_t, fp8_choice> choices_;
  std::map<std::uint32_t, machine> machines_;
  std::map<std::uint32_t, fp8_tensor_summary> summaries_;
};

}  // namespace ulp

#endif
