#include "lost_columns.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "bytes/text.hpp"
#include "column_fit.hpp"
#include "column_names.hpp"

namespace ulp::io {
namespace {

using m = column_meaning;

class lost_reader {
 public:
  lost_reader(const run_table& table, const chosen_columns& chosen) : table_(table), chosen_(chosen) {}

  std::vector<std::string> read() {
    if (!training_ends_lost()) tell_validation();
    if (!is_finite()) return std::move(all_);
    if (table_.lost_of_ranks > 0)
      all_.push_back("the loss or the norm of other ranks, which are not used, is not finite in " +
                     count_text(table_.lost_of_ranks, "row"));
    for (std::uint32_t i = 0; i < table_.columns.size(); ++i) {
      const run_table::column& c = table_.columns[i];
      const bool is_loss = c.reading ? c.reading->means == m::loss && !c.reading->of_validation
                                     : looks_important(c.name) && has_word(c.name, "loss") && !names_validation(c.name);
      if (is_loss && c.lost.are_values() && !chosen_.uses(i))
        all_.push_back("the column " + in_quotes(c.name) + ", which is not used, is not finite in " +
                       count_text(c.lost.lost, "row") + " from " + table_.place(c.lost.first_line) + " on");
    }
    return std::move(all_);
  }

 private:
  // Whether what is used shows no loss and no norm that is not.
  [[nodiscard]] bool is_finite() const {
    return std::ranges::all_of(table_.cells, [&](const run_table::cell& c) {
      return std::isfinite(c.value) || (chosen_.of(m::loss) != c.column && chosen_.of(m::grad_norm) != c.column);
    });
  }
  // The last loss, or the last norms. A loss of 0 may stand for one that is not finite.
  [[nodiscard]] bool training_ends_lost() const {
    constexpr int several = 3;
    bool is_lost = false;
    int norms = 0;
    for (const run_table::cell& c : table_.cells) {
      if (chosen_.of(m::loss) == c.column) is_lost = !std::isfinite(c.value) || c.value == 0;
      if (chosen_.of(m::grad_norm) == c.column) norms = std::isfinite(c.value) ? 0 : norms + 1;
    }
    return is_lost || norms >= several;
  }

  // Rows with a number of validation that is finite.
  [[nodiscard]] std::vector<bool> validated() const {
    std::vector<bool> all(table_.rows.size());
    for (const run_table::column& c : table_.columns) {
      if (c.reading || !names_validation(c.name)) continue;
      for (std::size_t r = 0; r < std::min(all.size(), c.filled.size()); ++r)
        if (c.filled[r]) all[r] = true;
    }
    for (std::size_t r = 0; r < all.size(); ++r)
      for (const run_table::cell& c : table_.cells_of(r)) {
        const auto& reading = table_.columns[c.column].reading;
        if (reading && reading->of_validation && std::isfinite(c.value)) all[r] = true;
      }
    return all;
  }

  [[nodiscard]] std::optional<double> number(std::size_t row, std::uint32_t column) const {
    for (const run_table::cell& c : table_.cells_of(row))
      if (c.column == column) return c.value;
    return std::nullopt;
  }

  [[nodiscard]] bool rows_are_epochs() const {
    const auto epoch = chosen_.of(m::epoch);
    if (!epoch) return false;
    std::optional<double> before;
    for (std::size_t r = 0; r < table_.rows.size(); ++r) {
      const auto now = number(r, *epoch);
      if (!now || (before && *now <= *before)) return false;
      before = now;
    }
    return true;
  }

  struct lost_rows {
    std::uint64_t numbers = 0;
    std::vector<std::size_t> rows;  // that are not finite
    bool to_the_end = false;
  };
  using row_values = std::vector<std::pair<std::size_t, double>>;

  // NaN is a value where fields are left empty instead, where an infinity stands in the column, where the row has another number of validation,
  // and, if the column has numbers of each row or each epoch, where they end. Not where just each n-th row has a number.
  [[nodiscard]] lost_rows lost_of(const run_table::column& c, const row_values& values,
                                  const std::vector<bool>& validated) const {
    lost_rows all{.numbers = values.size(), .rows = {}};
    std::vector<double> finite;  // rows
    bool any_infinite = false;
    bool has_pairs = false;
    std::uint64_t beside = 0;
    for (const auto& [r, value] : values) {
      if (std::isfinite(value)) {
        has_pairs = has_pairs || (!finite.empty() && finite.back() + 1 == static_cast<double>(r));
        finite.push_back(static_cast<double>(r));
        continue;
      }
      all.rows.push_back(r);
      any_infinite = any_infinite || std::isinf(value);
      beside += validated[r] ? 1 : 0;
    }
    all.to_the_end = !all.rows.empty() && (finite.empty() || finite.back() < static_cast<double>(all.rows.front()));
    const bool has_empty_fields = 10 * all.numbers <= 9 * table_.rows.size();
    if (any_infinite || has_empty_fields ||
        (beside > 0 && 2 * beside >= all.rows.size() && common_distance(finite) <= 1))
      return all;
    if (finite.empty() && rows_are_epochs()) return all;
    if (!has_pairs || !c.lost.are_values()) return {};
    std::erase_if(all.rows, [&](std::size_t r) { return static_cast<double>(r) < finite.front(); });
    all.to_the_end = finite.back() < static_cast<double>(all.rows.front());
    return all;
  }

  [[nodiscard]] std::string place_of(std::size_t row) const {
    for (const m means : {m::step, m::epoch})
      if (const auto column = chosen_.of(means))
        if (const auto n = number(row, *column); n && std::isfinite(*n))
          return std::string(to_string(means)) + " " + decimal_text(*n);
    return table_.place(table_.rows[row].line);
  }

  // One sentence, however many columns there are.
  void tell_validation() {
    std::map<std::uint32_t, row_values> columns;
    for (std::size_t r = 0; r < table_.rows.size(); ++r)
      for (const run_table::cell& c : table_.cells_of(r)) {
        const auto& reading = table_.columns[c.column].reading;
        if (reading->means == m::loss && reading->of_validation && !chosen_.uses(c.column))
          columns[c.column].emplace_back(r, c.value);
      }
    const std::vector<bool> by_row = validated();
    lost_rows first;
    std::vector<std::string> names;
    for (const auto& [i, values] : columns) {
      lost_rows lost = lost_of(table_.columns[i], values, by_row);
      if (lost.rows.empty()) continue;
      names.push_back(in_quotes(table_.columns[i].name));
      if (names.size() == 1) first = std::move(lost);
    }
    if (names.empty()) return;
    const std::string where = first.to_the_end ? ", from " + place_of(first.rows.front()) + " on"
                                               : ", first in " + place_of(first.rows.front());
    all_.push_back((names.size() == 1 ? "the validation loss " + names.front() + " is"
                                      : "the validation losses " + joined(names) + " are") +
                   " not finite in " + std::to_string(first.rows.size()) + " of " + count_text(first.numbers, "row") +
                   where);
  }

  const run_table& table_;
  const chosen_columns& chosen_;
  std::vector<std::string> all_;
};

}  // namespace

std::vector<std::string> lost_in_others(const run_table& table, const chosen_columns& chosen) {
  return lost_reader(table, chosen).read();
}

}  // namespace ulp::io
