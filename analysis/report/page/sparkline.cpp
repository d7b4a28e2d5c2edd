#include <ulp/report/page/sparkline.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <ulp/report/tables/table.hpp>

namespace ulp {
namespace {

constexpr std::array<std::string_view, 8> blocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

bool drawn(double scale) { return scale > 0 && std::isfinite(scale); }

}  // namespace

std::string sparkline_of(std::span<const trajectory_row> rows, std::size_t columns) {
  if (rows.empty()) return "";
  double least = 0;
  double greatest = 0;
  for (const trajectory_row& row : rows) {
    if (!drawn(row.scale_used)) continue;
    least = least == 0 ? row.scale_used : std::min(least, row.scale_used);
    greatest = std::max(greatest, row.scale_used);
  }
  const std::string low = "scale        " + as_power(least) + " ";
  const std::string high = " " + as_power(greatest);
  const std::size_t room = columns > low.size() + high.size() ? columns - low.size() - high.size() : 1;
  const std::size_t width = std::min(room, rows.size());

  // At least one binade, so that a constant scale is a flat line.
  const double binades = least > 0 ? std::max(1.0, std::log2(greatest) - std::log2(least)) : 1;
  const auto block_of = [&](double scale) {
    if (!drawn(scale)) return scale > 0 ? blocks.back() : blocks.front();
    const double height = (std::log2(scale) - std::log2(least)) / binades * (blocks.size() - 1);
    return blocks[static_cast<std::size_t>(std::lround(height))];
  };
  std::string line = low;
  std::string marks(low.size(), ' ');
  marks.replace(0, 7, "skipped");
  for (std::size_t c = 0; c < width; ++c) {
    const auto part = rows.subspan(c * rows.size() / width, (c + 1) * rows.size() / width - c * rows.size() / width);
    const bool skipped = std::ranges::any_of(part, &trajectory_row::skipped);
    const auto lowest = std::ranges::min_element(part, {}, &trajectory_row::scale_used);
    line += block_of(skipped ? lowest->scale_used : part.back().scale_used);
    marks += skipped ? 'x' : ' ';
  }
  const std::string first = std::to_string(rows.front().key.step);
  const std::string last = std::to_string(rows.back().key.step);
  std::string axis(low.size(), ' ');
  axis.replace(0, 4, "step");
  axis += first;
  if (first.size() + last.size() < width) axis += std::string(width - first.size() - last.size(), ' ') + last;
  marks.erase(marks.find_last_not_of(' ') + 1);
  return fmt::format("{}{}\n{}\n{}\n", line, high, marks, axis);
}

}  // namespace ulp
