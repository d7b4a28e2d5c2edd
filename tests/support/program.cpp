#include "support/program.hpp"

#include <sys/wait.h>

#include <cstdlib>
#include <stdexcept>

#include "support/files.hpp"

namespace ulp::test {

program_result run_shell(const std::string& command, const std::string& input) {
  const char* const program = std::getenv("ULP_PROGRAM");
  if (program == nullptr) throw std::runtime_error("ULP_PROGRAM is not set: run the tests with ctest");
  const temporary_dir dir;
  write_file(dir / "in", input);
  write_file(dir / "command", command);
  const std::string folder = std::filesystem::path(program).parent_path().string();
  const std::string line = "cd '" + source_dir().string() + "' && PATH='" + folder + "':\"$PATH\" sh '" +
                           (dir / "command").string() + "' <'" + (dir / "in").string() + "' >'" +
                           (dir / "out").string() + "' 2>'" + (dir / "err").string() + "'";
  const int status = std::system(line.c_str());
  program_result result;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = read_file(dir / "out");
  result.err = read_file(dir / "err");
  return result;
}

program_result run_ulp(const std::string& arguments, const std::string& input) {
  return run_shell("ulp " + arguments, input);
}

}  // namespace ulp::test
