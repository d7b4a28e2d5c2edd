// A row of chips: what restricts all views. Pressing one lifts it.
#ifndef ULP_GUI_PANELS_CONTEXT_BAR_HPP
#define ULP_GUI_PANELS_CONTEXT_BAR_HPP

#include <QHBoxLayout>
#include <QWidget>

#include "viewmodel/view_state.hpp"

namespace ulp::gui {

class context_bar final : public QWidget {
  Q_OBJECT
 public:
  explicit context_bar(view_state& state, QWidget* parent = nullptr);

 private:
  void refresh();

  view_state& state_;
  QHBoxLayout* row_;
};

}  // namespace ulp::gui

#endif
