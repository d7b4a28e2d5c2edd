#include "step_view.hpp"

#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>
#include <cmath>
#include <cstdint>
#include <limits>

#include "viewmodel/shown_text.hpp"

namespace ulp::gui {
namespace {

std::int64_t step_at(const frame& f, double x) { return static_cast<std::int64_t>(std::floor(f.value_at_x(x))); }

}  // namespace

step_view::step_view(view_state& state, const char* key, const QString& title, const QString& question, QWidget* parent)
    : picture_view(state, key, title, question, parent) {
  setMouseTracking(true);
  setMinimumSize(320, 200);
}

void step_view::draw_cursor(QPainter& to, const frame& f, const theme& colours) const {
  to.save();
  const double x = f.x_of(static_cast<double>(state().cursor_step()) + 0.5);
  if (x >= f.area().left() && x <= f.area().right()) {
    QPen pen(colours.cursor, 1, Qt::DashLine);
    to.setPen(pen);
    to.drawLine(QPointF(x, f.area().top()), QPointF(x, f.area().bottom()));
  }
  if (pressed_ && std::abs(pointer_.x() - pressed_->x()) > 3) {
    QColor shade = colours.cursor;
    shade.setAlpha(40);
    to.fillRect(QRectF(QPointF(pressed_->x(), f.area().top()), QPointF(pointer_.x(), f.area().bottom())).normalized(),
                shade);
  }
  to.restore();
}

void step_view::mousePressEvent(QMouseEvent* event) {
  const bool is_inside = drawn_ && reach_.contains(event->position());
  pointer_ = event->position();
  if (event->button() == Qt::LeftButton && is_inside) {
    pressed_ = pointer_;
  } else if (event->button() == Qt::MiddleButton && is_inside) {
    held_ = held{pointer_, state().shown()};
    move_y(0, true);
    setCursor(Qt::ClosedHandCursor);
  } else if (event->button() == Qt::RightButton) {
    state().undo();
  }
}

void step_view::mouseMoveEvent(QMouseEvent* event) {
  pointer_ = event->position();
  if (pressed_) {
    update();
  } else if (held_) {
    move_held();
  } else if (drawn_ && reach_.contains(pointer_)) {
    // For as long as the pointer rests.
    constexpr int long_time = std::numeric_limits<int>::max();
    QToolTip::showText(event->globalPosition().toPoint(), tip_of(told_at(pointer_)), this, {}, long_time);
  } else {
    QToolTip::hideText();
  }
}

// The steps move with the pointer.
void step_view::move_held() {
  const QPointF by = pointer_ - held_->from;
  const double steps =
      by.x() / drawn_->area().width() * static_cast<double>(held_->shown.last + 1 - held_->shown.first);
  state().pan_to(held_->shown.first - static_cast<std::int64_t>(std::llround(steps)));
  move_y(by.y(), false);
}

void step_view::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() == Qt::MiddleButton && held_) {
    held_.reset();
    unsetCursor();
  }
  if (event->button() != Qt::LeftButton || !pressed_ || !drawn_) return;
  const QPointF from = *pressed_;
  pressed_.reset();
  const QPointF to = event->position();
  if (std::abs(to.x() - from.x()) <= 3)
    state().set_cursor(step_at(*drawn_, to.x()));
  else
    state().set_shown({step_at(*drawn_, from.x()), step_at(*drawn_, to.x())});
  update();
}

void step_view::wheelEvent(QWheelEvent* event) {
  // Some platforms turn the wheel sideways with Shift.
  const int turned = event->angleDelta().y() != 0 ? event->angleDelta().y() : event->angleDelta().x();
  const bool with_shift = event->modifiers().testFlag(Qt::ShiftModifier);
  if (!drawn_ || turned == 0 || (!with_shift && event->angleDelta().y() == 0)) return;
  event->accept();
  const double factor = turned > 0 ? 0.8 : 1.25;
  if (with_shift && zoom_y(event->position().y(), factor)) return;
  const auto shown = state().shown();
  const double at = std::clamp(drawn_->value_at_x(event->position().x()), static_cast<double>(shown.first),
                               static_cast<double>(shown.last));
  const double first = at - (at - static_cast<double>(shown.first)) * factor;
  const double last = at + (static_cast<double>(shown.last) - at) * factor;
  state().set_shown({static_cast<std::int64_t>(std::floor(first)), static_cast<std::int64_t>(std::ceil(last))});
}

}  // namespace ulp::gui
