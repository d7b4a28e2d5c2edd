// What a shell offers for a command line of `ulp` that is being typed. The scripts of the shells, beside this, ask
// `ulp complete WORD...`, which --help does not list.
#ifndef ULP_CLI_COMPLETION_COMPLETE_HPP
#define ULP_CLI_COMPLETION_COMPLETE_HPP

#include <string>
#include <vector>

#include "command_line.hpp"

namespace ulp::cli {

// `words` follow the program's name; the last is the one being typed, as far as it is, and may be empty. Prints "files", where the
// name of a file may stand there, too, else "words"; then a line for each word that goes on from there: the whole word, and
// behind a tab, if there is one, what it means. Returns the exit code; never fails, and says nothing on stderr.
[[nodiscard]] int complete(const program& all, std::vector<std::string> words);

}  // namespace ulp::cli

#endif
