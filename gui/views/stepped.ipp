#include <algorithm>
#include <cmath>

namespace ulp::gui {

template <typename Of>
stepped_line stepped(const std::vector<replay_step>& steps, view_state::step_range range, double width, Of of) {
  const auto first = std::ranges::lower_bound(steps, range.first, {}, &replay_step::step);
  const auto last = std::ranges::upper_bound(steps, range.last, {}, &replay_step::step);
  stepped_line line;
  const auto n = static_cast<std::size_t>(last - first);
  const auto buckets = static_cast<std::size_t>(std::max(16.0, width));
  if (n <= 2 * buckets) {
    for (auto s = first; s != last; ++s) {
      line.edges.push_back(static_cast<double>(s->step));
      line.values.push_back(of(*s));
    }
  } else {
    for (std::size_t b = 0; b < buckets; ++b) {
      const auto from = first + static_cast<std::ptrdiff_t>(n * b / buckets);
      const auto to = first + static_cast<std::ptrdiff_t>(n * (b + 1) / buckets);
      double least = std::nan("");
      double greatest = std::nan("");
      for (auto s = from; s != to; ++s) {
        least = std::fmin(least, of(*s));
        greatest = std::fmax(greatest, of(*s));
      }
      const auto left = static_cast<double>(from->step);
      const auto right = static_cast<double>(std::prev(to)->step + 1);
      line.edges.insert(line.edges.end(), {left, (left + right) / 2});
      line.values.insert(line.values.end(), {least, greatest});
    }
  }
  line.edges.push_back(n == 0 ? static_cast<double>(range.first) : static_cast<double>(std::prev(last)->step + 1));
  return line;
}

}  // namespace ulp::gui
