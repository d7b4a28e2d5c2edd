// Every step of the replay in front as a row: the exact twin of the pictures.
#ifndef ULP_GUI_VIEWS_STEPS_VIEW_HPP
#define ULP_GUI_VIEWS_STEPS_VIEW_HPP

#include <QComboBox>
#include <cstddef>
#include <optional>
#include <vector>

#include "rows_view.hpp"

namespace ulp::gui {

class steps_view final : public rows_view {
  Q_OBJECT
 public:
  steps_view(view_state& state, QWidget* parent);
  [[nodiscard]] bool heeds(restriction::kind of) const override { return of == restriction::kind::reading; }
  [[nodiscard]] QString legend() const override;
  // As `ulp replay` writes them: the run is replayed again. Throws input_error.
  [[nodiscard]] table data() const override;

 protected:
  void refresh(view_state::parts what) override;
  [[nodiscard]] int first_drawn(int room) const override;

 private:
  void list();
  void follow_cursor();
  // The row that the cursor is at, of those that are listed.
  [[nodiscard]] std::optional<int> row_at_cursor() const;

  QComboBox* which_;
  std::vector<std::size_t> listed_;  // indices of steps
  bool following_ = false;           // the selection follows the cursor, not the other way round
};

}  // namespace ulp::gui

#endif
