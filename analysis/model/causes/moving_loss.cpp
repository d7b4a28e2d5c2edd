#include <ulp/model/causes/moving_loss.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace ulp {
namespace {

struct mean_of {
  double value = 0;
  double variance = 0;  // of the mean
};

mean_of mean(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  double sum = 0;
  double squares = 0;
  for (const double x : values) sum += x;
  for (const double x : values) squares += (x - sum / n) * (x - sum / n);
  return {sum / n, squares / (n - 1) / n};
}

constexpr std::size_t least = 3;

// The slope of a line through values, in standard errors of it. The errors are seen in the differences of neighbours, in which a
// trend of any shape is little; where each keeps a part of the one before they count for fewer.
double slope_of(std::span<const double> losses) {
  constexpr std::size_t least_in_all = 20;
  constexpr double smooth = 0.5;  // a running mean, which goes on when nothing else does
  std::vector<double> y;
  for (const double x : losses)
    if (std::isfinite(x)) y.push_back(x);
  if (y.size() < least_in_all) return 0;
  const auto n = static_cast<double>(y.size());
  const double middle = (n - 1) / 2;
  double slope = 0;
  for (std::size_t i = 0; i < y.size(); ++i) slope += (static_cast<double>(i) - middle) * y[i];
  const double spread = n * (n * n - 1) / 12;
  slope /= spread;
  const double step = (y.back() - y.front()) / (n - 1);
  double squares = 0;
  double products = 0;  // of neighbouring differences
  double before = 0;
  for (std::size_t i = 1; i < y.size(); ++i) {
    const double difference = y[i] - y[i - 1] - step;
    squares += difference * difference;
    products += difference * before;
    before = difference;
  }
  constexpr double exact = 1e-9;
  const double level = std::fabs(mean(y).value);
  if (squares <= exact * exact * n * level * level)
    return std::fabs(slope) * n <= exact * level ? 0 : slope / std::fabs(slope) * n;
  const double kept = std::max(1 + 2 * products / squares, 0.0);  // of each error in the next
  if (kept > smooth) return 0;
  const double variance = squares / (n - 1) / (2 * (1 - kept));
  return slope / std::sqrt(variance * (1 + kept) / (1 - kept) / spread);
}

constexpr double chance = 4;

}  // namespace

bool goes_on_moving(std::span<const double> losses) { return std::fabs(slope_of(losses)) > chance; }

bool goes_on_falling(std::span<const double> losses) { return slope_of(losses) < -chance; }

bool lie_above(std::span<const double> some, std::span<const double> others) {
  constexpr double noticeable = 0.1;
  if (some.size() < least || others.size() < least) return false;
  const mean_of a = mean(some);
  const mean_of b = mean(others);
  return a.value - b.value > 3 * std::sqrt(a.variance + b.variance) &&
         a.value - b.value > noticeable * std::fabs(b.value);
}

}  // namespace ulp
