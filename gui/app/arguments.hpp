// The command line of ulpscope.
#ifndef ULP_GUI_APP_ARGUMENTS_HPP
#define ULP_GUI_APP_ARGUMENTS_HPP

#include <QSize>
#include <QString>

#include "session.hpp"

namespace ulp::gui {

struct arguments {
  session asked;
  QString output;  // file to export to; empty: a window
  QSize size{1100, 700};
  QString colours;   // one of theme_names(); empty: as before, or as the desktop has it
  QString language;  // one of languages(); empty: the desktop's
};

// Of the application that exists. --help and --version print and end the program, mistakes end it with one line, exit code 2.
[[nodiscard]] arguments parse_arguments();
[[noreturn]] void refuse(const QString& why);

}  // namespace ulp::gui

#endif
