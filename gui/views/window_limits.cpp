#include "window_limits.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include <ulp/report/tables/table.hpp>

namespace ulp::gui {
namespace {

constexpr double tick_row = 6;  // height of a row of skipped steps

QString power_of(double log2) {
  if (std::rint(log2) == log2 && std::isfinite(log2)) return QStringLiteral("2^%1").arg(static_cast<int>(log2));
  // No sign before a rounded zero.
  return QString::fromStdString(power_text(std::abs(log2) < 0.005 ? 0 : log2));
}

// The scales over the steps shown, in log2; -inf where the scale is 0, inf where it is infinite.
stepped_line scales_of(const drawn_replay& result, step_range shown, double width) {
  stepped_line line = stepped(result.steps, result.scales, shown, width, log2_scale);
  for (std::size_t i = 0; i < line.pieces.size(); ++i) {
    if (!std::isnan(line.pieces[i].least)) continue;
    const auto step = static_cast<std::int64_t>(std::floor(line.edges[i]));
    const auto after = std::ranges::upper_bound(result.steps, step, {}, &replay_step::step);
    if (after == result.steps.begin()) continue;
    const double log2 = std::log2(std::prev(after)->scale_used);
    line.pieces[i] = {log2, log2};
  }
  return line;
}

stepped_line moved(stepped_line scales, double limit) {
  for (extremes& e : scales.pieces) e = {limit - e.greatest, limit - e.least};
  return scales;
}

// The longest stretch that lies outside of the picture.
struct outside {
  double from = 0;
  double to = 0;
  extremes at;
};
std::optional<outside> longest_outside(const stepped_line& line, double edge, bool above) {
  std::optional<outside> longest;
  std::optional<outside> now;
  for (std::size_t i = 0; i < line.pieces.size(); ++i) {
    const extremes& e = line.pieces[i];
    if (!(above ? e.least > edge : e.greatest < edge)) {
      now.reset();
      continue;
    }
    if (!now) now = outside{.from = line.edges[i]};
    now->to = line.edges[i + 1];
    now->at.merge(e);
    if (!longest || now->to - now->from >= longest->to - longest->from) longest = now;
  }
  return longest;
}

// The colour of a replay, strong enough for small letters.
QColor letters_of(const theme& colours, std::size_t replay) {
  const QColor colour = colours.line(replay).color();
  return colours.dark ? colour : colour.darker(125);
}

}  // namespace

QString exponent_text(const extremes& log2) {
  const QString least = power_of(log2.least);
  const QString greatest = power_of(log2.greatest);
  return least == greatest ? least : QStringLiteral("[%1, %2]").arg(least, greatest);
}

QString window_limits::name_of(limit what) {
  switch (what) {
    case limit::zero: return QObject::tr("becomes zero");
    case limit::normal: return QObject::tr("smallest normal");
    case limit::overflow: return QObject::tr("overflow");
  }
  return {};
}

QString window_limits::text_of(limit what, const extremes& at) {
  if (at.least == INFINITY) return QObject::tr("everything becomes zero: the loss scale is 0");
  if (at.greatest == -INFINITY) return QObject::tr("everything overflows: the loss scale is infinite");
  if (at.greatest == INFINITY) return QObject::tr("everything becomes zero where the loss scale is 0");
  if (at.least == -INFINITY) return QObject::tr("everything overflows where the loss scale is infinite");
  const QString place = exponent_text(at);
  switch (what) {
    case limit::zero: return QObject::tr("zero below %1").arg(place);
    case limit::normal: return QObject::tr("subnormal below %1").arg(place);
    case limit::overflow: return QObject::tr("overflow above %1").arg(place);
  }
  return {};
}

window_limits::window_limits(const view_state& state, double width) : state_(state) {
  const auto& replays = state.doc().replays();
  const auto add = [&](std::size_t i) {
    if (!replays[i].result) return;
    const scenario s = scenario_of(replays[i].spec);
    const format_limits limits = limits_of(s.recipe.usual());
    const stepped_line scales = scales_of(*replays[i].result, state.shown(), width);
    for (const auto& [what, at] :
         {std::pair{limit::overflow, limits.overflow}, {limit::normal, limits.normal}, {limit::zero, limits.nonzero}})
      lines_.push_back({what, i, moved(scales, at)});
  };
  for (std::size_t i = replays.size(); i-- > 0;) {
    if (i != state.front_index()) add(i);
  }
  add(state.front_index());
  for (const replay_entry& r : replays)
    skipped_.push_back(r.result ? thinned(r.result->skipped, state.shown(), width) : std::vector<std::int64_t>());
}

std::vector<std::vector<limit_stretch>> window_limits::stretches() const {
  std::vector<std::vector<limit_stretch>> all;
  for (const line& l : lines_) {
    auto& stretches = all.emplace_back();
    for (std::size_t i = 0; i < l.at.pieces.size(); ++i)
      stretches.push_back({l.at.pieces[i], l.at.edges[i + 1] - l.at.edges[i]});
  }
  if (const auto tried = state_.tried_scale()) {
    const scenario s = scenario_of(state_.front().spec);
    const format_limits limits = limits_of(s.recipe.usual());
    for (const double at : {limits.overflow, limits.normal, limits.nonzero})
      all.push_back({{{at - *tried, at - *tried}, 1}});
  }
  return all;
}

std::vector<legend_entry> window_limits::legend(const theme& colours) const {
  std::vector<legend_entry> all;
  const auto& replays = state_.doc().replays();
  for (std::size_t i = 0; i < replays.size(); ++i)
    if (replays[i].result) all.push_back({state_.doc().title_of(replays[i]), colours.line(i), QBrush()});
  if (state_.tried_scale())
    all.push_back({QObject::tr("%1 at the scale 2^%2, tried out")
                       .arg(QString::fromStdString(state_.front().spec.format))
                       .arg(*state_.tried_scale()),
                   QPen(colours.text, 2, Qt::DotLine), QBrush()});
  if (std::ranges::any_of(skipped_, [](const auto& steps) { return !steps.empty(); }))
    all.push_back({QObject::tr("skipped steps"), QPen(colours.faint), QBrush(), false, true});
  return all;
}

double window_limits::ticks_height() const {
  const auto last = std::find_if(skipped_.rbegin(), skipped_.rend(), [](const auto& steps) { return !steps.empty(); });
  return last == skipped_.rend() ? 0 : 1 + tick_row * static_cast<double>(skipped_.rend() - last);
}

void window_limits::draw(QPainter& to, const frame& f, const theme& colours, plot_labels& labels) const {
  QColor halo = colours.background;
  halo.setAlpha(150);
  for (const line& l : lines_) {
    const QPen pen = colours.line(l.replay, l.what == limit::normal ? 1.0 : 2.5);
    f.draw_steps(to, QPen(halo, pen.widthF() + 2), l.at.edges, l.at.pieces);
    f.draw_steps(to, pen, l.at.edges, l.at.pieces);
    labels.avoid(pieces_in(f, l.at.edges, l.at.pieces));
  }
  draw_tried(to, f, colours);
  draw_skips(to, f, colours, labels);
  draw_outside(to, f, colours, labels, true);
  draw_outside(to, f, colours, labels, false);
  const QColor colour = letters_of(colours, state_.front_index());
  for (const limit what : {limit::overflow, limit::zero, limit::normal})
    for (const line& l : lines_)
      if (l.what == what && l.replay == state_.front_index()) draw_name(l, f, colour, labels);
}

// A row of ticks for each replay, at the upper edge.
void window_limits::draw_skips(QPainter& to, const frame& f, const theme& colours, plot_labels& labels) const {
  to.save();
  for (std::size_t i = 0; i < skipped_.size(); ++i) {
    if (skipped_[i].empty()) continue;
    const double top = f.area().top() + 2 + tick_row * static_cast<double>(i);
    to.setPen(colours.line(i, 1).color());
    for (const std::int64_t step : skipped_[i]) {
      const double x = f.x_of(static_cast<double>(step) + 0.5);
      to.drawLine(QPointF(x, top), QPointF(x, top + tick_row - 1));
      labels.block({x - 1, top, 2, tick_row});
    }
  }
  to.restore();
}

void window_limits::draw_tried(QPainter& to, const frame& f, const theme& colours) const {
  const auto tried = state_.tried_scale();
  if (!tried) return;
  const scenario s = scenario_of(state_.front().spec);
  const format_limits limits = limits_of(s.recipe.usual());
  const std::vector<double> edges{static_cast<double>(state_.shown().first),
                                  static_cast<double>(state_.shown().last + 1)};
  for (const auto& [limit, width] : {std::pair{limits.overflow, 2.0}, {limits.normal, 1.0}, {limits.nonzero, 2.0}})
    f.draw_steps(to, QPen(colours.text, width, Qt::DotLine), edges, {{limit - *tried, limit - *tried}});
}

// A triangle where a limit has left the picture. Where several have at the same steps, the one that is nearest to it says
// what becomes of the gradients.
void window_limits::draw_outside(QPainter& to, const frame& f, const theme& colours, plot_labels& labels,
                                 bool above) const {
  const double edge = f.value_at_y(above ? f.area().top() : f.area().bottom());
  const double y = above ? f.area().top() + 1 + ticks_height() : f.area().bottom() - 1;
  std::array order{limit::zero, limit::normal, limit::overflow};
  if (!above) std::ranges::reverse(order);
  std::vector<std::pair<std::size_t, outside>> marked;
  for (const limit what : order)
    for (const line& l : lines_) {
      if (l.what != what) continue;
      const auto out = longest_outside(l.at, edge, above);
      const auto is_told = [&](const auto& m) {
        return m.first == l.replay && m.second.from < out->to && out->from < m.second.to;
      };
      if (!out || std::ranges::any_of(marked, is_told)) continue;
      marked.emplace_back(l.replay, *out);
      const double left = std::max(f.x_of(out->from), f.area().left());
      const double right = std::min(f.x_of(out->to), f.area().right());
      // Those of several replays are beside each other, that of the one in front at the right.
      const std::size_t n = skipped_.size();
      const auto beside = static_cast<double>((l.replay + n - state_.front_index()) % n);
      const double x =
          std::clamp(std::max((left + right) / 2, right - 10) - 10 * beside, f.area().left() + 5, f.area().right() - 5);
      const QColor colour = letters_of(colours, l.replay);
      draw_triangle(to, {x, y}, above, colour);
      labels.block({x - 5, above ? y : y - 7, 10, 7});
      if (l.replay != state_.front_index()) continue;
      const QString text = text_of(what, out->at);
      const QSizeF size = labels.size_of(text);
      std::vector<QPointF> places;
      for (int row = 0; row < 3; ++row) {
        const double top = above ? y + row * size.height() : y - (row + 1) * size.height();
        for (const double at : {x - 7 - 10 * static_cast<double>(n - 1) - size.width(), x + 7, x - size.width() / 2})
          places.emplace_back(at, top);
      }
      labels.draw(text, colour, places);
    }
}

// Beside the line, at the right end where there is room.
void window_limits::draw_name(const line& of, const frame& f, const QColor& colour, plot_labels& labels) const {
  const QString name = name_of(of.what);
  const QSizeF size = labels.size_of(name);
  const std::vector<QRectF> pieces = pieces_in(f, of.at.edges, of.at.pieces);
  std::vector<QPointF> places;
  constexpr int tries = 12;
  const double room = f.area().width() - size.width() - 12;
  for (int i = 0; i < tries && room > 0; ++i) {
    const double x = f.area().right() - 6 - size.width() - room * i / (tries - 1);
    QRectF below;
    for (const QRectF& p : pieces)
      if (p.right() > x && p.left() < x + size.width()) below |= p;
    if (below.isNull()) continue;
    const QPointF over(x, below.top() - size.height() - 1);
    const QPointF under(x, below.bottom() + 1);
    places.push_back(of.what == limit::zero ? under : over);
    places.push_back(of.what == limit::zero ? over : under);
  }
  // On the line where it goes up and down everywhere.
  if (!pieces.empty())
    places.emplace_back(f.area().right() - 6 - size.width(), pieces.back().center().y() - size.height() / 2);
  labels.draw(name, colour, places);
}

}  // namespace ulp::gui
