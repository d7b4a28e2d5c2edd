// A row as it stands in the table: its values by meaning, up to `applied`.
#ifndef ULP_IO_TABLE_RAW_ROW_HPP
#define ULP_IO_TABLE_RAW_ROW_HPP

#include <array>
#include <bitset>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <ulp/model/cells/cell_table.hpp>

#include "column_names.hpp"

namespace ulp::io {

class raw_row {
 public:
  static constexpr std::size_t meanings = static_cast<std::size_t>(column_meaning::applied) + 1;

  // `index`: of the row in its table.
  raw_row(std::size_t index, std::uint64_t line) : index_(index), line_(line) { values_.fill(not_known); }

  [[nodiscard]] std::size_t index() const noexcept { return index_; }
  [[nodiscard]] std::uint64_t line() const noexcept { return line_; }
  [[nodiscard]] bool has(column_meaning means) const { return has_.test(static_cast<std::size_t>(means)); }
  [[nodiscard]] double of(column_meaning means) const { return values_[static_cast<std::size_t>(means)]; }
  [[nodiscard]] bool is_nan(column_meaning means) const { return has(means) && std::isnan(of(means)); }
  void set(column_meaning means, double value) {
    has_.set(static_cast<std::size_t>(means));
    values_[static_cast<std::size_t>(means)] = value;
  }
  [[nodiscard]] bool has_metric() const {
    std::size_t n = has_.count();
    for (const auto means : {column_meaning::step, column_meaning::epoch, column_meaning::learning_rate})
      n -= has(means) ? 1 : 0;
    return n > 0;
  }
  // Forgets the values that are NaN; whether there were any.
  bool drop_nans() {
    const std::size_t before = has_.count();
    for (std::size_t i = 0; i < meanings; ++i)
      if (std::isnan(values_[i])) has_.reset(i);
    return has_.count() < before;
  }
  void forget(column_meaning means) { has_.reset(static_cast<std::size_t>(means)); }

 private:
  std::size_t index_;
  std::uint64_t line_;
  std::bitset<meanings> has_;
  std::array<double, meanings> values_{};
};

}  // namespace ulp::io

#endif
