// What a user should know of the run that was read and of the policies that were replayed on it.
#ifndef ULP_ASK_READING_RUN_NOTES_HPP
#define ULP_ASK_READING_RUN_NOTES_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ulp/ask/questions/run_text.hpp>
#include <ulp/ask/reading/repeated_steps.hpp>
#include <ulp/model/replay/recording_doubts.hpp>
#include <ulp/model/replay/scenario.hpp>
#include <ulp/model/replay/survey.hpp>
#include <ulp/model/replay/tensor_choice.hpp>

namespace ulp {

// Where survey::as_recorded.
inline constexpr const char* factor_note =
    "the factor of the recorded values is not known: scales multiply the values as recorded (see --factor)";

class run_notes {
 public:
  void see(const step& now, const std::vector<tensor_info>& tensors);

  // After the last step; `run` is as it was asked for.
  [[nodiscard]] std::vector<std::string> lines(const tensor_choice& choice, const run_text& run) const;

  // Whether no step told anything of its gradients or of overflow: then nothing follows from the run.
  [[nodiscard]] bool told_nothing() const noexcept { return !told_; }

 private:
  std::optional<std::int64_t> previous_;
  std::optional<std::pair<std::int64_t, std::int64_t>> gap_;
  bool told_ = false;
  bool flags_only_ = false;  // some step
  bool silent_ = false;      // likewise
  bool bounded_ = false;
  repeated_steps repeated_;
  recording_doubts doubts_;
};

// Which tensors are checked for overflow, and why these: "3 tensors, by --check".
[[nodiscard]] std::string rule_text(const tensor_choice& choice);

// Of groups that no counted tensor is in.
[[nodiscard]] std::vector<std::string> group_notes(const std::vector<tensor_set>& groups);
[[nodiscard]] std::vector<std::string> group_notes(const std::vector<tensor_group>& groups,
                                                   const std::vector<tensor_info>& tensors, const selection& counted);

// Of the policy's parameters, as far as they hardly mean what was meant.
[[nodiscard]] std::vector<std::string> policy_notes(const scenario& s, const std::string& format_name);

}  // namespace ulp

#endif
