#include "frame.hpp"

#include <QFontMetricsF>
#include <QImage>
#include <QPaintEngine>
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
    : area_(outer.adjusted(labels, 6, -right_margin, -foot)),
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

frame frame::of_area(const QRectF& area, double left, double right, double bottom, double top) {
  frame f(area, left, right, bottom, top);
  f.area_ = area;
  return f;
}

void frame::draw_axes(QPainter& to, const theme& colours, const QString& x_title,
                      const std::function<QString(double)>& y_text, bool y_grid) const {
  draw_steps_axis(to, colours, x_title);
  draw_y_axis(to, colours, y_text, y_grid);
  draw_border(to, colours);
}

void frame::draw_steps_axis(QPainter& to, const theme& colours, const QString& title) const {
  to.save();
  const QFontMetricsF metrics(to.font());
  const auto text_of = [](double step) { return QString::number(static_cast<std::int64_t>(std::llround(step))); };
  const double widest = std::max(metrics.horizontalAdvance(text_of(left_)), metrics.horizontalAdvance(text_of(right_)));
  // Steps that are as wide as their number are labelled in their middle, others at their left edge.
  const double in_middle = area_.width() / (right_ - left_) > widest + 16 ? 0.5 : 0;
  double free = -INFINITY;
  for (const double t : ticks(left_, right_, std::max(1.0, area_.width() / std::max(90.0, widest + 24)), true)) {
    const double x = x_of(t + in_middle);
    if (x > area_.right() + 0.5) continue;
    to.setPen(QPen(colours.grid, 1));
    to.drawLine(QPointF(x, area_.bottom()), QPointF(x, area_.bottom() + 4));
    const QString text = text_of(t);
    const double width = metrics.horizontalAdvance(text) + 2;
    const double at = std::min(x - width / 2, area_.right() + right_margin - width);
    if (at < free) continue;
    free = at + width + 8;
    to.setPen(colours.faint);
    to.drawText(QRectF(at, area_.bottom() + 4, width, metrics.height()), Qt::AlignHCenter | Qt::AlignTop, text);
  }
  to.setPen(colours.faint);
  to.drawText(QRectF(area_.left(), area_.bottom() + 4 + metrics.height(), area_.width(), metrics.height()),
              Qt::AlignHCenter | Qt::AlignTop, title);
  to.restore();
}

void frame::draw_y_axis(QPainter& to, const theme& colours, const std::function<QString(double)>& text,
                        bool grid) const {
  to.save();
  const QFontMetricsF metrics(to.font());
  for (const double t : ticks(bottom_, top_, area_.height() / 40, true)) {
    const double y = y_of(t);
    to.setPen(QPen(colours.grid, 1));
    if (grid) to.drawLine(QPointF(area_.left(), y), QPointF(area_.right(), y));
    to.setPen(colours.faint);
    // Beside the area: what is above and below it has labels of its own.
    const double top =
        std::max(area_.top() - 3, std::min(y - metrics.height() / 2, area_.bottom() - metrics.height() + 3));
    to.drawText(QRectF(area_.left() - 106, top, 100, metrics.height()), Qt::AlignRight | Qt::AlignVCenter, text(t));
  }
  to.restore();
}

void frame::draw_border(QPainter& to, const theme& colours) const {
  to.save();
  to.setPen(QPen(colours.grid, 1));
  to.setBrush(Qt::NoBrush);
  to.drawRect(area_);
  to.restore();
}

void frame::draw_steps(QPainter& to, const QPen& pen, const std::vector<double>& edges,
                       const std::vector<extremes>& spans) const {
  const double half = pen.widthF() / 2;
  std::vector<QRectF> parts;
  const auto add = [&](double x0, double x1, double y0, double y1) {
    x0 = std::max(x0, area_.left());
    x1 = std::min(x1, area_.right());
    y0 = std::max(y0, area_.top());
    y1 = std::min(y1, area_.bottom());
    if (x0 < x1 && y0 < y1) parts.emplace_back(QPointF(x0, y0), QPointF(x1, y1));
  };
  // Dashes are a pattern of x: where lines of several replays lie on each other, each is seen in the gaps of the others.
  const auto add_dashed = [&](double x0, double x1, double y0, double y1) {
    if (pen.style() == Qt::SolidLine) return add(x0, x1, y0, y1);
    const QList<qreal> pattern = pen.dashPattern();
    double period = 0;
    for (const qreal part : pattern) period += part * pen.widthF();
    for (double x = std::floor((x0 - area_.left()) / period) * period + area_.left(); x < x1;)
      for (qsizetype i = 0; i < pattern.size(); x += pattern[i++] * pen.widthF())
        if (i % 2 == 0) add(std::max(x, x0), std::min(x + pattern[i] * pen.widthF(), x1), y0, y1);
  };
  extremes before;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const extremes& e = spans[i];
    if (!std::isfinite(e.least) || !std::isfinite(e.greatest)) {
      before = {};
      continue;
    }
    const double x = x_of(edges[i]);
    add_dashed(x, x_of(edges[i + 1]), y_of(e.greatest) - half, y_of(e.least) + half);
    if (before.greatest < e.least) add(x - half, x + half, y_of(e.least), y_of(before.greatest));
    if (before.least > e.greatest) add(x - half, x + half, y_of(before.least), y_of(e.greatest));
    before = e;
  }
  to.save();
  to.setRenderHint(QPainter::Antialiasing, false);
  to.setPen(Qt::NoPen);
  to.setBrush(pen.color());
  to.drawRects(parts.data(), static_cast<int>(parts.size()));
  to.restore();
}

void frame::draw_cells(QPainter& to, const theme& colours, const std::vector<double>& edges, std::size_t rows,
                       const std::function<std::optional<QRgb>(std::size_t, std::size_t)>& colour) const {
  if (edges.size() < 2 || rows == 0) return;
  // In pixels of the device: cells are sharp, and as wide and high as equal ones can be.
  const QPaintEngine* const engine = to.paintEngine();
  const bool on_paper =
      engine != nullptr && (engine->type() == QPaintEngine::SVG || engine->type() == QPaintEngine::Pdf);
  const double ratio = on_paper ? 2 : std::max(1.0, to.device()->devicePixelRatioF());
  const int width = std::max(1, static_cast<int>(std::lround(area_.width() * ratio)));
  const int height = std::max(1, static_cast<int>(std::lround(area_.height() * ratio)));
  const auto pixel = [&](double value) {
    return std::clamp(static_cast<int>(std::lround((x_of(value) - area_.left()) * ratio)), 0, width);
  };
  const auto foot_of = [&](std::size_t row) {
    return static_cast<int>(static_cast<std::size_t>(height) * (row + 1) / rows);
  };
  struct piece {
    std::size_t column;
    int left, right;
  };
  std::vector<piece> pieces;
  for (std::size_t c = 0; c + 1 < edges.size(); ++c) {
    const int left = pixel(edges[c]);
    const int right = edges[c + 1] > left_ && edges[c] < right_ ? std::max(pixel(edges[c + 1]), left + 1) : left;
    if (right > left && left < width) pieces.push_back({c, left, std::min(right, width)});
  }
  QImage cells(width, height, QImage::Format_ARGB32_Premultiplied);
  cells.fill(Qt::transparent);
  std::vector<QRectF> unknown;
  int top = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const int foot = foot_of(row);
    if (foot == top) continue;
    auto* const line = reinterpret_cast<QRgb*>(cells.scanLine(top));
    int unknown_to = -1;  // the right edge of the last piece that is not known
    for (const piece& p : pieces) {
      const std::optional<QRgb> what = colour(p.column, row);
      if (what) {
        std::fill(line + p.left, line + p.right, *what);
        continue;
      }
      if (unknown_to != p.left)
        unknown.emplace_back(area_.left() + p.left / ratio, area_.top() + top / ratio, 0, (foot - top) / ratio);
      unknown_to = p.right;
      unknown.back().setRight(area_.left() + p.right / ratio);
    }
    for (int y = top + 1; y < foot; ++y) std::copy(line, line + width, reinterpret_cast<QRgb*>(cells.scanLine(y)));
    top = foot;
  }
  to.save();
  to.setRenderHint(QPainter::Antialiasing, false);
  to.drawImage(area_, cells);
  to.restore();
  // Rows above each other are hatched as one.
  std::vector<QRectF> joined;
  for (const QRectF& r : unknown) {
    const auto above = std::ranges::find_if(joined, [&](const QRectF& j) {
      return j.left() == r.left() && j.right() == r.right() && std::abs(j.bottom() - r.top()) < 0.01;
    });
    if (above == joined.end())
      joined.push_back(r);
    else
      above->setBottom(r.bottom());
  }
  for (const QRectF& r : joined) draw_hatched(to, r, colours.faint);
}

double draw_legend(QPainter& to, const QRectF& room, const std::vector<legend_entry>& entries, const theme& colours) {
  to.save();
  const QFontMetricsF metrics(to.font());
  const double height = metrics.height() + 4;
  double x = room.left();
  double y = room.top();
  for (const legend_entry& e : entries) {
    const QString text = metrics.elidedText(e.text, Qt::ElideMiddle, std::max(0.0, room.width() - 30));
    const double width = 24 + 6 + metrics.horizontalAdvance(text) + 18;
    if (x > room.left() && x + width - 18 > room.right()) {
      x = room.left();
      y += height;
    }
    const QRectF sign(x, y + 2, 24, height - 4);
    if (e.fill.style() != Qt::NoBrush) to.fillRect(sign.adjusted(0, 1, 0, -1), e.fill);
    if (e.hatched) draw_hatched(to, sign.adjusted(0, 1, 0, -1), colours.faint);
    if (e.ticks) {
      to.setPen(QPen(e.line.color(), 1));
      for (const double at : {0.25, 0.5, 0.75})
        to.drawLine(QPointF(sign.left() + at * sign.width(), sign.center().y() - 3),
                    QPointF(sign.left() + at * sign.width(), sign.center().y() + 3));
    } else if (e.line.style() != Qt::NoPen && e.fill.style() != Qt::NoBrush) {
      to.setPen(e.line);
      to.drawRect(sign.adjusted(0.5, 1.5, -0.5, -1.5));
    } else if (e.line.style() != Qt::NoPen) {
      to.setPen(e.line);
      to.drawLine(QPointF(sign.left(), sign.center().y()), QPointF(sign.right(), sign.center().y()));
    }
    to.setPen(colours.text);
    to.drawText(QRectF(x + 30, y, width, height), Qt::AlignLeft | Qt::AlignVCenter, text);
    x += width;
  }
  to.restore();
  return y + height - room.top();
}

void draw_hatched(QPainter& to, const QRectF& where, const QColor& colour) {
  to.save();
  to.setPen(QPen(colour, 1));
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

void draw_triangle(QPainter& to, QPointF tip, bool up, const QColor& colour) {
  const double foot = up ? tip.y() + 6 : tip.y() - 6;
  QPainterPath path(tip);
  path.lineTo(tip.x() - 4, foot);
  path.lineTo(tip.x() + 4, foot);
  path.closeSubpath();
  to.fillPath(path, colour);
}

}  // namespace ulp::gui
