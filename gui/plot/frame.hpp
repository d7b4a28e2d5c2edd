// A plot area with axes: where data lie on paper, and what is written beside it.
#ifndef ULP_GUI_PLOT_FRAME_HPP
#define ULP_GUI_PLOT_FRAME_HPP

#include <QPainter>
#include <QRectF>
#include <QString>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include <ulp/report/pictures/series_extremes.hpp>

#include "theme.hpp"

namespace ulp::gui {

class frame {
 public:
  // Room beside a plot area: for the last label of x at its right, for labels and title of x below.
  static constexpr double right_margin = 10;
  static constexpr double foot = 34;

  // Data from (left, bottom) to (right, top), drawn inside `outer` less the room for labels. `labels` is the width of those
  // at the left.
  frame(const QRectF& outer, double left, double right, double bottom, double top, double labels = 56);
  // Drawn in exactly this area.
  [[nodiscard]] static frame of_area(const QRectF& area, double left, double right, double bottom, double top);

  [[nodiscard]] const QRectF& area() const noexcept { return area_; }
  [[nodiscard]] double x_of(double value) const noexcept;
  [[nodiscard]] double y_of(double value) const noexcept;
  [[nodiscard]] double value_at_x(double x) const noexcept;
  [[nodiscard]] double value_at_y(double y) const noexcept;

  // Grid lines, labels and a border; or one of them.
  void draw_axes(QPainter& to, const theme& colours, const QString& x_title,
                 const std::function<QString(double)>& y_text, bool y_grid = true) const;
  void draw_steps_axis(QPainter& to, const theme& colours, const QString& title) const;
  void draw_y_axis(QPainter& to, const theme& colours, const std::function<QString(double)>& text, bool grid) const;
  void draw_border(QPainter& to, const theme& colours) const;
  // A heat map: columns between `edges`, ascending, in data coordinates; `rows` of equal height from the top of the area to
  // its foot. colour(column, row) is transparent where there is nothing, and nullopt where it is not known: hatched.
  void draw_cells(QPainter& to, const theme& colours, const std::vector<double>& edges, std::size_t rows,
                  const std::function<std::optional<QRgb>(std::size_t column, std::size_t row)>& colour) const;
  // Steps in data coordinates: from edges[i] to edges[i + 1] over all from spans[i].least to .greatest, and joined; NaN
  // leaves a gap, and what is outside the area is cut. Of the pen the colour, the width and the dashes. Strokes of Qt take
  // ten times longer where lines go up and down at every pixel.
  void draw_steps(QPainter& to, const QPen& pen, const std::vector<double>& edges,
                  const std::vector<extremes>& spans) const;

 private:
  QRectF area_;
  double left_, right_, bottom_, top_;
};

// One line of entries, wrapped where they do not fit, and shortened where one alone does not; returns the height used.
struct legend_entry {
  QString text;
  QPen line;    // drawn where it is no Qt::NoPen
  QBrush fill;  // likewise
  bool hatched = false;
  bool ticks = false;  // short vertical lines in place of the line
};
double draw_legend(QPainter& to, const QRectF& room, const std::vector<legend_entry>& entries, const theme& colours);

// Diagonal lines over what is not known, or is so in part.
void draw_hatched(QPainter& to, const QRectF& where, const QColor& colour);

// Points at what lies outside of the picture.
void draw_triangle(QPainter& to, QPointF tip, bool up, const QColor& colour);

}  // namespace ulp::gui

#endif
