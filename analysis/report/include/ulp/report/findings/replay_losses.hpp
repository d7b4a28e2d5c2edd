// What underflows under a replay, by tensor: a finding about its scales, where advice is about the run.
#ifndef ULP_REPORT_FINDINGS_REPLAY_LOSSES_HPP
#define ULP_REPORT_FINDINGS_REPLAY_LOSSES_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ulp/model/cells/step.hpp>
#include <ulp/model/outcomes/outcome.hpp>
#include <ulp/model/replay/trajectory.hpp>
#include <ulp/report/findings/advice.hpp>

namespace ulp {

class replay_losses {
 public:
  // What replayer::advance says of each counted tensor of a step; steps in order.
  void add(const tensor_outcome& of);

  // topic "replay_underflow"; `format_name` is the replay's.
  [[nodiscard]] finding result(const std::vector<tensor_info>& tensors, const std::string& format_name) const;

 private:
  struct loss {
    outcome_counts counts;
    std::optional<std::int64_t> first_step;  // in which a value underflows for certain
  };
  std::vector<loss> by_tensor_;
};

}  // namespace ulp

#endif
