// The plan of `ulp plan` as a map of tensors by treatment, and its table.
#include <fmt/format.h>

#include <algorithm>
#include <ulp/report/pictures/plan_map.hpp>
#include <ulp/report/tables/plan_table.hpp>

#include "html_parts.hpp"

namespace ulp {
namespace {

constexpr double line_height = 34;
constexpr double line_gap = 3;
constexpr double title_room = 22;
constexpr double band_gap = 12;
constexpr double least_cell = 6;
constexpr double letter = 7.4;  // of the cells' 12 pixel monospace, in width
constexpr std::string_view dark = "fill:#16181b";

bool fits(const std::string& text, double width) { return static_cast<double>(text.size()) * letter + 8 <= width; }

// In the widest piece its treatment and, where both fit, its name.
std::string words_in(const plan_cell& cell, double x, double y, double width) {
  const auto line = [&](const std::string& text, double at) {
    return fmt::format(R"(<text class="name middle" style="{}" x="{:.1f}" y="{:.1f}">{}</text>)", dark, x + width / 2,
                       at, escaped(text));
  };
  if (!fits(cell.treatment, width)) return "";
  if (!fits(cell.name, width)) return line(cell.treatment, y + line_height / 2 + 4);
  return line(cell.name, y + line_height / 2 - 4) + line(cell.treatment, y + line_height / 2 + 11);
}

std::string element_of(const plan_cell& cell, double top) {
  std::string text = fmt::format("<g><title>{}</title>", escaped(cell.why));
  const plan_cell::piece* widest = nullptr;
  for (const plan_cell::piece& p : cell.pieces) {
    const double y = top + static_cast<double>(p.line) * (line_height + line_gap);
    text += fmt::format(R"(<rect style="fill:{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.0f}"/>)",
                        colour_of(cell.group), p.from * drawing_width, y,
                        std::max(1.0, (p.to - p.from) * drawing_width - 1), line_height);
    if (widest == nullptr || p.to - p.from > widest->to - widest->from) widest = &p;
  }
  if (widest != nullptr)
    text +=
        words_in(cell, widest->from * drawing_width, top + static_cast<double>(widest->line) * (line_height + line_gap),
                 (widest->to - widest->from) * drawing_width);
  return text + "</g>";
}

std::string svg_of(const plan_map& map) {
  std::string body;
  double y = 0;
  for (const plan_band& band : map.bands) {
    body += fmt::format(R"(<text x="0" y="{:.1f}">{}</text>)", y + title_room - 7, escaped(band.title));
    y += title_room;
    for (const plan_cell& cell : band.cells) body += element_of(cell, y);
    y += static_cast<double>(band.lines) * (line_height + line_gap) + band_gap;
  }
  return fmt::format(
      R"(<div class="plot"><svg viewBox="0 0 {} {:.0f}" role="img" aria-label="tensors by treatment; the table below has the same">{}</svg></div>)",
      drawing_width, y, body);
}

std::string legend_of(const plan_map& map) {
  std::string text;
  for (const plan_legend_entry& e : map.legend)
    text += html_of(swatch_key(
        fmt::format(R"(<rect style="fill:{}" x="0" y="0" width="26" height="14"/>)", colour_of(e.group)), e.text));
  return fmt::format("<p class=\"soft\">{}</p>\n", text);
}

}  // namespace

std::string plan_section(const report_page& page) {
  if (!page.plan) return "";
  const plan_answer& plan = *page.plan;
  const plan_map map = plan_map_of(plan, least_cell / drawing_width);
  const std::vector<summary_line> lines = lines_of(plan);
  std::string text = "<section><h2>A plan for each tensor</h2>\n";
  for (const summary_line& line : lines)
    if (line.title == "plan") text += fmt::format("<p>{}.</p>\n", prose(line.text));
  text +=
      "<p>Tensors in the order of the network, as long as they have elements. Point at one to see why it is what it "
      "is.</p>\n";
  text += legend_of(map) + svg_of(map) + "\n<ul>\n";
  for (const summary_line& line : lines)
    if (!line.text.empty() && line.title != "plan")
      text += fmt::format("<li>{}</li>\n", prose(line.title.empty() ? line.text : line.title + ": " + line.text));
  return text + "</ul>\n" + folded("each tensor", html_table(plan_table(plan))) + "</section>\n";
}

}  // namespace ulp
