// Format by format: whether it needs a loss scale, what is lost without one, and which static scales would do.
#ifndef ULP_GUI_VIEWS_FORMATS_VIEW_HPP
#define ULP_GUI_VIEWS_FORMATS_VIEW_HPP

#include <QComboBox>
#include <QLineEdit>
#include <QPushButton>
#include <functional>
#include <optional>

#include <ulp/report/findings/format_matrix.hpp>

#include "rows_view.hpp"
#include "viewmodel/background.hpp"

namespace ulp::gui {

class formats_view final : public rows_view {
  Q_OBJECT
 public:
  formats_view(view_state& state, QWidget* parent);
  [[nodiscard]] QString legend() const override;
  [[nodiscard]] table data() const override { return table_; }
  void catch_up_now() override;

 protected:
  void refresh(view_state::parts what) override;

 private:
  void count_anew();
  void take(table t);
  [[nodiscard]] QString words() const;
  // The steps that are counted: of those shown the ones before the run was lost, where there are any.
  [[nodiscard]] step_range counted() const;
  // The step from which on they are left out.
  [[nodiscard]] std::optional<std::int64_t> left_out_from() const;
  // nullopt where what is typed is no share.
  [[nodiscard]] std::optional<double> epsilon() const;
  // What counts the table that is wanted now; empty where there is nothing to count.
  [[nodiscard]] std::function<table(listener&)> asked() const;

  QPushButton* each_;
  QLineEdit* epsilon_;
  QComboBox* measure_;
  background work_;
  table table_;
};

}  // namespace ulp::gui

#endif
