#include <ulp/report/page/html.hpp>

#include <fmt/format.h>

#include "html_parts.hpp"
#include "style.hpp"

namespace ulp {
namespace {

std::string matrix_section(const report_page& page) {
  if (page.matrix.rows.empty()) return "";
  return fmt::format(
      "<section><h2>Formats by group of tensors</h2>\n<p>Share of nonzero gradients that underflow without a "
      "loss scale.{}</p>{}</section>\n",
      page.matrix_note, html_table(page.matrix));
}

// Before the pictures, which they are about; folded where they would keep them from being seen.
std::string notes_section(const report_page& page) {
  if (page.notes.empty()) return "";
  constexpr std::size_t few = 2;
  std::string text = fmt::format("<details class=\"notes\"{}><summary>{} on the input and the policies</summary><ul>\n",
                                 page.notes.size() <= few ? " open" : "", count_text(page.notes.size(), "note"));
  for (const std::string& n : page.notes) text += fmt::format("<li>{}</li>\n", prose(n));
  return text + "</ul></details>\n";
}

std::string commands_section(const report_page& page) {
  std::string text = "<section><h2>The same numbers again</h2>\n";
  for (const report_command& c : page.commands) {
    const std::string whole = fmt::format("<pre>{}</pre>", escaped(c.text));
    text += c.shortened.empty() ? whole + "\n" : folded(fmt::format("<code>{}</code>", escaped(c.shortened)), whole);
  }
  return text + "</section>\n";
}

}  // namespace

std::string html_of(const report_page& page) {
  std::string text =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\">";
  text += fmt::format("<title>{}: gradients in {}</title><style>{}{}</style></head><body>\n", escaped(page.input),
                      escaped(page.format_name), page_style, picture_style);
  text += fmt::format("<h1>Gradients in {}</h1><p class=\"soft\">{}: {}, {}</p>\n", escaped(page.format_name),
                      escaped(page.input), count_text(page.steps, "step"), count_text(page.tensors.size(), "tensor"));
  for (const auto section : {summary_section, notes_section, comparison_section, logged_section, window_section,
                             scale_section, recipe_section, plan_section, block_section, loss_section, norm_section,
                             findings_section, matrix_section, commands_section})
    text += section(page);
  return text + "</body></html>\n";
}

}  // namespace ulp
