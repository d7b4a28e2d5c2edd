#include "policy_map.hpp"

#include <QFontMetricsF>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "viewmodel/shown_text.hpp"

namespace ulp::gui {
namespace {

constexpr double margin = 8;

}  // namespace

policy_map::policy_map(QWidget* parent) : QWidget(parent) {
  setAccessibleName(tr("Map of the sweep"));
  setAccessibleDescription(tr("The same numbers as in the table"));
  setMouseTracking(true);
  QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Maximum);
  setSizePolicy(policy);
}

void policy_map::show_sweep(std::vector<swept_policy> policies) {
  policies_ = std::move(policies);
  map_ = map_of(policies_);
  chosen_.reset();
  setVisible(!map_.cells.empty());
  updateGeometry();
  update();
}

void policy_map::set_metric(sweep_metric metric) {
  metric_ = metric;
  update();
}

void policy_map::set_chosen(std::optional<std::size_t> policy) {
  chosen_ = policy;
  update();
}

void policy_map::set_stale(bool stale) {
  stale_ = stale;
  update();
}

QSize policy_map::sizeHint() const {
  const int line = fontMetrics().height();
  return {400, static_cast<int>(map_.y.values.size()) * (line + 12) + 2 * line + 3 * static_cast<int>(margin)};
}

QString policy_map::text_of(std::size_t policy) const {
  return QString::fromStdString(metric_text(policies_[policy].result, metric_));
}

QRectF policy_map::cells_in(const QRectF& room) const {
  const QFontMetricsF metrics(font());
  double labels = map_.y.name.empty() ? 0 : metrics.horizontalAdvance(shown_text(map_.y.name) + " ↓");
  for (const std::string& value : map_.y.values)
    labels = std::max(labels, metrics.horizontalAdvance(shown_text(value)));
  // The names of the axes stand in a line over the cells, the values of x under them.
  const double line = metrics.height() + 4;
  return room.adjusted(std::min(labels, room.width() / 3) + margin, line, 0, -line);
}

QRectF policy_map::cell_in(const QRectF& cells, std::size_t index) const {
  const auto across = static_cast<double>(map_.x.values.size());
  const auto down = static_cast<double>(map_.y.values.size());
  const auto x = static_cast<double>(index % map_.x.values.size());
  const auto y = static_cast<double>(index / map_.x.values.size());
  return {cells.left() + cells.width() * x / across, cells.top() + cells.height() * y / down, cells.width() / across,
          cells.height() / down};
}

std::optional<std::size_t> policy_map::policy_at(const QPointF& place) const {
  const QRectF cells = cells_in(rect());
  for (std::size_t i = 0; i < map_.cells.size(); ++i)
    if (cell_in(cells, i).contains(place)) return map_.cells[i];
  return std::nullopt;
}

std::optional<QPoint> policy_map::place_of(std::size_t policy) const {
  const auto at = std::ranges::find(map_.cells, std::optional(policy));
  if (at == map_.cells.end()) return std::nullopt;
  return cell_in(cells_in(rect()), static_cast<std::size_t>(at - map_.cells.begin())).center().toPoint();
}

void policy_map::draw(QPainter& to, const QRectF& room, const theme& colours) const {
  if (map_.cells.empty()) return;
  to.save();
  to.setFont(font());
  if (stale_) to.setOpacity(0.4);
  const QFontMetricsF metrics(font());
  const QRectF cells = cells_in(room);
  const double line = metrics.height() + 4;
  double least = std::numeric_limits<double>::infinity();
  double most = -least;
  for (const std::optional<std::size_t>& policy : map_.cells) {
    if (!policy) continue;
    const double value = estimate_of(policies_[*policy].result, metric_);
    if (std::isnan(value)) continue;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  // What reads alike in the cells looks alike.
  const double contrast = std::max({most - least, 0.01 * most, std::numeric_limits<double>::min()});
  to.setPen(colours.faint);
  to.drawText(QRectF(room.left(), room.top(), cells.left() - room.left() - margin, line), Qt::AlignRight,
              shown_text(map_.y.name) + (map_.y.name.empty() ? "" : " ↓"));
  to.drawText(QRectF(cells.left(), room.top(), cells.width(), line), Qt::AlignLeft, shown_text(map_.x.name) + " →");
  to.setPen(colours.text);
  for (std::size_t y = 0; y < map_.y.values.size(); ++y) {
    const QRectF row = cell_in(cells, y * map_.x.values.size());
    to.drawText(QRectF(room.left(), row.top(), cells.left() - room.left() - margin, row.height()),
                Qt::AlignRight | Qt::AlignVCenter, shown_text(map_.y.values[y]));
  }
  for (std::size_t x = 0; x < map_.x.values.size(); ++x) {
    const QRectF column = cell_in(cells, x);
    to.drawText(QRectF(column.left(), cells.bottom() + 2, column.width(), line), Qt::AlignHCenter,
                metrics.elidedText(shown_text(map_.x.values[x]), Qt::ElideMiddle, column.width() - 4));
  }
  for (std::size_t i = 0; i < map_.cells.size(); ++i) {
    const QRectF cell = cell_in(cells, i);
    const std::optional<std::size_t> policy = map_.cells[i];
    const double value = policy ? estimate_of(policies_[*policy].result, metric_) : not_known;
    const QRectF inner = cell.adjusted(1, 1, -1, -1);
    if (std::isnan(value)) {
      to.setPen(colours.grid);
      to.drawRect(inner);
      continue;
    }
    const QColor colour = colours.heat((value - least) / contrast);
    to.fillRect(inner, colour);
    if (chosen_ && policy == chosen_) {
      to.setPen(QPen(colours.cursor, 2));
      to.drawRect(inner);
    }
    to.setPen(colour.lightness() < 128 ? Qt::white : QColor(0x1B, 0x1F, 0x24));
    to.drawText(inner, Qt::AlignCenter, metrics.elidedText(text_of(*policy), Qt::ElideRight, inner.width() - 4));
  }
  to.restore();
}

void policy_map::paintEvent(QPaintEvent*) {
  QPainter to(this);
  to.setRenderHint(QPainter::Antialiasing);
  draw(to, rect(), theme::of(palette()));
}

bool policy_map::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* const help = static_cast<QHelpEvent*>(event);
    if (const auto policy = policy_at(help->pos()))
      QToolTip::showText(help->globalPos(),
                         tip_of(shown_text(parameters_text(policies_[*policy].text)) + ": " + text_of(*policy)), this);
    else
      QToolTip::hideText();
    return true;
  }
  return QWidget::event(event);
}

void policy_map::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return event->ignore();
  if (const auto policy = policy_at(event->position())) emit chosen(*policy);
}

void policy_map::mouseDoubleClickEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return event->ignore();
  if (const auto policy = policy_at(event->position())) emit activated(*policy);
}

}  // namespace ulp::gui
