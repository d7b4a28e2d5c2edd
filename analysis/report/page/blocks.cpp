// Formats whose blocks share a scale: elements by how far they lie from it, and a table of the formats.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <ulp/report/pictures/block_window.hpp>
#include <ulp/report/tables/block_comparison_table.hpp>

#include "html_parts.hpp"

namespace ulp {
namespace {

figure histogram(const block_window& window, const std::string& name) {
  double greatest = 1;
  for (const auto& [exponent, n] : window.bars) greatest = std::max(greatest, static_cast<double>(n.high));
  const value_axis axis = count_axis(greatest);
  drawing d(static_cast<std::size_t>(window.high - window.low), axis.low, axis.high, 200);
  d.title("values");
  const auto height = [&](std::uint64_t n) { return axis.place(std::max(static_cast<double>(n), least_count)); };
  for (const auto& [exponent, n] : window.bars) {
    if (exponent < window.low || exponent >= window.high) continue;
    const auto column = static_cast<std::size_t>(exponent - window.low);
    constexpr double solid = 0.75;
    const double sure = n.low > 0 ? height(n.low) : axis.low;
    if (n.low > 0) d.cell(column, column + 1, axis.low, sure, solid);
    if (n.high > n.low) d.missing(column, column + 1, sure, height(n.high));
  }
  figure f;
  const auto limit = [&](double at, const char* style, const char* line, const char* text) {
    for (const char* const drawn : {"halo", style}) d.limit(at - window.low, drawn);
    f.legend.push_back(line_key(style, line, text));
  };
  if (window.limits && window.is_bound) {
    limit(window.limits->nonzero, "zero", "dotted", "below it values may become zero");
  } else if (window.limits) {
    limit(window.limits->overflow, "over", "solid", "beyond the largest number");
    if (window.limits->normal > window.limits->nonzero)
      limit(window.limits->normal, "normal", "dashed", "smallest normal number");
    limit(window.limits->nonzero, "zero", "dotted", "smallest result above zero");
  }
  if (d.has_missing()) f.legend.push_back(swatch_key(hatched_swatch(), "in one of two binades"));
  d.y_ticks(axis.ticks);
  constexpr std::size_t labels = 12;
  std::vector<tick> exponents = power_ticks(window.low, window.high, labels);
  for (tick& t : exponents) t.at -= window.low;
  d.x_ticks(exponents, "magnitude / scale");
  f.parts.push_back({d, fmt::format("values by magnitude over {}, with the limits of {}", window.unit, name)});
  return f;
}

std::string part_of(const compared_blocks& of) {
  const block_window window = block_window_of(of);
  std::string text = fmt::format(
      "<h3>{}</h3>\n<p>{}.{}</p>\n", prose(title_of(of)), prose(outcomes_text(of)),
      window.beyond > 0 ? fmt::format(" {} values lie farther below.", to_cell(exactly(window.beyond))) : "");
  if (!window.empty()) text += html_of(histogram(window, of.of.name)) + "\n";
  return text;
}

}  // namespace

std::string block_section(const report_page& page) {
  if (page.blocks.empty()) return "";
  constexpr std::size_t drawn = 3;
  std::string text =
      "<section><h2>Formats whose blocks share a scale</h2>\n<p>The number of values in each binade of their distance "
      "from the scale of their block, on a logarithmic scale, with the limits of the elements' format. Blocks choose "
      "their scale: a loss scale changes nothing. Values are as recorded, of all steps and gradients.</p>\n";
  text += html_table(block_comparison_table({}, page.blocks));
  for (const compared_blocks& of : std::span(page.blocks).first(std::min(drawn, page.blocks.size())))
    text += part_of(of);
  if (page.blocks.size() > drawn) {
    std::string others;
    for (const compared_blocks& of : std::span(page.blocks).subspan(drawn)) others += part_of(of);
    text += folded(fmt::format("the other {}", page.blocks.size() - drawn), others);
  }
  return text + "</section>\n";
}

}  // namespace ulp
