// A view as a file: picture or numbers.
#ifndef ULP_GUI_APP_EXPORT_HPP
#define ULP_GUI_APP_EXPORT_HPP

#include <QByteArray>
#include <QImage>
#include <QSize>
#include <QString>

#include "views/view.hpp"

namespace ulp::gui {

// As it is exported, at twice the size in pixels.
[[nodiscard]] QImage picture_of(view& what, QSize size, const theme& colours);
// As spreadsheets paste it; quotation marks and line breaks inside cells are lost.
[[nodiscard]] QString tabbed(const table& of);

// By the suffix: .png (twice the size in pixels), .svg, .pdf, .csv, .json. Under the view's title, and what is shown of
// which run. The file is whole or absent. Throws std::runtime_error.
void export_view(view& what, const QString& path, QSize size, const theme& colours);

// As a file that is whole or absent, and none of those that are shown. Throws std::runtime_error.
void save(const QByteArray& bytes, const QString& path, const document& shown);

}  // namespace ulp::gui

#endif
