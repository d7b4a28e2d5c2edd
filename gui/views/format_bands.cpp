#include "format_bands.hpp"

#include <QFontMetricsF>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/report/tables/table.hpp>
#include <ulp/report/tables/usual_formats.hpp>

#include "charts/chart.hpp"

namespace ulp::gui {
namespace {

constexpr double ruler_height = 16;

QString percent(double share) { return QString::number(100 * share, 'g', 3); }

}  // namespace

format_bands bands_of(const treatment& how, double log2_scale) {
  format_bands bands{{}, how.rounding.direction == direction::stochastic};
  treatment sure = how;
  // What truncation keeps every draw keeps.
  if (bands.is_drawn) sure.rounding.direction = direction::toward_zero;
  bands.at = limits_of(sure);
  for (double* const limit : {&bands.at.nonzero, &bands.at.normal, &bands.at.overflow}) *limit -= log2_scale;
  return bands;
}

QString fate_of(const format_bands& bands, int exponent) {
  const format_limits& at = bands.at;
  const double low = exponent;
  const double high = exponent + 1.0;
  if (bands.is_drawn && high <= at.nonzero) {
    // A value x below the smallest number is rounded up to it with the probability x / smallest.
    const double least = 1 - std::exp2(high - at.nonzero);
    const double most = 1 - std::exp2(low - at.nonzero);
    return QObject::tr("each becomes zero with a chance of %1 to %2 %").arg(percent(least), percent(most));
  }
  QStringList fates;
  if (low < at.nonzero) fates << (bands.is_drawn ? QObject::tr("may become zero") : QObject::tr("becomes zero"));
  if (high > at.nonzero && low < at.normal && at.nonzero < at.normal) fates << QObject::tr("subnormal");
  if (high > at.normal && low < at.overflow) fates << QObject::tr("normal");
  if (high > at.overflow) fates << QObject::tr("overflows");
  return fates.size() < 2 ? fates.join(QString()) : QObject::tr("partly %1").arg(fates.join(QObject::tr(", partly ")));
}

// The first line says what they are.
double rulers_height() { return ruler_height * static_cast<double>(usual_formats(format_room::more).size() + 1) + 4; }

double ruler_names_width(const QFont& font) {
  double widest = 0;
  for (const char* const name : usual_formats(format_room::more))
    widest = std::max(widest, QFontMetricsF(font).horizontalAdvance(name));
  return widest + 10;
}

void draw_rulers(QPainter& to, const QRectF& room, const theme& colours, const chart& axis, double log2_scale) {
  to.save();
  double y = room.top();
  const double left = room.left() + axis.area().left();
  const double right = room.left() + axis.area().right();
  const QFontMetricsF metrics(to.font());
  const QString said = QObject::tr("What these formats hold at the loss scale %1: thick normal, thin subnormal")
                           .arg(QString::fromStdString(as_power(std::exp2(log2_scale))));
  to.setPen(colours.faint);
  to.drawText(QRectF(left, y, right - left, ruler_height), Qt::AlignLeft | Qt::AlignVCenter,
              metrics.elidedText(said, Qt::ElideRight, right - left));
  y += ruler_height;
  for (const char* const name : usual_formats(format_room::more)) {
    const format f = *find_format(name);
    const format_limits limits = limits_of({f, {.direction = default_direction(f)}});
    const auto x_of = [&](double exponent) {
      return std::clamp(room.left() + axis.place_of(exponent - log2_scale), left, right);
    };
    const double middle = y + ruler_height / 2;
    const auto bar = [&](double from, double to_exponent, double height, const QColor& colour) {
      if (x_of(from) < x_of(to_exponent))
        to.fillRect(QRectF(x_of(from), middle - height / 2, x_of(to_exponent) - x_of(from), height), colour);
    };
    bar(limits.nonzero, limits.normal, 3, colours.subnormal);
    bar(limits.normal, limits.overflow, 5, colours.faint);
    to.setPen(colours.faint);
    to.drawText(QRectF(room.left(), y, left - room.left() - 6, ruler_height), Qt::AlignRight | Qt::AlignVCenter, name);
    y += ruler_height;
  }
  to.restore();
}

ruler_strip::ruler_strip(const chart& axis, QWidget* parent) : QWidget(parent), axis_(axis) {
  setFixedHeight(static_cast<int>(rulers_height()));
  setAccessibleName(tr("What other formats hold at this scale"));
  setToolTip(tr("What other formats hold at this scale; the thin part is subnormal"));
}

void ruler_strip::show_scale(double log2) {
  log2_ = log2;
  update();
}

void ruler_strip::paintEvent(QPaintEvent*) {
  QPainter to(this);
  draw_rulers(to, rect(), theme::of(palette()), axis_, log2_);
}

}  // namespace ulp::gui
