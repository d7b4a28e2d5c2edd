// A row of chips: what restricts the view in front. Pressing one lifts it.
#ifndef ULP_GUI_PANELS_CONTEXT_BAR_HPP
#define ULP_GUI_PANELS_CONTEXT_BAR_HPP

#include <QHBoxLayout>
#include <QWidget>

#include "viewmodel/context.hpp"

namespace ulp::gui {

class context_bar final : public QWidget {
  Q_OBJECT
 public:
  explicit context_bar(view_state& state, QWidget* parent = nullptr);
  // Of the view in front: chips that it does not heed would promise too much.
  void show_for(heeded by);

 private:
  void refresh();

  view_state& state_;
  heeded by_ = heeds_all;
  QHBoxLayout* row_;
};

}  // namespace ulp::gui

#endif
