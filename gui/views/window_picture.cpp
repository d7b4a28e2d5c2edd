#include "window_picture.hpp"

#include <QFontMetricsF>
#include <QStringList>
#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <utility>

#include <ulp/report/tables/table.hpp>

namespace ulp::gui {
namespace {

double strength(double count, double most) { return std::log1p(count) / std::log1p(most); }

// Values of buckets are spread over binades: then it is an estimate.
QString count_of(double count) {
  const QString text = QString::fromStdString(grouped(static_cast<std::uint64_t>(std::llround(count))));
  return std::rint(count) == count ? text : QObject::tr("about %1").arg(text);
}

// "3", "3 to 7" where some may be zero or not.
QString zeros_of(const binade_counts& o) {
  return o.maybe_zeros > 0 ? QObject::tr("%1 to %2").arg(count_of(o.zeros), count_of(o.zeros + o.maybe_zeros))
                           : count_of(o.zeros);
}

QString steps_of(const column_span& span) {
  return span.first_step == span.last_step ? QObject::tr("step %1").arg(span.first_step)
                                           : QObject::tr("steps %1 to %2").arg(span.first_step).arg(span.last_step);
}

double total_of(const binade_counts& o) {
  double all = o.zeros + o.maybe_zeros + o.nonfinite;
  for (const auto& [exponent, count] : o.by_exponent) all += count;
  return all;
}

void draw_message(QPainter& to, const QRectF& room, const theme& colours, const QString& text) {
  to.save();
  to.setPen(colours.faint);
  to.drawText(room, Qt::AlignCenter | Qt::TextWordWrap, text);
  to.restore();
}

}  // namespace

void window_picture::refresh(view_state::parts what) {
  if (what.testFlag(view_state::run)) strip_.show(state_.shared_run());
  if (what.testAnyFlags(view_state::parts{view_state::run} | view_state::tensors | view_state::columns))
    count(what.testAnyFlags(view_state::parts{view_state::run} | view_state::tensors));
}

// Columns that were counted before are not counted again.
void window_picture::count(bool anew) {
  std::unordered_map<const tensor_tables*, std::shared_ptr<const binade_counts>> known;
  if (!anew)
    for (std::size_t c = 0; c < counts_.size(); ++c) known.emplace(columns_->columns[c].tables, counts_[c]);
  const auto before = std::exchange(columns_, state_.drawn());  // keeps the tables until all are counted
  counts_.clear();
  all_.clear();
  most_ = 0;
  for (const drawn_column& column : columns_->columns) {
    auto& counted = known[column.tables];
    if (!counted) counted = std::make_shared<binade_counts>(column.tables->binades(state_.selected()));
    counts_.push_back(counted);
    for (const auto& [exponent, count] : counted->by_exponent) {
      all_[exponent] += count;
      most_ = std::max(most_, count);
    }
  }
}

// Of the strip: as many as leave the gradients most of the height.
std::size_t window_picture::rows_in(double height) const {
  std::size_t rows = strip_.rows();
  const bool alone = state_.current_run()->tensors.empty();
  const double room = alone ? height : std::min(0.4 * height, height - 120);
  while (rows > 0 && static_cast<double>(rows) * (logged_strip::least_height + logged_strip::gap) > room) --rows;
  return rows;
}

std::vector<legend_entry> window_picture::legend(const theme& colours, const window_limits& limits) const {
  std::vector<legend_entry> all{{QObject::tr("gradients, stronger is more (log)"), QPen(Qt::NoPen), colours.heat(0.7)}};
  if (std::ranges::any_of(counts_, [](const auto& c) { return c->by_exponent.empty(); }))
    all.push_back({QObject::tr("no finite nonzero gradient"), QPen(Qt::NoPen), QBrush(), true});
  std::ranges::move(limits.legend(colours), std::back_inserter(all));
  return all;
}

void window_picture::draw(QPainter& to, const QRectF& room, const theme& colours, parts shown) {
  frames_.clear();
  drawn_.reset();
  const QFontMetricsF metrics(to.font());
  const double title = metrics.height();
  const double labels = title + 4 + metrics.horizontalAdvance(QStringLiteral("2^-100")) + 8;
  QRectF area = room.adjusted(labels, 6, -frame::right_margin, -frame::foot);
  const bool has_tensors = !state_.current_run()->tensors.empty();
  const bool has_gradients = has_tensors && !all_.empty();
  const window_limits limits(state_, area.width());
  if (shown.legend && has_gradients) area.setTop(area.top() + draw_legend(to, room, legend(colours, limits), colours));
  const std::size_t rows = shown.strip ? rows_in(area.height()) : 0;
  QRectF strip = area;
  if (rows > 0 && has_tensors) {
    const auto n = static_cast<double>(rows);
    strip.setTop(area.bottom() -
                 n * std::clamp(0.09 * area.height(), logged_strip::least_height + logged_strip::gap, 90.0));
    area.setBottom(strip.top());
  }
  if (has_gradients)
    draw_gradients(to, area, colours, limits);
  else if (has_tensors)
    draw_message(to, area, colours, QObject::tr("The selected tensors hold no finite nonzero gradient."));
  else if (rows == 0)
    draw_message(to, area, colours,
                 strip_.rows() > 0 ? QObject::tr("There is too little room for what was logged.")
                                   : QObject::tr("The run has no tensors: there is nothing to show here."));
  if (rows > 0) std::ranges::move(strip_.draw(to, strip, rows, state_.shown(), colours), std::back_inserter(frames_));
  if (!frames_.empty()) frames_.back().draw_steps_axis(to, colours, QObject::tr("step"));
  if (!drawn_) return;
  to.save();
  to.setPen(colours.faint);
  to.translate(room.left() + title / 2, area.center().y());
  to.rotate(-90);
  to.drawText(QRectF(-area.height() / 2, -title / 2, area.height(), title), Qt::AlignCenter, QObject::tr("gradient"));
  to.restore();
}

void window_picture::draw_gradients(QPainter& to, const QRectF& area, const theme& colours,
                                    const window_limits& limits) {
  const std::optional<exponent_fit> fit = fitted_exponents(all_, limits.stretches());
  if (!fit) return;
  // Skipped steps have room above all else.
  const double ticks = limits.ticks_height() / area.height() * (fit->high - fit->low);
  const binade_range shown = chosen_.value_or(binade_range{fit->low, fit->high + static_cast<int>(std::lround(ticks))});
  const frame f = frame::of_area(area, static_cast<double>(state_.shown().first),
                                 static_cast<double>(state_.shown().last + 1), shown.low, shown.high);
  drawn_ = shown;
  frames_.push_back(f);
  f.draw_y_axis(
      to, colours, [](double e) { return QStringLiteral("2^%1").arg(e); }, false);
  f.draw_border(to, colours);
  draw_heat(to, f, colours, shown);
  plot_labels labels(to, area, colours);
  limits.draw(to, f, colours, labels);
  draw_outliers(to, f, colours, shown, limits.ticks_height(), labels);
}

void window_picture::draw_heat(QPainter& to, const frame& f, const theme& colours, const binade_range& shown) const {
  f.draw_cells(to, colours, columns_->edges(), static_cast<std::size_t>(shown.high - shown.low),
               [&](std::size_t column, std::size_t row) -> std::optional<QRgb> {
                 const auto& counts = counts_[column]->by_exponent;
                 if (counts.empty()) return std::nullopt;
                 const auto found = counts.find(shown.high - 1 - static_cast<int>(row));
                 return found == counts.end() ? qRgba(0, 0, 0, 0) : colours.heat(strength(found->second, most_)).rgba();
               });
}

// Gradients above and below the picture.
void window_picture::draw_outliers(QPainter& to, const frame& f, const theme& colours, const binade_range& shown,
                                   double ticks, plot_labels& labels) const {
  const auto mark = [&](bool above, int exponent) {
    const auto has_it = [&](const auto& c) { return c->by_exponent.contains(exponent); };
    const auto column = std::ranges::find_if(counts_, has_it) - counts_.begin();
    const drawn_column& at = columns_->columns[static_cast<std::size_t>(column)];
    const double x = std::clamp(f.x_of((at.from + at.to) / 2), f.area().left() + 5, f.area().right() - 5);
    const double y = above ? f.area().top() + 1 + ticks : f.area().bottom() - 1;
    draw_triangle(to, {x, y}, above, colours.heat(1));
    labels.block({x - 5, above ? y : y - 7, 10, 7});
    const QString text = above ? QObject::tr("gradients up to 2^%1").arg(exponent + 1)
                               : QObject::tr("gradients down to 2^%1").arg(exponent);
    const QSizeF size = labels.size_of(text);
    const double top = above ? y : y - size.height();
    labels.draw(text, colours.text, {{x + 7, top}, {x - 7 - size.width(), top}});
  };
  if (const int greatest = all_.rbegin()->first; greatest >= shown.high) mark(true, greatest);
  if (const int least = all_.begin()->first; least < shown.low) mark(false, least);
}

QString window_picture::told_at(QPointF place) const {
  for (const frame& f : frames_) {
    if (!f.area().contains(place)) continue;
    const auto step = static_cast<std::int64_t>(std::floor(f.value_at_x(place.x())));
    if (&f == &frames_.front() && drawn_)
      return gradients_at(step, static_cast<int>(std::floor(f.value_at_y(place.y()))));
    const QString logged = strip_.told_at(step);
    return logged.isEmpty() ? QString() : QObject::tr("step %1: %2").arg(step).arg(logged);
  }
  return {};
}

QString window_picture::gradients_at(std::int64_t step, int exponent) const {
  const std::size_t c = columns_->at(static_cast<double>(step));
  const column_span& span = columns_->columns[c].span;
  const binade_counts& o = *counts_[c];
  const auto found = o.by_exponent.find(exponent);
  const double count = found == o.by_exponent.end() ? 0 : found->second;
  const double total = total_of(o);
  QStringList lines;
  const QString gradients = count == 1 ? QObject::tr("1 gradient") : QObject::tr("%1 gradients").arg(count_of(count));
  lines << QObject::tr("%1: %2 in [2^%3, 2^%4), %5 % of all in these steps")
               .arg(steps_of(span), gradients)
               .arg(exponent)
               .arg(exponent + 1)
               .arg(total > 0 ? 100 * count / total : 0, 0, 'g', 3);
  lines << QObject::tr("%1 zeros, %2 infinite or NaN").arg(zeros_of(o), count_of(o.nonfinite));
  if (const QString limits = limits_in(span); !limits.isEmpty()) lines << limits;
  return lines.join('\n');
}

// Those of the replay in front. A scale that is not decided may have been another.
QString window_picture::limits_in(const column_span& span) const {
  const auto result = state_.front().result;
  if (!state_.tried_scale() && (!result || result->steps.empty())) return {};
  value_range scales = state_.scales_in(span.first_step, span.last_step);
  if (!state_.tried_scale() && result->scale_is_open)
    for (auto at = std::ranges::lower_bound(result->steps, span.first_step, {}, &replay_step::step);
         at != result->steps.end() && at->step <= span.last_step; ++at) {
      scales.low = std::min(scales.low, at->may_have_used.low);
      scales.high = std::max(scales.high, at->may_have_used.high);
    }
  const scenario s = scenario_of(state_.front().spec);
  const format_limits limits = limits_of(s.recipe.usual());
  const auto at = [&](double limit) {
    return exponent_text({limit - std::log2(scales.high), limit - std::log2(scales.low)});
  };
  const QString low = QString::fromStdString(as_power(scales.low));
  const QString high = QString::fromStdString(as_power(scales.high));
  return QObject::tr("%1 at the loss scale %2: overflow above %3, subnormal below %4, zero below %5")
      .arg(QString::fromStdString(state_.front().spec.format),
           scales.low == scales.high ? low : QStringLiteral("[%1, %2]").arg(low, high), at(limits.overflow),
           at(limits.normal), at(limits.nonzero));
}

}  // namespace ulp::gui
