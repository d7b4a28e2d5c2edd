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
  // As many rows as there is room for, from the first on, and how many do not fit.
  void draw(QPainter& to, const QRectF& room, const theme& colours) override;

 protected:
  [[nodiscard]] rows_model& rows() const noexcept { return *rows_; }
  [[nodiscard]] QTableView& grid() const noexcept { return *grid_; }
  [[nodiscard]] QVBoxLayout& box() const noexcept { return *box_; }
  // A click on a header sorts, a third one takes the order back.
  void let_sort();
  // Columns as wide as their texts, within reason.
  void fit_columns();
  // The first row of a picture that has room for so many.
  [[nodiscard]] virtual int first_drawn(int /*room*/) const { return 0; }
  // Lines over the table, and what to do with it, which is of no use on paper; in the middle where there are no rows.
  void set_note(const QString& text, const QString& hint = {});

 private:
  void copy() const;
  void place_note();
  // How many rows and columns do not fit, in words; empty where all do.
  [[nodiscard]] QString left_out(int first, int rows, int columns) const;

  rows_model* rows_;
  QTableView* grid_;
  QVBoxLayout* box_;
  QLabel* note_;
  QLabel* middle_;
  QString told_;
  QString hint_;
};

}  // namespace ulp::gui

#endif
