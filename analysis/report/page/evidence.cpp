// What the page says in words: the summary, and the findings with their evidence.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include <ulp/io/bytes/printable.hpp>

#include "html_parts.hpp"
#include "typeset.hpp"

namespace ulp {
namespace {

constexpr std::string_view gap = "  ";  // between aligned columns

bool is_aligned(const std::string& line) {
  const std::size_t text = line.find_first_not_of(' ');
  return text != line.npos && line.find(gap, text) != line.npos;
}

// What stands between gaps.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  while (!line.empty()) {
    const std::size_t first = line.find_first_not_of(' ');
    if (first == line.npos) break;
    line.remove_prefix(first);
    const std::size_t end = std::min(line.find(gap), line.size());
    cells.emplace_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return cells;
}

// What stands between commas that are in no bracket.
std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts(1);
  int open = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '[') ++open;
    if (text[i] == ')' || text[i] == ']') --open;
    if (open <= 0 && text.compare(i, 2, ", ") == 0) {
      parts.emplace_back();
      ++i;
    } else {
      parts.back() += text[i];
    }
  }
  return parts;
}

// The aligned lines as cells, others as one; the last cell of a line is divided at its commas where that gives the same
// number of parts in all.
std::vector<std::vector<std::string>> rows_of(const std::vector<std::string>& lines) {
  std::vector<std::vector<std::string>> rows;
  std::optional<std::size_t> width;
  bool alike = true;
  for (const std::string& line : lines) {
    rows.push_back(is_aligned(line) ? cells_of(line) : std::vector<std::string>{line});
    if (rows.back().size() < 2) continue;
    const std::size_t wide = rows.back().size() - 1 + parts_of(rows.back().back()).size();
    alike = alike && wide == width.value_or(wide);
    width = wide;
  }
  if (!alike) return rows;
  for (std::vector<std::string>& row : rows) {
    if (row.size() < 2) continue;
    const std::vector<std::string> parts = parts_of(row.back());
    row.pop_back();
    row.insert(row.end(), parts.begin(), parts.end());
  }
  return rows;
}

std::string evidence_table(const std::vector<std::string>& lines) {
  const auto rows = rows_of(lines);
  std::size_t widest = 1;
  for (const auto& row : rows) widest = std::max(widest, row.size());
  std::vector<std::string> names;
  for (const auto& row : rows) names.push_back(row.size() > 1 ? row.front() : "");
  constexpr std::size_t longest_name = 40;
  const std::vector<std::string> cut = elided(names, longest_name);
  std::string text = R"(<div class="wide"><table>)";
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::vector<std::string>& row = rows[r];
    const std::string_view element = row.size() == 1 && row.front().ends_with(':') ? "th" : "td";
    text += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool is_name = i == 0 && row.size() > 1;
      const std::string across =
          i + 1 == row.size() && row.size() < widest ? fmt::format(" colspan=\"{}\"", widest - i) : "";
      const std::string whole =
          is_name && cut[r] != printable(row[i]) ? fmt::format(" title=\"{}\"", escaped(row[i])) : "";
      text += fmt::format("<{0}{1}{2}>{3}</{0}>", element, across, whole, prose(is_name ? cut[r] : row[i]));
    }
    text += "</tr>";
  }
  return text + "</table></div>";
}

std::string list_of(const std::vector<std::string>& lines) {
  std::string text = "<ul>";
  for (const std::string& line : lines) text += fmt::format("<li>{}</li>", prose(line));
  return text + "</ul>";
}

std::string evidence_of(const finding& f, bool is_open) {
  if (f.evidence.empty() && f.limits.empty()) return "";
  std::string inside;
  if (!f.evidence.empty())
    inside += std::ranges::any_of(f.evidence, is_aligned) ? evidence_table(f.evidence) : list_of(f.evidence);
  if (!f.limits.empty()) inside += fmt::format("<p class=\"soft\">Limits: {}</p>", prose(f.limits));
  return fmt::format("<details class=\"evidence\"{}><summary>{}</summary>{}</details>", is_open ? " open" : "",
                     f.evidence.empty() ? "limits"
                     : f.limits.empty() ? "evidence"
                                        : "evidence and limits",
                     inside);
}

}  // namespace

std::string summary_section(const report_page& page) {
  const advice_summary& first = page.first;
  if (first.happened.empty()) return "";
  const auto line = [](std::string_view title, const std::string& html) {
    return fmt::format("<dt>{}</dt><dd>{}</dd>", title, html);
  };
  std::string change = prose(first.change);
  if (!first.lines.empty()) {
    change += "<pre>";
    for (const std::string& of : first.lines) change += escaped(of) + "\n";
    change += "</pre>";
  }
  const bool is_ill = first.cause != "healthy";
  std::string text = fmt::format("<section><dl class=\"first{}\">", is_ill ? " ill" : "") +
                     line("What happened", prose(first.happened)) + line("What to change", change) +
                     line("How sure", prose(first.sure)) + "</dl>\n";
  if (first.left_out_from)
    text += fmt::format("<p class=\"soft\">Findings other than what happened leave out the steps from {} on.</p>",
                        *first.left_out_from);
  return text + "</section>\n";
}

std::string html_of(const std::vector<finding>& findings, std::size_t shown_open) {
  std::string text;
  std::size_t with_evidence = 0;
  for (const finding& f : findings) {
    const bool is_open = with_evidence < shown_open;
    if (!f.evidence.empty()) ++with_evidence;
    text += fmt::format("<h3>{}</h3><p>{}</p>{}\n", prose(f.question), prose(f.conclusion), evidence_of(f, is_open));
  }
  return text;
}

std::string findings_section(const report_page& page) {
  if (page.findings.empty()) return "";
  constexpr std::size_t shown_open = 2;
  return "<section><h2>Findings</h2>\n" + html_of(page.findings, shown_open) + "</section>\n";
}

}  // namespace ulp
