// What `ulp precision optimizer8` says: its tables, and sentences.
#ifndef ULP_REPORT_FINDINGS_DRIFT_HPP
#define ULP_REPORT_FINDINGS_DRIFT_HPP

#include <string>
#include <vector>

#include <ulp/ask/precision/optimizer8_answer.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

// One row a recipe, over all tensors; by tensor, those of its tensors before it.
[[nodiscard]] table drift_table(const optimizer8_answer& answer, bool by_tensor);

// The float32 moments of the end in the codes of each blockwise quantizer.
[[nodiscard]] table quantizer_table(const std::vector<quantizer_row>& rows);

// Of each recipe; then of small tensors, and of how second moments fall.
[[nodiscard]] std::vector<std::string> conclusions_of(const optimizer8_answer& answer);

}  // namespace ulp

#endif
