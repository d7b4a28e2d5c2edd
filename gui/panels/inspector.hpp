// Where everything comes from.
#ifndef ULP_GUI_PANELS_INSPECTOR_HPP
#define ULP_GUI_PANELS_INSPECTOR_HPP

#include <QTextBrowser>
#include <QWidget>

#include "viewmodel/view_state.hpp"

namespace ulp::gui {

class inspector : public QWidget {
  Q_OBJECT
 public:
  explicit inspector(view_state& state, QWidget* parent = nullptr);

 private:
  void refresh();

  view_state& state_;
  QTextBrowser* about_;
};

}  // namespace ulp::gui

#endif
