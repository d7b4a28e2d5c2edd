#include "rows_model.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include "column_words.hpp"

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

// What a cell is sorted by: nothing first, then numbers, then texts.
struct sort_key {
  enum class kind : std::uint8_t { nothing, number, text } of = kind::nothing;
  double number = 0;
  std::string text;
  friend bool operator<(const sort_key& a, const sort_key& b) {
    if (a.of != b.of) return a.of < b.of;
    return a.of == kind::text ? a.text < b.text : a.number < b.number;
  }
};

// "~2^16.5 [2^3, 2^17]" is 2^16.5, "[5 %, 7 %]" is 5.
std::optional<double> number_in(std::string text) {
  std::erase(text, ',');
  std::string_view rest = text;
  rest.remove_prefix(std::min(rest.find_first_not_of("~["), rest.size()));
  const bool is_power = rest.starts_with("2^");
  if (is_power) rest.remove_prefix(2);
  double value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  const bool goes_on = end != rest.data() + rest.size() && *end != ' ' && *end != ']';
  if (error != std::errc{} || goes_on || std::isnan(value)) return std::nullopt;
  return is_power ? std::exp2(value) : value;
}

sort_key key_of(const table_value& v) {
  using kind = sort_key::kind;
  if (const auto* const text = std::get_if<std::string>(&v)) {
    if (text->empty() || *text == "-") return {};
    if (const auto number = number_in(*text)) return {kind::number, *number, {}};
    return {kind::text, 0, *text};
  }
  if (const auto* const flag = std::get_if<bool>(&v)) return {kind::number, *flag ? 1.0 : 0.0, {}};
  if (std::holds_alternative<std::monostate>(v)) return {};
  bool is_number = false;
  const double number = number_of(v).toDouble(&is_number);
  return is_number && !std::isnan(number) ? sort_key{kind::number, number, {}} : sort_key{};
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
  background_ = {};
  order();
  endResetModel();
}

void rows_model::set(table t) {
  const auto shared = std::make_shared<const table>(std::move(t));
  set(shared->columns, shared->rows.size(),
      [shared](std::size_t row, std::size_t column) { return shared->rows[row][column]; });
}

void rows_model::set_background(brush_function brush) {
  background_ = std::move(brush);
  if (rowCount() > 0) emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1), {Qt::BackgroundRole});
}

void rows_model::order() {
  order_.clear();
  if (sorted_by_ < 0 || sorted_by_ >= columnCount()) return;
  const std::size_t column = shown_[static_cast<std::size_t>(sorted_by_)];
  std::vector<sort_key> keys;
  keys.reserve(rows_);
  for (std::size_t row = 0; row < rows_; ++row) keys.push_back(key_of(cell_(row, column)));
  order_.resize(rows_);
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  const bool falls = direction_ == Qt::DescendingOrder;
  std::ranges::stable_sort(order_,
                           [&](std::size_t a, std::size_t b) { return falls ? keys[b] < keys[a] : keys[a] < keys[b]; });
}

void rows_model::sort(int column, Qt::SortOrder direction) {
  emit layoutAboutToBeChanged({}, VerticalSortHint);
  const QModelIndexList before = persistentIndexList();
  std::vector<std::size_t> rows;
  for (const QModelIndex& i : before) rows.push_back(set_row(i.row()));
  sorted_by_ = column;
  direction_ = direction;
  order();
  QModelIndexList after;
  for (qsizetype i = 0; i < before.size(); ++i)
    after << index(shown_row(rows[static_cast<std::size_t>(i)]), before[i].column());
  changePersistentIndexList(before, after);
  emit layoutChanged({}, VerticalSortHint);
}

std::size_t rows_model::set_row(int row) const {
  const auto at = static_cast<std::size_t>(row);
  return order_.empty() ? at : order_[at];
}

int rows_model::shown_row(std::size_t row) const {
  if (order_.empty()) return static_cast<int>(row);
  return static_cast<int>(std::ranges::find(order_, row) - order_.begin());
}

QString rows_model::text_of(const std::vector<int>& rows) const {
  QString all;
  const auto add_line = [&](auto&& cell_of) {
    for (int column = 0; column < columnCount(); ++column)
      all += (column > 0 ? "\t" : "") + QString(cell_of(column)).replace('\t', ' ').replace('\n', ' ');
    all += '\n';
  };
  add_line([&](int column) { return headerData(column, Qt::Horizontal, Qt::DisplayRole).toString(); });
  for (const int row : rows) add_line([&](int column) { return index(row, column).data().toString(); });
  return all;
}

int rows_model::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(rows_); }
int rows_model::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(shown_.size());
}

QVariant rows_model::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const std::size_t row = set_row(index.row());
  const std::size_t column = shown_[static_cast<std::size_t>(index.column())];
  switch (role) {
    case Qt::DisplayRole: return QString::fromStdString(to_cell(cell_(row, column)));
    case value_role: return number_of(cell_(row, column));
    case Qt::TextAlignmentRole: {
      const bool left = is_text(cell_(row, column)) && columns_[column].align != alignment::right;
      return QVariant::fromValue(Qt::Alignment(Qt::AlignVCenter | (left ? Qt::AlignLeft : Qt::AlignRight)));
    }
    case Qt::BackgroundRole: return background_ ? background_(row) : QVariant();
    default: return {};
  }
}

QVariant rows_model::headerData(int section, Qt::Orientation orientation, int role) const {
  if (role != Qt::DisplayRole) return QAbstractTableModel::headerData(section, orientation, role);
  if (orientation == Qt::Vertical) return section + 1;
  if (section < 0 || section >= columnCount()) return {};
  return header_text(columns_[shown_[static_cast<std::size_t>(section)]].title);
}

}  // namespace ulp::gui
