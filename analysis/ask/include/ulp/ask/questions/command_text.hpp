// Command lines as a shell reads them.
#ifndef ULP_ASK_QUESTIONS_COMMAND_TEXT_HPP
#define ULP_ASK_QUESTIONS_COMMAND_TEXT_HPP

#include <string>

namespace ulp {

// One word of a POSIX shell: in single quotes where it needs them; where those would show something else than is there
// (control characters, bytes that are no UTF-8, characters that turn the direction of text), as $'...' with octal numbers
// (POSIX of 2024; bash, ksh, zsh).
[[nodiscard]] std::string shell_quoted(const std::string& word);

// The same for the name of a file, which never looks like an option: "-x" is "./-x". "-" alone is standard input.
[[nodiscard]] std::string file_argument(const std::string& path);

// " --name value", or " --name=-value" where the value looks like an option.
[[nodiscard]] std::string option_text(const std::string& name, const std::string& value);

}  // namespace ulp

#endif
