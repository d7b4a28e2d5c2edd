#include "window_view.hpp"

#include <QFontMetricsF>
#include <QPainter>
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "stepped.hpp"

namespace ulp::gui {
namespace {

double strength(double count, double most) { return std::log1p(count) / std::log1p(most); }

// "3", "3 to 7" where some may be zero or not.
QString zeros_text(const binade_counts& o) {
  const QString least = QString::number(o.zeros, 'f', 0);
  return o.maybe_zeros > 0 ? QObject::tr("%1 to %2").arg(least, QString::number(o.zeros + o.maybe_zeros, 'f', 0))
                           : least;
}

}  // namespace

window_view::window_view(view_state& state, QWidget* parent)
    : step_view(state, "window", tr("Window"), tr("Do the gradients fit the format, and when do they fall out of it?"),
                parent) {}

void window_view::refresh(view_state::parts what) {
  if (what.testAnyFlags(view_state::run | view_state::tensors)) {
    binades_.clear();
    lowest_ = 0;
    highest_ = -1;
    most_ = 0;
    if (state().current_run() != nullptr)
      for (const tensor_tables& column : state().current_run()->picture.columns().columns()) {
        const binade_counts& o = binades_.emplace_back(column.binades(state().selected()));
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
    legend.push_back({state().doc().title_of(replays[i]), colours.line(i), QBrush()});
  if (state().tried_scale())
    legend.push_back({tr("%1 at the scale 2^%2, tried out")
                          .arg(QString::fromStdString(state().front().spec.format))
                          .arg(*state().tried_scale()),
                      QPen(colours.text, 2, Qt::DotLine), QBrush()});
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
  const auto top = static_cast<int>(std::lround(f.value_at_y(f.area().top())));
  const auto bottom = static_cast<int>(std::lround(f.value_at_y(f.area().bottom())));
  f.draw_cells(to, colours, column_edges(), static_cast<std::size_t>(top - bottom),
               [&](std::size_t column, std::size_t row) -> std::optional<QRgb> {
                 const auto& counts = binades_[column].by_exponent;
                 if (counts.empty()) return std::nullopt;
                 const auto found = counts.find(top - 1 - static_cast<int>(row));
                 return found == counts.end() ? qRgba(0, 0, 0, 0) : colours.heat(strength(found->second, most_)).rgba();
               });
}

void window_view::draw_limits(QPainter& to, const frame& f, const theme& colours) const {
  const auto& replays = state().doc().replays();
  const auto draw_limit = [&](const std::vector<double>& edges, const std::vector<extremes>& y, const QPen& pen) {
    QColor halo = colours.background;
    halo.setAlpha(150);
    f.draw_steps(to, QPen(halo, pen.widthF() + 2), edges, y);
    f.draw_steps(to, pen, edges, y);
  };
  for (std::size_t i = replays.size(); i-- > 0;) {
    if (!replays[i].result) continue;
    const replayed_run& result = *replays[i].result;
    const scenario s = scenario_of(replays[i].spec);
    const format_limits limits = limits_of(s.format, s.rounding);
    const stepped_line line = stepped(result.steps, result.scales, state().shown(), f.area().width(), log2_scale);
    for (const auto& [limit, width] : {std::pair{limits.overflow, 2.5}, {limits.normal, 1.0}, {limits.nonzero, 2.5}}) {
      std::vector<extremes> y;
      for (const extremes& log2 : line.pieces) y.push_back({limit - log2.greatest, limit - log2.least});
      draw_limit(line.edges, y, colours.line(i, width));
    }
    // Skipped steps: ticks at the upper edge, a row for each replay.
    to.save();
    to.setPen(colours.line(i, 1).color());
    const double top = f.area().top() + 2 + 6 * static_cast<double>(i);
    for (const std::int64_t step : thinned(result.skipped, state().shown(), f.area().width())) {
      const double x = f.x_of(static_cast<double>(step) + 0.5);
      to.drawLine(QPointF(x, top), QPointF(x, top + 5));
    }
    to.restore();
  }
  if (!state().tried_scale()) return;
  const scenario s = scenario_of(state().front().spec);
  const format_limits limits = limits_of(s.format, s.rounding);
  const auto shown = state().shown();
  const std::vector<double> edges{static_cast<double>(shown.first), static_cast<double>(shown.last + 1)};
  for (const auto& [limit, width] : {std::pair{limits.overflow, 2.0}, {limits.normal, 1.0}, {limits.nonzero, 2.0}})
    draw_limit(edges, {{limit - *state().tried_scale(), limit - *state().tried_scale()}},
               QPen(colours.text, width, Qt::DotLine));
}

QString window_view::told_at(QPointF place) const {
  if (binades_.empty()) return {};
  const auto step = static_cast<std::int64_t>(std::floor(drawn()->value_at_x(place.x())));
  const std::size_t c = state().current_run()->picture.column_of(step);
  const column_span& span = state().current_run()->picture.columns().spans()[c];
  const int exponent = static_cast<int>(std::floor(drawn()->value_at_y(place.y())));
  const binade_counts& o = binades_[c];
  const auto found = o.by_exponent.find(exponent);
  return tr("steps %1 to %2: %3 gradients in [2^%4, 2^%5); %6 zeros, %7 not finite")
      .arg(span.first_step)
      .arg(span.last_step)
      .arg(found == o.by_exponent.end() ? 0 : found->second, 0, 'f', 0)
      .arg(exponent)
      .arg(exponent + 1)
      .arg(zeros_text(o))
      .arg(o.nonfinite, 0, 'f', 0);
}

table window_view::data() const {
  table t;
  t.columns = {{"first_step", "from step"}, {"last_step", "to"}, {"exponent", "exponent"}, {"count", "gradients"}};
  if (state().current_run() == nullptr) return t;
  const auto& spans = state().current_run()->picture.columns().spans();
  for (std::size_t c = 0; c < binades_.size(); ++c)
    for (const auto& [exponent, count] : binades_[c].by_exponent)
      t.rows.push_back({spans[c].first_step, spans[c].last_step, std::int64_t{exponent}, count});
  return t;
}

QString window_view::legend() const {
  return tr(
      "Steps run from left to right and gradient magnitudes from bottom to top, one binade per row; stronger colour "
      "means more gradients. The lines are the limits of the format, moved by the loss scale of each step: above the "
      "upper line gradients overflow, below the thin line they become subnormal, below the lowest they become zero. "
      "Ticks at the top are skipped steps. Hatched areas have no recorded gradients.");
}

}  // namespace ulp::gui
