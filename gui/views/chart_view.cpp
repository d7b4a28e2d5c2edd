#include "chart_view.hpp"

#include <QPainter>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "charts/chart.hpp"
#include "plot/wrapped.hpp"
#include "stepped.hpp"

namespace ulp::gui {

chart_view::chart_view(view_state& state, const char* key, const QString& title, const QString& question,
                       QWidget* parent)
    : view(state, key, title, question, parent), chart_(new chart(this)), controls_(new QHBoxLayout) {
  auto* const layout = new QVBoxLayout(this);
  layout->setContentsMargins(8, 6, 8, 8);
  layout->addLayout(controls_);
  layout->addWidget(chart_, 1);
  QSizePolicy room = chart_->sizePolicy();
  room.setRetainSizeWhenHidden(true);  // the controls stay above it
  chart_->setSizePolicy(room);
  chart_->setAccessibleName(title);
  chart_->setAccessibleDescription(question);
  setFocusProxy(chart_);
  // Lines are as fine as there is room.
  connect(
      chart_, &chart::resized, this,
      [this] {
        if (isVisible()) refresh({});
      },
      Qt::QueuedConnection);
}

chart_axis chart_view::steps_axis(const QString& title) const {
  const auto shown = state().shown();
  return {.title = title,
          .low = static_cast<double>(shown.first),
          .high = static_cast<double>(shown.last + 1),
          .cells = true};
}

chart_line chart_view::cursor_line(const theme& colours, double bottom, double top) const {
  const double x = static_cast<double>(state().cursor_step()) + 0.5;
  return {{}, QPen(colours.cursor, 1, Qt::DashLine), {{x, bottom}, {x, top}}};
}

void chart_view::link_steps() {
  const auto whole = [](double x) { return static_cast<std::int64_t>(std::floor(x)); };
  connect(chart_, &chart::clicked, this, [this, whole](double x, double) { state().set_cursor(whole(x)); });
  connect(chart_, &chart::dragged, this, [this, whole](double from, double to) {
    state().set_shown({whole(from), whole(to)});
  });
  connect(chart_, &chart::panned, this, [this](double left) { state().pan_to(std::llround(left)); });
  connect(chart_, &chart::undone, this, [this] { state().undo(); });
  connect(chart_, &chart::wheeled, this, [this](double x, bool closer) {
    const double factor = closer ? 0.8 : 1.25;
    const auto shown = state().shown();
    x = std::clamp(x, static_cast<double>(shown.first), static_cast<double>(shown.last));
    state().set_shown({static_cast<std::int64_t>(std::floor(x - (x - static_cast<double>(shown.first)) * factor)),
                       static_cast<std::int64_t>(std::ceil(x + (static_cast<double>(shown.last) - x) * factor))});
  });
}

double chart_view::fineness() const { return std::max(200, chart_->width()); }

chart_ticks chart_view::ticks(const std::vector<std::int64_t>& steps, const QColor& colour) const {
  chart_ticks all{colour, {}};
  for (const std::int64_t step : thinned(steps, state().shown(), fineness()))
    all.at.push_back(static_cast<double>(step) + 0.5);
  return all;
}

void chart_view::refresh(view_state::parts) {
  const theme colours = theme::of(palette());
  chart_->set_theme(colours);
  why_ = fill(colours);
  // Never a hidden chart inside a visible chart view; an invisible widget is no such thing.
  chart_->setVisible(why_.isEmpty());
  update();
}

void chart_view::paintEvent(QPaintEvent*) {
  QPainter to(this);
  const theme colours = theme::of(palette());
  to.fillRect(rect(), colours.background);
  if (!why_.isEmpty()) draw_empty(to, rect(), colours, why_);
}

double chart_view::words_height(const QPainter& to, const QRectF& room) const {
  if (words().isEmpty()) return 0;
  const double height = std::ceil(wrapped_height(to.font(), room.width(), words())) + 4;
  return height > room.height() / 4 ? 0 : height;
}

void chart_view::draw(QPainter& to, const QRectF& whole, const theme& colours) {
  const QSize on_screen = chart_->size();
  const double above = words_height(to, whole);
  const QRectF room = whole.adjusted(0, above, 0, 0);
  on_paper_ = true;
  chart_->set_theme(colours);
  chart_->resize(room.size().toSize());  // lines are as fine as there is room
  const QString why = fill(colours);
  if (why.isEmpty()) {
    if (above > 0) {
      to.setPen(colours.text);
      draw_wrapped(to, QRectF(whole.topLeft(), QSizeF(whole.width(), above)), words());
    }
    chart_->draw(to, room);
    draw_beside(to, room, colours);
  } else {
    draw_empty(to, room, colours, why);
  }
  chart_->resize(on_screen);
  on_paper_ = false;
  if (isVisible()) refresh({});
}

}  // namespace ulp::gui
