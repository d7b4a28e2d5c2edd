// Command lines as a shell reads them.
#ifndef ULP_REPORT_COMMAND_TEXT_HPP
#define ULP_REPORT_COMMAND_TEXT_HPP

#include <string>

namespace ulp {

// One word of a POSIX shell: in single quotes where it needs them.
[[nodiscard]] std::string shell_quoted(const std::string& word);

}  // namespace ulp

#endif
