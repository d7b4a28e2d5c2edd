#include "column_words.hpp"

#include <QCoreApplication>
#include <cctype>
#include <string_view>

namespace ulp::gui {
namespace {

// What the tables that the window shows are headed by: of Overview, Steps, Policies and Formats.
[[maybe_unused]] constexpr const char* translated_titles[] = {
    QT_TRANSLATE_NOOP("columns", "replay"),
    QT_TRANSLATE_NOOP("columns", "step"),
    QT_TRANSLATE_NOOP("columns", "overflow"),
    QT_TRANSLATE_NOOP("columns", "scale"),
    QT_TRANSLATE_NOOP("columns", "next scale"),
    QT_TRANSLATE_NOOP("columns", "skipped"),
    QT_TRANSLATE_NOOP("columns", "critical scale"),
    QT_TRANSLATE_NOOP("columns", "underflow"),
    QT_TRANSLATE_NOOP("columns", "values that overflow"),
    QT_TRANSLATE_NOOP("columns", "norm"),
    QT_TRANSLATE_NOOP("columns", "clip coefficient"),
    QT_TRANSLATE_NOOP("columns", "clipped"),
    QT_TRANSLATE_NOOP("columns", "loss"),
    QT_TRANSLATE_NOOP("columns", "first skip"),
    QT_TRANSLATE_NOOP("columns", "scale at the end"),
    QT_TRANSLATE_NOOP("columns", "clipped steps"),
    QT_TRANSLATE_NOOP("columns", "regret"),
    QT_TRANSLATE_NOOP("columns", "diverges at step"),
    QT_TRANSLATE_NOOP("columns", "rank"),
    QT_TRANSLATE_NOOP("columns", "best"),
    QT_TRANSLATE_NOOP("columns", "scaler"),
    QT_TRANSLATE_NOOP("columns", "set"),
    QT_TRANSLATE_NOOP("columns", "format"),
    QT_TRANSLATE_NOOP("columns", "rounding"),
    QT_TRANSLATE_NOOP("columns", "lost"),
    QT_TRANSLATE_NOOP("columns", "% of nonzero"),
    QT_TRANSLATE_NOOP("columns", "mean scale"),
    QT_TRANSLATE_NOOP("columns", "last scale"),
    QT_TRANSLATE_NOOP("columns", "free regret"),
    QT_TRANSLATE_NOOP("columns", "why no regret"),
    QT_TRANSLATE_NOOP("columns", "raised"),
    QT_TRANSLATE_NOOP("columns", "bits"),
    QT_TRANSLATE_NOOP("columns", "lost to zero"),
    QT_TRANSLATE_NOOP("columns", "subnormal"),
    QT_TRANSLATE_NOOP("columns", "beyond the largest"),
    QT_TRANSLATE_NOOP("columns", "a scale for"),
    QT_TRANSLATE_NOOP("columns", "elements"),
    QT_TRANSLATE_NOOP("columns", "least to largest"),
    QT_TRANSLATE_NOOP("columns", "source"),
    QT_TRANSLATE_NOOP("columns", "tensor"),
    QT_TRANSLATE_NOOP("columns", "loss scale"),
    QT_TRANSLATE_NOOP("columns", "static scales that suffice"),
    QT_TRANSLATE_NOOP("columns", "smallest format without a loss scale"),
    QT_TRANSLATE_NOOP("columns", "judged by"),
    QT_TRANSLATE_NOOP("columns", "lost magnitude at %1"),
    QT_TRANSLATE_NOOP("columns", "underflow at %1"),
    QT_TRANSLATE_NOOP("columns", "overflow at %1")};

}  // namespace

QString header_text(const std::string& title) {
  constexpr std::string_view at = " at ";
  const auto translated = [](const std::string& text) { return QCoreApplication::translate("columns", text.c_str()); };
  const std::size_t place = title.rfind(at);
  // "underflow at 2^20": whatever the scale is.
  const bool has_scale = place != std::string::npos && place + at.size() < title.size() &&
                         std::isdigit(static_cast<unsigned char>(title[place + at.size()])) != 0;
  if (!has_scale) return translated(title);
  return translated(title.substr(0, place) + " at %1").arg(QString::fromStdString(title.substr(place + at.size())));
}

}  // namespace ulp::gui
