// What is said of weights that are kept in a narrow format: by `ulp precision weights`, and as a finding.
#ifndef ULP_REPORT_FINDINGS_WEIGHTS_HPP
#define ULP_REPORT_FINDINGS_WEIGHTS_HPP

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <ulp/ask/precision/weights_answer.hpp>
#include <ulp/io/config/config_import.hpp>
#include <ulp/report/findings/advice.hpp>

namespace ulp {

inline constexpr std::size_t most_named = 4;  // layers

// Which layers lose many updates in one case, and from which step on.
struct lost_layers {
  std::vector<std::string> layers;  // worst first
  std::vector<lost_updates> of;     // these, over all steps
  std::string worst;                // the first, as the input calls it
  std::int64_t from = 0;            // from here on each of them loses more than much_of_a_tensor in every step
  bool from_the_first = true;
  value_range share;     // of the updates of these layers from there on; of all layers where none is named
  bool is_mean = false;  // over draws
};
// Of the updates: under stochastic rounding the mean over draws.
[[nodiscard]] value_range share_in(const lost_updates& lost, bool is_drawn);
[[nodiscard]] lost_updates sum_of(const counted_weights& all, std::size_t of_case);
// Whether some weight is no number of the format, so that it was not kept in it.
[[nodiscard]] bool is_beyond(const counted_weights& all, std::size_t of_case);
// Whether some weights are recorded in another 16-bit type than the format, so that they were not kept in it.
[[nodiscard]] bool has_other_type(const counted_weights& all, std::size_t of_case);

[[nodiscard]] lost_layers layers_that_lose(const counted_weights& all, std::size_t of_case);

// Those of which more than much_of_a_tensor may be lost, over all steps, whatever is certain.
[[nodiscard]] lost_layers layers_that_may_lose(const counted_weights& all, std::size_t of_case);

// "conv1, fc (of 7 layers) from step 400 on"; `layers`: how many there are.
[[nodiscard]] std::string layers_text(const lost_layers& lost, std::size_t layers);
[[nodiscard]] std::string layers_text(const lost_layers& lost, const counted_weights& all);
// "38 % of the updates of conv1, fc (of 7 layers) from step 400 on".
[[nodiscard]] std::string lost_text(const lost_layers& lost, const counted_weights& all);

// "bfloat16: 38 % of the updates are lost, most in fc (62 % of 640)"; or why no update counts.
[[nodiscard]] std::string loss_text(const counted_weights& all, std::size_t of_case);

// What a configuration means for these weights: one line or two. It is not held against what the file shows: weights that
// the format does not hold had another copy.
[[nodiscard]] std::vector<std::string> conclusions_of(const counted_weights& all, const imported_config& said);

// For weights that are kept in the format of the first case: as the configuration of this framework says, or where that is
// empty the weights' own type, which does not tell whether the optimizer keeps a float32 copy. Where little is lost for certain
// and much may be, it says that.
[[nodiscard]] weights_told which_updates_are_lost(const counted_weights& all, const std::string& framework);

// For weights of 16 bits and their differences, which were rounded already: what was lost is zero in them. `share`: of the weights
// of `layers`, as layers_text has them, that did not move. The framework as above.
[[nodiscard]] weights_told unmoved_weights(const std::string& format_name, double share, const std::string& layers,
                                           const std::string& framework, const std::string& limits);

// The same from the zeros of recorded updates of 16-bit weights, where nothing holds both together; nullopt where few are zero,
// or the configuration says that none is lost.
[[nodiscard]] std::optional<weights_told> unmoved_by_updates(const survey& run, const std::vector<tensor_info>& tensors,
                                                             const own_configuration& said);

// nullopt where all recorded weights are finite.
[[nodiscard]] std::optional<weights_told> weights_not_finite(const survey& run,
                                                             const std::vector<tensor_info>& tensors);

}  // namespace ulp

#endif
