// Texts of several lines in a box.
#ifndef ULP_GUI_PLOT_WRAPPED_HPP
#define ULP_GUI_PLOT_WRAPPED_HPP

#include <QFont>
#include <QPainter>
#include <QRectF>
#include <QString>

namespace ulp::gui {

// Lines end at spaces, never in ranges such as "[0.5, 0.75] %".
[[nodiscard]] double wrapped_height(const QFont& font, double width, const QString& text);
// Without its last words, where it would be higher: an ellipsis stands for them.
[[nodiscard]] QString fitted(const QFont& font, double width, double height, QString text);
// What does not fit is not drawn, see fitted().
void draw_wrapped(QPainter& to, const QRectF& box, const QString& text);

}  // namespace ulp::gui

#endif
