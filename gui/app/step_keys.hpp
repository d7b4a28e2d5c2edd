// Left and Right move the step cursor, whatever has the focus; where they have a meaning of their own they keep it.
#ifndef ULP_GUI_APP_STEP_KEYS_HPP
#define ULP_GUI_APP_STEP_KEYS_HPP

#include <QObject>
#include <QWidget>

#include "viewmodel/view_state.hpp"

namespace ulp::gui {

class step_keys final : public QObject {
  Q_OBJECT
 public:
  // In that window.
  step_keys(view_state& state, QWidget& window);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  view_state& state_;
  QWidget& window_;
};

}  // namespace ulp::gui

#endif
