// The section on scales of tensors under a recipe.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

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

// What is drawn of a tensor in a column: NaN where nothing is known of it.
using column_share = double (*)(const fp8_column&);
double saturated_share(const fp8_column& c) { return c.nonzero > 0 ? c.saturated / c.nonzero : not_known; }
double saturating_share(const fp8_column& c) {
  return c.steps > 0 ? static_cast<double>(c.saturating) / static_cast<double>(c.steps) : not_known;
}
double stale_share(const fp8_column& c) {
  return c.with_ideal > 0 ? static_cast<double>(c.stale) / static_cast<double>(c.with_ideal) : not_known;
}

struct share_map {
  std::string_view title;
  column_share of;
  std::string_view none;
  std::string_view missing;
};

std::uint64_t steps_in(const report_recipe::scales* of) {
  std::uint64_t steps = 0;
  for (const column_span& s : of->columns.spans()) steps += s.steps;
  return steps;
}

// Tensors may come late, and then have other columns than those before them; nullptr where it has none of these steps.
const fp8_column* column_in(const columns_of<fp8_column>& of, const column_span& steps) {
  const auto at = std::ranges::lower_bound(of.spans(), steps.first_step, {}, &column_span::last_step);
  if (at == of.spans().end() || at->first_step > steps.last_step) return nullptr;
  return &of.columns()[static_cast<std::size_t>(at - of.spans().begin())];
}

// A row for each tensor of which something is above 0; empty where there is none.
figure heat_map(const std::vector<report_recipe::scales>& all, const share_map& what) {
  std::vector<const report_recipe::scales*> shown;
  for (const report_recipe::scales& one : all)
    if (std::ranges::any_of(one.columns.columns(), [&](const fp8_column& c) { return what.of(c) > 0; }))
      shown.push_back(&one);
  if (shown.empty()) return {};
  const std::vector<column_span>& spans = (*std::ranges::max_element(shown, {}, steps_in))->columns.spans();
  constexpr double row_height = 18;
  const auto rows = static_cast<double>(shown.size());
  drawing d(spans.size(), 0, rows, row_height * rows);
  double y = rows;
  std::vector<std::string> names;
  for (const report_recipe::scales* const one : shown) {
    const auto share = [&](std::size_t c) {
      const fp8_column* const column = column_in(one->columns, spans[c]);
      return column == nullptr ? not_known : what.of(*column);
    };
    for (std::size_t c = 0; c < spans.size(); ++c)
      if (share(c) > 0) d.cell(c, c + 1, y - 1, y, strength_of(share(c)));
    for_each_run(
        spans.size(), [&](std::size_t c) { return std::isnan(share(c)); },
        [&](std::size_t first, std::size_t last) { d.missing(first, last, y - 1, y); });
    names.push_back(one->tensor);
    y -= 1;
  }
  d.row_names(names);
  label_steps(d, spans);
  figure f{.legend = {swatch_key(swatch(0), std::string{what.none})}, .parts = {}};
  for (const auto& [s, text] : {std::pair{1e-4, "up to 0.01 %"}, {1e-2, "1 %"}, {1.0, "all"}})
    f.legend.push_back(swatch_key(swatch(strength_of(s)), text));
  if (d.has_missing()) f.legend.push_back(swatch_key(hatched_swatch(), std::string{what.missing}));
  f.parts.push_back({d, std::string{what.title} + " by tensor and step"});
  return f;
}

std::string heat_maps(const report_recipe& r) {
  const bool has_counts = std::ranges::any_of(r.worst, [](const report_recipe::scales& one) {
    return std::ranges::any_of(one.columns.columns(), [](const fp8_column& c) { return c.nonzero > 0; });
  });
  const share_map saturated =
      has_counts ? share_map{"share of the nonzero values that saturate", saturated_share, "none", "no nonzero value"}
                 : share_map{"steps in which values saturate", saturating_share, "none", "no amax was recorded"};
  const share_map stale{"steps in which the scale is off by more than a binade", stale_share, "none",
                        "amax is zero, infinite or NaN"};
  std::string text;
  for (const share_map& what : {saturated, stale})
    if (const figure f = heat_map(r.worst, what); !f.empty())
      text += fmt::format("<h3>By tensor and step: {}</h3>\n", what.title) + html_of(f) + "\n";
  return text;
}

}  // namespace

std::string recipe_section(const report_page& page) {
  if (!page.recipe) return "";
  const report_recipe& r = *page.recipe;
  std::string text = fmt::format("<section><h2>A scale for each tensor: {}</h2>\n<dl class=\"first{}\">",
                                 escaped(r.name), r.grade == finding_grade::trouble ? " ill" : "");
  if (!r.happened.empty()) text += fmt::format("<dt>What happened</dt><dd>{}</dd>", prose(r.happened));
  for (const summary_line& line : r.lines)
    if (!line.text.empty()) text += fmt::format("<dt>{}</dt><dd>{}</dd>", prose(line.title), prose(line.text));
  text += "</dl>\n";
  if (!is_single_step(page) && !r.worst.empty()) {
    text += fmt::format("<p>{}{}{}</p>\n", html_of(line_key("ink", "solid", "scale that was used")),
                        html_of(line_key("over", "solid", "scale that takes the largest value to the largest number")),
                        html_of(swatch_key(mark_swatch(), "steps in which values saturate")));
    constexpr std::size_t curves = 3;
    for (const report_recipe::scales& of : std::span(r.worst).first(std::min(r.worst.size(), curves)))
      if (const figure f = tensor_scale_figure(of); !f.empty()) text += html_of(f) + "\n";
    text += heat_maps(r);
  }
  return text + html_of(r.findings, 0) + folded("all tensors, the worst first", html_table(r.tensors)) + "</section>\n";
}

}  // namespace ulp
