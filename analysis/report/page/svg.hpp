// Pictures as inline SVG: text with places in units of a drawing 960 wide.
#ifndef ULP_REPORT_SVG_HPP
#define ULP_REPORT_SVG_HPP

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ulp {

// Printable, and "&lt;" for "<" and so on.
[[nodiscard]] std::string escaped(std::string_view text);

// Entries of the legend of a heat map: a cell of that strength (0: an empty one), a hatched cell.
[[nodiscard]] std::string swatch(double strength);
[[nodiscard]] std::string hatched_swatch();

// A plot area with steps along x, in columns, and values along y.
class drawing {
 public:
  // `left` is the room for labels of the vertical axis.
  drawing(std::size_t columns, double low, double high, double height, double left = 70);

  [[nodiscard]] double x_of(double column) const noexcept;
  [[nodiscard]] double y_of(double value) const noexcept;

  // A cell of a heat map: columns [first, last), values [low, high); strength 0 to 1.
  void cell(std::size_t first, std::size_t last, double low, double high, double strength);
  // The same where there is nothing to show, hatched.
  void missing(std::size_t first, std::size_t last, double low, double high);
  [[nodiscard]] bool has_missing() const noexcept { return has_missing_; }
  // Through the values of the columns, as steps, a column being flat; NaN and what lies outside leave a gap.
  void line(const std::vector<double>& values, std::string_view style);
  // A mark at the foot of the column.
  void mark(std::size_t column);
  // A horizontal line over the whole width, labelled at its right end.
  void level(double value, std::string_view style, std::string_view label);
  void y_label(double value, std::string_view text);
  void x_label(double column, std::string_view text);

  // The whole element, described to readers who do not see it.
  [[nodiscard]] std::string element(std::string_view title) const;

 private:
  std::size_t columns_;
  double low_;
  double high_;
  double height_;
  double left_;
  std::string body_;
  bool has_missing_ = false;
};

// Round values between low and high, at most `most`, as labels of an axis.
[[nodiscard]] std::vector<double> ticks_between(double low, double high, std::size_t most);

}  // namespace ulp

#endif
