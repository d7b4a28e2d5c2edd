#include "axes.hpp"

#include <QFontMetricsF>
#include <algorithm>
#include <cmath>

namespace ulp::gui {
namespace {

constexpr double gap = 4;  // between the plot and its labels

QString text_of(const chart_axis& axis, double number) { return QString::asprintf(axis.format, number); }

double widest_of(const chart_axis& axis, const QFontMetricsF& metrics) {
  double widest = 0;
  for (const double end : {std::ceil(axis.first), std::floor(axis.last)})
    widest = std::max(widest, metrics.horizontalAdvance(text_of(axis, end)));
  return widest;
}

// Multiples of 1, 2 or 5 times a power of ten, at most `most` of them if that is one or more.
std::vector<double> round_numbers(double low, double high, double most) {
  double interval = std::max(1.0, std::pow(10, std::floor(std::log10(std::max(1.0, high - low)))) / 10);
  for (int i = 0; (high - low) / interval > std::max(1.0, most); ++i) interval *= i % 3 == 1 ? 2.5 : 2;
  std::vector<double> all;
  for (double n = std::ceil(low / interval) * interval; n <= high; n += interval) all.push_back(n == 0 ? 0 : n);
  return all;
}

}  // namespace

std::vector<double> chart_axes::x_numbers(const QFont& font, double width) const {
  return round_numbers(x.first, x.last, width / (widest_of(x, QFontMetricsF(font)) + 24));
}

std::vector<double> chart_axes::y_numbers(const QFont& font, double height) const {
  std::vector<double> numbers =
      round_numbers(y.first / y.unit, y.last / y.unit, height / (1.8 * QFontMetricsF(font).height()));
  for (double& n : numbers) n *= y.unit;
  return numbers;
}

QMarginsF chart_axes::margins(const QFont& font, const QRectF& room) const {
  const QFontMetricsF metrics(font);
  double labels = 0;
  for (const double n : y_numbers(font, room.height()))
    labels = std::max(labels, metrics.horizontalAdvance(text_of(y, n)));
  return {metrics.height() + labels + 3 * gap, metrics.height() / 2, 12, 2 * metrics.height() + 2 * gap};
}

void chart_axes::draw_grid(QPainter& to, const QRectF& area, const theme& colours) const {
  to.save();
  to.setRenderHint(QPainter::Antialiasing, false);
  to.setPen(QPen(colours.grid, 1));
  for (const double n : x_numbers(to.font(), area.width()))
    to.drawLine(QPointF(x_of(area, n), area.top()), QPointF(x_of(area, n), area.bottom() + gap));
  for (const double n : y_numbers(to.font(), area.height()))
    to.drawLine(QPointF(area.left() - gap, y_of(area, n)), QPointF(area.right(), y_of(area, n)));
  to.setBrush(Qt::NoBrush);
  to.drawRect(area);
  to.restore();
}

void chart_axes::draw_labels(QPainter& to, const QRectF& area, const QRectF& room, const theme& colours) const {
  to.save();
  to.setPen(colours.faint);
  const QFontMetricsF metrics(to.font());
  std::vector<QRectF> taken;
  const auto label = [&](double at, const QString& text) {
    const double width = metrics.horizontalAdvance(text) + 2;
    const double left = std::clamp(at - width / 2, room.left(), std::max(room.left(), room.right() - width));
    const QRectF place(left, area.bottom() + gap, width, metrics.height());
    if (std::ranges::any_of(taken, [&](const QRectF& t) { return t.adjusted(-6, 0, 6, 0).intersects(place); })) return;
    taken.push_back(place);
    to.drawText(place, Qt::AlignCenter, text);
  };
  for (const axis_mark& m : x.marks) label(x_of(area, m.at), m.text);
  const bool in_middle = x.cells && area.width() / (x.high - x.low) > widest_of(x, metrics) + 16;
  for (const double n : x_numbers(to.font(), area.width()))
    if (!in_middle || n + 1 <= x.high) label(x_of(area, n + (in_middle ? 0.5 : 0)), text_of(x, n));
  to.drawText(QRectF(area.left(), area.bottom() + gap + metrics.height(), area.width(), metrics.height()),
              Qt::AlignCenter, metrics.elidedText(x.title, Qt::ElideRight, area.width()));
  double labels = 0;
  for (const double n : y_numbers(to.font(), area.height())) {
    const QString text = text_of(y, n);
    labels = std::max(labels, metrics.horizontalAdvance(text));
    to.drawText(QRectF(area.left() - 2 * gap - 200, y_of(area, n) - metrics.height() / 2, 200, metrics.height()),
                Qt::AlignRight | Qt::AlignVCenter, text);
  }
  to.translate(area.left() - labels - 3 * gap - metrics.height(), area.center().y());
  to.rotate(-90);
  to.drawText(QRectF(-area.height() / 2, 0, area.height(), metrics.height()), Qt::AlignCenter,
              metrics.elidedText(y.title, Qt::ElideRight, area.height()));
  to.restore();
}

double chart_axes::x_of(const QRectF& area, double value) const noexcept {
  return area.left() + (value - x.low) / (x.high - x.low) * area.width();
}
double chart_axes::y_of(const QRectF& area, double value) const noexcept {
  return area.bottom() - (value - y.low) / (y.high - y.low) * area.height();
}
QPointF chart_axes::value_at(const QRectF& area, const QPointF& place) const noexcept {
  return {x.low + (place.x() - area.left()) / area.width() * (x.high - x.low),
          y.low + (area.bottom() - place.y()) / area.height() * (y.high - y.low)};
}

}  // namespace ulp::gui
