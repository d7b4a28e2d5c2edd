// A sweep over the parameters of the policy in front; a double click adds the policy to the replays.
#ifndef ULP_GUI_VIEWS_POLICIES_VIEW_HPP
#define ULP_GUI_VIEWS_POLICIES_VIEW_HPP

#include <QLineEdit>
#include <QPushButton>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ulp/report/policy_grid.hpp>

#include "rows_view.hpp"
#include "viewmodel/background.hpp"

namespace ulp::gui {

class policies_view final : public rows_view {
  Q_OBJECT
 public:
  // A parameter and its values, "50,200".
  using grid_of_values = std::vector<std::pair<std::string, std::string>>;

  policies_view(view_state& state, QWidget* parent);
  [[nodiscard]] QString legend() const override;
  [[nodiscard]] table data() const override;
  void start();
  void catch_up_now() override;

 protected:
  void refresh(view_state::parts what) override;

 private:
  // nullopt, and a note, where what is typed is not a list of values.
  [[nodiscard]] std::optional<grid_of_values> typed();
  void show_results();

  QLineEdit* values_;
  QPushButton* sweep_;
  std::uint64_t run_ = 0;  // the id of that which was swept, or will be
  background work_;
  std::vector<swept_policy> results_;
};

}  // namespace ulp::gui

#endif
