// Underflow by tensor: a heat map over the steps, of a single step a table.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "html_parts.hpp"
#include "typeset.hpp"

namespace ulp {
namespace {

constexpr std::size_t most_rows = 30;

double share_of(const tensor_losses::loss& l) { return l.nonzero > 0 ? l.underflow / l.nonzero : 0; }

// Of each tensor over all steps.
std::vector<tensor_losses::loss> totals_of(const report_page& page) {
  std::vector<tensor_losses::loss> total(page.tensors.size());
  for (const tensor_losses& c : page.losses.columns())
    for (std::size_t i = 0; i < c.by_tensor.size(); ++i) {
      total[i].underflow += c.by_tensor[i].underflow;
      total[i].nonzero += c.by_tensor[i].nonzero;
    }
  return total;
}

// A row for each of the tensors, which are in the order of what they lose.
figure heat_map(const report_page& page, const std::vector<std::size_t>& tensors) {
  const auto& columns = page.losses.columns();
  constexpr double row_height = 18;
  const auto rows = static_cast<double>(tensors.size());
  drawing d(columns.size(), 0, rows, row_height * rows);
  double y = rows;
  std::vector<std::string> names;
  for (const std::size_t tensor : tensors) {
    const auto in_column = [&](std::size_t i) {
      return tensor < columns[i].by_tensor.size() ? columns[i].by_tensor[tensor] : tensor_losses::loss{};
    };
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (const double s = share_of(in_column(i)); s > 0) d.cell(i, i + 1, y - 1, y, strength_of(s));
    for_each_run(
        columns.size(), [&](std::size_t i) { return in_column(i).nonzero == 0; },
        [&](std::size_t first, std::size_t last) { d.missing(first, last, y - 1, y); });
    names.push_back(page.tensors[tensor].name);
    y -= 1;
  }
  d.row_names(names);
  d.marks(skipped_in(page.replays.front()));
  label_steps(d, page.losses.spans());
  figure f{.legend = {swatch_key(swatch(0), "nothing lost")}, .parts = {}};
  for (const auto& [s, text] : {std::pair{1e-4, "up to 0.01 %"}, {1e-2, "1 %"}, {1.0, "all"}})
    f.legend.push_back(swatch_key(swatch(strength_of(s)), text));
  if (page.replays.front().sum.skipped > 0) f.legend.push_back(swatch_key(mark_swatch(), "skipped steps"));
  if (d.has_missing()) f.legend.push_back(swatch_key(hatched_swatch(), std::string{missing_text}));
  f.parts.push_back({d, "underflow by tensor and step"});
  return f;
}

// The names of those that lose nothing.
std::string kept_whole(const report_page& page, const std::vector<std::size_t>& tensors) {
  if (tensors.empty()) return "";
  std::string names;
  for (const std::size_t t : tensors) names += (names.empty() ? "" : ", ") + escaped(page.tensors[t].name);
  return folded(
      fmt::format("{} {} nothing", count_text(tensors.size(), "tensor"), tensors.size() == 1 ? "loses" : "lose"),
      "<p>" + names + "</p>");
}

// Tensors that lose something, those that lose most first, and those that do not.
struct losers {
  std::vector<std::size_t> losing;
  std::vector<std::size_t> whole;
};
losers losers_of(const std::vector<tensor_losses::loss>& total) {
  losers found;
  for (std::size_t i = 0; i < total.size(); ++i)
    if (total[i].nonzero > 0) (total[i].underflow > 0 ? found.losing : found.whole).push_back(i);
  std::ranges::stable_sort(found.losing, std::ranges::greater{}, [&](std::size_t i) { return share_of(total[i]); });
  return found;
}

std::vector<std::size_t> most_losing(std::vector<std::size_t> losing) {
  losing.resize(std::min(losing.size(), most_rows));
  return losing;
}

}  // namespace

figure loss_figure(const report_page& page) {
  const losers found = losers_of(totals_of(page));
  if (found.losing.empty() || is_single_step(page)) return {};
  return heat_map(page, most_losing(found.losing));
}

std::string loss_section(const report_page& page) {
  const std::vector<tensor_losses::loss> total = totals_of(page);
  const auto [losing, whole] = losers_of(total);
  if (losing.empty() && whole.empty()) return "";
  const std::string title =
      fmt::format("<section><h2>Underflow by tensor{}</h2>\n", is_single_step(page) ? "" : " and step");
  const std::string policy = escaped(page.replays.front().name);
  if (losing.empty())
    return title + fmt::format("<p>Under {} no gradient that is not zero becomes zero.</p></section>\n", policy);
  table numbers;
  numbers.columns = {{"", "tensor"}, {"", "underflow", alignment::right}, {"", "of nonzero", alignment::right}};
  for (const std::size_t i : losing)
    numbers.rows.push_back(
        {page.tensors[i].name, fmt::format("{:.0f}", total[i].underflow), share_text(share_of(total[i]))});
  std::string text = title + fmt::format("<p>Under {}, the share of nonzero gradients that become zero", policy);
  if (is_single_step(page)) {
    text += ".</p>\n";
    if (losing.size() > most_rows) {
      table rest = numbers;
      rest.rows.erase(rest.rows.begin(), rest.rows.begin() + most_rows);
      numbers.rows.resize(most_rows);
      text +=
          html_table(numbers) + folded(count_text(rest.rows.size(), "tensor") + " that lose less", html_table(rest));
    } else {
      text += html_table(numbers);
    }
  } else {
    const std::vector<std::size_t> drawn = most_losing(losing);
    if (drawn.size() < losing.size())
      text += fmt::format("; the {} of {} tensors that lose most", drawn.size(), losing.size());
    text += ".</p>\n" + html_of(heat_map(page, drawn)) + folded("the numbers", html_table(numbers));
  }
  return text + kept_whole(page, whole) + "</section>\n";
}

}  // namespace ulp
