// What is said of weights that are kept in a narrow format: by `ulp precision weights`, and as a finding.
#ifndef ULP_REPORT_FINDINGS_WEIGHTS_HPP
#define ULP_REPORT_FINDINGS_WEIGHTS_HPP

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <ulp/io/config_import.hpp>
#include <ulp/report/advice.hpp>
#include <ulp/report/weights_answer.hpp>

namespace ulp {

// Which layers lose many updates in one case, and from which step on.
struct lost_layers {
  std::vector<std::string> layers;  // worst first
  std::int64_t from = 0;            // from here on each of them loses more than much_of_a_tensor in every step
  bool from_the_first = true;
  value_range share;     // of the updates of these layers from there on; of all layers where none is named
  bool is_mean = false;  // over draws
};
[[nodiscard]] lost_layers layers_that_lose(const counted_weights& all, std::size_t of_case);

// "38 % of the updates of conv1, fc (of 7 layers) from step 400 on".
[[nodiscard]] std::string lost_text(const lost_layers& lost, const counted_weights& all);

// What a configuration means for these weights: one line or two. It is not held against what the file shows: weights that
// the format does not hold had another copy.
[[nodiscard]] std::vector<std::string> conclusions_of(const counted_weights& all, const imported_config& said);

// The finding for weights that are kept in the format of the first case: as the configuration of this framework says, or
// where that is empty the weights' own type.
[[nodiscard]] finding which_updates_are_lost(const counted_weights& all, const std::string& framework);

}  // namespace ulp

#endif
