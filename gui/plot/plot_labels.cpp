#include "plot_labels.hpp"

#include <QFontMetricsF>
#include <algorithm>
#include <cmath>

namespace ulp::gui {

plot_labels::plot_labels(QPainter& to, const QRectF& area, const theme& colours)
    : to_(to), area_(area), font_(to.font()), background_(colours.background) {
  font_.setPointSizeF(0.9 * font_.pointSizeF());
  background_.setAlpha(215);
}

QSizeF plot_labels::size_of(const QString& text) const {
  const QFontMetricsF metrics(font_);
  return {metrics.horizontalAdvance(text) + 8, metrics.height()};
}

bool plot_labels::draw(const QString& text, const QColor& colour, const std::vector<QPointF>& places) {
  const QSizeF size = size_of(text);
  const auto is_free = [&](const QRectF& r, const std::vector<QRectF>& taken) {
    return std::ranges::none_of(taken, [&](const QRectF& t) { return t.intersects(r); });
  };
  for (const bool strictly : {true, false})
    for (const QPointF& place : places) {
      const QRectF room(place, size);
      if (!area_.contains(room) || !is_free(room, blocked_) || (strictly && !is_free(room, avoided_))) continue;
      block(room);
      to_.save();
      to_.setFont(font_);
      to_.setPen(Qt::NoPen);
      to_.setBrush(background_);
      to_.drawRoundedRect(room, 2, 2);
      to_.setPen(colour);
      to_.drawText(room, Qt::AlignCenter, text);
      to_.restore();
      return true;
    }
  return false;
}

std::vector<QRectF> pieces_in(const frame& f, const std::vector<double>& edges, const std::vector<extremes>& spans) {
  std::vector<QRectF> pieces;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (!std::isfinite(spans[i].least) || !std::isfinite(spans[i].greatest)) continue;
    const QRectF piece = QRectF(QPointF(f.x_of(edges[i]), f.y_of(spans[i].greatest) - 1),
                                QPointF(f.x_of(edges[i + 1]), f.y_of(spans[i].least) + 1)) &
                         f.area();
    if (!piece.isEmpty()) pieces.push_back(piece);
  }
  return pieces;
}

}  // namespace ulp::gui
