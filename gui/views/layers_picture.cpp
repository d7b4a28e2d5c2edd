#include "layers_picture.hpp"

#include <QImage>
#include <QObject>
#include <QPolygonF>
#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <ulp/report/tables/table.hpp>

#include "layer_words.hpp"
#include "viewmodel/shown_text.hpp"

namespace ulp::gui {
namespace {

constexpr double indent = 12;
constexpr double sign_width = 14;
constexpr double tallest_row = 44;
constexpr double below_plot = 34;  // of the frame, for its axis
constexpr double gap = 12;
constexpr double most_for_numbers = 0.42;  // of what names leave
constexpr double most_for_labels = 0.38;   // of the room
constexpr double most_for_first = 0.66;    // for when and how much at worst, which are what one looks for

// Shares on a logarithmic ladder: what is lost first is a small part. Of updates and of steps it is not, and few of
// them matter little.
bool is_linear(layer_metric m) { return m == layer_metric::lost_updates || m == layer_metric::stale; }

double strength_of(layer_metric m, double value, const value_range& all) {
  if (is_linear(m)) return value <= 0 ? 0 : std::clamp(0.1 + 0.9 * value, 0.1, 1.0);
  if (is_share(m)) return value <= 0 ? 0 : std::clamp(0.25 + 0.75 * (1 + std::log10(value) / 6), 0.25, 1.0);
  const double at = all.high > all.low ? std::clamp((value - all.low) / (all.high - all.low), 0.0, 1.0) : 1;
  return low_is_bad(m) ? 1 - at : at;
}

double shown_end(const layer_question& q, const layer_cell& cell) {
  const value_range value = value_of(q, cell);
  return low_is_bad(q.metric) ? value.low : value.high;
}

// Of what is finite in all rows, also those that are not drawn: colours stay while one scrolls.
value_range extremes_of(const layers_look& look) {
  value_range all{INFINITY, -INFINITY};
  for (const layer_row& row : look.rows)
    for (const layer_cell& cell : row.cells)
      if (const double v = shown_end(look.counted.answer.question, cell); std::isfinite(v))
        all = {std::min(all.low, v), std::max(all.high, v)};
  return all;
}

QString short_first(const first_step& first) {
  if (!first.earliest) return QObject::tr("never");
  if (!first.latest) return QObject::tr("%1 or never").arg(*first.earliest);
  return first.exact() ? QString::number(*first.earliest)
                       : QObject::tr("%1 to %2").arg(*first.earliest).arg(*first.latest);
}

}  // namespace

QString first_text(const first_step& first) {
  if (!first.earliest) return QObject::tr("never");
  if (!first.latest) return QObject::tr("step %1 at the earliest, perhaps never").arg(*first.earliest);
  return first.exact() ? QObject::tr("step %1").arg(*first.earliest)
                       : QObject::tr("steps %1 to %2").arg(*first.earliest).arg(*first.latest);
}

QString crossing_text(layer_metric m) {
  switch (m) {
    case layer_metric::underflow: return QObject::tr("first underflow");
    case layer_metric::subnormal: return QObject::tr("first subnormal result");
    case layer_metric::overflow: return QObject::tr("first overflow");
    case layer_metric::lost_l1:
    case layer_metric::lost_l2: return QObject::tr("first loss");
    case layer_metric::zeros: return QObject::tr("first zero");
    case layer_metric::lost_updates: return QObject::tr("first lost update");
    case layer_metric::saturated: return QObject::tr("first saturation");
    case layer_metric::stale: return QObject::tr("first stale scale");
    default: return QObject::tr("first step without headroom");
  }
}

QString count_text(layer_metric m, const layer_cell& cell) {
  const bool counts = m == layer_metric::underflow || m == layer_metric::subnormal || m == layer_metric::overflow ||
                      m == layer_metric::zeros || m == layer_metric::lost_updates || is_of_recipe(m);
  if (!counts || !cell.known) return {};
  const auto text = [](double n) { return grouped(static_cast<std::uint64_t>(n)); };
  return (m == layer_metric::zeros          ? QObject::tr("%1 of %2 values")
          : m == layer_metric::lost_updates ? QObject::tr("%1 of %2 updates")
          : m == layer_metric::stale        ? QObject::tr("%1 of %2 steps")
                                            : QObject::tr("%1 of %2 nonzero values"))
      .arg(QString::fromStdString(ends_text(text(cell.part.low), text(cell.part.high))),
           QString::fromStdString(ends_text(text(cell.whole.low), text(cell.whole.high))));
}

layers_picture::layers_picture(const layers_look& look, const QRectF& room, const QFont& font)
    : look_(look), room_(room), font_(font), letters_(font) {
  const layer_question& q = look_.counted.answer.question;
  heading_height_ = letters_.boundingRect(room_, Qt::TextWordWrap, look_.heading).height() + 4;
  values_ = is_share(q.metric) ? value_range{} : extremes_of(look_);

  // What the legend takes depends on the room alone: it is laid out as it is drawn.
  double legend_height = 0;
  {
    QImage nowhere(1, 1, QImage::Format_ARGB32_Premultiplied);
    QPainter to(&nowhere);
    to.setFont(font_);
    legend_height = draw_legend(to, room_, legend(theme::light()), theme::light());
  }
  const double above = heading_height_ + legend_height + letters_.height();
  const double space = std::max(1.0, room_.height() - above - 6 - below_plot);
  const double least = letters_.height() + 3;
  fit_ = static_cast<std::size_t>(std::max(1.0, space / least));
  rows_ = std::min(look_.rows.size() - look_.top, fit_);
  const double height = std::min(space, static_cast<double>(rows_) * tallest_row);

  const double most_labels = most_for_labels * room_.width();
  leave_beginnings_out(most_labels - 12);
  for (std::size_t r = look_.top; r < look_.top + rows_; ++r)
    labels_ = std::max(labels_, letters_.horizontalAdvance(shown_label(r)) + label_of(r).left() - room_.left() + 12);
  labels_ = std::min(labels_, most_labels);
  choose_numbers(room_.width() - labels_);
  double beside = 0;
  for (const numbers& n : numbers_) beside += n.width + gap;
  plot_ = frame(QRectF(room_.left(), room_.top() + above, room_.width() - beside, height + 6 + below_plot),
                static_cast<double>(look_.shown.first), static_cast<double>(look_.shown.last + 1), 0,
                static_cast<double>(rows_), labels_);
  double left = plot_.area().right();
  for (numbers& n : numbers_) {
    n.left = left + gap;
    left = n.left + n.width;
  }
}

void layers_picture::leave_beginnings_out(double room) {
  const auto all_fit = [&] {
    for (std::size_t r = look_.top; r < look_.top + rows_; ++r)
      if (letters_.horizontalAdvance(shown_label(r)) + 12 > room) return false;
    return true;
  };
  if (look_.is_tree || all_fit()) return;
  // How many names have an end.
  std::unordered_map<std::string_view, std::size_t> ends;
  const auto each_end = [&](std::size_t row, const auto& see) {
    std::string_view end = look_.rows[row].of.label;
    for (const std::string_view part : parts_of(end)) {
      see(end);
      end.remove_prefix(part.size());
    }
  };
  for (std::size_t r = 0; r < look_.rows.size(); ++r) each_end(r, [&](std::string_view end) { ++ends[end]; });
  std::vector<std::size_t> most(look_.rows.size());
  for (std::size_t r = 0; r < look_.rows.size(); ++r) {
    std::size_t without = 0;
    each_end(r, [&](std::string_view end) {
      if (ends[end] == 1) most[r] = without;
      ++without;
    });
  }
  without_.assign(look_.rows.size(), 0);
  const std::size_t deepest = most.empty() ? 0 : std::ranges::max(most);
  for (std::size_t n = 1; n <= deepest && !all_fit(); ++n)
    for (std::size_t r = 0; r < most.size(); ++r) without_[r] = std::min(n, most[r]);
}

std::string_view layers_picture::end_of(std::size_t row) const {
  std::string_view label = look_.rows[row].of.label;
  if (without_.empty()) return label;
  const std::vector<std::string_view> parts = parts_of(label);
  for (std::size_t i = 0; i < without_[row]; ++i) label.remove_prefix(parts[i].size());
  return label;
}

QString layers_picture::shown_label(std::size_t row) const {
  const std::string end{end_of(row)};
  return (end.size() < look_.rows[row].of.label.size() ? "…" : "") + shown_text(end);
}

bool layers_picture::has_gaps() const {
  constexpr std::size_t looked_at = 100;  // rows
  const std::size_t end = std::min(look_.rows.size(), look_.top + looked_at);
  for (std::size_t r = look_.top; r < end; ++r)
    if (std::ranges::any_of(look_.rows[r].cells, [&](const layer_cell& cell) {
          return std::isnan(shown_end(look_.counted.answer.question, cell));
        }))
      return true;
  return false;
}

void layers_picture::choose_numbers(double room) {
  const layer_question& q = look_.counted.answer.question;
  numbers worst{.title = QObject::tr("worst column"), .texts = {}};
  numbers first{.title = QObject::tr("from step"), .texts = {}};
  numbers total{.title = QObject::tr("all steps"), .texts = {}};
  for (std::size_t r = look_.top; r < look_.top + rows_; ++r) {
    const layer_row& row = look_.rows[r];
    worst.texts.push_back(
        row.worst ? QString::fromStdString(value_text(q, row.worst_value, row.cells[*row.worst].modelled)) : QString());
    first.texts.push_back(row.worst ? short_first(row.first) : QString());
    total.texts.push_back(QString::fromStdString(value_text(q, row.total)));
  }
  double used = 0;
  const auto take = [&](numbers& n, double most) {
    n.width = letters_.horizontalAdvance(n.title);
    for (const QString& text : n.texts) n.width = std::max(n.width, letters_.horizontalAdvance(text));
    n.width = std::ceil(n.width) + 1;
    if (used + n.width + gap > most * room) return;
    used += n.width + gap;
    numbers_.push_back(std::move(n));
  };
  take(worst, most_for_first);
  if (!look_.counted.firsts.empty()) take(first, most_for_first);
  take(total, most_for_numbers);
}

std::vector<legend_entry> layers_picture::legend(const theme& colours) const {
  const layer_metric m = look_.counted.answer.question.metric;
  std::vector<legend_entry> all;
  if (is_share(m)) {
    all.push_back({QObject::tr("none"), QPen(colours.faint), QBrush(colours.background)});
    const bool any = std::ranges::any_of(
        look_.rows, [&](const layer_row& row) { return may_cross(look_.counted.answer.question, row.total); });
    if (any)
      for (const double v : is_linear(m) ? std::array{0.01, 0.25, 0.5, 1.0} : std::array{1e-6, 1e-4, 1e-2, 1.0})
        all.push_back({QStringLiteral("%1 %").arg(100 * v), QPen(Qt::NoPen), colours.heat(strength_of(m, v, values_))});
  } else if (values_.low <= values_.high) {
    std::vector<double> marks{values_.low};
    if (values_.high > values_.low) marks.insert(marks.end(), {(values_.low + values_.high) / 2, values_.high});
    for (const double v : marks)
      all.push_back({QString::number(v, 'f', 1), QPen(Qt::NoPen), colours.heat(strength_of(m, v, values_))});
  }
  if (has_gaps()) all.push_back({gap_text(m), QPen(Qt::NoPen), QBrush(), true});
  return all;
}

QRectF layers_picture::label_of(std::size_t row) const {
  const module_row& of = look_.rows[row].of;
  const double left = room_.left() + (look_.is_tree ? indent * static_cast<double>(of.depth) + sign_width : 0);
  const double height = plot_.area().height() / static_cast<double>(std::max<std::size_t>(1, rows_));
  return QRectF(left, plot_.area().top() + height * static_cast<double>(row - look_.top),
                room_.left() + labels_ - 6 - left, height);
}

std::optional<std::size_t> layers_picture::row_at(double y) const {
  const double row = std::floor((y - plot_.area().top()) / plot_.area().height() * static_cast<double>(rows_));
  if (!(row >= 0) || row >= static_cast<double>(rows_)) return std::nullopt;
  return look_.top + static_cast<std::size_t>(row);
}

bool layers_picture::is_fold_sign(double x, std::size_t row) const {
  const double left = label_of(row).left();
  return look_.rows[row].of.is_module && x >= left - sign_width - 2 && x < left;
}

QString layers_picture::row_range() const {
  const std::size_t all = look_.rows.size();
  if (rows_ == all) return QObject::tr("step");
  if (look_.top == 0) return QObject::tr("step (%1 of %2 rows)").arg(rows_).arg(all);
  return QObject::tr("step (rows %1 to %2 of %3)").arg(look_.top + 1).arg(look_.top + rows_).arg(all);
}

void layers_picture::draw(QPainter& to, const theme& colours) const {
  to.save();
  to.setFont(font_);
  to.setPen(colours.text);
  to.drawText(room_, Qt::AlignLeft | Qt::TextWordWrap, look_.heading);
  draw_legend(to, room_.adjusted(0, heading_height_, 0, 0), legend(colours), colours);
  plot_.draw_axes(
      to, colours, row_range(), [](double) { return QString(); }, false);
  draw_cells(to, colours);
  for (std::size_t r = look_.top; r < look_.top + rows_; ++r) draw_label(to, colours, r);
  for (const numbers& n : numbers_) {
    to.setPen(colours.faint);
    to.drawText(QRectF(n.left, plot_.area().top() - letters_.height() - 3, n.width, letters_.height()),
                Qt::AlignRight | Qt::AlignVCenter, n.title);
    to.setPen(colours.text);
    for (std::size_t i = 0; i < n.texts.size(); ++i) {
      const QRectF label = label_of(look_.top + i);
      to.drawText(QRectF(n.left, label.top(), n.width, label.height()), Qt::AlignRight | Qt::AlignVCenter, n.texts[i]);
    }
  }
  to.restore();
}

void layers_picture::draw_cells(QPainter& to, const theme& colours) const {
  const layer_question& q = look_.counted.answer.question;
  plot_.draw_cells(to, colours, look_.counted.drawn->edges(), rows_,
                   [&](std::size_t column, std::size_t row) -> std::optional<QRgb> {
                     const double value = shown_end(q, look_.rows[look_.top + row].cells[column]);
                     if (std::isnan(value)) return std::nullopt;
                     if (value <= 0 && is_share(q.metric)) return qRgba(0, 0, 0, 0);
                     return colours.heat(strength_of(q.metric, value, values_)).rgba();
                   });
}

void layers_picture::draw_label(QPainter& to, const theme& colours, std::size_t row) const {
  const module_row& of = look_.rows[row].of;
  const QRectF room = label_of(row);
  if (look_.current == row) {
    QColor shade = colours.faint;
    shade.setAlpha(60);
    to.fillRect(QRectF(QPointF(room_.left(), room.top()), QPointF(room_.left() + labels_ - 2, room.bottom())), shade);
  }
  if (of.is_module) {
    const QPointF c(room.left() - sign_width / 2 - 1, room.center().y());
    const QPolygonF sign = look_.rows[row].is_open
                               ? QPolygonF({c + QPointF(-4, -2), c + QPointF(4, -2), c + QPointF(0, 3)})
                               : QPolygonF({c + QPointF(-2, -4), c + QPointF(-2, 4), c + QPointF(3, 0)});
    to.save();
    to.setPen(Qt::NoPen);
    to.setBrush(colours.text);
    to.drawPolygon(sign);
    to.restore();
  }
  const bool chosen = !of.is_module && look_.selected == of.tensors.front();
  QFont font = font_;
  font.setBold(chosen);
  const QFontMetricsF letters(font);
  const bool is_cut = end_of(row).size() < of.label.size();
  const auto fits = [&](const std::string& text) {
    return letters.horizontalAdvance((is_cut ? "…" : "") + shown_text(text)) <= room.width();
  };
  QString shown = shown_label(row);
  if (const std::string end{end_of(row)}; !fits(end)) {
    std::vector<std::string> others;
    for (std::size_t r = 0; r < look_.rows.size(); ++r) others.emplace_back(end_of(r));
    const std::string text = shortened(end, others, fits);
    shown = text.empty() ? letters.elidedText(shown, Qt::ElideMiddle, room.width())
                         : (is_cut && !text.starts_with("…") ? "…" : "") + shown_text(text);
  }
  to.setFont(font);
  to.setPen(chosen || look_.current == row || of.is_module ? colours.text : colours.faint);
  to.drawText(room, (look_.is_tree ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter, shown);
  to.setFont(font_);
}

}  // namespace ulp::gui
