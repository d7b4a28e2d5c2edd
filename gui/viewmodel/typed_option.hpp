// The value of an option as one line of text.
#ifndef ULP_GUI_VIEWMODEL_TYPED_OPTION_HPP
#define ULP_GUI_VIEWMODEL_TYPED_OPTION_HPP

#include <QString>

#include <ulp/ask/questions/text_option.hpp>

namespace ulp::gui {

// Empty for a flag that is not set and a number that is 0; a list is separated by blanks.
[[nodiscard]] QString text_of(const text_option& option);

// Into the place of the option; of no text, what it is empty. Throws std::invalid_argument where a number is none, or a flag
// anything but "yes".
void set_text(const text_option& option, const QString& text);

}  // namespace ulp::gui

#endif
