#include "html_parts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ulp {

std::string log2_label(double x) { return fmt::format("2^{:g}", x + 0.0); }

std::string share_text(double share) { return fmt::format("{:.3g} %", 100 * share); }

std::string key_of(std::string_view colour, std::string_view line, std::string_view text) {
  return fmt::format(
      R"(<span class="entry"><span class="key" style="border-color:var(--{});border-top-style:{}"></span>{}</span> )",
      colour, line, escaped(text));
}

std::string key_of(const std::string& swatch, std::string_view text) {
  return fmt::format(R"(<span class="entry">{}{}</span> )", swatch, escaped(text));
}

std::string html_table(const table& t) {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < t.columns.size(); ++i)
    if (!t.columns[i].title.empty()) shown.push_back(i);
  std::string text = "<table><thead><tr>";
  for (const std::size_t i : shown)
    text += fmt::format("<th{}>{}</th>", t.columns[i].align == alignment::right ? R"( class="n")" : "",
                        escaped(t.columns[i].title));
  text += "</tr></thead><tbody>";
  for (const auto& row : t.rows) {
    text += "<tr>";
    for (const std::size_t i : shown)
      text += fmt::format("<td{}>{}</td>", t.columns[i].align == alignment::right ? R"( class="n")" : "",
                          escaped(to_cell(row[i])));
    text += "</tr>";
  }
  return text + "</tbody></table>\n";
}

std::string folded(std::string_view summary, std::string_view inside) {
  return fmt::format("<details><summary>{}</summary>{}</details>\n", summary, inside);
}

void label_steps(drawing& d, const std::vector<column_span>& spans) {
  constexpr std::size_t most = 8;
  const std::size_t every = std::max<std::size_t>(1, (spans.size() + most - 1) / most);
  for (std::size_t i = 0; i < spans.size(); i += every)
    d.x_label(static_cast<double>(i), std::to_string(spans[i].first_step));
}

std::string steps_of(const column_span& s) {
  return s.first_step == s.last_step ? std::to_string(s.first_step)
                                     : fmt::format("{} to {}", s.first_step, s.last_step);
}

}  // namespace ulp
