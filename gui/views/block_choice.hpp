// Which format Exponents shows: that of the replay, or one whose blocks share a scale.
#ifndef ULP_GUI_VIEWS_BLOCK_CHOICE_HPP
#define ULP_GUI_VIEWS_BLOCK_CHOICE_HPP

#include <QComboBox>

#include "viewmodel/view_state.hpp"

namespace ulp::gui {

// The usual ones by their names; others are typed, and completed.
class block_choice final : public QComboBox {
  Q_OBJECT
 public:
  block_choice(view_state& state, QWidget* parent);
  // What the state has.
  void follow();

 private:
  void take();

  view_state& state_;
};

}  // namespace ulp::gui

#endif
