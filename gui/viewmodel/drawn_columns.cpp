#include "drawn_columns.hpp"

#include <algorithm>

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

tensor_tables drawn_columns::merged() const {
  tensor_tables all;
  for (const drawn_column& c : columns) all.merge(*c.tables);
  return all;
}

}  // namespace ulp::gui
