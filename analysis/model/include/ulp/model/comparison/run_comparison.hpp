// Two runs step by step: where they part by more than rounding, another order of sums or, with repeats, another seed
// explains. What is compared of a tensor is in row_change.hpp, what a change is held against in drift_bounds.hpp.
// Steps of equal loss (loss_alignment.hpp) have seen other data, and their gradients agree in nothing but their size:
// of those norms are compared, by their ratio, B's over A's, and with what it usually is; see usual_ratio.hpp.
#ifndef ULP_MODEL_COMPARISON_RUN_COMPARISON_HPP
#define ULP_MODEL_COMPARISON_RUN_COMPARISON_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <ulp/model/cells/step.hpp>
#include <ulp/model/comparison/drift_bounds.hpp>
#include <ulp/model/comparison/row_change.hpp>
#include <ulp/model/comparison/usual_ratio.hpp>

namespace ulp {

// A tensor that both runs have, at one step.
struct paired_row {
  std::size_t tensor = 0;         // what add_tensor returned
  const tensor_row* a = nullptr;  // null where the step lacks it, as is the next
  const tensor_row* b = nullptr;
  std::vector<const tensor_row*> repeats;  // of A; likewise
};

// Which steps of two runs are compared.
enum class run_alignment : std::uint8_t { step, loss };

struct paired_step {
  step_key key;  // A's
  const step_scalars* a = nullptr;
  const step_scalars* b = nullptr;
  std::vector<const step_scalars*> repeats;  // null where one has no such step
  std::vector<paired_row> rows;              // in the order of A's tensors, which is that of the network
};

// The parts of a step, in the order in which they come to be.
enum class step_part : std::uint8_t {
  learning_rate,
  loss_scale,
  weight,
  activation,
  loss,
  activation_grad,
  weight_grad,
  grad_norm,
  overflow,  // one run found infinities or NaN, or skipped the update, and the other did not
  update,
  other  // a tensor of unknown kind
};

// A part that differs by more than its bound.
struct part_change {
  step_part part = step_part::other;
  std::optional<std::size_t> tensor;
  double change = 0;  // relative to the larger of the two, of tensors at least; infinite where one alone is not finite
  drift_bound bound;
  double a = not_known;  // the two values; norms of tensors
  double b = not_known;
  double usual_ratio = not_known;  // of b over a, where the change is how far the logarithm of theirs is from its own
  bool is_narrower =
      false;  // by how few bits the values of one run need: there the tensor is kept in a narrower format

  [[nodiscard]] double excess() const noexcept {
    return is_narrower || !(bound.value > 0) ? std::numeric_limits<double>::infinity() : change / bound.value;
  }
};

// A step in which something differs, and all that does: first what comes to be first, of tensors of one kind first the
// largest over its bound.
struct parted_step {
  std::int64_t step = 0;
  std::vector<part_change> parts;
  std::size_t compared = 0;    // tensors of the step that are no weights
  std::size_t over = 0;        // of them
  bool is_first = false;       // no step before it was compared
  std::optional<double> loss;  // how far the losses are apart, where both are known
  bool loss_agrees = false;
  std::optional<double> factor;  // tensors of B are those of A times this

  // Nearly all that was compared.
  [[nodiscard]] bool is_everywhere() const noexcept { return compared > 2 && over * 5 >= compared * 4; }
};

// From a step on nothing is judged any more.
struct end_of_judgement {
  enum class reason : std::uint8_t {
    drifted,        // rounding may have brought the runs as far apart as two runs can be
    near_overflow,  // one run alone skipped it, and the other came as near to an overflow as rounding may move it
    other_scale     // one run alone skipped it, and has another loss scale or the only one
  };
  std::int64_t step = 0;
  reason why = reason::drifted;
};

// A step whose gradients are over their bounds as a kink explains: the losses agree, the changes are small, and it is
// the first tensors of the network that change, not the last.
struct kink {
  std::int64_t step = 0;
  double largest = 0;  // change
};

struct compared_scalar {
  std::uint64_t steps = 0;  // where both have it
  std::uint64_t only_a = 0;
  std::uint64_t only_b = 0;
  std::uint64_t same = 0;
  std::optional<std::int64_t> first_different;  // by anything
  double largest = 0;                           // change
  double last_a = not_known;
  double last_b = not_known;
  bool repeats_differ = false;  // from A: then it is nothing that was chosen
};

struct compared_tensor {
  std::string name;  // A's
  std::string name_b;
  tensor_kind kind = tensor_kind::unknown;
  std::uint64_t steps = 0;  // where both have it
  std::uint64_t only_a = 0;
  std::uint64_t only_b = 0;
  std::uint64_t same = 0;        // in all that is compared
  std::uint64_t not_finite = 0;  // in either run: not compared
  bool estimated = false;        // the norms of some step
  std::optional<std::int64_t> first_different;
  std::optional<std::int64_t> first_over;  // its bound, whatever came before
  double largest = 0;                      // change
  std::int64_t largest_at = 0;
  double log2_ratio = 0;  // of the norms, B's over A's: the mean over steps in which both are finite and not zero
  std::uint64_t ratios = 0;
  std::uint64_t values = 0;
  std::uint64_t zeros_a = 0;
  std::uint64_t zeros_b = 0;
  significand_bits bits_a;  // at the first step
  significand_bits bits_b;
};

struct run_differences {
  std::uint64_t steps = 0;
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  compared_scalar loss;
  compared_scalar grad_norm;
  std::uint64_t norm_ratios = 0;  // by loss: steps in which both have that, finite and not zero
  compared_scalar learning_rate;
  compared_scalar loss_scale;
  std::uint64_t skips_known = 0;  // steps of which both say whether they were applied, or whether they overflowed
  std::uint64_t skipped_a = 0;    // of these
  std::uint64_t skipped_b = 0;
  std::vector<compared_tensor> tensors;

  std::optional<parted_step> first;
  std::optional<parted_step> first_tensors;  // the first with a tensor or a loss in it; often the same
  std::optional<end_of_judgement> end;
  std::optional<ulp::kink> kink;  // the first

  std::string format;           // whose roundoff the bounds are made of
  bool format_assumed = false;  // no value told it
  drift_bound smallest_bound;   // of a usual tensor, at the first step
  drift_bound largest_bound;    // at the last that was judged
  bool is_narrower_a = false;   // most tensors of one run are kept in a narrower format than in the other
  bool is_narrower_b = false;
  std::size_t repeats = 0;
  bool repeats_differ = false;  // from A or among themselves, in anything
};

class run_comparison {
 public:
  // `has_kinks`: whether the networks may have any.
  explicit run_comparison(std::size_t repeats = 0, bool has_kinks = true, run_alignment by = run_alignment::step)
      : by_(by), bounds_(repeats), weight_bounds_(repeats), has_kinks_(has_kinks) {
    found_.repeats = repeats;
  }

  // A tensor that both have.
  std::size_t add_tensor(const tensor_info& a, const tensor_info& b);
  // Steps of ascending keys.
  void see(const paired_step& now);
  [[nodiscard]] const run_differences& found() const noexcept { return found_; }

 private:
  struct seen_row;

  void choose_format(const std::vector<seen_row>& rows, const paired_step& now);
  [[nodiscard]] std::vector<seen_row> rows_of(const paired_step& now);
  [[nodiscard]] part_change scalar_change(const paired_step& now, step_part part, double step_scalars::*of,
                                          bool step_scalars::*is_nan, std::size_t series);
  void see_exact(const paired_step& now, step_part part, double step_scalars::*of, compared_scalar& to,
                 parted_step& parted);
  // Of gradients, and of what is logged of a step.
  [[nodiscard]] double of_format() const noexcept {
    return std::max(gradient_bound(roundoff_, gradients_, found_.steps - 1), found_.kink ? kink_bound : 0);
  }
  [[nodiscard]] bool is_kink(const std::vector<seen_row>& rows, const parted_step& parted) const;
  [[nodiscard]] drift_bound usual_bound() const noexcept { return bounds_.usual(of_format()); }
  [[nodiscard]] bool is_weight(const seen_row& row) const;
  void see_tensors(const std::vector<seen_row>& rows, parted_step& parted);
  void see_ratios(const std::vector<seen_row>& rows, const paired_step& now, parted_step& parted);
  void see_overflow(const paired_step& now, const std::vector<seen_row>& rows, parted_step& parted);
  void keep(parted_step parted);

  run_alignment by_;
  run_differences found_;
  std::vector<usual_ratio> ratios_;  // of the logged norm, then of tensors
  drift_bounds bounds_;              // of the loss, the gradient's norm and tensors
  drift_bounds weight_bounds_;       // of weights
  double roundoff_ = 0;              // of the coarsest format
  std::size_t gradients_ = 0;
  std::vector<row_figures> last_weights_;  // by tensor: A's at the step before
  std::vector<double> moved_;              // by tensor: the farthest way from one step to the next
  std::vector<std::string> through_a_;
  std::vector<std::string> through_b_;
  double largest_number_ = std::numeric_limits<double>::infinity();
  double least_number_ = 0;
  bool has_kinks_ = true;
  bool same_overflow_ = false;  // A or a repeat overflowed so far
};

}  // namespace ulp

#endif
