#include "folders.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace ulp::io {

std::vector<std::string> with_event_files(const std::vector<std::string>& inputs) {
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
    if (inside.empty()) inside.push_back(input);
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

}  // namespace ulp::io
