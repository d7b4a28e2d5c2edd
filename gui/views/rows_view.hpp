// A view that is a table of rows.
#ifndef ULP_GUI_VIEWS_ROWS_VIEW_HPP
#define ULP_GUI_VIEWS_ROWS_VIEW_HPP

#include <QLabel>
#include <QTableView>
#include <QVBoxLayout>

#include "view.hpp"
#include "viewmodel/rows_model.hpp"

namespace ulp::gui {

class rows_view : public view {
  Q_OBJECT
 public:
  rows_view(view_state& state, const char* key, const QString& title, const QString& question, QWidget* parent);
  // The first rows, as many as there is room for.
  void draw(QPainter& to, const QRectF& room, const theme& colours) override;

 protected:
  [[nodiscard]] rows_model& rows() const noexcept { return *rows_; }
  [[nodiscard]] QTableView& grid() const noexcept { return *grid_; }
  [[nodiscard]] QVBoxLayout& box() const noexcept { return *box_; }
  // A line over the table.
  void set_note(const QString& text);

 private:
  rows_model* rows_;
  QTableView* grid_;
  QVBoxLayout* box_;
  QLabel* note_;
};

}  // namespace ulp::gui

#endif
