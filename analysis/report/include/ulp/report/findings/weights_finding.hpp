// The finding on updates that weights without a float32 copy lose: one for advice, page and viewer.
#ifndef ULP_REPORT_FINDINGS_WEIGHTS_FINDING_HPP
#define ULP_REPORT_FINDINGS_WEIGHTS_FINDING_HPP

#include <optional>

#include <ulp/ask/questions/run_text.hpp>
#include <ulp/report/findings/advice.hpp>

namespace ulp {

// Where the run holds weights with updates and either the configuration keeps weights in 16 bits without a master copy, or
// the weights are recorded in a 16-bit type and the configuration does not say that there is another copy. nullopt where
// nobody asks or nothing is known. Reads the inputs once more. Throws input_error.
[[nodiscard]] std::optional<weights_told> weights_finding(const run_text& run, const own_configuration& said);

}  // namespace ulp

#endif
