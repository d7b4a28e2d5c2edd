// Text of files as a window shows it: printable, and never taken for HTML.
#ifndef ULP_GUI_VIEWMODEL_SHOWN_TEXT_HPP
#define ULP_GUI_VIEWMODEL_SHOWN_TEXT_HPP

#include <QString>
#include <string_view>

#include <ulp/io/printable.hpp>

namespace ulp::gui {

[[nodiscard]] inline QString shown_text(std::string_view text) { return QString::fromStdString(printable(text)); }

// Tool tips take whatever looks like HTML for it.
[[nodiscard]] inline QString tip_of(const QString& text) {
  return text.contains('<') ? "<qt>" + text.toHtmlEscaped() + "</qt>" : text;
}

}  // namespace ulp::gui

#endif
