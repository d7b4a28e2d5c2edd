// What adding up micro-batches amounts to, in sentences: `ulp precision accumulate`.
#ifndef ULP_REPORT_FINDINGS_ACCUMULATION_HPP
#define ULP_REPORT_FINDINGS_ACCUMULATION_HPP

#include <string>
#include <vector>

#include <ulp/ask/precision/accumulate_answer.hpp>

namespace ulp {

// A line of the format that the configuration accumulates in, where there is one: what it leaves to its framework's default is
// said to be taken, and why. Then one for each format but the float32 that stands beside them: of all tensors together, and of
// modelled ones, which differ with the number of micro-batches alone, of one that has most.
[[nodiscard]] std::vector<std::string> conclusions_of(const accumulate_answer& answer);

}  // namespace ulp

#endif
