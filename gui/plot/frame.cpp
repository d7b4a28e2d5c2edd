#include "frame.hpp"

#include <QFontMetricsF>
#include <QPainterPath>
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace ulp::gui {
namespace {

// Multiples of 1, 2 or 5 times a power of ten, at most `most` of them.
std::vector<double> ticks(double low, double high, double most, bool whole) {
  if (!(high > low) || !(most >= 1)) return {low};
  double step = std::pow(10, std::floor(std::log10((high - low) / most)));
  for (const double times : {1.0, 2.0, 5.0, 10.0})
    if ((high - low) / (step * times) <= most) {
      step *= times;
      break;
    }
  if (whole) step = std::max(1.0, step);
  std::vector<double> all;
  for (double t = std::ceil(low / step) * step; t <= high + step * 1e-9; t += step) all.push_back(t);
  return all;
}

}  // namespace

frame::frame(const QRectF& outer, double left, double right, double bottom, double top, double labels)
    : area_(outer.adjusted(labels, 6, -10, -34)),
      left_(left),
      right_(right > left ? right : left + 1),
      bottom_(bottom),
      top_(top > bottom ? top : bottom + 1) {}

double frame::x_of(double v) const noexcept { return area_.left() + (v - left_) / (right_ - left_) * area_.width(); }
double frame::y_of(double v) const noexcept {
  return area_.bottom() - (v - bottom_) / (top_ - bottom_) * area_.height();
}
double frame::value_at_x(double x) const noexcept {
  return left_ + (x - area_.left()) / area_.width() * (right_ - left_);
}
double frame::value_at_y(double y) const noexcept {
  return bottom_ + (area_.bottom() - y) / area_.height() * (top_ - bottom_);
}

void frame::draw_axes(QPainter& to, const theme& colours, const QString& x_title,
                      const std::function<QString(double)>& y_text, bool y_grid) const {
  to.save();
  const QFontMetricsF metrics(to.font());
  const QPen grid(colours.grid, 1);
  for (const double t : ticks(left_, right_, area_.width() / 90, true)) {
    const double x = x_of(t);
    to.setPen(grid);
    to.drawLine(QPointF(x, area_.bottom()), QPointF(x, area_.bottom() + 4));
    to.setPen(colours.faint);
    to.drawText(QRectF(x - 50, area_.bottom() + 4, 100, metrics.height()), Qt::AlignHCenter | Qt::AlignTop,
                QString::number(static_cast<std::int64_t>(std::llround(t))));
  }
  for (const double t : ticks(bottom_, top_, area_.height() / 40, true)) {
    const double y = y_of(t);
    to.setPen(grid);
    if (y_grid) to.drawLine(QPointF(area_.left(), y), QPointF(area_.right(), y));
    to.setPen(colours.faint);
    to.drawText(QRectF(area_.left() - 106, y - metrics.height() / 2, 100, metrics.height()),
                Qt::AlignRight | Qt::AlignVCenter, y_text(t));
  }
  to.setPen(colours.faint);
  to.drawText(QRectF(area_.left(), area_.bottom() + 4 + metrics.height(), area_.width(), metrics.height()),
              Qt::AlignHCenter | Qt::AlignTop, x_title);
  to.setPen(QPen(colours.grid, 1));
  to.setBrush(Qt::NoBrush);
  to.drawRect(area_);
  to.restore();
}

void frame::draw_steps(QPainter& to, const QPen& pen, const std::vector<double>& edges,
                       const std::vector<double>& values) const {
  QPainterPath path;
  bool down = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      down = false;
      continue;
    }
    // What lies outside leaves a gap: SVG has no clipping here.
    const double y = y_of(values[i]);
    if (y < area_.top() || y > area_.bottom()) {
      down = false;
      continue;
    }
    const double x0 = std::clamp(x_of(edges[i]), area_.left(), area_.right());
    const double x1 = std::clamp(x_of(edges[i + 1]), area_.left(), area_.right());
    if (x1 <= area_.left() || x0 >= area_.right()) continue;
    if (down)
      path.lineTo(x0, y);
    else
      path.moveTo(x0, y);
    path.lineTo(x1, y);
    down = true;
  }
  to.save();
  to.setPen(pen);
  to.setBrush(Qt::NoBrush);
  to.drawPath(path);
  to.restore();
}

double draw_legend(QPainter& to, const QRectF& room, const std::vector<legend_entry>& entries, const theme& colours) {
  to.save();
  const QFontMetricsF metrics(to.font());
  const double height = metrics.height() + 4;
  double x = room.left();
  double y = room.top();
  for (const legend_entry& e : entries) {
    const double width = 24 + 6 + metrics.horizontalAdvance(e.text) + 18;
    if (x > room.left() && x + width > room.right()) {
      x = room.left();
      y += height;
    }
    const QRectF sign(x, y + 2, 24, height - 4);
    if (e.fill.style() != Qt::NoBrush) to.fillRect(sign.adjusted(0, 1, 0, -1), e.fill);
    if (e.hatched) draw_hatched(to, sign.adjusted(0, 1, 0, -1), colours);
    if (e.line.style() != Qt::NoPen) {
      to.setPen(e.line);
      to.drawLine(QPointF(sign.left(), sign.center().y()), QPointF(sign.right(), sign.center().y()));
    }
    to.setPen(colours.text);
    to.drawText(QRectF(x + 30, y, width, height), Qt::AlignLeft | Qt::AlignVCenter, e.text);
    x += width;
  }
  to.restore();
  return y + height - room.top();
}

void draw_hatched(QPainter& to, const QRectF& where, const theme& colours) {
  to.save();
  to.setPen(QPen(colours.faint, 1));
  // Lines x + y = const, cut at the rectangle.
  const double sum_low = where.left() + where.top();
  const double sum_high = where.right() + where.bottom();
  for (double s = std::ceil(sum_low / 6) * 6; s < sum_high; s += 6) {
    const double x0 = std::max(where.left(), s - where.bottom());
    const double x1 = std::min(where.right(), s - where.top());
    if (x0 < x1) to.drawLine(QPointF(x0, s - x0), QPointF(x1, s - x1));
  }
  to.restore();
}

}  // namespace ulp::gui
