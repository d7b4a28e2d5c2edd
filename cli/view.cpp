// ulp view: opens the viewer, a program of its own.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "command.hpp"

namespace ulp::cli {
namespace {

constexpr const char* viewer = "ulpscope";

// Beside this program, as installed, or in the build tree's gui/; else wherever PATH leads.
std::string place_of_viewer() {
  std::error_code none;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", none).parent_path();
  for (const std::filesystem::path& place : {own / viewer, own.parent_path() / "gui" / viewer})
    if (!own.empty() && access(place.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(place, none))
      return place.string();
  return viewer;
}

int run(const std::vector<std::string>& arguments) {
  std::string program = place_of_viewer();
  std::vector<std::string> words = arguments;
  std::vector<char*> argv{program.data()};
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp(program.c_str(), argv.data());
  if (errno == ENOENT)
    throw usage_error(
        "the viewer, ulpscope, is neither next to ulp nor in PATH; "
        "it is built if Qt 6 Widgets, Charts and Svg are installed");
  throw usage_error(fmt::format("{}: {}", program, std::strerror(errno)));
}

}  // namespace

command view_command() {
  command made{.name = "view", .help = "open the viewer, ulpscope, which takes the same arguments"};
  auto words = std::make_shared<std::vector<std::string>>();
  made.words = words.get();
  made.footer =
      "Example:\n"
      "  ulp view examples/digits.ulp --view window\n"
      "\n"
      "ulpscope --help lists its options.";
  made.run = [words] { return run(*words); };
  return made;
}

}  // namespace ulp::cli
