// Every step of the replay in front as a row: the exact twin of the pictures.
#ifndef ULP_GUI_VIEWS_STEPS_VIEW_HPP
#define ULP_GUI_VIEWS_STEPS_VIEW_HPP

#include "rows_view.hpp"

namespace ulp::gui {

class steps_view final : public rows_view {
  Q_OBJECT
 public:
  steps_view(view_state& state, QWidget* parent);
  [[nodiscard]] QString legend() const override;
  [[nodiscard]] table data() const override;

 protected:
  void refresh(view_state::parts what) override;

 private:
  bool following_ = false;  // the selection follows the cursor, not the other way round
};

}  // namespace ulp::gui

#endif
