// What a configuration means for micro-batches that were accumulated: `ulp precision accumulate --config`.
#ifndef ULP_REPORT_FINDINGS_ACCUMULATION_HPP
#define ULP_REPORT_FINDINGS_ACCUMULATION_HPP

#include <string>
#include <vector>

#include <ulp/io/config_import.hpp>

#include "answers/accumulation_ways.hpp"

namespace ulp {

// One line. What the configuration leaves to its framework's default is said to be taken, and why.
[[nodiscard]] std::vector<std::string> conclusions_of(const std::vector<accumulation_row>& rows,
                                                      const imported_config& said);

}  // namespace ulp

#endif
