// What adding up micro-batches amounts to, in sentences: `ulp precision accumulate`.
#ifndef ULP_REPORT_FINDINGS_ACCUMULATION_HPP
#define ULP_REPORT_FINDINGS_ACCUMULATION_HPP

#include <string>
#include <vector>

#include <ulp/io/config/config_import.hpp>

#include "../../ask/answers/accumulation_ways.hpp"

namespace ulp {

// A line for each format but the float32 that stands beside them: of all tensors together, and of modelled ones, which differ
// with the number of micro-batches alone, of one that has most.
[[nodiscard]] std::vector<std::string> conclusions_of(const std::vector<accumulation_row>& rows);

// One line, of the format that the configuration accumulates in. What it leaves to its framework's default is said to be taken,
// and why.
[[nodiscard]] std::string conclusion_of(const std::vector<accumulation_row>& rows, const imported_config& said);

}  // namespace ulp

#endif
