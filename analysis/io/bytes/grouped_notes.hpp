// What is to be said of many names alike is said once.
#ifndef ULP_IO_BYTES_GROUPED_NOTES_HPP
#define ULP_IO_BYTES_GROUPED_NOTES_HPP

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "text.hpp"

namespace ulp::io {

class grouped_notes {
 public:
  void add(const std::string& name, const std::string& note) {
    auto group = std::ranges::find(groups_, note, &group::second);
    if (group == groups_.end()) group = groups_.insert(group, {{}, note});
    group->first.push_back(in_quotes(name));
  }
  // "'a', 'b': note", in the order of the first names.
  [[nodiscard]] std::vector<std::string> all() const {
    std::vector<std::string> lines;
    for (const auto& [names, note] : groups_) lines.push_back(joined(names) + ": " + note);
    return lines;
  }

 private:
  using group = std::pair<std::vector<std::string>, std::string>;
  std::vector<group> groups_;
};

}  // namespace ulp::io

#endif
