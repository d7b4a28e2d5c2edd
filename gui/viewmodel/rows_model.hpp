// A table for Qt's views whose cells are asked for one by one, in their order or sorted by a column.
#ifndef ULP_GUI_VIEWMODEL_ROWS_MODEL_HPP
#define ULP_GUI_VIEWMODEL_ROWS_MODEL_HPP

#include <QAbstractTableModel>
#include <QVariant>
#include <functional>
#include <vector>

#include <ulp/report/tables/table.hpp>

namespace ulp::gui {

class rows_model final : public QAbstractTableModel {
  Q_OBJECT
 public:
  using cell_function = std::function<table_value(std::size_t row, std::size_t column)>;
  using brush_function = std::function<QVariant(std::size_t row)>;
  static constexpr int value_role = Qt::UserRole;  // numbers as such, for sorting

  using QAbstractTableModel::QAbstractTableModel;

  // All again. Columns without title are left out.
  void set(std::vector<table_column> columns, std::size_t rows, cell_function cell);
  // The same of a whole table.
  void set(table t);
  // Behind the rows, as they were set: a QBrush or nothing.
  void set_background(brush_function brush);

  // By numbers as such, texts that begin with one by that; of equal rows and for column -1 the order as set. Stays
  // through set() where there still is such a column.
  void sort(int column, Qt::SortOrder order = Qt::AscendingOrder) override;
  // The row as it was set that stands in this one, and where a row that was set stands.
  [[nodiscard]] std::size_t set_row(int row) const;
  [[nodiscard]] int shown_row(std::size_t set_row) const;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  // Tab-separated, under their titles.
  [[nodiscard]] QString text_of(const std::vector<int>& rows) const;

 private:
  void order();

  std::vector<table_column> columns_;
  std::vector<std::size_t> shown_;  // of the columns
  std::vector<std::size_t> order_;  // of the rows; empty: as they were set
  int sorted_by_ = -1;
  Qt::SortOrder direction_ = Qt::AscendingOrder;
  std::size_t rows_ = 0;
  cell_function cell_;
  brush_function background_;
};

}  // namespace ulp::gui

#endif
