// Text of files as a window shows it: printable, and never taken for HTML.
#ifndef ULP_GUI_VIEWMODEL_SHOWN_TEXT_HPP
#define ULP_GUI_VIEWMODEL_SHOWN_TEXT_HPP

#include <QString>
#include <string_view>

#include <ulp/io/bytes/printable.hpp>

namespace ulp::gui {

[[nodiscard]] inline QString shown_text(std::string_view text) { return QString::fromStdString(printable(text)); }

// Tool tips take whatever looks like HTML for it.
[[nodiscard]] inline QString tip_of(const QString& text) {
  return text.contains('<') ? "<qt>" + text.toHtmlEscaped() + "</qt>" : text;
}

// With ranges such as "[0.5, 0.75] %" as one word each: Qt 6.4 ends lines at their points.
[[nodiscard]] inline QString with_whole_ranges(QString text) {
  constexpr QChar no_break(0xA0);
  for (qsizetype open = text.indexOf('['); open >= 0; open = text.indexOf('[', open + 1)) {
    constexpr qsizetype longest = 40;
    const qsizetype close = text.indexOf(']', open);
    if (close < 0 || close - open > longest) continue;
    for (qsizetype i = open; i < close; ++i)
      if (text[i] == ' ') text[i] = no_break;
    if (QStringView(text).sliced(close + 1).startsWith(QStringLiteral(" %"))) text[close + 1] = no_break;
  }
  return text;
}

}  // namespace ulp::gui

#endif
