// The sizes of gradients and the losses of a run, one after the other.
#ifndef ULP_MODEL_CAUSES_SERIES_HPP
#define ULP_MODEL_CAUSES_SERIES_HPP

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <ulp/model/causes/diagnosis.hpp>

#include "divergence.hpp"
#include "places.hpp"

namespace ulp {

struct point {
  std::size_t step = 0;  // index
  double value = 0;
};

// Before `end`, where a size is known, above zero, and finite; where a loss is.
[[nodiscard]] std::vector<point> sizes_of(const std::vector<step_survey>& steps, std::size_t end, gradient_size of);
[[nodiscard]] std::vector<point> losses_of(const std::vector<step_survey>& steps, std::size_t end);

// Of the middle one or the mean of the middle two; NaN of none.
[[nodiscard]] double median(std::vector<double> values);
[[nodiscard]] double median_of(std::span<const point> points);
// Of 20 points before one, or as many as there are.
[[nodiscard]] double level_before(std::span<const point> points, std::size_t i);
// The first point from which on all are above three times the level before it, or five times that of one or two points.
[[nodiscard]] std::optional<std::size_t> onset_of_growth(std::span<const point> points);
[[nodiscard]] point largest_from(std::span<const point> points, std::size_t i);
// Of the first point at a step or after it.
[[nodiscard]] std::size_t index_from(std::span<const point> points, std::size_t step);

struct loss_course {
  std::size_t onset = 0;  // index of the first step whose loss is above
  double before = not_known;
  double after = not_known;
  bool is_back = false;  // where it began, or above, after it had been much lower or without that
};
// The loss falls, and comes back to half of where it began or more until the end.
[[nodiscard]] std::optional<loss_course> loss_rise_of(std::span<const point> losses);
// It is above its first value throughout, and clearly in the second half.
[[nodiscard]] std::optional<loss_course> never_falls(std::span<const point> losses);

}  // namespace ulp

#endif
