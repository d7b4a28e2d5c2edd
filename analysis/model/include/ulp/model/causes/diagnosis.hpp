// What hampered or ended a run, told apart by what its steps show. Every cause comes with the steps and figures that speak
// for it; the words are in ulp/report. Thresholds are stated where they are used (causes/*.cpp): they were set on runs
// that were really trained, good and bad (docs/trust.md).
#ifndef ULP_MODEL_CAUSES_DIAGNOSIS_HPP
#define ULP_MODEL_CAUSES_DIAGNOSIS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <ulp/model/replay/survey.hpp>

// The causes, one row each, in the order in which they are told: here, and nowhere else. ROW(NAME) joins the figures `NAME`
// below; examine_NAME() in causes/NAME.cpp, which finds it; told_of(NAME) in report/findings, its words; and by its name
// the card in report/findings/cards.cpp and the row in docs/diagnosis.md.
// clang-format off
#define ULP_CAUSES(ROW) \
  ROW(recorded_wrongly) \
  ROW(recorded_clipped) \
  ROW(divergence) \
  ROW(initial_scale) \
  ROW(bad_batch) \
  ROW(forward_overflow) \
  ROW(loss_overflow) \
  ROW(collapsed_scale) \
  ROW(open_overflow) \
  ROW(unhandled_overflow) \
  ROW(nan_source) \
  ROW(zero_gradients) \
  ROW(underflow) \
  ROW(vanished) \
  ROW(vanished_in_depth) \
  ROW(loss_peak) \
  ROW(dying_units) \
  ROW(scale_at_floor) \
  ROW(dead_layer) \
  ROW(gradient_overflow)
// clang-format on

namespace ulp {
namespace detail {
template <class, class... Causes>
struct causes_of {
  using type = std::variant<Causes...>;
};
}  // namespace detail

// Steps by their numbers; `steps` of those between them are meant.
struct step_span {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::uint64_t steps = 0;
  bool is_assumed = false;  // where they lie; how many they are is told
  bool is_within = false;   // then they lie somewhere from the first to the last
};

// What the recording cannot be: a mistake of whoever recorded it. Nothing else is certain then.
struct recorded_wrongly {
  std::string why;  // with what to do
};

// Norms that end at a limit: clipping came before the recording, or a normalization.
struct recorded_clipped {
  double limit = 0;
  std::uint64_t at_limit = 0;  // steps
  std::uint64_t of = 0;
};

// What grows when a run diverges.
enum class gradient_size : std::uint8_t { norm, logged_norm, largest };

// The learning rate from one step to the next.
struct rate_jump {
  std::int64_t step = 0;
  double before = 0;
  double after = 0;
};

// Gradients or the loss grow by orders of magnitude while gradients are still finite.
struct divergence {
  step_span growing;  // up to the last finite step
  gradient_size of = gradient_size::norm;
  double growth = not_known;            // from the level before to the largest
  std::uint64_t growth_steps = 0;       // that this took
  std::optional<std::int64_t> lost_at;  // the first step that is not finite, where all were finite up to there
  std::optional<rate_jump> jump;        // where the learning rate at least doubled at the onset
  bool rate_rises = false;              // up to the last finite step
  double loss_before = not_known;
  double loss_after = not_known;
  bool came_down = false;          // the gradients, not the loss; or with dead units
  std::uint64_t applied_lost = 0;  // steps of the run that overflowed and were applied all the same
};

// A search for the scale: at the start of the run, or after the scale had jumped, as where a run is resumed without the state
// of its scaler.
struct initial_scale {
  step_span skipped;
  double first_scale = not_known;
  bool is_at_most = false;           // the first scale is that or less
  double last_scale = not_known;     // of those that overflowed
  double fitting_scale = not_known;  // of the first finite step whose scale is known
  bool fits_later = false;           // that is not the first one
  double scale_before = not_known;   // of the last step before a jump
};

// Steps among healthy ones that no scale explains.
struct bad_batch {
  std::vector<std::int64_t> steps;
  bool is_finite = false;  // outliers; else their gradients are infinite or NaN
  bool loss_is_lost = false;
  double outlier = not_known;           // times what the steps around them have, the largest; where finite
  double loss_before = not_known;       // the median before the first, and
  double loss_after = not_known;        // at the end, where that is higher than by chance
  bool ends_the_run = false;            // it was applied, and the training did not come back
  std::optional<std::int64_t> lost_at;  // then the step whose loss is lost, where that is the next one
  std::int64_t period = 0;              // they come every so many steps; 0 where they are few or irregular
  std::uint64_t finite_norms = 0;       // of these steps, with a lost loss beside a finite norm: see has_finite_norm()
  [[nodiscard]] bool is_contradicted() const noexcept { return 2 * finite_norms > steps.size(); }
};

// Overflow that a scaler skipped, and after which training went on.
struct gradient_overflow {
  step_span skipped;
  std::uint64_t places = 0;
  std::uint64_t longest = 0;
  bool fell = true;          // the scale, every time
  bool is_placed = true;     // else the input tells how many there were, not which
  bool is_said = true;       // that they were skipped, by the input or by a scale that it has
  std::uint64_t at_end = 0;  // the last of these steps, with which the input ends
  // The greatest and the last scale that overflowed, where it fell far in several places and never came back.
  double fell_from = not_known;
  double fell_to = not_known;
  bool stayed_there = false;  // that scale is also the greatest after it
  // Of so many steps at the end the input does not tell which these were: it may end with them. Where they are many of those.
  std::uint64_t may_end = 0;
  std::uint64_t may_end_of = 0;
};

// Infinity or NaN whatever the scale: with the loss, or in all tensors at once.
struct forward_overflow {
  step_span lost;
  std::uint64_t losses_lost = 0;  // of these steps
  std::uint64_t losses_finite = 0;
  std::uint64_t losses_zero = 0;   // which in a log may stand for NaN; not among the finite ones
  std::uint64_t finite_norms = 0;  // of those whose loss is lost, beside a finite norm: see has_finite_norm()
  [[nodiscard]] bool is_contradicted() const noexcept { return 2 * finite_norms > lost.steps; }
  bool starts_the_run = false;
  bool ends_the_run = false;
  bool first_was_applied = false;
  bool follows_finite = false;     // the gradients of the step just before it are known to be finite
  std::uint64_t untold_after = 0;  // steps behind the last one, of which the input tells nothing
  bool has_scaler = true;
  bool is_narrow = true;             // else nothing says that 16 bits are at work
  std::vector<std::int64_t> before;  // single steps before it whose loss is lost
  bool in_all_tensors = false;       // at its first step, of those that are recorded
  bool has_infinities = false;
  double first_scale = not_known;
  double last_scale = not_known;
  bool scale_is_at_most = false;  // of some steps only what it was at most is known
  // A step not long before it whose gradients were so many times those before; with other steps so, or alone.
  std::optional<std::int64_t> outlier_at;
  double outlier = not_known;
  bool outlier_is_alone = false;
  // Of losses that rise up to the first lost one, above what they were: their least level, the last of them, and the step from which on all
  // are above that level.
  double loss_before = not_known;
  double loss_after = not_known;
  std::int64_t rises_from = 0;
};

// The loss overflows, while all gradients are finite: the sum over a batch, or what is logged.
struct loss_overflow {
  step_span lost;
};

// Overflow at scales below one, of a run that is not known to have ended by it.
struct collapsed_scale {
  step_span lost;               // below one
  double greatest = not_known;  // of the scales that overflowed
  double least = not_known;
  double loss = not_known;  // the last finite one of these steps
  // Steps whose scale is 0 or infinite, from which no scaler comes back.
  std::uint64_t dead = 0;
  std::int64_t dead_from = 0;
  std::int64_t dead_to = 0;
  double dead_scale = not_known;  // of the last one
  std::uint64_t dead_lost = 0;    // of these steps, whose gradients are not finite
  // What is logged as 0 is not the scale these steps had: gradients go on, finite and not zero; the loss goes on moving; the scale is
  // back after them.
  bool is_alive = false;
  bool loss_moves = false;
  bool comes_back = false;
  bool was_never_other = false;  // no step before these has another scale
};

// Overflow that the input does not see end, at scales above one: too short to tell a search for the scale from the forward
// pass.
struct open_overflow {
  step_span lost;
  bool starts_the_run = false;
  double first_scale = not_known;
  double last_scale = not_known;
  // All at one scale, though nothing tells that they follow one another: it may have grown back between them.
  bool may_grow_back = false;
};

// Infinities or NaN that no scaler takes care of: none is at work, its scale is constant, or the steps were applied.
struct unhandled_overflow {
  step_span lost;
  bool has_scaler = false;
  std::uint64_t applied = 0;
  bool ends_the_run = false;
  // Its first gradients were infinite while the loss was finite, and the loss is lost from the next step on: they were applied.
  std::optional<std::int64_t> ruined_at;
  std::int64_t lost_from = 0;  // then the first step whose loss is lost: the next one, where all are logged
  double scale = not_known;    // where it is constant
  bool is_held = false;        // there alone: it fell before, and the step behind these is finite at it
};

// NaN without any infinity in some tensors, while the loss and the others are finite.
struct nan_source {
  step_span lost;
  std::uint32_t tensor = 0;                // the last of them in the order of the model: backward reaches it first
  std::optional<std::uint32_t> neighbour;  // the next one, which is finite
  std::uint32_t with_nan = 0;
  std::uint32_t tensors = 0;
  bool ends_the_run = false;
};

// Every gradient is zero, to the end.
struct zero_gradients {
  step_span zero;
  bool starts_the_run = false;
  // The first of these steps that is logged to have overflowed, as zeros cannot.
  std::optional<std::int64_t> overflowed;
  bool loss_is_zero = false;  // in all of these steps
};

// Gradients that had been rounded to a narrow format near its least number, so that many of their zeros were none.
struct underflow {
  std::uint32_t worst = 0;        // tensor: with the most zeros of those that have values
  double zeros = 0;               // share of its elements
  double mean_units = not_known;  // of its nonzero magnitudes, in least numbers of the format
  std::uint32_t tensors = 0;
  std::uint32_t of = 0;        // that have values
  std::uint32_t all_zero = 0;  // more, which have none
  double scale = not_known;    // the middle one of the steps
};

// Gradients vanish as training goes on: zeros become almost all of some tensors while the loss stands still.
struct vanished {
  // The last one in the order of the model whose module has no other, since backward reaches it first.
  std::uint32_t tensor = 0;
  std::optional<std::uint32_t> living;  // the next one, which keeps its gradients
  std::uint32_t tensors = 0;
  double zeros_before = 0;  // shares
  double zeros_after = 0;
  // The first steps that have gone most of the way, counted together.
  std::int64_t mostly_from = 0;
  std::int64_t mostly_to = 0;
  double largest_after = 0;
  std::optional<rate_jump> jump;  // the largest of the learning rate before that
  double peak = not_known;  // of the gradients not long before that, times the level before it; where it stands out
  std::int64_t peak_step = 0;
  double loss = not_known;
};

// Gradients shrink from layer to layer, or from one time step of a recurrent network to the one before.
struct vanished_in_depth {
  std::uint32_t small_end = 0;  // tensors
  std::uint32_t large_end = 0;
  std::uint32_t layers = 0;
  double log2_ratio = 0;       // of the mean magnitudes; of what is above zero
  std::uint32_t all_zero = 0;  // layers of them
};

// Zeros come to many gradients together and stay, though not to almost all of any, while the loss stands still.
struct dying_units {
  std::vector<std::uint32_t> tensors;
  double zeros_before = 0;  // shares: the largest of these tensors
  double zeros_low = 0;     // the least and the largest in the later half of the run
  double zeros_high = 0;
  std::int64_t from = 0;  // the first steps that have gone half of the way: the earliest tensor's and the latest's
  std::int64_t to = 0;
};

// The loss rises to more than twice what it was, for a while.
struct loss_peak {
  step_span high;  // above half of the rise
  double before = not_known;
  double highest = not_known;
  std::int64_t highest_at = 0;
  double at_end = not_known;
  std::optional<rate_jump> jump;     // of the learning rate, before it
  std::optional<dying_units> dying;  // whenever that began
};

// The scale fell to its least and stays there, though steps are finite; or because it may fall no further, though many
// overflow.
struct scale_at_floor {
  step_span at_floor;
  double floor = 0;
  double greatest = 0;
  std::uint64_t lost = 0;    // of these steps
  bool is_too_high = false;  // it fell several times, and many steps there overflow
};

// Modules whose gradients are zero in every step.
struct dead_layer {
  std::vector<std::uint32_t> tensors;
  std::optional<std::uint32_t> living;  // the next one after the last of them
  step_span steps;                      // whose gradients are finite
};

#define ULP_LISTED_CAUSE(name) , name
using cause = detail::causes_of<void ULP_CAUSES(ULP_LISTED_CAUSE)>::type;
#undef ULP_LISTED_CAUSE

// One word for programs: that of the row.
[[nodiscard]] std::string name_of(const cause& of);
// Of all causes, in the order of the rows.
[[nodiscard]] std::span<const std::string_view> cause_names() noexcept;

// The loss is above what it was, to the end, for whatever reason.
struct loss_rise {
  std::int64_t step = 0;
  double before = not_known;
  double after = not_known;
  bool is_back = false;  // where it began, or above
  // How far the gradients of that step alone stand above those before it, where the loss falls as before from there on.
  double outlier = not_known;
};

// From its least value on.
struct short_course {
  double least = not_known;
  std::int64_t least_at = 0;  // steps
  double last = not_known;
  double largest = not_known;
  std::int64_t largest_at = 0;
};

// Too few steps to judge a run by.
struct excerpt {
  std::uint64_t steps = 0;           // that tell of a loss or of a gradient's size, or of overflow where none does
  std::optional<short_course> loss;  // where it rises noticeably
  std::optional<short_course> norm;  // likewise, of the gradients' size
};

struct diagnosis {
  std::uint64_t told_steps = 0;  // of which the input tells whether they overflowed, or what they hold
  // The first explains most: what killed the run, then in the order of the rows.
  std::vector<cause> causes;
  // From this step on the run is lost: what comes then says nothing of what training needs.
  std::optional<std::int64_t> died_at;
  // Of a run that did not die: not a cause, for tasks may let it rise.
  std::optional<loss_rise> rise;
  // Of a run of fewer steps than a judgement takes.
  std::optional<ulp::excerpt> excerpt;
};

[[nodiscard]] diagnosis diagnosis_of(const survey& run, const std::vector<tensor_info>& tensors);

}  // namespace ulp

#endif
