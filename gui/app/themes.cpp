#include "themes.hpp"

#include <QApplication>
#include <QPainter>
#include <QPixmap>
#include <QProxyStyle>
#include <QSettings>
#include <QStyleOption>
#include <QSvgRenderer>

namespace ulp::gui {

QStringList theme_names() { return {"system", "light", "dark", "high-contrast"}; }

std::optional<theme> theme_named(const QString& name) {
  if (name == "light") return theme::light();
  if (name == "dark") return theme::night();
  if (name == "high-contrast") return theme::high_contrast();
  return std::nullopt;
}

void use_theme(const QString& name) {
  const auto colours = theme_named(name);
  QApplication::setPalette(colours ? colours->palette() : QPalette());
}

QString remembered_theme() {
  const QString name = QSettings().value("theme").toString();
  return theme_names().contains(name) ? name : theme_names().front();
}

void remember_theme(const QString& name) { QSettings().setValue("theme", name); }

namespace {

// Fusion, whose own frame of a check box is darker than a dark window, and between whose tabs there is much room.
class own_style : public QProxyStyle {
 public:
  own_style() : QProxyStyle("Fusion") {}
  int pixelMetric(PixelMetric what, const QStyleOption* option, const QWidget* widget) const override {
    return what == PM_TabBarTabHSpace ? 12 : QProxyStyle::pixelMetric(what, option, widget);
  }
  void drawPrimitive(PrimitiveElement what, const QStyleOption* option, QPainter* to,
                     const QWidget* widget) const override {
    QProxyStyle::drawPrimitive(what, option, to, widget);
    if (what != PE_IndicatorCheckBox || option->palette.color(QPalette::Base).lightness() >= 128) return;
    to->save();
    to->setPen(option->palette.color(QPalette::Dark));
    to->setBrush(Qt::NoBrush);
    to->drawRect(QRectF(option->rect).adjusted(0.5, 0.5, -0.5, -0.5));
    to->restore();
  }
};

}  // namespace

QStyle* program_style() { return new own_style; }

QIcon program_icon() {
  QSvgRenderer drawing(QStringLiteral(":/data/org.ulpscope.ulpscope.svg"));
  QIcon icon;
  for (const int size : {16, 32, 48, 128}) {
    QPixmap picture(size, size);
    picture.fill(Qt::transparent);
    QPainter to(&picture);
    drawing.render(&to);
    icon.addPixmap(picture);
  }
  return icon;
}

}  // namespace ulp::gui
