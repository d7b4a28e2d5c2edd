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
    case found_files::dumps:
      return fmt::format("ulp record {}{} -o {}", files.words,
                         files.steps_from.empty() ? "" : " --steps-from " + files.steps_from, files.record_as);
    case found_files::configuration:
      return fmt::format("ulp replay {} --config {}", run.empty() ? "RUN" : run, files.words);
    default: return fmt::format("ulp advise {}", files.words);
  }
}

std::string what(const found_files& files) {
  if (files.kind != found_files::dumps) return files.what;
  return files.count == 1 ? fmt::format("dump, {}", files.what) : fmt::format("{} dumps, {}", files.count, files.what);
}

void print(const folder_content& here) {
  std::string run;
  bool needs_run = false;
  std::size_t width = 0;
  const std::size_t shown = std::min(here.found.size(), most_lines);
  std::vector<std::string> commands;
  for (const found_files& files : here.found)
    if (run.empty() && files.kind <= found_files::text) run = files.words;
  for (std::size_t i = 0; i < shown; ++i) {
    commands.push_back(command_for(here.found[i], run));
    width = std::max(width, commands.back().size());
    needs_run = needs_run || (run.empty() && here.found[i].kind == found_files::configuration);
  }
  fmt::print("In this folder:\n");
  for (std::size_t i = 0; i < shown; ++i)
    fmt::print("  {:<{}}  {}\n", printable(commands[i]), width, what(here.found[i]));
  if (here.found.size() > shown) fmt::print("  and {} more\n", here.found.size() - shown);
  if (needs_run) fmt::print("RUN is a recording, a log or a table of the run that was configured so.\n");
  if (!here.all_seen) fmt::print("There are more files than were looked at.\n");
}

}  // namespace

int tell_folder() {
  const folder_content here = look_into(".");
  fmt::print("ulp: what 16 bits do to your gradients, exactly.\n\n");
  if (here.found.empty())
    fmt::print(
        "No recordings, dumps, logs or configurations found here{}. To begin:\n"
        "  ulpscope.init(model, optimizer, scaler)  in Python, before the loop: records the job\n"
        "  ulp advise FILE                          what happened in a run, and what to change\n"
        "  ulp vectors --help                       test vectors for a kernel\n",
        here.all_seen ? "" : ", among the first thousands of files");
  else
    print(here);
  fmt::print("\nulp --help lists all commands.\n");
  return done;
}

}  // namespace ulp::cli
