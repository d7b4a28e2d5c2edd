// Headers of tables in the language of the window.
#ifndef ULP_GUI_VIEWMODEL_COLUMN_WORDS_HPP
#define ULP_GUI_VIEWMODEL_COLUMN_WORDS_HPP

#include <QString>
#include <string>

namespace ulp::gui {

// Of a column with this title: as it is where no language has it.
[[nodiscard]] QString header_text(const std::string& title);

}  // namespace ulp::gui

#endif
