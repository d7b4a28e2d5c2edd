#include "window_view.hpp"

#include <QFontMetricsF>
#include <QImage>
#include <QPainter>
#include <algorithm>
#include <cmath>

namespace ulp::gui {
namespace {

double log2_or_gap(double scale) { return scale > 0 && std::isfinite(scale) ? std::log2(scale) : not_known; }

double strength(double count, double most) { return std::log1p(count) / std::log1p(most); }

}  // namespace

window_view::window_view(view_state& state, QWidget* parent)
    : step_view(state, "window", tr("Window"), tr("Do the gradients fit the format, and when do they fall out of it?"),
                parent) {}

void window_view::refresh(view_state::parts what) {
  if (what.testAnyFlags(view_state::run | view_state::tensors)) {
    octaves_.clear();
    lowest_ = 0;
    highest_ = -1;
    most_ = 0;
    if (state().current_run() != nullptr)
      for (const tensor_tables& column : state().current_run()->picture.columns().columns()) {
        const octave_counts& o = octaves_.emplace_back(column.octaves(state().selected()));
        for (const auto& [exponent, count] : o.by_exponent) {
          if (highest_ < lowest_) lowest_ = highest_ = exponent;
          lowest_ = std::min(lowest_, exponent);
          highest_ = std::max(highest_, exponent);
          most_ = std::max(most_, count);
        }
      }
  }
  update();
}

void window_view::draw(QPainter& to, const QRectF& room, const theme& colours) {
  const QString why = why_empty();
  if (!why.isEmpty()) return draw_empty(to, room, colours, why);
  if (highest_ < lowest_)
    return draw_empty(to, room, colours, tr("The selected tensors hold no finite nonzero gradient."));

  std::vector<legend_entry> legend{{tr("gradients, stronger is more (log)"), QPen(Qt::NoPen), colours.heat(0.7)},
                                   {tr("none"), QPen(Qt::NoPen), QBrush(), true}};
  const auto& replays = state().doc().replays();
  for (std::size_t i = 0; i < replays.size(); ++i)
    legend.push_back({QString::fromStdString(name_of(replays[i].spec)), colours.line(i), QBrush()});
  const double used = draw_legend(to, room, legend, colours);

  const auto shown = state().shown();
  // Half the window below 2^-70 is of no format's interest: what lies far below is cut, and told by hovering.
  const int bottom = std::max(lowest_, highest_ - 72);
  const frame f(room.adjusted(0, used, 0, 0), static_cast<double>(shown.first), static_cast<double>(shown.last + 1),
                bottom - 2, highest_ + 4);
  keep(f);
  f.draw_axes(
      to, colours, tr("step"), [](double e) { return QStringLiteral("2^%1").arg(e); }, false);
  draw_heat(to, f, colours);
  draw_limits(to, f, colours);
  draw_cursor(to, f, colours);
}

void window_view::draw_heat(QPainter& to, const frame& f, const theme& colours) const {
  const std::vector<double> edges = column_edges();
  const auto rows = static_cast<int>(std::floor(f.value_at_y(f.area().top()))) -
                    static_cast<int>(std::floor(f.value_at_y(f.area().bottom())));
  const int low = static_cast<int>(std::floor(f.value_at_y(f.area().bottom()) + 1e-9));
  to.save();
  to.setRenderHint(QPainter::Antialiasing, false);
  for (std::size_t c = 0; c < octaves_.size(); ++c) {
    const double x0 = std::max(f.x_of(edges[c]), f.area().left());
    const double x1 = std::min(f.x_of(edges[c + 1]), f.area().right());
    if (x1 <= x0) continue;
    if (octaves_[c].by_exponent.empty()) {
      draw_hatched(to, QRectF(QPointF(x0, f.area().top()), QPointF(x1, f.area().bottom())), colours);
      continue;
    }
    QImage column(1, rows, QImage::Format_ARGB32);
    column.fill(Qt::transparent);
    for (const auto& [exponent, count] : octaves_[c].by_exponent) {
      const int row = rows - 1 - (exponent - low);
      if (row >= 0 && row < rows) column.setPixelColor(0, row, colours.heat(strength(count, most_)));
    }
    to.drawImage(QRectF(QPointF(std::floor(x0), f.y_of(low + rows)), QPointF(std::ceil(x1), f.y_of(low))), column);
  }
  to.restore();
}

void window_view::draw_limits(QPainter& to, const frame& f, const theme& colours) const {
  const auto& replays = state().doc().replays();
  for (std::size_t i = replays.size(); i-- > 0;) {
    if (!replays[i].result) continue;
    const scenario s = scenario_of(replays[i].spec);
    const format_limits limits = limits_of(s.format, s.rounding);
    const auto line = stepped(replays[i].result->steps, state().shown(), f.area().width(),
                              [](const replay_step& r) { return log2_or_gap(r.scale_used); });
    const auto draw_limit = [&](double limit, const QPen& pen) {
      std::vector<double> y;
      for (const double log2 : line.values) y.push_back(limit - log2);
      QColor halo = colours.background;
      halo.setAlpha(150);
      f.draw_steps(to, QPen(halo, pen.widthF() + 2), line.edges, y);
      f.draw_steps(to, pen, line.edges, y);
    };
    draw_limit(limits.overflow, colours.line(i, 2.5));
    draw_limit(limits.normal, colours.line(i, 1));
    draw_limit(limits.nonzero, colours.line(i, 2.5));
    // Skipped steps: ticks at the upper edge, a row for each replay.
    to.save();
    to.setPen(colours.line(i, 1).color());
    const double top = f.area().top() + 2 + 6 * static_cast<double>(i);
    for (const replay_step& r : replays[i].result->steps) {
      if (!r.skipped) continue;
      const double x = f.x_of(static_cast<double>(r.step) + 0.5);
      if (x >= f.area().left() && x <= f.area().right()) to.drawLine(QPointF(x, top), QPointF(x, top + 5));
    }
    to.restore();
  }
}

QString window_view::told_at(QPointF place) const {
  if (octaves_.empty()) return {};
  const auto step = static_cast<std::int64_t>(std::floor(drawn()->value_at_x(place.x())));
  const std::size_t c = state().current_run()->picture.column_of(step);
  const column_span& span = state().current_run()->picture.columns().spans()[c];
  const int exponent = static_cast<int>(std::floor(drawn()->value_at_y(place.y())));
  const octave_counts& o = octaves_[c];
  const auto found = o.by_exponent.find(exponent);
  return tr("steps %1 to %2: %3 gradients in [2^%4, 2^%5); %6 zeros, %7 not finite")
      .arg(span.first_step)
      .arg(span.last_step)
      .arg(found == o.by_exponent.end() ? 0 : found->second, 0, 'f', 0)
      .arg(exponent)
      .arg(exponent + 1)
      .arg(o.zeros, 0, 'f', 0)
      .arg(o.nonfinite, 0, 'f', 0);
}

table window_view::data() const {
  table t;
  t.columns = {{"first_step", "from step"}, {"last_step", "to"}, {"exponent", "exponent"}, {"count", "gradients"}};
  if (state().current_run() == nullptr) return t;
  const auto& spans = state().current_run()->picture.columns().spans();
  for (std::size_t c = 0; c < octaves_.size(); ++c)
    for (const auto& [exponent, count] : octaves_[c].by_exponent)
      t.rows.push_back({spans[c].first_step, spans[c].last_step, std::int64_t{exponent}, count});
  return t;
}

}  // namespace ulp::gui
