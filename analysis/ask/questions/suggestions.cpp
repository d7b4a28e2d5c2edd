#include <ulp/ask/questions/suggestions.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <ulp/formats/name_suggestions.hpp>
#include <utility>

namespace ulp {

std::vector<std::string> near_names(std::string_view typed, const std::vector<std::string>& names, std::size_t most) {
  std::vector<std::string> all;
  if (typed.empty()) return all;
  constexpr std::size_t least_limit = 2;
  constexpr std::size_t tolerance = 3;  // one letter of so many may be wrong
  const std::size_t limit = std::max(least_limit, typed.size() / tolerance);
  std::vector<std::pair<std::size_t, std::string_view>> near;
  for (const std::string& name : names) {
    // Longer names that hold it come after all that are as long as it.
    const std::size_t distance = name.starts_with(typed)                 ? 1
                                 : name.find(typed) != std::string::npos ? limit
                                                                         : edit_distance(typed, name);
    if (distance <= limit && distance < typed.size()) near.emplace_back(distance, name);
  }
  std::ranges::stable_sort(near, {}, &std::pair<std::size_t, std::string_view>::first);
  for (const auto& [distance, name] : near)
    if (all.size() < most) all.emplace_back(name);
  return all;
}

std::string did_you_mean(std::string_view typed, const std::vector<std::string>& names) {
  const std::vector<std::string> near = near_names(typed, names, 1);
  return near.empty() ? "" : fmt::format("; did you mean '{}'?", near.front());
}

}  // namespace ulp
