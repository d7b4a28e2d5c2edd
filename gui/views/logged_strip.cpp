#include "logged_strip.hpp"

#include <QFontMetricsF>
#include <QObject>
#include <QStringList>
#include <algorithm>
#include <cmath>

#include <ulp/report/tables/table.hpp>

#include "plot/plot_labels.hpp"
#include "stepped.hpp"
#include "viewmodel/document.hpp"

namespace ulp::gui {
namespace {

QString name_of(logged_value what) {
  switch (what) {
    case logged_value::loss: return QObject::tr("loss");
    case logged_value::norm: return QObject::tr("gradient norm");
    case logged_value::learning_rate: return QObject::tr("learning rate");
    case logged_value::scale: return QObject::tr("logged loss scale");
  }
  return {};
}

QString axis_text(const logged_series& of, double drawn) {
  if (!of.is_log()) return QString::number(drawn, 'g', 3);
  return QStringLiteral("2^%1").arg(QString::number(drawn, 'f', std::rint(drawn) == drawn ? 0 : 1));
}

// The series over the steps shown, in a plot area of its own.
frame draw_row(QPainter& to, const QRectF& area, const logged_series& of, step_range shown, const theme& colours) {
  const stepped_line line = stepped(
      of.size(), [&](std::size_t i) { return of.step(i); }, of.known(), shown, area.width(),
      [&](std::size_t i) { return of.drawn(i); });
  const extremes range = line.range();
  const bool is_there = range.least <= range.greatest;
  const bool is_level = is_there && range.least == range.greatest;
  const double middle = is_there ? range.least : 0;
  const double room = is_level || !is_there ? 1 + std::abs(middle) : 0.08 * (range.greatest - range.least);
  const frame f = frame::of_area(area, static_cast<double>(shown.first), static_cast<double>(shown.last + 1),
                                 middle - room, (is_there ? range.greatest : 0) + room);
  f.draw_border(to, colours);
  const QColor colour = colours.heat(0.85);
  f.draw_steps(to, QPen(colour, 1.5), line.edges, line.pieces);

  to.save();
  // Where it was infinite or NaN.
  to.setPen(QPen(colours.overflow, 1.5));
  const std::vector<std::int64_t> lost = thinned(of.lost(), shown, area.width());
  for (const std::int64_t step : lost) {
    const double x = f.x_of(static_cast<double>(step) + 0.5);
    to.drawLine(QPointF(x, area.top() + 1), QPointF(x, area.top() + 7));
  }
  QFont small = to.font();
  small.setPointSizeF(0.85 * small.pointSizeF());
  to.setFont(small);
  to.setPen(colours.faint);
  const QFontMetricsF metrics(small);
  const auto label = [&](double value) {
    const double top =
        std::clamp(f.y_of(value) - metrics.height() / 2, area.top() - 2, area.bottom() - metrics.height() + 2);
    to.drawText(QRectF(area.left() - 106, top, 100, metrics.height()), Qt::AlignRight | Qt::AlignVCenter,
                axis_text(of, value));
  };
  if (is_there) label(range.greatest);
  if (is_there && !is_level && axis_text(of, range.least) != axis_text(of, range.greatest)) label(range.least);
  to.restore();

  plot_labels names(to, area, colours);
  names.avoid(pieces_in(f, line.edges, line.pieces));
  // A tick under a label is not seen at all.
  for (const std::int64_t step : lost)
    names.block(QRectF(f.x_of(static_cast<double>(step) + 0.5) - 2, area.top(), 4, 8));
  const auto& all = of.lost();
  const auto many = std::ranges::upper_bound(all, shown.last) - std::ranges::lower_bound(all, shown.first);
  const QString name = many == 0 ? name_of(of.what())
                                 : QObject::tr("%1 (%2 infinite or NaN)")
                                       .arg(name_of(of.what()))
                                       .arg(QString::fromStdString(grouped(static_cast<std::uint64_t>(many))));
  const QSizeF size = names.size_of(name);
  const double right = area.right() - 3 - size.width();
  const double bottom = area.bottom() - 2 - size.height();
  const std::vector<QPointF> places{{right, area.top() + 2},
                                    {area.left() + 3, bottom},
                                    {right, bottom},
                                    {area.left() + 3, area.top() + 2},
                                    {area.center().x() - size.width() / 2, area.top() + 2},
                                    {area.center().x() - size.width() / 2, bottom}};
  if (!names.draw(name, colours.text, places)) plot_labels(to, area, colours).draw(name, colours.text, places);
  return f;
}

}  // namespace

void logged_strip::show(const std::shared_ptr<const loaded_run>& run) {
  series_ = run ? logged_in({run, &run->picture}) : std::vector<logged_series>();
}

std::vector<frame> logged_strip::draw(QPainter& to, const QRectF& area, std::size_t rows, step_range shown,
                                      const theme& colours) const {
  std::vector<frame> frames;
  const double height = area.height() / static_cast<double>(rows);
  for (std::size_t i = 0; i < rows; ++i)
    frames.push_back(draw_row(
        to, QRectF(area.left(), area.top() + static_cast<double>(i) * height + gap, area.width(), height - gap),
        series_[i], shown, colours));
  return frames;
}

QString logged_strip::told_at(std::int64_t step) const {
  QStringList all;
  for (const logged_series& s : series_) {
    const auto at = s.index_at(step);
    if (!at) continue;
    const std::string value = s.what() == logged_value::scale ? as_power(s.value(*at)) : shortest(s.value(*at));
    const QString text = name_of(s.what()) + ' ' + QString::fromStdString(value);
    all << (s.step(*at) == step ? text : QObject::tr("%1 (at step %2)").arg(text).arg(s.step(*at)));
  }
  return all.join(QStringLiteral(", "));
}

}  // namespace ulp::gui
