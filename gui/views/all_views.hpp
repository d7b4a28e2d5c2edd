// The views in the order in which they are listed.
#ifndef ULP_GUI_VIEWS_ALL_VIEWS_HPP
#define ULP_GUI_VIEWS_ALL_VIEWS_HPP

#include <QStringList>
#include <vector>

#include "view.hpp"

namespace ulp::gui {

[[nodiscard]] std::vector<view*> make_views(view_state& state, QWidget* parent);
[[nodiscard]] QStringList view_keys();

}  // namespace ulp::gui

#endif
