// Files that people choose or drop, as runs.
#ifndef ULP_GUI_APP_CHOSEN_INPUTS_HPP
#define ULP_GUI_APP_CHOSEN_INPUTS_HPP

#include <QString>
#include <QStringList>
#include <vector>

#include "viewmodel/document.hpp"

namespace ulp::gui {

// For a file dialog: all inputs and sessions, then every kind for itself.
[[nodiscard]] QString input_filters();

// By their names: dumps of one kind are one run, as event files are; any other file is a run of its own. In the order given.
[[nodiscard]] std::vector<document::inputs_of_run> runs_of(const QStringList& files);
// "dump.npy", "dump.npy and 3 more".
[[nodiscard]] QString name_of(const document::inputs_of_run& run);

// The files of a folder that are named like inputs, sorted.
[[nodiscard]] QStringList inputs_in(const QString& folder);

}  // namespace ulp::gui

#endif
