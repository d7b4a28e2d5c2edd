// Format by format: whether it needs a loss scale, what is lost without one, and which static scales would do.
#ifndef ULP_GUI_VIEWS_FORMATS_VIEW_HPP
#define ULP_GUI_VIEWS_FORMATS_VIEW_HPP

#include <QComboBox>
#include <QLineEdit>
#include <QPushButton>
#include <functional>
#include <optional>
#include <vector>

#include <ulp/report/findings/format_matrix.hpp>
#include <ulp/report/tables/block_comparison_table.hpp>

#include "rows_view.hpp"
#include "viewmodel/background.hpp"

namespace ulp::gui {

// Formats of blocks and the others, of the same values.
struct block_counts {
  std::vector<compared_format> formats;
  std::vector<compared_blocks> blocks;
};

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
  // Beside formats of blocks: what they share is another table.
  void take_blocks(block_counts counted);
  void show_controls();
  [[nodiscard]] QString words() const;
  // The steps that are counted: of those shown the ones before the run was lost, where there are any.
  [[nodiscard]] step_range counted() const;
  // The step from which on they are left out.
  [[nodiscard]] std::optional<std::int64_t> left_out_from() const;
  // nullopt where what is typed is no share.
  [[nodiscard]] std::optional<double> epsilon() const;
  // What counts the table that is wanted now; empty where there is nothing to count.
  [[nodiscard]] std::function<table(listener&)> asked() const;
  [[nodiscard]] std::function<block_counts(listener&)> blocks_asked() const;
  [[nodiscard]] QString block_words(const block_counts& counted) const;
  void take_typed_rows();

  QPushButton* each_;
  QPushButton* beside_blocks_;
  std::vector<QWidget*> of_loss_;  // controls of what may be lost
  QLineEdit* epsilon_;
  QComboBox* measure_;
  QLineEdit* block_rows_;
  background work_;
  table table_;
};

}  // namespace ulp::gui

#endif
