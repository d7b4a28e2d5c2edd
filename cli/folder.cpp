#include "folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include <ulp/ask/questions/number_text.hpp>
#include <ulp/ask/reading/folder_content.hpp>
#include <ulp/io/bytes/printable.hpp>

#include "command.hpp"

namespace ulp::cli {
namespace {

constexpr std::size_t most_lines = 12;

// A command that takes these. `run`: what else is here that a configuration can be asked of.
std::string command_for(const found_files& files, const std::string& run) {
  switch (files.kind) {
    case found_files::dumps: return fmt::format("ulp record {} -o run.ulp", files.words);
    case found_files::configuration:
      return fmt::format("ulp replay {} --config {}", run.empty() ? "RUN" : run, files.words);
    default: return fmt::format("ulp advise {}", files.words);
  }
}

}  // namespace

int tell_folder() {
  const folder_content here = look_into(".");
  fmt::print("ulp: what 16 bits do to your gradients, exactly.\n\n");
  if (here.found.empty()) {
    fmt::print(
        "No file here is of a run{}. To begin:\n"
        "  ulp advise FILE       what happened in a run, and what to change: of a recording, gradient dumps, TensorBoard\n"
        "                        files, a training log, or a table with its loss scale\n"
        "  ulp convert --help    conversions, codes and test vectors\n",
        here.all_seen ? "" : ", of the first thousands");
  } else {
    std::string run;
    std::size_t width = 0;
    const std::size_t shown = std::min(here.found.size(), most_lines);
    std::vector<std::string> commands;
    for (const found_files& files : here.found)
      if (run.empty() && files.kind <= found_files::text) run = files.words;
    for (std::size_t i = 0; i < shown; ++i) {
      commands.push_back(command_for(here.found[i], run));
      width = std::max(width, commands.back().size());
    }
    fmt::print("Of the files here:\n");
    for (std::size_t i = 0; i < shown; ++i) {
      const found_files& files = here.found[i];
      fmt::print("  {:<{}}  {}\n", printable(commands[i]), width,
                 files.kind != found_files::dumps ? files.what
                 : files.count == 1               ? fmt::format("dump, {}", files.what)
                                                  : fmt::format("{} dumps, {}", files.count, files.what));
    }
    if (here.found.size() > shown) fmt::print("  and {} more\n", count_text(here.found.size() - shown, "file"));
    if (!here.all_seen) fmt::print("There are more files than were looked at.\n");
  }
  fmt::print("\nulp --help lists all commands.\n");
  return done;
}

}  // namespace ulp::cli
