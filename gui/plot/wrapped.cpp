#include "wrapped.hpp"

#include <QFontMetricsF>

#include "viewmodel/shown_text.hpp"

namespace ulp::gui {

double wrapped_height(const QFont& font, double width, const QString& text) {
  return QFontMetricsF(font).boundingRect(QRectF(0, 0, width, 1e6), Qt::TextWordWrap, with_whole_ranges(text)).height();
}

QString fitted(const QFont& font, double width, double height, QString text) {
  while (wrapped_height(font, width, text) > height && text.contains(' '))
    text = text.section(' ', 0, -2).remove(QStringLiteral("…")) + QStringLiteral("…");
  return text;
}

// A painter may measure a line a little wider than it was.
void draw_wrapped(QPainter& to, const QRectF& box, const QString& text) {
  to.drawText(box.adjusted(0, 0, 2, 2), Qt::AlignLeft | Qt::TextWordWrap, with_whole_ranges(text));
}

}  // namespace ulp::gui
