// What the values of a run show to have been recorded wrongly: gradients that are not multiplied by what the recording says,
// that were set to zero, or beside the loss scale of the next step. Conclusions from such a run mean nothing.
#ifndef ULP_MODEL_REPLAY_RECORDING_DOUBTS_HPP
#define ULP_MODEL_REPLAY_RECORDING_DOUBTS_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ulp/model/cells/step.hpp>

namespace ulp {

class recording_doubts {
 public:
  // Steps of ascending keys; single micro-batches are left out.
  void see(const step& now, const std::vector<tensor_info>& tensors);

  // One line each, with what to do; empty where nothing is suspicious.
  [[nodiscard]] std::vector<std::string> lines() const;
  // What makes every scale wrong; empty where nothing does.
  [[nodiscard]] std::string gravest() const;

 private:
  struct place {
    std::int64_t step = 0;
    std::string tensor;
    double value = 0;
    double scale = 0;
  };
  void see_values(const step& now, const std::vector<tensor_info>& tensors);
  [[nodiscard]] std::vector<std::string> wrong() const;
  void see_scale(const step& now, bool is_finite);

  // The worst value of the first step that shows it, so that merged tensors show the same.
  std::optional<place> unscaled_;  // recorded as scaled, and cannot be
  std::optional<place> scaled_;    // the other way round
  std::uint64_t zero_steps_ = 0;
  std::int64_t first_zero_step_ = 0;
  std::uint64_t steps_ = 0;
  double scale_before_ = not_known;
  std::int64_t step_before_ = 0;
  bool finite_before_ = false;
  std::uint64_t falls_after_ = 0;  // of the loss scale after a step that overflowed
  std::uint64_t falls_within_ = 0;
  std::int64_t first_fall_within_ = 0;
};

}  // namespace ulp

#endif
