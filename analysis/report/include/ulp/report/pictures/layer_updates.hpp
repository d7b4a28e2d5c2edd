// Updates that weights kept in a format without a master copy would lose, by tensor and step: the counts of
// `ulp precision weights`, rounded to nearest even, as cells of the view of layers.
#ifndef ULP_REPORT_PICTURES_LAYER_UPDATES_HPP
#define ULP_REPORT_PICTURES_LAYER_UPDATES_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <ulp/ask/precision/weights_answer.hpp>
#include <ulp/formats/format.hpp>
#include <ulp/model/cells/step.hpp>
#include <ulp/report/pictures/layer_metrics.hpp>

namespace ulp {

// Of one tensor in one step: updates that are lost, of all that are finite and not zero. Not known where there are none. Where
// updates are differences of weights that are in 16 bits, those of zero count too, as perhaps lost.
struct updates_cell {
  std::int64_t step = 0;
  std::uint32_t tensor = 0;
  layer_cell cell;
};

struct layer_updates {
  std::vector<updates_cell> cells;  // ascending by step
  std::vector<std::string> notes;   // what the updates are, where they are no recorded ones
};

// Why a run of this kind tells nothing of its updates for this format, in one sentence; empty where it does.
[[nodiscard]] std::string why_no_updates(source_kind kind, const format& to, const std::string& format_name);

// Of weights counted in one case; `tensors` are the run's, as it was read.
[[nodiscard]] layer_updates layer_updates_of(const counted_weights& counted, const std::vector<tensor_info>& tensors);

// Summed over each column: the steps from first_step to last_step.
[[nodiscard]] layer_answer answer_to(const layer_question& question, const std::vector<column_span>& columns,
                                     std::size_t tensors, const layer_updates& counted);

}  // namespace ulp

#endif
