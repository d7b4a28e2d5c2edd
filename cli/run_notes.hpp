// What `ulp replay` and `ulp sweep` tell about the run that they read and about the policies, and what they refuse.
#ifndef ULP_CLI_RUN_NOTES_HPP
#define ULP_CLI_RUN_NOTES_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <ulp/io/source.hpp>
#include <ulp/model/scenario.hpp>
#include <ulp/model/survey.hpp>
#include <ulp/model/tensor_choice.hpp>
#include <utility>
#include <vector>

namespace ulp::cli {

// Throws usage_error where --check is given for an input without tensors.
void check_tensors_exist(const std::string& check, const source& from);
// Throws usage_error where --tensor, --kind and --role leave no tensor.
void check_tensors_counted(const tensor_choice& choice, const source& from);

class run_notes {
 public:
  void see(const step& now);

  // After the last step.
  [[nodiscard]] std::vector<std::string> lines(const tensor_choice& choice) const;

 private:
  std::optional<std::int64_t> previous_;
  std::optional<std::pair<std::int64_t, std::int64_t>> gap_;
  bool flags_only_ = false;
  bool bounded_ = false;
};

// Of groups that no counted tensor is in.
[[nodiscard]] std::vector<std::string> group_notes(const std::vector<tensor_set>& groups);
[[nodiscard]] std::vector<std::string> group_notes(const std::vector<tensor_group>& groups,
                                                   const std::vector<tensor_info>& tensors, const selection& counted);

// Of the policy's parameters, as far as they hardly mean what was meant.
[[nodiscard]] std::vector<std::string> policy_notes(const scenario& s, const std::string& format_name);

}  // namespace ulp::cli

#endif
