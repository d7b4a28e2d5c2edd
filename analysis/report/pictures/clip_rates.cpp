#include <ulp/report/pictures/clip_rates.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include <ulp/model/replay/clipping.hpp>

namespace ulp {
namespace {

bool does_trigger(clip_rates::compares what, double bound, double measure) {
  return what == clip_rates::compares::norm ? norm_clipping{bound}.triggers(measure)
                                            : value_clipping{bound}.triggers(measure);
}

// As it is typed.
double four_digits(double x) {
  const std::string text = fmt::format("{:.4g}", x);
  double rounded = x;
  std::from_chars(text.data(), text.data() + text.size(), rounded);
  return rounded;
}

}  // namespace

clip_rates::clip_rates(compares what, const std::vector<double>& measures) : what_(what) {
  sorted_.reserve(measures.size());
  for (const double m : measures) {
    if (std::isfinite(m)) sorted_.push_back(m);
    if (std::isinf(m)) ++infinite_;
  }
  std::ranges::sort(sorted_);
}

std::size_t clip_rates::triggers(double bound) const noexcept {
  const auto first = std::ranges::partition_point(sorted_, [&](double m) { return !does_trigger(what_, bound, m); });
  return static_cast<std::size_t>(sorted_.end() - first);
}

double clip_rates::quantile(double q) const noexcept {
  return sorted_[static_cast<std::size_t>(std::ceil(q * static_cast<double>(finite()))) - 1];
}

double clip_rates::bound_for(double share) const noexcept {
  // The steps that may exceed it; the tolerance is for shares that are no doubles, such as 0.01.
  const auto above = static_cast<std::size_t>(share * static_cast<double>(finite()) + 1e-9);
  if (above >= finite()) return not_known;
  const double measure = sorted_[finite() - 1 - above];
  // A bound equal to the norm triggers: 1e-6 is added to norms.
  double bound = four_digits(what_ == compares::norm ? measure + 1e-6 : measure);
  if (!(bound > 0)) return not_known;
  if (does_trigger(what_, bound, measure)) bound = four_digits(bound + std::pow(10, std::floor(std::log10(bound)) - 3));
  return std::isfinite(bound) ? bound : not_known;
}

}  // namespace ulp
