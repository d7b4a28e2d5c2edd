// The loss scale of every replay over the steps.
#ifndef ULP_GUI_VIEWS_SCALE_VIEW_HPP
#define ULP_GUI_VIEWS_SCALE_VIEW_HPP

#include <QPushButton>

#include "chart_view.hpp"

namespace ulp::gui {

class scale_view final : public chart_view {
  Q_OBJECT
 public:
  scale_view(view_state& state, QWidget* parent);
  [[nodiscard]] table data() const override;

 protected:
  [[nodiscard]] QString fill(const theme& colours) override;

 private:
  QPushButton* difference_;
  QPushButton* critical_;
};

}  // namespace ulp::gui

#endif
