#include <ulp/model/comparison/drift_bounds.hpp>

#include <cmath>

namespace ulp {

void drift_bounds::largest::see(std::size_t series, double change) {
  if (!std::isfinite(change)) return;
  if (own.size() <= series) own.resize(series + 1);
  own[series] = std::max(own[series], change);
  all = std::max(all, change);
}

double drift_bounds::largest::bound(std::size_t series) const noexcept {
  return std::max(4 * (series < own.size() ? own[series] : 0), 2 * all);
}

void drift_bounds::end_step() {
  for (std::size_t i = 0; i < now_.own.size(); ++i) before_.see(i, now_.own[i]);
  now_ = {};
  ++steps_;
}

drift_bound drift_bounds::of(std::size_t series, double larger) const noexcept {
  if (by_repeats()) return {std::max(repeats_.bound(series), 4 * roundoff_ * larger), bound_source::repeats};
  const double of_format = roundoff_ * larger * 4 * std::sqrt(static_cast<double>(tensors_)) *
                           std::sqrt(1 + static_cast<double>(steps_) / 16);
  const double of_history = before_.bound(series);
  if (of_history > of_format) return {of_history, bound_source::history};
  return {of_format, bound_source::format};
}

drift_bound drift_bounds::usual() const noexcept { return of(static_cast<std::size_t>(-1)); }

}  // namespace ulp
