#include <ulp/report/pictures/exponent_fit.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

namespace ulp {
namespace {

constexpr double few = 1e-6;   // of the gradients: these may be left out,
constexpr int apart = 12;      // if so many binades lie between them and the others
constexpr int widest = 72;     // binades of gradients; below these they are left out
constexpr double near = 8;     // a limit as near to the gradients is always shown,
constexpr double far = 24;     // one farther away never,
constexpr double usual = 0.1;  // in between where it is not as far in more steps than this share
constexpr int margin = 2;

// The first binade from which on more than a few gradients are counted.
template <typename At>
int edge_of(At at, At end, double total) {
  double seen = 0;
  for (; std::next(at) != end; ++at) {
    seen += at->second;
    if (seen > few * total) break;
  }
  return at->first;
}

struct span {
  double low, high;
  void take_in(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

// An end of a stretch, and how far it is from the gradients.
struct limit_end {
  double at;
  double distance;
  double steps;
};

void take_in(span& shown, const span& gradients, const std::vector<limit_stretch>& limit) {
  std::vector<limit_end> ends;
  double all = 0;
  for (const limit_stretch& s : limit)
    for (const double end : {s.at.least, s.at.greatest}) {
      all += s.steps;
      const double distance = std::max(gradients.low - end, end - gradients.high);
      if (distance <= far) ends.push_back({end, distance, s.steps});
    }
  std::ranges::sort(ends, std::greater{}, &limit_end::distance);
  double farther = 0;
  for (const limit_end& e : ends) {
    farther += e.steps;
    if (e.distance <= near || farther > usual * all) shown.take_in(e.at);
  }
}

}  // namespace

std::optional<exponent_fit> fitted_exponents(const std::map<int, double>& counts,
                                             const std::vector<std::vector<limit_stretch>>& limits) {
  double total = 0;
  for (const auto& [exponent, count] : counts) total += count;
  if (!(total > 0)) return std::nullopt;
  exponent_fit fit{.least = counts.begin()->first, .greatest = counts.rbegin()->first};
  const int low = edge_of(counts.begin(), counts.end(), total);
  const int high = edge_of(counts.rbegin(), counts.rend(), total);
  fit.high = fit.greatest - high > apart ? high : fit.greatest;
  fit.low = std::max(low - fit.least > apart ? low : fit.least, fit.high - widest);
  const span gradients{static_cast<double>(fit.low), static_cast<double>(fit.high + 1)};
  span shown = gradients;
  for (const auto& limit : limits) take_in(shown, gradients, limit);
  fit.low = static_cast<int>(std::floor(shown.low)) - margin;
  fit.high = static_cast<int>(std::ceil(shown.high)) + margin;
  return fit;
}

}  // namespace ulp
