// Which formats an answer is for, where the command line may leave it to a configuration.
#ifndef ULP_ASK_ANSWERS_CONFIGURED_FORMATS_HPP
#define ULP_ASK_ANSWERS_CONFIGURED_FORMATS_HPP

#include <optional>
#include <string>
#include <vector>

namespace ulp {

// Those typed; else the one that a configuration says, a name of the catalogue; else, as where it says one of 32 bits or
// more, which asks nothing, the usual ones.
[[nodiscard]] std::vector<std::string> formats_in_question(const std::vector<std::string>& typed,
                                                           const std::optional<std::string>& said,
                                                           const std::vector<std::string>& usual);

}  // namespace ulp

#endif
