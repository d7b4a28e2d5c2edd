// The program without MPI: hands over to the one with it.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "command.hpp"
#include "process_group.hpp"

namespace ulp::cli {
namespace {

std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> arguments;
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = all.find('\0', begin);
    arguments.push_back(all.substr(begin, end - begin));
    begin = end == std::string::npos ? all.size() : end + 1;
  }
  return arguments;
}

// Returns where that is not possible.
void hand_over() {
  std::error_code ignored;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const std::string program = (self.parent_path() / "ulp-mpi").string();
  std::vector<std::string> arguments = own_arguments();
  if (ignored || arguments.empty() || access(program.c_str(), X_OK) != 0) return;
  std::vector<char*> pointers;
  for (std::string& a : arguments) pointers.push_back(a.data());
  pointers.push_back(nullptr);
  execv(program.c_str(), pointers.data());
}

}  // namespace

std::unique_ptr<process_group> join_process_group() {
  const launcher_environment started = launcher_environment_of_process();
  if (started.size <= 1) return nullptr;
  hand_over();
  throw usage_error(
      fmt::format("this is process {} of {}, but ulp was built without MPI: start it once, or once per rank with "
                  "--rank, --world and a separate output, and combine these with ulp merge",
                  started.rank, started.size));
}

}  // namespace ulp::cli
