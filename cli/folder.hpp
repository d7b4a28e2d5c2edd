// ulp without a command: what can be asked about the files that lie here.
#ifndef ULP_CLI_FOLDER_HPP
#define ULP_CLI_FOLDER_HPP

namespace ulp::cli {

// Exit code. Looks at the files of the working folder.
int tell_folder();

}  // namespace ulp::cli

#endif
