#include "levels.hpp"

#include <QFontMetricsF>
#include <algorithm>
#include <cmath>
#include <numeric>

namespace ulp::gui {
namespace {

constexpr double gap = 8;  // between the plot and the labels

double y_of(const chart_level& level, const chart_axes& axes, const QRectF& area) {
  return std::clamp(axes.y_of(area, level.y), area.top(), area.bottom());
}

}  // namespace

double width_of(const std::vector<chart_level>& levels, const QFont& font) {
  double widest = 0;
  for (const chart_level& l : levels)
    widest = std::max(widest, QFontMetricsF(font).horizontalAdvance(l.text) + gap + 4);
  return widest;
}

std::vector<QRectF> label_places(const std::vector<chart_level>& levels, const chart_axes& axes, const QRectF& area,
                                 const QFont& font) {
  const double height = QFontMetricsF(font).height();
  std::vector<std::size_t> order(levels.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return levels[a].y > levels[b].y; });
  // From the top down, then back up where the foot is too near.
  std::vector<double> tops;
  for (const std::size_t i : order) {
    const double wanted = y_of(levels[i], axes, area) - height / 2;
    tops.push_back(tops.empty() ? wanted : std::max(wanted, tops.back() + height));
  }
  double foot = area.bottom() + height / 2;
  for (auto top = tops.rbegin(); top != tops.rend(); ++top) foot = *top = std::min(*top, foot - height);
  std::vector<QRectF> places(levels.size());
  const double width = width_of(levels, font) - gap;
  for (std::size_t i = 0; i < order.size(); ++i) places[order[i]] = QRectF(area.right() + gap, tops[i], width, height);
  return places;
}

void draw_levels(QPainter& to, const std::vector<chart_level>& levels, const chart_axes& axes, const QRectF& area,
                 const theme& colours) {
  to.save();
  const std::vector<QRectF> places = label_places(levels, axes, area, to.font());
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const chart_level& l = levels[i];
    const double y = y_of(l, axes, area);
    to.setPen(l.pen);
    to.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
    if (l.is_grip) {
      to.setPen(Qt::NoPen);
      to.setBrush(l.pen.color());
      to.drawRect(QRectF(area.right() - 10, y - 4, 10, 8));
    }
    if (l.text.isEmpty()) continue;
    to.setPen(QPen(colours.grid, 1));
    to.drawLine(QPointF(area.right(), y), QPointF(places[i].left() - 2, places[i].center().y()));
    to.setPen(l.is_grip ? l.pen.color() : colours.text);
    to.drawText(places[i], Qt::AlignLeft | Qt::AlignVCenter, l.text);
  }
  to.restore();
}

std::optional<std::size_t> level_at(const std::vector<chart_level>& levels, const chart_axes& axes, const QRectF& area,
                                    const QFont& font, const QPointF& place) {
  const std::vector<QRectF> places = label_places(levels, axes, area, font);
  for (std::size_t i = 0; i < levels.size(); ++i)
    if (!levels[i].text.isEmpty() && places[i].contains(place)) return i;
  constexpr double near = 5;
  if (place.x() < area.left() || place.x() > area.right()) return {};
  for (std::size_t i = 0; i < levels.size(); ++i)
    if (levels[i].is_grip && std::abs(y_of(levels[i], axes, area) - place.y()) <= near) return i;
  return {};
}

}  // namespace ulp::gui
