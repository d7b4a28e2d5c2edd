#include "chart.hpp"

#include <QAreaSeries>
#include <QGraphicsLayout>
#include <QImage>
#include <QLegend>
#include <QLineSeries>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QValueAxis>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "viewmodel/shown_text.hpp"

namespace ulp::gui {
chart::chart(QWidget* parent) : QChartView(parent), x_(new QValueAxis), y_(new QValueAxis), colours_(theme::light()) {
  QChart* const c = new QChart;
  c->setAnimationOptions(QChart::NoAnimation);
  c->layout()->setContentsMargins(0, 0, 0, 0);
  c->setBackgroundVisible(false);
  c->addAxis(x_, Qt::AlignBottom);
  c->addAxis(y_, Qt::AlignLeft);
  c->legend()->hide();  // ours wraps, and shows line styles
  for (QValueAxis* const axis : {x_, y_}) axis->setVisible(false);
  setChart(c);
  setFrameShape(QFrame::NoFrame);
  setRenderHint(QPainter::Antialiasing);
  setMouseTracking(true);
  viewport()->setMouseTracking(true);
}

void chart::set_axes(const chart_axis& x, const chart_axis& y) {
  axes_ = {};
  axes_.x = x;
  axes_.y = y;
  for (chart_axis* const axis : {&axes_.x, &axes_.y})
    if (!(axis->high > axis->low)) axis->high = axis->low + 1;
  x_->setRange(axes_.x.low, axes_.x.high);
  y_->setRange(axes_.y.low, axes_.y.high);
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
      area->lowerSeries()->replace(
          QList<QPointF>{{s.points.front().x(), axes_.y.low}, {s.points.back().x(), axes_.y.low}});
    } else {
      auto* const line = static_cast<QLineSeries*>(all[static_cast<qsizetype>(i)]);
      line->setPen(s.pen);
      line->replace(s.points);
    }
  }
}

void chart::show(const chart_content& content) {
  const double left = axes_.x.low;
  const double right = axes_.x.high;
  const double foot = axes_.y.low;
  const double top = axes_.y.high;
  std::vector<shape> shapes;
  legend_.clear();
  for (const chart_band& b : content.bands) {
    const double from = std::clamp(b.left, left, right);
    const double to = std::clamp(b.right, left, right);
    if (!(from < to)) continue;
    legend_.push_back({b.name, QPen(Qt::NoPen), b.colour});
    shapes.push_back({{{from, top}, {to, top}}, b.colour, {}});
  }
  for (const chart_bars& b : content.bars) {
    QList<QPointF> outline;
    for (const QPointF& bar : b.tops) {
      if (bar.x() + 0.5 < left || bar.x() - 0.5 > right) continue;
      const double from = std::max(bar.x() - 0.46, left);
      const double to = std::min(bar.x() + 0.46, right);
      const double y = std::clamp(bar.y(), foot, top);
      outline << QPointF(from, foot) << QPointF(from, y) << QPointF(to, y) << QPointF(to, foot);
    }
    if (outline.isEmpty()) continue;
    legend_.push_back({b.name, QPen(Qt::NoPen), b.colour});
    shapes.push_back({outline, b.colour, {}});
  }
  for (const chart_line& l : content.lines) {
    QPen pen = l.pen;
    if (l.noise) pen.setWidthF(1);
    const std::size_t before = shapes.size();
    QList<QPointF> piece;
    const auto end_piece = [&] {
      if (!piece.isEmpty()) shapes.push_back({std::exchange(piece, {}), QBrush(), pen});
    };
    for (const QPointF& p : l.points) {
      if (std::isnan(p.y()) || p.x() < left || p.x() > right)
        end_piece();
      else
        piece << QPointF(p.x(), std::clamp(p.y(), foot, top));
    }
    end_piece();
    if (!l.name.isEmpty() && shapes.size() > before) legend_.push_back({l.name, l.pen, QBrush()});
  }
  setRenderHint(QPainter::Antialiasing, std::ranges::none_of(content.lines, &chart_line::noise));
  hatched_ = content.hatched;
  foot_ = content.foot;
  head_ = content.head;
  levels_ = content.levels;
  for (const hatching& h : hatched_)
    if (!h.name.isEmpty()) legend_.push_back({h.name, QPen(Qt::NoPen), QBrush(), true});
  show_shapes(shapes);
  make_room();
  viewport()->update();
}

void chart::set_theme(const theme& colours) {
  colours_ = colours;
  setBackgroundBrush(colours.background);
}

void chart::make_room() {
  QImage nowhere(1, 1, QImage::Format_ARGB32);
  QPainter to(&nowhere);
  to.setFont(font());
  room_ = QRectF(2, 4, width() - 4, height() - 6);
  const double legend = legend_.empty() ? 0 : draw_legend(to, QRectF(8, 0, width() - 16, 0), legend_, colours_) + 4;
  QMarginsF margins = axes_.margins(font(), room_);
  margins.setLeft(std::max(margins.left(), least_left_));
  margins.setRight(std::max(margins.right(), width_of(levels_, font())));
  margins.setTop(margins.top() + legend);
  const QRectF plot = room_.marginsRemoved(margins);
  if (plot.width() < 1 || plot.height() < 1 || plot == area()) return;
  QChartView::chart()->setPlotArea(plot);
  QChartView::chart()->layout()->activate();  // now, not when the event loop comes to it
}

void chart::draw_under(QPainter& to) const {
  to.setFont(font());
  axes_.draw_grid(to, area(), colours_);
}

void chart::draw_ticks(QPainter& to, const std::vector<chart_ticks>& rows, double edge, double direction) const {
  for (const chart_ticks& row : rows) {
    if (row.at.empty()) continue;
    to.setPen(QPen(row.colour, 1));
    for (const double x : row.at)
      if (const double place = place_of(x); place >= area().left() && place <= area().right())
        to.drawLine(QPointF(place, edge + direction), QPointF(place, edge + 7 * direction));
    edge += 8 * direction;
  }
}

void chart::draw_over(QPainter& to) const {
  to.setFont(font());
  if (!legend_.empty()) draw_legend(to, QRectF(8, 4, width() - 16, 0), legend_, colours_);
  axes_.draw_labels(to, area(), room_, colours_);
  for (const hatching& h : hatched_) {
    const double left = std::max(place_of(h.left), area().left());
    const double right = std::min(place_of(h.right), area().right());
    const double top = std::clamp(axes_.y_of(area(), h.top), area().top(), area().bottom());
    if (left < right)
      draw_hatched(to, QRectF(QPointF(left, top), QPointF(right, area().bottom())), colours_.background);
  }
  draw_ticks(to, foot_, area().bottom(), -1);
  draw_ticks(to, head_, area().top(), 1);
  draw_levels(to, levels_, axes_, area(), colours_);
}

void chart::resizeEvent(QResizeEvent* event) {
  QChartView::resizeEvent(event);
  make_room();
  emit resized();
}

void chart::draw(QPainter& to, const QRectF& room) {
  resize(room.size().toSize());
  QChartView::chart()->resize(room.size());
  make_room();
  scene()->setSceneRect(QRectF(QPointF(0, 0), room.size()));
  const auto beside = [&](void (chart::*draw)(QPainter&) const) {
    to.save();
    to.translate(room.topLeft());
    (this->*draw)(to);
    to.restore();
  };
  beside(&chart::draw_under);
  scene()->render(&to, room, QRectF(QPointF(0, 0), room.size()));
  beside(&chart::draw_over);
}

double chart::place_of(double x) const { return axes_.x_of(area(), x); }

QPointF chart::value_at(QPointF place) const { return axes_.value_at(area(), mapToScene(place.toPoint())); }

void chart::mousePressEvent(QMouseEvent* event) {
  pointer_ = event->position();
  if (event->button() == Qt::RightButton) emit undone();
  if (event->button() == Qt::MiddleButton) {
    pressed_ = {pointer_, panning{axes_.x.low}};
    viewport()->setCursor(Qt::ClosedHandCursor);
  }
  if (event->button() != Qt::LeftButton) return;
  const auto level = level_at(levels_, axes_, area(), font(), pointer_);
  if (!level)
    pressed_ = {pointer_, zooming{}};
  else if (levels_[*level].is_grip)
    pressed_ = {pointer_, moving_level{}};
  else
    emit level_clicked(levels_[*level].y);
}

void chart::mouseMoveEvent(QMouseEvent* event) {
  pointer_ = event->position();
  if (!pressed_) {
    point_at(pointer_);
    show_tip(event->globalPosition().toPoint());
  } else if (const auto* const pan = std::get_if<panning>(&pressed_->what)) {
    emit panned(pan->left + value_at(pressed_->at).x() - value_at(pointer_).x());
  } else if (std::holds_alternative<moving_level>(pressed_->what)) {
    emit level_dragged(std::clamp(value_at(pointer_).y(), axes_.y.low, axes_.y.high));
  } else {
    viewport()->update();
  }
}

void chart::mouseReleaseEvent(QMouseEvent* event) {
  if (!pressed_ || (event->button() != Qt::LeftButton && event->button() != Qt::MiddleButton)) return;
  const press was = *std::exchange(pressed_, {});
  const QPointF a = value_at(was.at);
  const QPointF b = value_at(event->position());
  const QPointF moved = event->position() - was.at;
  point_at(event->position());
  if (std::holds_alternative<panning>(was.what)) return;
  if (std::holds_alternative<moving_level>(was.what)) {
    if (std::abs(moved.y()) > 1) return emit level_dropped(std::clamp(b.y(), axes_.y.low, axes_.y.high));
    return emit clicked(b.x(), b.y());
  }
  if (std::abs(moved.x()) <= 3)
    emit clicked(b.x(), b.y());
  else
    emit dragged(a.x(), b.x());
  viewport()->update();
}

// What a press here would do.
void chart::point_at(QPointF place) {
  const auto level = level_at(levels_, axes_, area(), font(), place);
  viewport()->setCursor(!level                    ? Qt::ArrowCursor
                        : levels_[*level].is_grip ? Qt::SizeVerCursor
                                                  : Qt::PointingHandCursor);
}

void chart::show_tip(QPoint global) {
  const QPointF value = value_at(pointer_);
  const QString text = tip_ && area().contains(pointer_) ? tip_(value.x(), value.y()) : QString();
  // As long as the pointer is there.
  QToolTip::showText(global, tip_of(text), viewport(), {}, std::numeric_limits<int>::max());
}

// A tip stays while the pointer rests.
bool chart::viewportEvent(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QChartView::viewportEvent(event);
  const auto* const help = static_cast<QHelpEvent*>(event);
  pointer_ = help->pos();
  if (!pressed_) show_tip(help->globalPos());
  return true;
}

void chart::wheelEvent(QWheelEvent* event) {
  if (event->angleDelta().y() == 0) return;
  emit wheeled(value_at(event->position()).x(), event->angleDelta().y() > 0);
  event->accept();
}

void chart::drawBackground(QPainter* painter, const QRectF& rect) {
  QChartView::drawBackground(painter, rect);
  draw_under(*painter);
}

void chart::drawForeground(QPainter* painter, const QRectF& rect) {
  QChartView::drawForeground(painter, rect);
  draw_over(*painter);
  if (!pressed_ || !std::holds_alternative<zooming>(pressed_->what) || std::abs(pointer_.x() - pressed_->at.x()) <= 3)
    return;
  QColor shade = colours_.cursor;
  shade.setAlpha(40);
  painter->fillRect(QRectF(QPointF(mapToScene(pressed_->at.toPoint()).x(), area().top()),
                           QPointF(mapToScene(pointer_.toPoint()).x(), area().bottom()))
                        .normalized(),
                    shade);
}

}  // namespace ulp::gui
