// A table for Qt's views whose cells are asked for one by one.
#ifndef ULP_GUI_VIEWMODEL_ROWS_MODEL_HPP
#define ULP_GUI_VIEWMODEL_ROWS_MODEL_HPP

#include <QAbstractTableModel>
#include <functional>
#include <vector>

#include <ulp/report/table.hpp>

namespace ulp::gui {

class rows_model final : public QAbstractTableModel {
  Q_OBJECT
 public:
  using cell_function = std::function<table_value(std::size_t row, std::size_t column)>;
  static constexpr int value_role = Qt::UserRole;  // numbers as such, for sorting

  using QAbstractTableModel::QAbstractTableModel;

  // All again. Columns without title are left out.
  void set(std::vector<table_column> columns, std::size_t rows, cell_function cell);
  // The same of a whole table.
  void set(table t);

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  std::vector<table_column> columns_;
  std::vector<std::size_t> shown_;  // of the columns
  std::size_t rows_ = 0;
  cell_function cell_;
};

}  // namespace ulp::gui

#endif
