// The axes of a chart, painted by us: those of Qt Charts cut the last label and shorten others to dots where room is scarce.
#ifndef ULP_GUI_CHARTS_AXES_HPP
#define ULP_GUI_CHARTS_AXES_HPP

#include <QFont>
#include <QMarginsF>
#include <QPainter>
#include <QRectF>
#include <QString>
#include <vector>

#include "plot/theme.hpp"

namespace ulp::gui {

struct axis_mark {
  double at = 0;
  QString text;
};
struct chart_axis {
  QString title;
  double low = 0;
  double high = 1;
  const char* format = "%.0f";  // of the numbers that are labelled
  double unit = 1;              // these are multiples of it; of an axis along y
  bool cells = false;  // a number stands for all up to the next one: labelled in the middle where there is room
  // Numbers are labelled between these.
  double first = low;
  double last = high;
  std::vector<axis_mark> marks = {};  // besides numbers; these go before
};

class chart_axes {
 public:
  chart_axis x;
  chart_axis y;

  // What labels and titles need around a plot in `room`.
  [[nodiscard]] QMarginsF margins(const QFont& font, const QRectF& room) const;
  void draw_grid(QPainter& to, const QRectF& area, const theme& colours) const;
  // Within `room`.
  void draw_labels(QPainter& to, const QRectF& area, const QRectF& room, const theme& colours) const;

  [[nodiscard]] double x_of(const QRectF& area, double value) const noexcept;
  [[nodiscard]] double y_of(const QRectF& area, double value) const noexcept;
  [[nodiscard]] QPointF value_at(const QRectF& area, const QPointF& place) const noexcept;

 private:
  // The numbers that are labelled, as there is room.
  [[nodiscard]] std::vector<double> x_numbers(const QFont& font, double width) const;
  [[nodiscard]] std::vector<double> y_numbers(const QFont& font, double height) const;
};

}  // namespace ulp::gui

#endif
