// The language of the window's texts. Numbers are the same in all.
#ifndef ULP_GUI_APP_LANGUAGE_HPP
#define ULP_GUI_APP_LANGUAGE_HPP

#include <QString>
#include <QStringList>

namespace ulp::gui {

// English, and those that were compiled in: de, en.
[[nodiscard]] QStringList languages();

// Of the application that exists, from now on. Empty: the first of the desktop's languages that there is, else English.
void speak(const QString& language);

}  // namespace ulp::gui

#endif
