#include "row_order.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace ulp::io {
namespace {

// Of each row, by the best column with this meaning; empty where a row has none, or one that is not finite.
std::vector<double> numbers_of(const run_table& table, column_meaning means) {
  const run_table::column* best = nullptr;
  for (const run_table::column& c : table.columns)
    if (c.reading && c.reading->means == means && c.values > 0 && (best == nullptr || *c.reading < *best->reading))
      best = &c;
  std::vector<double> all;
  if (best == nullptr) return all;
  const auto index = static_cast<std::uint32_t>(best - table.columns.data());
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const auto cells = table.cells_of(r);
    const auto at = std::ranges::find(cells, index, &run_table::cell::column);
    if (at == cells.end() || !std::isfinite(at->value)) return {};
    all.push_back(at->value);
  }
  return all;
}

bool are_shuffled(const std::vector<double>& numbers) {
  constexpr std::uint64_t few = 3;
  std::uint64_t backwards = 0;
  for (std::size_t i = 1; i < numbers.size(); ++i) backwards += numbers[i] < numbers[i - 1] ? 1 : 0;
  if (backwards < few || backwards + 1 == numbers.size()) return false;
  std::vector<double> sorted = numbers;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end()) return false;
  if (5 * backwards >= 2 * numbers.size()) return true;
  const auto text = [](double n) { return std::to_string(static_cast<std::int64_t>(n)); };
  return sorted.back() < 0x1p53 && std::ranges::is_sorted(numbers, {}, text);
}

}  // namespace

void sort_shuffled(run_table& table) {
  const std::vector<double> epochs = numbers_of(table, column_meaning::epoch);
  std::vector<double> numbers = numbers_of(table, column_meaning::step);
  // Batches that each epoch counts anew are in order.
  const bool are_in_order = !epochs.empty() && std::ranges::is_sorted(epochs) && epochs.front() != epochs.back();
  if (numbers.empty()) numbers = epochs;
  if (are_in_order || !are_shuffled(numbers)) return;
  std::vector<std::size_t> order(numbers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t r) { return numbers[r]; });
  std::vector<run_table::row> rows;
  std::vector<run_table::cell> cells;
  std::vector<std::size_t> to(order.size());
  for (const std::size_t r : order) {
    to[r] = rows.size();
    rows.push_back({table.rows[r].line, cells.size()});
    const auto of = table.cells_of(r);
    cells.insert(cells.end(), of.begin(), of.end());
  }
  for (run_table::column& c : table.columns) {
    c.words.renumber(to, rows.size());
    if (c.filled.empty()) continue;
    std::vector<bool> filled;
    for (const std::size_t r : order) filled.push_back(r < c.filled.size() && c.filled[r]);
    c.filled = std::move(filled);
  }
  table.rows = std::move(rows);
  table.cells = std::move(cells);
  table.notes.emplace_back("the rows stand in no order of their steps, of which none comes twice: they are sorted");
}

}  // namespace ulp::io
