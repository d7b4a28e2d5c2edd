// Sentences on a terminal.
#ifndef ULP_CLI_WRAPPED_HPP
#define ULP_CLI_WRAPPED_HPP

#include <cstddef>
#include <string>
#include <string_view>

namespace ulp::cli {

// `lead` and `text` beside it, broken at spaces into lines of at most `columns` characters; each further line begins below
// the text. A word that is longer stands alone. 0: one line, whatever its length. Precondition: no line ends in `text`.
[[nodiscard]] std::string wrapped(std::string_view lead, std::string_view text, std::size_t columns);

}  // namespace ulp::cli

#endif
