// Where two runs part: what `ulp compare` says, marked in their losses.
#ifndef ULP_GUI_VIEWS_COMPARE_VIEW_HPP
#define ULP_GUI_VIEWS_COMPARE_VIEW_HPP

#include <QComboBox>
#include <QLabel>
#include <memory>
#include <optional>
#include <vector>

#include "chart_view.hpp"
#include "viewmodel/background.hpp"
#include "viewmodel/other_answers.hpp"

namespace ulp::gui {

class compare_view final : public chart_view {
  Q_OBJECT
 public:
  compare_view(view_state& state, QWidget* parent);
  [[nodiscard]] bool heeds(restriction::kind of) const override { return of == restriction::kind::steps; }
  [[nodiscard]] QString legend() const override;
  [[nodiscard]] QString shown_under() const override;
  [[nodiscard]] table data() const override;
  void catch_up_now() override;

 protected:
  void refresh(view_state::parts what) override;
  [[nodiscard]] QString fill(const theme& colours) override;
  [[nodiscard]] QString words() const override { return told_->text(); }

 private:
  using pair_of_runs = std::pair<std::shared_ptr<const loaded_run>, std::shared_ptr<const loaded_run>>;
  // The first run and, of the others, the one in front, else the second; null where there is one run.
  [[nodiscard]] pair_of_runs runs() const;
  [[nodiscard]] bool is_by_loss() const;
  [[nodiscard]] QString why_not() const;  // there is nothing to compare
  void start();
  void take(compare_answer found);
  void tell(const QString& why);
  [[nodiscard]] QString told_of(std::int64_t step) const;

  QComboBox* align_;
  QLabel* told_;
  background work_;
  pair_of_runs compared_;
  int compared_by_ = 0;
  std::optional<compare_answer> found_;
};

}  // namespace ulp::gui

#endif
