// Format by format: what the run loses without a loss scale, and which static scales would do.
#ifndef ULP_GUI_VIEWS_FORMATS_VIEW_HPP
#define ULP_GUI_VIEWS_FORMATS_VIEW_HPP

#include <QPushButton>
#include <functional>

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
  void take(table t);
  // What counts the table that is wanted now.
  [[nodiscard]] std::function<table(const background::report&)> asked() const;

  QPushButton* each_;
  background work_;
  table table_;
};

}  // namespace ulp::gui

#endif
