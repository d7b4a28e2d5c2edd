#include "chart.hpp"

#include <QAreaSeries>
#include <QGraphicsLayout>
#include <QImage>
#include <QLegend>
#include <QLineSeries>
#include <QMouseEvent>
#include <QPainter>
#include <QValueAxis>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <utility>

namespace ulp::gui {
namespace {

double interval(double low, double high, double most) {
  if (!(high > low)) return 1;
  const double power = std::pow(10, std::floor(std::log10((high - low) / most)));
  for (const double times : {1.0, 2.0, 5.0})
    if ((high - low) / (power * times) <= most) return std::max(1.0, power * times);
  return std::max(1.0, power * 10);
}

}  // namespace

chart::chart(QWidget* parent) : QChartView(parent), x_(new QValueAxis), y_(new QValueAxis), colours_(theme::light()) {
  QChart* const c = new QChart;
  c->setAnimationOptions(QChart::NoAnimation);
  c->setMargins({4, 4, 4, 4});
  c->layout()->setContentsMargins(0, 0, 0, 0);
  c->setBackgroundRoundness(0);
  c->addAxis(x_, Qt::AlignBottom);
  c->addAxis(y_, Qt::AlignLeft);
  c->legend()->hide();  // ours wraps, and shows line styles
  for (QValueAxis* const axis : {x_, y_}) {
    axis->setTickType(QValueAxis::TicksDynamic);
    axis->setTickAnchor(0);
  }
  setChart(c);
  setFrameShape(QFrame::NoFrame);
  setRenderHint(QPainter::Antialiasing);
  setMouseTracking(true);
  viewport()->setMouseTracking(true);
}

void chart::set_axes(const QString& x_title, double left, double right, const QString& y_title, double bottom,
                     double top, const char* x_format, const char* y_format) {
  if (!(right > left)) right = left + 1;
  if (!(top > bottom)) top = bottom + 1;
  x_->setRange(left, right);
  y_->setRange(bottom, top);
  x_->setTickInterval(interval(left, right, 10));
  y_->setTickInterval(interval(bottom, top, 9));
  x_->setTitleText(x_title);
  y_->setTitleText(y_title);
  x_->setLabelFormat(QString::fromLatin1(x_format));
  y_->setLabelFormat(QString::fromLatin1(y_format));
}

// Series are kept as long as there are as many of the same kinds: making them again takes longer than drawing them.
void chart::show_shapes(const std::vector<shape>& shapes) {
  QChart* const c = QChartView::chart();
  const QList<QAbstractSeries*> there = c->series();
  const auto fits = [&](std::size_t i) {
    return (qobject_cast<QAreaSeries*>(there[static_cast<qsizetype>(i)]) != nullptr) ==
           (shapes[i].fill.style() != Qt::NoBrush);
  };
  bool same = there.size() == static_cast<qsizetype>(shapes.size());
  for (std::size_t i = 0; same && i < shapes.size(); ++i) same = fits(i);
  if (!same) {
    c->removeAllSeries();
    for (const shape& s : shapes) {
      QAbstractSeries* made = nullptr;
      if (s.fill.style() == Qt::NoBrush) {
        made = new QLineSeries;
      } else {
        auto* const area = new QAreaSeries(new QLineSeries, new QLineSeries);
        area->upperSeries()->setParent(area);
        area->lowerSeries()->setParent(area);
        made = area;
      }
      c->addSeries(made);
      made->attachAxis(x_);
      made->attachAxis(y_);
    }
  }
  const QList<QAbstractSeries*> all = c->series();
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const shape& s = shapes[i];
    if (auto* const area = qobject_cast<QAreaSeries*>(all[static_cast<qsizetype>(i)])) {
      area->setBrush(s.fill);
      area->setPen(Qt::NoPen);
      area->upperSeries()->replace(s.points);
      area->lowerSeries()->replace(QList<QPointF>{{s.points.front().x(), y_->min()}, {s.points.back().x(), y_->min()}});
    } else {
      auto* const line = static_cast<QLineSeries*>(all[static_cast<qsizetype>(i)]);
      line->setPen(s.pen);
      line->replace(s.points);
    }
  }
}

void chart::show(const std::vector<chart_band>& bands, const std::vector<chart_bars>& bars,
                 const std::vector<chart_line>& lines, const std::vector<hatching>& hatched,
                 const std::vector<chart_ticks>& ticks) {
  std::vector<shape> shapes;
  legend_.clear();
  for (const chart_band& b : bands) {
    const double left = std::clamp(b.left, x_->min(), x_->max());
    const double right = std::clamp(b.right, x_->min(), x_->max());
    legend_.push_back({b.name, QPen(Qt::NoPen), b.colour});
    shapes.push_back({{{left, y_->max()}, {std::max(left, right), y_->max()}}, b.colour, {}});
  }
  for (const chart_bars& b : bars) {
    QList<QPointF> outline;
    for (const QPointF& top : b.tops) {
      if (top.x() + 0.5 < x_->min() || top.x() - 0.5 > x_->max()) continue;
      const double left = std::max(top.x() - 0.46, x_->min());
      const double right = std::min(top.x() + 0.46, x_->max());
      const double y = std::clamp(top.y(), y_->min(), y_->max());
      outline << QPointF(left, y_->min()) << QPointF(left, y) << QPointF(right, y) << QPointF(right, y_->min());
    }
    if (outline.isEmpty()) continue;
    legend_.push_back({b.name, QPen(Qt::NoPen), b.colour});
    shapes.push_back({outline, b.colour, {}});
  }
  for (const chart_line& l : lines) {
    QPen pen = l.pen;
    if (l.noise) pen.setWidthF(1);
    if (!l.name.isEmpty()) legend_.push_back({l.name, l.pen, QBrush()});
    QList<QPointF> piece;
    const auto end_piece = [&] {
      if (!piece.isEmpty()) shapes.push_back({std::exchange(piece, {}), QBrush(), pen});
    };
    for (const QPointF& p : l.points) {
      if (std::isnan(p.y()) || p.x() < x_->min() || p.x() > x_->max())
        end_piece();
      else
        piece << QPointF(p.x(), std::clamp(p.y(), y_->min(), y_->max()));
    }
    end_piece();
  }
  setRenderHint(QPainter::Antialiasing, std::ranges::none_of(lines, &chart_line::noise));
  hatched_ = hatched;
  ticks_ = ticks;
  for (const hatching& h : hatched_)
    if (!h.name.isEmpty()) legend_.push_back({h.name, QPen(Qt::NoPen), QBrush(), true});
  show_shapes(shapes);
  make_room();
  viewport()->update();
}

void chart::set_theme(const theme& colours) {
  if (themed_ && colours.dark == colours_.dark) return;
  themed_ = true;
  colours_ = colours;
  QChart* const c = QChartView::chart();
  c->setBackgroundBrush(colours.background);
  setBackgroundBrush(colours.background);
  for (QValueAxis* const axis : {x_, y_}) {
    axis->setLabelsColor(colours.faint);
    axis->setTitleBrush(colours.faint);
    QFont title = font();
    title.setBold(false);
    axis->setTitleFont(title);
    axis->setLabelsFont(font());
    axis->setGridLinePen(QPen(colours.grid, 1));
    axis->setLinePen(QPen(colours.grid, 1));
  }
}

// For the legend above the plot.
void chart::make_room() {
  QImage nowhere(1, 1, QImage::Format_ARGB32);
  QPainter to(&nowhere);
  to.setFont(font());
  const double height = legend_.empty() ? 0 : draw_legend(to, QRectF(8, 0, width() - 16, 0), legend_, colours_);
  if (height != legend_height_) QChartView::chart()->setMargins({4, static_cast<int>(height) + 8, 4, 4});
  legend_height_ = height;
  QChartView::chart()->layout()->activate();  // now, not when the event loop comes to it
}

void chart::draw_over(QPainter& to) const {
  to.setFont(font());
  if (!legend_.empty()) draw_legend(to, QRectF(8, 4, width() - 16, 0), legend_, colours_);
  const QRectF area = QChartView::chart()->plotArea();
  for (const hatching& h : hatched_) {
    const double left = std::max(place_of(h.left), area.left());
    const double right = std::min(place_of(h.right), area.right());
    const double part = std::clamp((h.top - y_->min()) / (y_->max() - y_->min()), 0.0, 1.0);
    if (left < right)
      draw_hatched(to, QRectF(QPointF(left, area.bottom() - part * area.height()), QPointF(right, area.bottom())),
                   colours_.background);
  }
  double foot = area.bottom() - 1;
  for (const chart_ticks& row : ticks_) {
    if (row.at.empty()) continue;
    to.setPen(QPen(row.colour, 1));
    for (const double x : row.at)
      if (const double place = place_of(x); place >= area.left() && place <= area.right())
        to.drawLine(QPointF(place, foot - 6), QPointF(place, foot));
    foot -= 8;
  }
}

void chart::resizeEvent(QResizeEvent* event) {
  QChartView::resizeEvent(event);
  make_room();
  emit resized();
}

void chart::draw(QPainter& to, const QRectF& room) {
  resize(room.size().toSize());
  make_room();
  QChartView::chart()->resize(room.size());
  scene()->setSceneRect(QRectF(QPointF(0, 0), room.size()));
  scene()->render(&to, room, QRectF(QPointF(0, 0), room.size()));
  to.save();
  to.translate(room.topLeft());
  draw_over(to);
  to.restore();
}

double chart::left() const { return x_->min(); }
double chart::right() const { return x_->max(); }

double chart::place_of(double x) const {
  const QRectF area = QChartView::chart()->plotArea();
  return area.left() + (x - x_->min()) / (x_->max() - x_->min()) * area.width();
}

QPointF chart::value_at(QPointF place) const { return QChartView::chart()->mapToValue(mapToScene(place.toPoint())); }

void chart::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::RightButton) emit undone();
  if (event->button() != Qt::LeftButton) return;
  pressed_ = event->position();
  pointer_ = *pressed_;
}

void chart::mouseMoveEvent(QMouseEvent* event) {
  pointer_ = event->position();
  const QPointF value = value_at(pointer_);
  if (pressed_)
    viewport()->update();
  else
    emit pointed(event->globalPosition().toPoint(), value.x(), value.y());
}

void chart::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || !pressed_) return;
  const QPointF from = *pressed_;
  pressed_.reset();
  const QPointF a = value_at(from);
  const QPointF b = value_at(event->position());
  if (std::abs(event->position().x() - from.x()) <= 3)
    emit clicked(b.x(), b.y());
  else
    emit dragged(a.x(), b.x());
  viewport()->update();
}

void chart::wheelEvent(QWheelEvent* event) {
  if (event->angleDelta().y() == 0) return;
  emit wheeled(value_at(event->position()).x(), event->angleDelta().y() > 0);
  event->accept();
}

void chart::drawForeground(QPainter* painter, const QRectF& rect) {
  QChartView::drawForeground(painter, rect);
  draw_over(*painter);
  if (!pressed_ || std::abs(pointer_.x() - pressed_->x()) <= 3) return;
  QColor shade = colours_.cursor;
  shade.setAlpha(40);
  const QRectF area = QChartView::chart()->plotArea();
  painter->fillRect(QRectF(QPointF(mapToScene(pressed_->toPoint()).x(), area.top()),
                           QPointF(mapToScene(pointer_.toPoint()).x(), area.bottom()))
                        .normalized(),
                    shade);
}

}  // namespace ulp::gui
