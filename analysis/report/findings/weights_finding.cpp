#include <ulp/report/findings/weights_finding.hpp>

#include "findings/weights.hpp"

namespace ulp {

std::optional<weights_told> weights_finding(const std::optional<kept_weights>& weights) {
  if (!weights) return std::nullopt;
  return which_updates_are_lost(weights->counted, weights->framework);
}

std::vector<std::string> conclusions_of(const weights_answer& answer) {
  return answer.said ? conclusions_of(answer.counted, *answer.said) : std::vector<std::string>{};
}

std::vector<std::string> losses_of(const weights_answer& answer) {
  std::vector<std::string> all;
  for (std::size_t c = 0; c < answer.counted.cases.size(); ++c) all.push_back(loss_text(answer.counted, c));
  return all;
}

}  // namespace ulp
