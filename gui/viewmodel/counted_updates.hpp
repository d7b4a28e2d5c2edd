// The updates that weights lose, as Layers shows them: each step is counted by itself, so that nothing is left to be read.
#ifndef ULP_GUI_VIEWMODEL_COUNTED_UPDATES_HPP
#define ULP_GUI_VIEWMODEL_COUNTED_UPDATES_HPP

#include <memory>

#include <ulp/ask/progress/listener.hpp>
#include <ulp/report/pictures/layer_updates.hpp>

#include "layer_rows.hpp"

namespace ulp::gui {

// `known`: what was counted of this run in this format before, or null: then its tables are read. Throws as count_weights.
[[nodiscard]] counted_layers counted_updates(std::shared_ptr<const drawn_columns> drawn, const layer_question& question,
                                             std::shared_ptr<const layer_updates> known, listener& to);

}  // namespace ulp::gui

#endif
