// The section on scales of tensors under a recipe.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "html_parts.hpp"

namespace ulp {
namespace {

figure tensor_scale_figure(const report_recipe::scales& of) {
  std::vector<double> used;
  std::vector<double> ideal;
  std::vector<double> least;
  std::vector<bool> saturating;
  extent all;
  extent wanted;
  for (const fp8_column& c : of.columns.columns()) {
    least.push_back(c.least);
    used.push_back(c.greatest);
    ideal.push_back(c.ideal);
    saturating.push_back(c.saturating > 0);
    for (const double value : {c.least, c.greatest, c.ideal}) all.see(value);
    wanted.see(c.ideal);
  }
  if (!wanted.any()) return {};
  // A start far from all that follows is not what the picture is about.
  constexpr double room = 6;
  const double low = std::floor(std::max(all.low, wanted.low - room)) - 1;
  const double high = std::ceil(std::min(all.high, wanted.high + room)) + 1;
  for (auto* const values : {&least, &used})
    for (double& value : *values)
      if (!(value >= low && value <= high)) value = not_known;
  drawing d(used.size(), low, high, 160);
  d.title("scale of " + of.tensor);
  d.band(least, used);
  d.line(ideal, "critical");
  d.line(used, "scale");
  d.marks(saturating);
  constexpr std::size_t labels = 6;
  d.y_ticks(power_ticks(low, high, labels));
  label_steps(d, of.columns.spans());
  return {{}, {{d, fmt::format("scale of {} by step", of.tensor)}}};
}

}  // namespace

std::string recipe_section(const report_page& page) {
  if (!page.recipe) return "";
  const report_recipe& r = *page.recipe;
  std::string text =
      fmt::format("<section><h2>A scale for each tensor: {}</h2>\n<dl class=\"first\">", escaped(r.name));
  for (const summary_line& line : r.lines)
    if (!line.text.empty()) text += fmt::format("<dt>{}</dt><dd>{}</dd>", prose(line.title), prose(line.text));
  text += "</dl>\n";
  if (!is_single_step(page) && !r.worst.empty()) {
    text += fmt::format("<p>{}{}{}</p>\n", html_of(line_key("ink", "solid", "scale that was used")),
                        html_of(line_key("over", "solid", "scale that takes the largest value to the largest number")),
                        html_of(swatch_key(mark_swatch(), "steps in which values saturate")));
    for (const report_recipe::scales& of : r.worst)
      if (const figure f = tensor_scale_figure(of); !f.empty()) text += html_of(f) + "\n";
  }
  return text + folded("all tensors, the worst first", html_table(r.tensors)) + "</section>\n";
}

}  // namespace ulp
