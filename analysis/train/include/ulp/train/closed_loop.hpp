// How far a replay can be trusted: a training under a loss scaler, beside what replays say of it.
//
// Three things happen for each seed. Closed loop: the network is trained in a low format with a real scaler in the loop.
// Self-replay: the gradients recorded there are replayed under the same scaler, which must give the same scales and skips
// in every step. Open loop: the same network is trained in float32, and those gradients are replayed under the scaler,
// which is what a user does who asks what another policy would have done.
#ifndef ULP_TRAIN_CLOSED_LOOP_HPP
#define ULP_TRAIN_CLOSED_LOOP_HPP

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <ulp/model/cells/step.hpp>
#include <ulp/model/outcomes/outcome.hpp>
#include <ulp/model/replay/scenario.hpp>
#include <ulp/model/replay/trajectory.hpp>
#include <ulp/train/training.hpp>

namespace ulp {

struct closed_loop_options {
  explicit closed_loop_options(scenario with) : policy(std::move(with)) {}

  // Where activation gradients are recorded, replays check them too. Of a recipe, the float32 training has the twin.
  training_options training;
  // The scaler in its start state, the format and the rounding; what else a scenario holds stays at its default. The seed
  // of the training is that of random bits too.
  scenario policy;
  std::int64_t steps = 500;
};

// Who looks on. Empty functions are not called; what they throw comes out of the call.
struct closed_loop_watch {
  using see_step = std::function<void(const trained_step&, const std::vector<tensor_info>&)>;
  see_step closed;                   // each step of the closed loop
  see_step twin;                     // each step of the float32 training
  std::function<void()> after_step;  // of either

  // Calls `see`, one of its own, and after_step, where they are set.
  void call(const see_step& see, const trained_step& now, const std::vector<tensor_info>& tensors) const;
};

// What one loop came to.
struct loop_outcome {
  trajectory_summary sum;     // without counts
  std::uint64_t nonzero = 0;  // weight gradients of role low, over all steps, at the scales used
  count_range underflow;      // of those, rounded to zero; open where the recording's cells do not decide
  double loss = not_known;    // of the last step of the training behind it

  [[nodiscard]] value_range underflow_share() const noexcept;
};

struct closed_loop_result {
  std::uint64_t seed = 0;
  loop_outcome closed;
  loop_outcome open;
  std::int64_t identical = 0;                    // steps of the self-replay that are as they were
  std::optional<std::int64_t> first_difference;  // the first step that is not
};

// Trains twice, `steps` steps each, or until the scaler raises (trajectory_summary::error). Throws as `training` does.
[[nodiscard]] closed_loop_result run_closed_loop(const closed_loop_options& options,
                                                 const closed_loop_watch& watch = {});

struct mean_and_deviation {
  double mean = not_known;
  double deviation = not_known;  // of the sample; not known for less than two values
};
[[nodiscard]] mean_and_deviation spread_of(std::span<const double> values);

// Skipped steps over the seeds. The open loop agrees in a seed where its count is no further from the closed one than
// max(2, 3 deviations of the closed loop's own count from seed to seed).
struct skip_agreement {
  mean_and_deviation closed;
  mean_and_deviation open;
  double greatest_difference = 0;
  std::uint64_t seed_of_greatest = 0;
  double allowed = 2;
  std::uint64_t agreeing = 0;  // seeds
  [[nodiscard]] bool holds() const noexcept { return greatest_difference <= allowed; }
};
// Of one seed at least.
[[nodiscard]] skip_agreement agreement_of(std::span<const closed_loop_result> seeds);

}  // namespace ulp

#endif
