// The colours of the whole program by name, and its icon.
#ifndef ULP_GUI_APP_THEMES_HPP
#define ULP_GUI_APP_THEMES_HPP

#include <QIcon>
#include <QString>
#include <QStringList>
#include <QStyle>
#include <optional>

#include "plot/theme.hpp"

namespace ulp::gui {

// system, light, dark, high-contrast.
[[nodiscard]] QStringList theme_names();
// Nullopt for system, and for what is none of the names.
[[nodiscard]] std::optional<theme> theme_named(const QString& name);

// For all windows.
void use_theme(const QString& name);
// The one that was chosen last, in this run of the program or before.
[[nodiscard]] QString remembered_theme();
void remember_theme(const QString& name);

[[nodiscard]] QIcon program_icon();
// Fusion, with boxes that are seen in the dark; for QApplication::setStyle.
[[nodiscard]] QStyle* program_style();

}  // namespace ulp::gui

#endif
