#include "folders.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "dumps/layouts.hpp"

namespace ulp::io {

std::vector<std::string> with_files_of_folders(const std::vector<std::string>& inputs) {
  std::vector<std::string> files;
  for (const std::string& input : inputs) {
    std::vector<std::string> inside;
    std::error_code none;
    // Nothing where it is no folder, or cannot be read: who opens it says why.
    for (std::filesystem::directory_iterator at(input, none), end; !none && at != end; at.increment(none)) {
      std::error_code unknown;
      // TensorBoard takes any file that has this in its name.
      const bool is_event_file = at->path().filename().string().find("tfevents") != std::string::npos;
      if (is_event_file && at->is_regular_file(unknown)) inside.push_back(at->path().string());
    }
    std::ranges::sort(inside);
    if (inside.empty()) inside = files_in_layout(input);
    if (inside.empty()) inside.push_back(input);
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

std::string pattern_of_files(const std::string& folder, const std::vector<std::string>& endings) {
  constexpr int deepest = 2;
  constexpr int most = 10000;
  struct place {
    int depth = deepest + 1;
    std::string ending;
    std::string name;
  } first;
  std::error_code none;
  int seen = 0;
  using iterator = std::filesystem::recursive_directory_iterator;
  for (iterator at(folder, std::filesystem::directory_options::skip_permission_denied, none), end;
       !none && at != end && seen < most; at.increment(none), ++seen) {
    if (at.depth() >= deepest) at.disable_recursion_pending();
    std::error_code unknown;
    if (!at->is_regular_file(unknown)) continue;
    const std::string name = at->path().string();
    for (const std::string& ending : endings)
      if (name.ends_with(ending) && (at.depth() < first.depth || (at.depth() == first.depth && name < first.name)))
        first = {at.depth(), ending, name};
  }
  if (first.depth > deepest) return "";
  std::string pattern = folder.substr(0, folder.find_last_not_of('/') + 1);
  for (int i = 0; i < first.depth; ++i) pattern += "/*";
  return pattern + "/*" + first.ending;
}

}  // namespace ulp::io
