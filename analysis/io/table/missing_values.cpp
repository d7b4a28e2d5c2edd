#include "missing_values.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <utility>

#include "bytes/text.hpp"
#include "column_fit.hpp"

namespace ulp::io {
namespace {

using m = column_meaning;

constexpr std::uint64_t often = 3;

class missing_reader {
 public:
  missing_reader(const run_table& table, const chosen_columns& chosen, std::vector<raw_row>& rows)
      : table_(table), chosen_(chosen), rows_(rows) {
    for (std::uint32_t i = 0; i < table.columns.size(); ++i)
      if (!table.columns[i].filled.empty()) filled_.push_back(i);
  }

  std::vector<std::string> drop(bool norms_may_be_absent) {
    drop_beside_others();
    if (!norms_may_be_absent) drop_unlogged();
    for (const m means : {m::loss, m::grad_norm}) drop_between_regular(means);
    return std::move(notes_);
  }

 private:
  // A rate or a scale is never NaN: where it is written so, NaN stands for nothing.
  void drop_beside_others() {
    std::uint64_t dropped = 0;
    const auto drop = [&](raw_row& row) { dropped += row.drop_nans() ? 1 : 0; };
    for (raw_row& row : rows_)
      if (row.is_nan(m::learning_rate) || row.is_nan(m::loss_scale) || row.is_nan(m::step) || row.is_nan(m::epoch))
        drop(row);
    for (raw_row* const row : complemented()) drop(*row);
    for (raw_row* const row : completed()) drop(*row);
    if (dropped > 0)
      notes_.push_back("NaN stands for nothing in " + count_text(dropped, "row") +
                       ", where a rate, a scale or a step is NaN too, or just another column has a value instead");
  }

  // Rows whose loss is NaN beside a number of a column that has numbers in just such rows, and is NaN where the loss is none; or, if finite
  // losses follow again and again, all rows, where a column has a number in each of those and tells nothing of overflows.
  [[nodiscard]] std::vector<raw_row*> complemented() {
    std::vector<raw_row*> all;
    const bool any = others_fill_all();
    const std::vector<bool> fills = complements();
    const auto norm = chosen_.of(m::grad_norm);
    for (raw_row& row : rows_) {
      const auto cells = table_.cells_of(row.index());
      const bool is_filled = std::ranges::any_of(
          cells, [&](const run_table::cell& c) { return fills[c.column] && std::isfinite(c.value); });
      const bool lacks_norm = norm && fills[*norm] && row.is_nan(m::grad_norm);
      if (any || lacks_norm || (is_filled && row.is_nan(m::loss))) all.push_back(&row);
    }
    return all;
  }

  // Columns of validation or of epochs, and the norm, that fit so. A norm that is infinite is none.
  [[nodiscard]] std::vector<bool> complements() const {
    std::vector<bool> fits(table_.columns.size());
    const auto loss = chosen_.of(m::loss);
    const auto norm = chosen_.of(m::grad_norm);
    if (!loss) return fits;
    struct numbers {
      std::uint64_t beside_nan = 0;
      std::uint64_t beside_finite = 0;
      bool any_nan = false;
      bool any_infinite = false;
    };
    std::vector<numbers> of(table_.columns.size());
    for (std::size_t i = 0; i < table_.rows.size(); ++i) {
      const auto cells = table_.cells_of(i);
      const auto at = std::ranges::find(cells, *loss, &run_table::cell::column);
      for (const run_table::cell& c : cells) {
        of[c.column].any_infinite = of[c.column].any_infinite || std::isinf(c.value);
        if (at == cells.end()) continue;
        if (std::isfinite(c.value)) ++(std::isnan(at->value) ? of[c.column].beside_nan : of[c.column].beside_finite);
        of[c.column].any_nan = of[c.column].any_nan || (std::isnan(c.value) && std::isfinite(at->value));
      }
    }
    for (std::uint32_t i = 0; i < fits.size(); ++i) {
      const auto& reading = table_.columns[i].reading;
      const bool can_be = reading && (reading->of_validation || reading->of_epoch);
      const bool is_norm = norm == i && of[i].beside_nan >= often && !of[i].any_infinite;
      fits[i] = i != *loss && (can_be || is_norm) && of[i].beside_nan > 0 && of[i].beside_finite == 0 && of[i].any_nan;
    }
    return fits;
  }

  [[nodiscard]] bool others_fill_all() const {
    const auto loss = chosen_.of(m::loss);
    if (!loss || speaks_of_overflow()) return false;
    std::uint64_t returns = 0;
    bool was_nan = false;
    std::vector<std::uint32_t> fillers;  // columns without a meaning, as far as they fit
    std::ranges::copy_if(filled_, std::back_inserter(fillers),
                         [&](std::uint32_t i) { return !looks_important(table_.columns[i].name); });
    for (std::size_t i = 0; i < table_.rows.size(); ++i) {
      const auto cells = table_.cells_of(i);
      const auto at = std::ranges::find(cells, *loss, &run_table::cell::column);
      if (at == cells.end()) continue;
      const bool is_nan = std::isnan(at->value);
      returns += !is_nan && was_nan ? 1 : 0;
      was_nan = is_nan;
      std::erase_if(fillers, [&](std::uint32_t column) {
        const std::vector<bool>& filled = table_.columns[column].filled;
        return (i < filled.size() && filled[i]) != is_nan;
      });
    }
    return returns >= often && !fillers.empty();
  }

  // The numbers that a row has, besides those that count it.
  [[nodiscard]] std::vector<std::uint32_t> numbers_of(const raw_row& row) const {
    std::vector<std::uint32_t> all;
    for (const run_table::cell& c : table_.cells_of(row.index())) {
      const m means = table_.columns[c.column].reading->means;
      const bool counts = means == m::step || means == m::epoch || means == m::learning_rate;
      if (!counts && std::isfinite(c.value)) all.push_back(c.column);
    }
    for (const std::uint32_t i : filled_) {
      const std::vector<bool>& filled = table_.columns[i].filled;
      if (row.index() < filled.size() && filled[row.index()]) all.push_back(i);
    }
    return all;
  }

  // Rows of a step that another one, next to them, completes: it has what is NaN in them, and they have what it has not.
  [[nodiscard]] std::vector<raw_row*> completed() {
    const m counter = chosen_.of(m::step) ? m::step : m::epoch;
    constexpr std::size_t most = 16;  // rows of a step
    std::vector<raw_row*> all;
    for (std::size_t begin = 0, end = 0; begin < rows_.size(); begin = end) {
      const auto same_step = [&](const raw_row& row) {
        return row.has(counter) && row.of(counter) == rows_[begin].of(counter);
      };
      for (end = begin + 1; end < rows_.size() && same_step(rows_[end]);) ++end;
      if (end - begin < 2 || end - begin > most) continue;
      const std::span<raw_row> rows = std::span(rows_).subspan(begin, end - begin);
      for (raw_row& row : rows)
        if (std::ranges::any_of(rows, [&](const raw_row& other) { return completes(other, row); })) all.push_back(&row);
    }
    return all;
  }
  [[nodiscard]] bool completes(const raw_row& row, const raw_row& other) const {
    const bool has_it = std::ranges::any_of(std::array{m::loss, m::grad_norm}, [&](m means) {
      return other.is_nan(means) && row.has(means) && std::isfinite(row.of(means));
    });
    if (!has_it) return false;
    const std::vector<std::uint32_t> here = numbers_of(row);
    return std::ranges::any_of(numbers_of(other),
                               [&](std::uint32_t i) { return std::ranges::find(here, i) == here.end(); });
  }

  // A scale that falls, a flag, a number of skipped steps, an infinite loss, or a norm that is not finite beside a loss that is, or that
  // is infinite.
  [[nodiscard]] bool speaks_of_overflow() const {
    double scale = not_known;
    return std::ranges::any_of(rows_, [&](const raw_row& row) {
      const bool falls = row.of(m::loss_scale) < scale;
      if (row.has(m::loss_scale)) scale = row.of(m::loss_scale);
      const bool is_norm_bad = row.has(m::grad_norm) && !std::isfinite(row.of(m::grad_norm));
      const bool is_hole = row.has(m::loss) && std::isnan(row.of(m::loss)) && std::isnan(row.of(m::grad_norm));
      return std::isinf(row.of(m::loss)) || falls || row.of(m::found_inf) > 0 || row.of(m::skipped) > 0 ||
             (is_norm_bad && !is_hole);
    });
  }

  // pandas and W&B write NaN where a metric was not logged: a third of the losses, with finite ones behind them again and
  // again. Not where anything speaks of an overflow, nor where the last of them are more in a row than before.
  void drop_unlogged() {
    if (speaks_of_overflow()) return;
    std::vector<raw_row*> with_loss;
    for (raw_row& row : rows_)
      if (row.has(m::loss)) with_loss.push_back(&row);
    std::uint64_t nans = 0;
    std::uint64_t changes = 0;
    std::uint64_t in_a_row = 0;
    std::uint64_t most = 0;  // before a finite one
    for (const raw_row* row : with_loss) {
      if (std::isnan(row->of(m::loss))) {
        ++nans;
        ++in_a_row;
        continue;
      }
      changes += in_a_row > 0 ? 1 : 0;
      most = std::max(most, std::exchange(in_a_row, 0));
    }
    if (changes < often || often * nans < with_loss.size()) return;
    if (in_a_row > most) with_loss.resize(with_loss.size() - in_a_row);
    std::uint64_t dropped = 0;
    for (raw_row* row : with_loss)
      if (std::isnan(row->of(m::loss))) dropped += row->drop_nans() ? 1 : 0;
    notes_.push_back("NaN is taken for a loss that was not logged in " + count_text(dropped, "row") +
                     ": finite ones follow again and again, and nothing speaks of an overflow");
  }

  // Where just each n-th row, or step, has a number, from a third of the rows down, or just those of a validation, it is logged so often. Not
  // where the scale or a flag says of most of the others that they overflowed.
  void drop_between_regular(m means) {
    std::vector<double> steps;
    std::vector<double> places;
    std::vector<std::size_t> rows;  // of the table, with a number
    std::vector<raw_row*> nans;
    std::uint64_t numbers = 0;
    std::uint64_t spoken = 0;
    double scale = not_known;
    double first_step = not_known;
    double last_step = not_known;
    const m counter = chosen_.of(m::step) ? m::step : m::epoch;
    for (raw_row& row : rows_) {
      const bool falls = row.of(m::loss_scale) < scale;
      if (row.has(m::loss_scale)) scale = row.of(m::loss_scale);
      if (!row.has(means)) continue;
      const double value = row.of(means);
      const double norm = row.of(m::grad_norm);
      const bool is_lost = means == m::grad_norm && row.has(m::loss) && !std::isfinite(row.of(m::loss));
      if (std::isinf(value) || std::isinf(norm) || is_lost) return;
      if (row.of(counter) == last_step) return;  // as of several ranks
      if (numbers++ == 0) first_step = row.of(counter);
      last_step = row.of(counter);
      if (std::isnan(value)) {
        nans.push_back(&row);
        spoken += falls || row.of(m::found_inf) > 0 || row.of(m::skipped) > 0 ? 1 : 0;
        continue;
      }
      places.push_back(static_cast<double>(numbers));
      steps.push_back(row.of(counter));
      rows.push_back(row.index());
    }
    if (places.empty() || nans.empty() || 2 * spoken > nans.size()) return;
    const auto last = static_cast<double>(numbers);
    const bool is_rare = (often - 1) * (places.size() - 1) <= nans.size();
    const bool is_regular = is_rare && (fill(places, 1, last) || fill(steps, first_step, last_step));
    const bool is_with_validation = means == m::grad_norm && return_often(places, last) && validates_just_in(rows);
    if (!is_regular && !is_with_validation) return;
    for (raw_row* const row : nans) row->forget(means);
    notes_.push_back("NaN is taken for a " + std::string(means == m::loss ? "loss" : "gradient norm") +
                     " that was not logged in " + count_text(nans.size(), "row") +
                     ": numbers stand at equal distances, or beside those of validation, alone");
  }

  // Whether numbers come back again and again, and those that are missing in the end are no more than between two before.
  [[nodiscard]] static bool return_often(std::span<const double> at, double last) {
    std::uint64_t returns = 0;
    double longest = 0;
    for (std::size_t i = 1; i < at.size(); ++i) {
      returns += at[i] > at[i - 1] + 1 ? 1 : 0;
      longest = std::max(longest, at[i] - at[i - 1]);
    }
    return returns >= often && last - at.back() < longest;
  }

  // Whether these have one distance, and those that are missing before or behind them are not more than between two.
  [[nodiscard]] static bool fill(std::span<const double> at, double first, double last) {
    const double distance = common_distance(at);
    return distance > 0 && at.front() - first < distance && last - at.back() < distance;
  }

  // Whether just these rows, which ascend, have a number of validation.
  [[nodiscard]] bool validates_just_in(const std::vector<std::size_t>& rows) const {
    struct numbers {
      std::size_t all = 0;
      std::size_t here = 0;
    };
    std::map<std::uint32_t, numbers> validated;
    for (std::size_t r = 0; r < table_.rows.size(); ++r) {
      const bool is_here = std::ranges::binary_search(rows, r);
      for (const run_table::cell& c : table_.cells_of(r)) {
        if (!table_.columns[c.column].reading->of_validation || !std::isfinite(c.value)) continue;
        ++validated[c.column].all;
        validated[c.column].here += is_here ? 1 : 0;
      }
    }
    return std::ranges::any_of(
        validated, [&](const auto& of) { return of.second.all == rows.size() && of.second.here == rows.size(); });
  }

  const run_table& table_;
  const chosen_columns& chosen_;
  std::vector<raw_row>& rows_;
  std::vector<std::uint32_t> filled_;  // columns without a meaning
  std::vector<std::string> notes_;
};

}  // namespace

std::vector<std::string> drop_missing(const run_table& table, const chosen_columns& chosen, std::vector<raw_row>& rows,
                                      bool norms_may_be_absent) {
  return missing_reader(table, chosen, rows).drop(norms_may_be_absent);
}

}  // namespace ulp::io
