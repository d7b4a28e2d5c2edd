#include <ulp/model/replay/clipping.hpp>

#include <algorithm>
#include <array>

namespace ulp {

std::optional<step_order> parse_step_order(std::string_view text) {
  constexpr std::array names{std::string_view{"unscale"}, std::string_view{"check"}, std::string_view{"clip"}};
  std::array<int, 3> place{-1, -1, -1};
  for (int at = 0;; ++at) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const auto name = std::ranges::find(names, text.substr(0, comma));
    if (name == names.end() || place[static_cast<std::size_t>(name - names.begin())] >= 0) return std::nullopt;
    place[static_cast<std::size_t>(name - names.begin())] = at;
    if (comma == text.size()) break;
    text.remove_prefix(comma + 1);
  }
  if (std::ranges::min(place) < 0) return std::nullopt;
  const auto [unscale, check, clip] = place;
  return step_order{.clip_before_unscale = clip < unscale, .clip_before_check = clip < check};
}

}  // namespace ulp
