#include "html_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "typeset.hpp"

namespace ulp {
namespace {

constexpr std::size_t longest_text = 48;

std::string number_cell(std::string_view element, std::string_view text) {
  return fmt::format(R"(<{0} class="n">{1}</{0}>)", element, prose(text));
}

std::string text_cell(std::string_view element, const std::string& text, const std::string& shown) {
  if (shown == text) return fmt::format("<{0}>{1}</{0}>", element, escaped(text));
  return fmt::format(R"(<{0} title="{1}">{2}</{0}>)", element, escaped(text), escaped(shown));
}

}  // namespace

std::string share_text(double share) { return fmt::format("{:.3g} %", 100 * share); }

std::string prose(std::string_view text) {
  // Lines do not break inside the name of an option.
  const std::string all = escaped(typeset(text));
  const auto is_letter = [&](std::size_t i) { return i < all.size() && all[i] >= 'a' && all[i] <= 'z'; };
  std::string kept;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i + 1;
    if (all.compare(i, 2, "--") == 0 && is_letter(i + 2)) {
      for (end = i + 2; is_letter(end) || (end < all.size() && all[end] == '-');) ++end;
      kept += fmt::format(R"(<span class="option">{}</span>)", std::string_view(all).substr(i, end - i));
    } else {
      kept += all[i];
    }
    i = end;
  }
  return kept;
}

std::string html_of(const legend_key& key) {
  const std::string sample =
      key.swatch.empty()
          ? fmt::format(R"(<span class="key" style="border-color:var(--{});border-top-style:{}"></span>)", key.colour,
                        key.line)
          : swatch_element(key.swatch);
  return fmt::format(R"(<span class="entry">{}{}</span> )", sample, escaped(key.text));
}

std::string html_of(const figure& f) {
  std::string text;
  if (!f.legend.empty()) {
    text = "<p>";
    for (const legend_key& key : f.legend) text += html_of(key);
    text += "</p>";
  }
  for (const figure::part& part : f.parts)
    text += fmt::format(R"(<div class="plot">{}</div>)", part.drawn.element(part.description));
  return text;
}

std::string html_table(const table& t) {
  std::vector<std::size_t> shown;
  std::vector<std::vector<std::string>> texts;  // by column
  std::string text = R"(<div class="wide"><table><thead><tr>)";
  for (std::size_t i = 0; i < t.columns.size(); ++i) {
    const table_column& c = t.columns[i];
    if (c.title.empty()) continue;
    shown.push_back(i);
    text += c.align == alignment::right ? number_cell("th", c.title)
                                        : text_cell("th", c.title, elided(c.title, longest_text));
    std::vector<std::string>& column = texts.emplace_back();
    for (const auto& row : t.rows) column.push_back(to_cell(row[i]));
  }
  text += "</tr></thead><tbody>";
  std::vector<std::vector<std::string>> cut;
  for (const auto& column : texts) cut.push_back(elided(column, longest_text));
  for (std::size_t r = 0; r < t.rows.size(); ++r) {
    text += "<tr>";
    for (std::size_t i = 0; i < shown.size(); ++i)
      text += t.columns[shown[i]].align == alignment::right ? number_cell("td", texts[i][r])
                                                            : text_cell("td", texts[i][r], cut[i][r]);
    text += "</tr>";
  }
  return text + "</tbody></table></div>\n";
}

std::string folded(std::string_view summary, std::string_view inside) {
  return fmt::format("<details><summary>{}</summary>{}</details>\n", summary, inside);
}

void label_steps(drawing& d, const std::vector<column_span>& spans) { d.x_ticks(step_ticks(spans), "step"); }

std::string steps_of(const column_span& s) {
  return s.first_step == s.last_step ? std::to_string(s.first_step)
                                     : fmt::format("{} to {}", s.first_step, s.last_step);
}

std::string heading_of(const report_replay& replay) {
  return fmt::format("<h3>{} <span class=\"soft\">{}</span></h3>", escaped(replay.name), escaped(replay.parameters));
}

std::vector<bool> skipped_in(const report_replay& replay) {
  std::vector<bool> at;
  for (const scale_extremes& s : replay.scales.columns()) at.push_back(s.skipped > 0);
  return at;
}

double strength_of(double share) {
  constexpr double of_a_decade = 0.21;
  constexpr double weakest = 0.16;
  return std::clamp(1 + of_a_decade * std::log10(share), weakest, 1.0);
}

bool is_single_step(const report_page& page) { return page.replays.front().scales.columns().size() <= 1; }

void for_each_run(std::size_t columns, const std::function<bool(std::size_t)>& is,
                  const std::function<void(std::size_t, std::size_t)>& draw) {
  for (std::size_t first = 0; first < columns;) {
    std::size_t last = first;
    while (last < columns && is(last)) ++last;
    if (last > first) draw(first, last);
    first = std::max(last, first + 1);
  }
}

}  // namespace ulp
