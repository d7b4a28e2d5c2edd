// Level lines across a chart, each with a label at the right of the plot; some can be dragged, or taken by a click.
#ifndef ULP_GUI_CHARTS_LEVELS_HPP
#define ULP_GUI_CHARTS_LEVELS_HPP

#include <QFont>
#include <QPainter>
#include <QPen>
#include <QRectF>
#include <QString>
#include <cstddef>
#include <optional>
#include <vector>

#include "axes.hpp"

namespace ulp::gui {

struct chart_level {
  double y = 0;
  QString text;
  QPen pen;
  bool is_grip = false;  // dragged; others are clicked
};

// The width of the widest label.
[[nodiscard]] double width_of(const std::vector<chart_level>& levels, const QFont& font);
// Where the labels are: beside the lines, and moved where they would lie on each other.
[[nodiscard]] std::vector<QRectF> label_places(const std::vector<chart_level>& levels, const chart_axes& axes,
                                               const QRectF& area, const QFont& font);
void draw_levels(QPainter& to, const std::vector<chart_level>& levels, const chart_axes& axes, const QRectF& area,
                 const theme& colours);
// The level that a press at `place` means: the label under it, or the line of a grip beside it.
[[nodiscard]] std::optional<std::size_t> level_at(const std::vector<chart_level>& levels, const chart_axes& axes,
                                                  const QRectF& area, const QFont& font, const QPointF& place);

}  // namespace ulp::gui

#endif
