// Which exponents a picture of gradients over steps shows: those that hold gradients, and the limits of the format where
// they are near. What lies far away does not squeeze the picture; it is marked at its edge.
#ifndef ULP_REPORT_PICTURES_EXPONENT_FIT_HPP
#define ULP_REPORT_PICTURES_EXPONENT_FIT_HPP

#include <map>
#include <optional>
#include <vector>

#include <ulp/report/pictures/series_extremes.hpp>

namespace ulp {

// A limit over some steps, in log2. NaN and infinities are passed over.
struct limit_stretch {
  extremes at;
  double steps = 0;
};

// Binades from `low` up to `high`, and those that hold gradients at all.
struct exponent_fit {
  int low = 0;
  int high = 0;
  int least = 0;     // may be below `low`,
  int greatest = 0;  // and beyond high - 1
};

// `counts` by binade; nullopt where there are none. Each limit is a list of stretches that cover the steps shown.
[[nodiscard]] std::optional<exponent_fit> fitted_exponents(const std::map<int, double>& counts,
                                                           const std::vector<std::vector<limit_stretch>>& limits);

}  // namespace ulp

#endif
