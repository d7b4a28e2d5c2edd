// The norm of the gradients over the steps, and where clipping triggers.
#ifndef ULP_GUI_VIEWS_CLIPPING_VIEW_HPP
#define ULP_GUI_VIEWS_CLIPPING_VIEW_HPP

#include <QLabel>

#include "chart_view.hpp"

namespace ulp::gui {

class clipping_view final : public chart_view {
  Q_OBJECT
 public:
  clipping_view(view_state& state, QWidget* parent);
  [[nodiscard]] QString legend() const override;
  [[nodiscard]] table data() const override;

 protected:
  [[nodiscard]] QString fill(const theme& colours) override;
  void refresh(view_state::parts what) override;

 private:
  QLabel* rate_;
};

}  // namespace ulp::gui

#endif
