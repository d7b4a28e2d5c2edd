// A sweep over the parameters of the policy in front; a double click adds the policy to the replays.
#ifndef ULP_GUI_VIEWS_POLICIES_VIEW_HPP
#define ULP_GUI_VIEWS_POLICIES_VIEW_HPP

#include <QLineEdit>
#include <QPushButton>

#include "rows_view.hpp"
#include "viewmodel/policy_sweep.hpp"

namespace ulp::gui {

class policies_view final : public rows_view {
  Q_OBJECT
 public:
  policies_view(view_state& state, QWidget* parent);
  [[nodiscard]] QString legend() const override;
  [[nodiscard]] table data() const override;
  void start();

 protected:
  void refresh(view_state::parts what) override;

 private:
  void show_results();

  QLineEdit* values_;
  QPushButton* run_;
  background work_;
  std::vector<swept_policy> results_;
};

}  // namespace ulp::gui

#endif
