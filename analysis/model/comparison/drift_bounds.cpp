#include <ulp/model/comparison/drift_bounds.hpp>

#include <algorithm>
#include <cmath>

namespace ulp {

double gradient_bound(double roundoff, std::size_t tensors, std::uint64_t step) noexcept {
  const auto depth = static_cast<double>(std::max<std::size_t>(tensors, 1));
  return roundoff * 12 * std::sqrt(std::sqrt(depth)) * std::sqrt(1 + static_cast<double>(step) / 16);
}

double update_bound(double roundoff) noexcept { return 8 * std::sqrt(roundoff); }

void drift_bounds::largest::see(std::size_t series, double change) {
  if (!std::isfinite(change)) return;
  if (own.size() <= series) own.resize(series + 1);
  own[series] = std::max(own[series], change);
  all = std::max(all, change);
}

double drift_bounds::largest::bound(std::size_t series, double times) const noexcept {
  return times * std::max(series < own.size() ? own[series] : 0, all / 2);
}

void drift_bounds::end_step() {
  for (std::size_t i = 0; i < now_.own.size(); ++i) before_.see(i, now_.own[i]);
  now_ = {};
}

drift_bound drift_bounds::of(std::size_t series, double of_format) const noexcept {
  if (by_repeats())
    return {std::max(repeats_.bound(series, 1 + 3 / static_cast<double>(runs_)), of_format / 4), bound_source::repeats};
  const double of_history = before_.bound(series, 4);
  if (of_history > of_format) return {of_history, bound_source::history};
  return {of_format, bound_source::format};
}

}  // namespace ulp
