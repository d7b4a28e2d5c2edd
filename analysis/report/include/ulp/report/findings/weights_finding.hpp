// Updates that weights without a float32 copy lose, in words: for advice, page and viewer, and for `ulp precision weights`.
#ifndef ULP_REPORT_FINDINGS_WEIGHTS_FINDING_HPP
#define ULP_REPORT_FINDINGS_WEIGHTS_FINDING_HPP

#include <optional>
#include <string>
#include <vector>

#include <ulp/ask/precision/weights_answer.hpp>
#include <ulp/ask/runs/kept_weights.hpp>
#include <ulp/report/findings/advice.hpp>

namespace ulp {

[[nodiscard]] std::optional<weights_told> weights_finding(const std::optional<kept_weights>& weights);

// What the configuration means for these weights; without one none.
[[nodiscard]] std::vector<std::string> conclusions_of(const weights_answer& answer);

// Of each case how many updates are lost, and where most are.
[[nodiscard]] std::vector<std::string> losses_of(const weights_answer& answer);

}  // namespace ulp

#endif
