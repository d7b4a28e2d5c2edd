#include "drawn_columns.hpp"

#include <algorithm>

#include "document.hpp"

namespace ulp::gui {

std::size_t drawn_columns::at(double step) const noexcept {
  const auto after = std::ranges::upper_bound(columns, step, {}, &drawn_column::from);
  return after == columns.begin() ? 0 : static_cast<std::size_t>(after - columns.begin()) - 1;
}

std::vector<double> drawn_columns::edges() const {
  std::vector<double> all;
  for (const drawn_column& c : columns) all.push_back(c.from);
  all.push_back(columns.empty() ? 0 : columns.back().to);
  return all;
}

// Columns that are cut by finer ones hold some of their steps, too.
std::vector<drawn_column> drawn_columns::whole_columns() const {
  if (exact || !run || !detail) return columns;
  std::vector<drawn_column> all;
  const auto& spans = run->picture.columns().spans();
  for (std::size_t c = 0; c < spans.size(); ++c)
    if (spans[c].last_step >= shown.first && spans[c].first_step <= shown.last)
      all.push_back({.span = spans[c], .tables = &run->picture.columns().columns()[c]});
  return all;
}

step_range drawn_columns::counted() const {
  const std::vector<drawn_column> all = whole_columns();
  return all.empty() ? step_range{} : step_range{all.front().span.first_step, all.back().span.last_step};
}

tensor_tables drawn_columns::merged() const {
  tensor_tables all;
  for (const drawn_column& c : whole_columns()) all.merge(*c.tables);
  return all;
}

}  // namespace ulp::gui
