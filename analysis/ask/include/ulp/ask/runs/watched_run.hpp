// What is known of a run while it is being recorded: `ulp watch`.
#ifndef ULP_ASK_RUNS_WATCHED_RUN_HPP
#define ULP_ASK_RUNS_WATCHED_RUN_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ulp/model/outcomes/outcome.hpp>
#include <ulp/model/replay/replay.hpp>
#include <ulp/model/replay/scenario.hpp>
#include <ulp/model/replay/trajectory_watch.hpp>

namespace ulp {

// How the present step's gradients stand in the format, at the present scale.
struct standing {
  std::string tensor;
  outcome_counts counts;
  double largest = not_known;   // finite magnitude, unscaled
  double headroom = not_known;  // log2 of what overflows / scaled `largest`; NaN where that is 0
};

class watched_run {
 public:
  // `s` has the format and the tensors. Without `replays` its scaler is of no account, and the scale is the one logged.
  watched_run(scenario s, std::string format_name, bool replays);

  // Throws std::invalid_argument where the policy needs what the run lacks, or ends it.
  void add(const step& now, const std::vector<tensor_info>& tensors);

  [[nodiscard]] bool has_steps() const noexcept { return steps_ > 0; }
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }
  // Defaults before the first step.
  [[nodiscard]] const step_key& last() const noexcept { return last_.key; }
  [[nodiscard]] const step_scalars& logged() const noexcept { return last_.scalars; }  // of the last step
  [[nodiscard]] const std::string& format_name() const noexcept { return format_name_; }
  [[nodiscard]] bool logs_overflow() const noexcept { return logs_overflow_; }
  [[nodiscard]] std::uint64_t overflows() const noexcept { return overflows_; }
  [[nodiscard]] const std::optional<std::int64_t>& last_overflow() const noexcept { return last_overflow_; }
  // Whether a policy is replayed on it; what follows is of that.
  [[nodiscard]] bool is_replayed() const noexcept { return replay_.has_value(); }
  [[nodiscard]] const scaler& policy() const noexcept { return scenario_.recipe.machine(); }
  [[nodiscard]] std::uint64_t skipped() const noexcept { return skipped_; }
  [[nodiscard]] count_range skips() const { return bounds_.known ? bounds_.skipped : count_range{0, steps_}; }
  // NaN before the first step.
  [[nodiscard]] double next_scale() const noexcept { return next_scale_; }

  // Of the tensors of a step, the worst first.
  [[nodiscard]] std::vector<standing> standings(const step& now, const std::vector<tensor_info>& tensors) const;
  [[nodiscard]] std::vector<std::string> warnings() const;
  // Its scale where it is known, thinned out where it is long.
  [[nodiscard]] const std::vector<trajectory_row>& scales() const noexcept { return scales_; }
  // Whether it has changed, or a step was skipped.
  [[nodiscard]] bool has_scale_changes() const;

 private:
  [[nodiscard]] trajectory_row row_of(const step& now) const;
  [[nodiscard]] double present_scale() const;
  void keep(const trajectory_row& row);

  scenario scenario_;
  std::string format_name_;
  std::optional<replayer> replay_;
  trajectory_watch watch_;
  std::uint64_t steps_ = 0;
  std::uint64_t skipped_ = 0;  // where it is not decided an estimate, and then
  bounds_of_run bounds_;
  std::uint64_t overflows_ = 0;  // logged
  std::optional<std::int64_t> last_overflow_;
  bool logs_overflow_ = false;
  step last_;  // without its tensors
  double next_scale_ = not_known;
  std::vector<trajectory_row> scales_;
  std::size_t every_ = 1;  // rows that one of scales_ stands for
  std::size_t pending_ = 0;
};

}  // namespace ulp

#endif
