#include <ulp/model/causes/falling.hpp>

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

}  // namespace

bool goes_on_falling(std::span<const double> losses) {
  constexpr std::size_t least = 3;
  std::vector<double> finite;
  for (const double x : losses)
    if (std::isfinite(x)) finite.push_back(x);
  const std::size_t half = finite.size() / 2;
  if (half < least) return false;
  const std::span all(finite);
  const mean_of first = mean(all.first(half));
  const mean_of second = mean(all.last(half));
  return first.value - second.value > 3 * std::sqrt(first.variance + second.variance);
}

}  // namespace ulp
