// A framework's own configuration in place of what was chosen by hand.
#ifndef ULP_GUI_PANELS_CONFIGURATION_HPP
#define ULP_GUI_PANELS_CONFIGURATION_HPP

#include <QString>
#include <QWidget>

#include "viewmodel/view_state.hpp"

namespace ulp::gui {

// Scaler, parameters, format and clipping of the replay in front, and the FP8 recipe, become those of the file; what
// it leaves open stays. Returns what the user should know of it, one line each. Throws input_error,
// std::invalid_argument.
QString load_configuration(const QString& path, view_state& state);
// The same of a file that the user chooses; mistakes and notes are shown.
void choose_configuration(view_state& state, QWidget* parent);

}  // namespace ulp::gui

#endif
