#include "window_view.hpp"

#include <QMouseEvent>
#include <algorithm>
#include <cmath>

namespace ulp::gui {

window_view::window_view(view_state& state, QWidget* parent)
    : step_view(state, "window", tr("Window"), tr("Do the gradients fit the format, and when do they fall out of it?"),
                parent),
      picture_(state) {}

void window_view::refresh(view_state::parts what) {
  picture_.refresh(what);
  const bool shows_all = what.testFlag(view_state::range) && state().shown() == state().whole();
  if (what.testFlag(view_state::run) || shows_all) show_binades(std::nullopt);
  update();
}

void window_view::draw(QPainter& to, const QRectF& room, const theme& colours) {
  const QString why = why_no_steps();
  if (!why.isEmpty()) return draw_empty(to, room, colours, why);
  picture_.draw(to, room, colours);
  const std::vector<frame>& frames = picture_.frames();
  if (frames.empty()) return;
  keep(frames.front(), frames.front().area() | frames.back().area());
  for (const frame& f : frames) draw_cursor(to, f, colours);
}

void window_view::show_binades(std::optional<binade_range> shown) {
  if (shown == chosen_) return;
  chosen_ = shown;
  picture_.set_binades(shown);
  update();
}

bool window_view::zoom_y(double y, double factor) {
  const auto before = picture_.binades();
  if (!before || !picture_.frames().front().area().contains(QPointF(drawn()->area().center().x(), y))) return false;
  constexpr int least = 4;
  constexpr int most = 400;
  const double at = drawn()->value_at_y(y);
  int height = static_cast<int>(std::lround((before->high - before->low) * factor));
  // One notch is one binade at least.
  if (height == before->high - before->low) height += factor < 1 ? -1 : 1;
  height = std::clamp(height, least, most);
  const double share = (at - before->low) / (before->high - before->low);
  const int low = static_cast<int>(std::lround(at - share * height));
  show_binades(binade_range{low, low + height});
  return true;
}

void window_view::move_y(double pixels, bool begins) {
  if (begins) held_ = picture_.binades();
  if (!held_) return;
  const double height = drawn()->area().height();
  const int by = static_cast<int>(std::lround(pixels / height * (held_->high - held_->low)));
  // A hand that moves along the steps is not quite level.
  if (!chosen_ && std::abs(by) < 2) return;
  show_binades(binade_range{held_->low + by, held_->high + by});
}

// On the labels of y: as it fits again.
void window_view::mouseDoubleClickEvent(QMouseEvent* event) {
  if (drawn() && event->position().x() < drawn()->area().left())
    show_binades(std::nullopt);
  else
    step_view::mouseDoubleClickEvent(event);
}

table window_view::data() const {
  table t;
  t.columns = {{"first_step", "from step"}, {"last_step", "to"}, {"exponent", "exponent"}, {"count", "gradients"}};
  const auto& columns = picture_.columns().columns;
  for (std::size_t c = 0; c < columns.size(); ++c)
    for (const auto& [exponent, count] : picture_.counts()[c]->by_exponent)
      t.rows.push_back({columns[c].span.first_step, columns[c].span.last_step, std::int64_t{exponent}, count});
  return t;
}

QString window_view::legend() const {
  return tr(
      "Steps run from left to right and gradient magnitudes from bottom to top, one binade per row; stronger colour "
      "means more gradients. The lines are the limits of the format, moved by the loss scale of each step: above the "
      "upper line gradients overflow, below the thin line they become subnormal, below the lowest they become zero. "
      "Where a limit or a gradient lies outside the picture, a triangle at the edge says so. Ticks at the top are "
      "skipped steps. Hatched steps have no finite nonzero gradient. The rows below show what the run logged; ticks "
      "in them are infinite or NaN values. Shift and the wheel zoom the gradients, the middle button moves the "
      "picture, and a double-click on the labels at the left fits it again.");
}

}  // namespace ulp::gui
