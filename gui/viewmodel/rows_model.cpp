#include "rows_model.hpp"

#include <limits>
#include <memory>
#include <utility>
#include <variant>

namespace ulp::gui {
namespace {

bool is_text(const table_value& v) { return std::holds_alternative<std::string>(v) || std::holds_alternative<bool>(v); }

QVariant number_of(const table_value& v) {
  if (const auto* const x = std::get_if<double>(&v)) return *x;
  if (const auto* const x = std::get_if<std::int64_t>(&v)) return QVariant::fromValue<qlonglong>(*x);
  if (const auto* const x = std::get_if<count_range>(&v)) return QVariant::fromValue<qulonglong>(x->low);
  if (const auto* const x = std::get_if<value_range>(&v)) return x->low;
  if (std::holds_alternative<std::monostate>(v)) return -std::numeric_limits<double>::infinity();
  return QString::fromStdString(to_cell(v));
}

}  // namespace

void rows_model::set(std::vector<table_column> columns, std::size_t rows, cell_function cell) {
  beginResetModel();
  columns_ = std::move(columns);
  shown_.clear();
  for (std::size_t i = 0; i < columns_.size(); ++i)
    if (!columns_[i].title.empty()) shown_.push_back(i);
  rows_ = rows;
  cell_ = std::move(cell);
  endResetModel();
}

void rows_model::set(table t) {
  const auto shared = std::make_shared<const table>(std::move(t));
  set(shared->columns, shared->rows.size(),
      [shared](std::size_t row, std::size_t column) { return shared->rows[row][column]; });
}

int rows_model::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(rows_); }
int rows_model::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(shown_.size());
}

QVariant rows_model::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const auto row = static_cast<std::size_t>(index.row());
  const std::size_t column = shown_[static_cast<std::size_t>(index.column())];
  switch (role) {
    case Qt::DisplayRole: return QString::fromStdString(to_cell(cell_(row, column)));
    case value_role: return number_of(cell_(row, column));
    case Qt::TextAlignmentRole: {
      const bool left = is_text(cell_(row, column)) && columns_[column].align != alignment::right;
      return QVariant::fromValue(Qt::Alignment(Qt::AlignVCenter | (left ? Qt::AlignLeft : Qt::AlignRight)));
    }
    default: return {};
  }
}

QVariant rows_model::headerData(int section, Qt::Orientation orientation, int role) const {
  if (role != Qt::DisplayRole) return QAbstractTableModel::headerData(section, orientation, role);
  if (orientation == Qt::Vertical) return section + 1;
  if (section < 0 || section >= columnCount()) return {};
  return QString::fromStdString(columns_[shown_[static_cast<std::size_t>(section)]].title);
}

}  // namespace ulp::gui
