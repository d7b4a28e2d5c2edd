// A recorded run under another scaler and format: open loop, step by step.
//
// In each step the scaled gradient is the recorded value times scale_used / factor (times scale_used where the factor
// is not known); found_inf is what the scaler would have seen: an element of the checked tensors that is delivered as
// infinity or NaN by rounding to the format. Saturating, and in formats without NaN, infinities are clamped and not
// found; in formats without NaN neither are NaNs. With step logs it is the log's found_inf, or !(double(scale) *
// double(maxabs) < the format's overflow threshold), with the same exceptions; where a log only bounds the largest
// gradient, the step is taken to have had the least that the bounds allow. Weights, updates and activations are not
// multiplied by a scale. What the scaler would have changed in training is not simulated: see
// trajectory_summary::first_divergence.
//
// What was recorded as infinite or NaN overflowed at the loss scale of its step, in the format that gradients were rounded
// to, and overflows there at every larger scale. At smaller ones, and in other formats, it may or may not, unless the
// loss was lost as well. What the run itself found (found_inf, else whether it applied the step) outweighs the values: in
// its own format and at its own scale nothing else is found, and a sum of rounded parts may be finite beyond the largest
// number. replay/step_overflow.hpp has the rules. A step that is not decided is followed both ways: found_inf is
// certain where all states that the scaler may be in agree, and trajectory_row has the bounds of what may have
// happened, until more than 4096 states are possible.
//
// found_inf is not certain either where a sign that is not known decides (directed roundings), where it is drawn
// (stochastic rounding between the largest finite number and what would follow it), and where bounds do not decide.
// Tensors with NaN have a NaN norm, else those with infinities an infinite one.
//
// A machine whose scope is the tensor gets a copy for each checked or counted tensor, or for each layer of the log; the
// row has the least of their scales, and the step is skipped where any of them says so. Other scalers see all layers
// together.
#ifndef ULP_MODEL_REPLAY_REPLAY_HPP
#define ULP_MODEL_REPLAY_REPLAY_HPP

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ulp/model/cells/step.hpp>
#include <ulp/model/machines/scaler.hpp>
#include <ulp/model/replay/scenario.hpp>
#include <ulp/model/replay/tensor_choice.hpp>
#include <ulp/model/replay/trajectory.hpp>

namespace ulp {

class replayer {
 public:
  explicit replayer(scenario what);
  replayer(replayer&&) noexcept;
  replayer& operator=(replayer&&) noexcept;
  ~replayer();

  // The next step of the run: of ascending keys, of the steps that the scenario counts, accumulated gradients only
  // (microbatch -1). After a row with an error the replay is over.
  // `per_tensor` gets the counted tensors of the step where it is given.
  [[nodiscard]] trajectory_row advance(const step& now, const std::vector<tensor_info>& tensors,
                                       std::vector<tensor_outcome>* per_tensor = nullptr);

  [[nodiscard]] const tensor_choice& choice() const noexcept { return choice_; }
  // Rows of checked tensors so far; 0 means that no overflow could be seen.
  [[nodiscard]] std::uint64_t checked_rows() const noexcept { return checked_rows_; }

 private:
  struct history;
  struct running_step;
  // The stages of a step, each in a file: what a log tells, what the tensors tell, clipping, and what the machines make of
  // it, the one of the run or those of tensors.
  void see_log(running_step& now);
  void see_tensors(running_step& now);
  void clip(running_step& now) const;
  void step_run_machine(running_step& now);
  void step_tensor_machines(running_step& now);

  scenario scenario_;
  tensor_choice choice_;
  std::uint64_t checked_rows_ = 0;
  std::vector<std::optional<std::size_t>> group_of_;  // of each tensor
  std::vector<treatment> treatments_;                 // likewise
  scaler machine_;                                    // of the run, in its present state
  bool has_machine_for_each_;
  std::map<std::string, scaler> machines_;  // then: of each tensor, or layer of the log
  std::unique_ptr<history> so_far_;
};

}  // namespace ulp

#endif
