// Pictures as SVG: text with places in units of a drawing 960 wide.
#ifndef ULP_REPORT_PAGE_SVG_HPP
#define ULP_REPORT_PAGE_SVG_HPP

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "axis.hpp"

namespace ulp {

// Printable, and "&lt;" for "<" and so on.
[[nodiscard]] std::string escaped(std::string_view text);

inline constexpr double drawing_width = 960;

// Samples for the legend of a heat map, 26 wide and 14 high: a cell of that strength (0: an empty one), a hatched cell, a
// mark.
[[nodiscard]] std::string swatch(double strength);
[[nodiscard]] std::string hatched_swatch();
[[nodiscard]] std::string mark_swatch();
// One of these as an element of its own, in a line of text.
[[nodiscard]] std::string swatch_element(const std::string& sample);

// A plot area with columns along x and values along y. All have the same place for x, so that pictures below each other
// share their steps; what stands to the left of it are the labels.
class drawing {
 public:
  drawing(std::size_t columns, double low, double high, double height);

  // A cell of a heat map: columns [first, last), values [low, high); strength 0 to 1.
  void cell(std::size_t first, std::size_t last, double low, double high, double strength);
  // The same where there is nothing to show, hatched.
  void missing(std::size_t first, std::size_t last, double low, double high);
  [[nodiscard]] bool has_missing() const noexcept { return has_missing_; }
  // Through the values of the columns, as steps, a column being flat; NaN and what lies outside leave a gap.
  void line(const std::vector<double>& values, std::string_view style);
  // Through the middles of the columns whose values are known; those with a break are not passed. A value with no neighbour is a dot.
  void curve(const std::vector<double>& values, const std::vector<bool>& breaks, std::string_view style);
  // From low to high in each column.
  void band(const std::vector<double>& low, const std::vector<double>& high);
  // Below the plot area, at each column that is told. Before the labels of x.
  void marks(const std::vector<bool>& at);
  // A vertical line over the whole height, at x in columns.
  void limit(double column, std::string_view style);
  // A horizontal line over the whole width, labelled above its right end.
  void level(double value, std::string_view style, std::string_view label);
  void y_ticks(const std::vector<tick>& ticks);
  // Names of rows, from the top down, each as high as 1; cut where they are too long, and then shown whole when pointed at.
  void row_names(const std::vector<std::string>& names);
  void x_ticks(const std::vector<tick>& ticks, std::string_view unit);
  // What is along y.
  void title(std::string_view text);

  // In the units of the drawing, with all that stands around the plot area.
  [[nodiscard]] double whole_height() const noexcept;
  // The whole element, described to readers who do not see it.
  [[nodiscard]] std::string element(std::string_view description) const;
  // The same as a group of another drawing, that far below its top.
  [[nodiscard]] std::string group(std::string_view description, double y) const;

 private:
  [[nodiscard]] double x_of(double column) const noexcept;
  [[nodiscard]] double y_of(double value) const noexcept;
  [[nodiscard]] double foot() const noexcept;

  std::size_t columns_;
  double low_;
  double high_;
  double height_;
  std::string body_;
  bool has_missing_ = false;
  bool has_marks_ = false;
  bool has_x_ticks_ = false;
};

}  // namespace ulp

#endif
