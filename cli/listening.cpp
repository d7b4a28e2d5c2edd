#include "listening.hpp"

#include "output.hpp"
#include "runs/configuration.hpp"

namespace ulp::cli {

void listening::note(const std::string& line) { cli::note(line); }

void listening::warn(const std::string& line) { cli::warn(line); }

void listening::tell(const std::string& line) { cli::tell(line); }

void listening::configured(const configuration& by) { print_configuration(by, machine_stdout_); }

listener& on_stderr() {
  static listening to(true);
  return to;
}

}  // namespace ulp::cli
