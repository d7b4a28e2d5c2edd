// Runs the ulp program as a user does.
#ifndef ULP_TESTS_SUPPORT_PROGRAM_HPP
#define ULP_TESTS_SUPPORT_PROGRAM_HPP

#include <string>

namespace ulp::test {

struct program_result {
  int exit_code = -1;  // 128 + signal after a signal
  std::string out;
  std::string err;
};

// `ulp ARGUMENTS` through the shell, in the project's root; `input` is its standard input.
[[nodiscard]] program_result run_ulp(const std::string& arguments, const std::string& input = "");

// Any command line in the project's root; `ulp` is found in it.
[[nodiscard]] program_result run_shell(const std::string& command, const std::string& input = "");

}  // namespace ulp::test

#endif
