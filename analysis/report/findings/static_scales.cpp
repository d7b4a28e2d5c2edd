#include "static_scales.hpp"

#include <cmath>

namespace ulp {

std::optional<int> least_scale(const std::function<bool(double scale)>& fine) {
  const auto is_fine = [&](int k) { return fine(std::ldexp(1.0, k)); };
  if (!is_fine(greatest_tried)) return std::nullopt;
  int bad = least_tried;
  int good = greatest_tried;
  if (is_fine(bad)) return bad;
  while (good - bad > 1) {
    const int middle = bad + (good - bad) / 2;
    (is_fine(middle) ? good : bad) = middle;
  }
  return good;
}

demanding_kind most_demanding(std::size_t kinds, const std::function<std::optional<int>(std::size_t)>& least_of) {
  demanding_kind judged{.least = least_of(0)};
  for (std::size_t i = 1; i < kinds && judged.least; ++i) {
    const std::optional<int> of_kind = least_of(i);
    if (!of_kind || *of_kind > *judged.least) judged = {i, of_kind};
  }
  return judged;
}

}  // namespace ulp
