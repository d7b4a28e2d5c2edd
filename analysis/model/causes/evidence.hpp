// What the causes are found by: where a run died, what was lost before that, and why that may be. Where it died is settled
// first; everything else is asked of the steps before that.
#ifndef ULP_MODEL_CAUSES_EVIDENCE_HPP
#define ULP_MODEL_CAUSES_EVIDENCE_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <variant>
#include <vector>

#include <ulp/model/causes/diagnosis.hpp>

#include "bad_batch.hpp"
#include "divergence.hpp"
#include "places.hpp"

namespace ulp {

class evidence {
 public:
  // Reads the steps once; what is told below is known after look().
  evidence(const survey& whole, const std::vector<tensor_info>& of);
  evidence(const evidence&) = delete;
  evidence& operator=(const evidence&) = delete;

  // Precondition: some step tells something.
  void look();

  const survey& run;
  const std::vector<tensor_info>& tensors;

 private:
  std::vector<std::size_t> told_;    // indices of the run's steps that tell something
  std::vector<step_survey> chosen_;  // these, where they are not all

 public:
  // That tell something.
  const std::vector<step_survey>& steps = told_.size() < run.steps().size() ? chosen_ : run.steps();
  bool has_scaler = false;
  bool is_narrow =
      false;  // something tells of 16 bits: a scale, values that were rounded, or flags that no loss or norm explains

  bool died = false;
  std::size_t healthy = 0;                                       // the index up to which it was healthy
  std::int64_t last = std::numeric_limits<std::int64_t>::min();  // the number of the step before that
  std::optional<divergence> diverged;
  std::optional<bad_batch> ruin;  // that ended it
  std::optional<collapsed_scale> collapse;
  bool is_scale_dead = false;  // and it was lost to a scale that is 0 or infinite
  [[nodiscard]] bool is_thrown_back() const noexcept { return diverged || ruin; }

  // What was lost before that, or stands out.
  bad_batch outliers;
  bad_batch bad;       // that stand far from the scale
  bad_batch bad_loss;  // whose loss is lost
  bad_batch bad_nan;   // of which NaN in all tensors is all that is known
  std::optional<initial_scale> initial;
  std::optional<initial_scale> jump;  // the longest after one
  std::size_t searched = 0;           // the index after the last search
  std::optional<unhandled_overflow> unhandled;
  gradient_overflow handled;
  std::optional<forward_overflow> forward;
  std::optional<open_overflow> open;
  std::optional<nan_source> nan;
  std::optional<scale_at_floor> high_floor;
  std::optional<vanished_in_depth> depth;

 private:
  void find_death();
  void see_places();
  // The first of these that a place is takes it.
  void see_place(const lost_place& place, bool goes_on);
  bool is_search(const lost_place& place);
  [[nodiscard]] bool goes_on_untold(const lost_place& place) const;
  bool is_nan_source(const lost_place& place);
  bool has_lost_losses(const lost_place& place);
  bool is_single_batch(const lost_place& place);
  bool is_unhandled(const lost_place& place);
  bool is_open(const lost_place& place);
  void see_skipped(const lost_place& place, bool goes_on);
  // The last steps of a place that overflow at the scale at which the next one does not; more than a hysteresis lets stand.
  [[nodiscard]] std::size_t held_of(const lost_place& place) const;

  void see_search(const initial_scale& search, bool starts_the_run);
  void see_handled(const step_span& span);
  void see_end();
  void judge_batches();
  void see_finite_norms();
  void judge_scaler();
  void see_how_it_may_end();
  void see_how_far_it_fell();
  void add_unhandled(const lost_place& place);
  void add_steps(const lost_place& place, bad_batch& to) const;
  [[nodiscard]] step_span span_of(const lost_place& place) const;
  [[nodiscard]] bool is_applied(const lost_place& place) const;
  [[nodiscard]] bool is_ruinous(const lost_place& ending) const;
  [[nodiscard]] bool is_lost_to_scale() const;
  [[nodiscard]] bool is_skipped(const lost_place& place) const { return has_scaler && !is_applied(place); }
  [[nodiscard]] std::optional<found_divergence> diverged_before(std::size_t end) const;
  // The index of the step where NaN begins in some tensors, without any infinity from there on.
  [[nodiscard]] std::optional<std::size_t> nan_source_at(const lost_place& place) const;
  [[nodiscard]] bool is_nan_alone(const lost_place& place) const;
  // nullptr where that was not kept. `step`: an index of steps.
  [[nodiscard]] const first_lost* lost_at(std::size_t step) const {
    const auto& all = run.lost_places();
    const auto at = std::ranges::find(all, told_[step], &first_lost::step);
    return at == all.end() ? nullptr : &*at;
  }

  std::vector<lost_place> places_;
  bool has_losses_ = false;                     // finite ones
  bool is_placed_ = true;                       // what overflowed
  bool is_constant_ = false;                    // the scale, wherever it is known
  std::optional<last_outlier> outlier_before_;  // it died
  double scale_ = not_known;                    // the last one
  std::optional<lost_end> end_;                 // how it died
  std::uint64_t held_ = 0;                      // of what was handled, at a scale that is the same throughout
};

// Of lost steps of the run, by their indices.
// What the losses in front of the index `end` do.
void see_rising_losses(forward_overflow& f, const std::vector<step_survey>& steps, std::size_t end);
[[nodiscard]] std::optional<collapsed_scale> collapse_of(const std::vector<step_survey>& steps);
[[nodiscard]] forward_overflow forward_overflow_of(const evidence& e, std::size_t first, std::size_t last,
                                                   std::size_t lost, std::size_t losses, bool has_infinities);
// The last weight gradient with NaN in the order of the model, and the next one, which is finite.
[[nodiscard]] nan_source nan_source_of(const survey& run, const std::vector<tensor_info>& tensors,
                                       const first_lost& lost);

// Gradients that vanish from layer to layer, by what the steps up to `last` hold, after which the run was lost.
[[nodiscard]] std::optional<vanished_in_depth> vanished_in_depth_of(const survey& run,
                                                                    const std::vector<tensor_info>& tensors,
                                                                    std::int64_t last);

template <class Cause>
[[nodiscard]] bool has(const std::vector<cause>& found) {
  return std::ranges::any_of(found, [](const cause& c) { return std::holds_alternative<Cause>(c); });
}

// examine_NAME() of each row, in causes/NAME.cpp: adds what the evidence says to what was found by the rows before it.
#define ULP_EXAMINED_CAUSE(name) void examine_##name(const evidence& e, std::vector<cause>& found);
ULP_CAUSES(ULP_EXAMINED_CAUSE)
#undef ULP_EXAMINED_CAUSE

}  // namespace ulp

#endif
