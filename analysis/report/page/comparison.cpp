// What `ulp compare` says of the run and another one: where they part, in the curves of both losses.
#include <fmt/format.h>

#include <algorithm>
#include <ulp/report/tables/compare_summary.hpp>

#include "html_parts.hpp"

namespace ulp {
namespace {

// The mean of each column; NaN where it has no loss.
std::vector<double> means_in(const std::vector<step_loss>& losses, const std::vector<column_span>& columns) {
  std::vector<double> means;
  auto next = losses.begin();
  for (const column_span& c : columns) {
    double sum = 0;
    double count = 0;
    for (; next != losses.end() && next->step <= c.last_step; ++next) {
      sum += next->loss;
      ++count;
    }
    means.push_back(count > 0 ? sum / count : not_known);
  }
  return means;
}

std::vector<column_span> columns_over(std::int64_t first, std::int64_t last) {
  const std::int64_t steps = last - first + 1;
  const std::int64_t width =
      (steps + static_cast<std::int64_t>(most_columns) - 1) / static_cast<std::int64_t>(most_columns);
  std::vector<column_span> columns;
  for (std::int64_t at = first; at <= last; at += width)
    columns.push_back({at, std::min(at + width - 1, last), static_cast<std::uint64_t>(width)});
  return columns;
}

figure losses_of(const compare_answer& of) {
  const std::vector<step_loss>& a = of.a.losses;
  const std::vector<step_loss>& b = of.b.losses;
  if (a.empty() || b.empty()) return {};
  const std::vector<column_span> columns =
      columns_over(std::min(a.front().step, b.front().step), std::max(a.back().step, b.back().step));
  if (columns.size() < 2) return {};
  std::vector<double> of_a = means_in(a, columns);
  std::vector<double> of_b = means_in(b, columns);
  extent all;
  for (const auto* const losses : {&of_a, &of_b})
    for (const double loss : *losses) all.see(loss);
  constexpr double wide = 100;  // as what the run logged
  const value_axis axis = axis_of(all.low, all.high, all.low > 0 && all.high >= wide * all.low);
  for (auto* const losses : {&of_a, &of_b})
    for (double& loss : *losses) loss = axis.place(loss);
  drawing d(columns.size(), axis.low, axis.high, 180);
  d.title("loss");
  const std::vector<bool> passed(columns.size());
  d.curve(of_a, passed, "loss");
  d.curve(of_b, passed, "rate");
  figure f;
  f.legend = {line_key("ink", "solid", "A: " + of.a.name), line_key("heat", "solid", "B: " + of.b.name)};
  if (const auto mark = mark_of(of)) {
    const auto column = [&](std::int64_t step) {
      return static_cast<double>(step - columns.front().first_step) / static_cast<double>(columns.front().steps) + 0.5;
    };
    d.limit(column(mark->a), "over");
    f.legend.push_back(line_key("over", "solid",
                                fmt::format("step {}{}: {}", mark->a, mark->a == mark->b ? "" : " of A", mark->what)));
    if (mark->a != mark->b) {
      d.limit(column(mark->b), "zero");
      f.legend.push_back(line_key("zero", "dotted", fmt::format("the same, step {} of B", mark->b)));
    }
  }
  d.y_ticks(axis.ticks);
  label_steps(d, columns);
  f.parts.push_back({d, "losses of both runs by step"});
  return f;
}

std::string part_of(const compare_answer& of) {
  std::string text = fmt::format("<h3>{}</h3>\n", prose(of.b.name));
  for (const std::string& line : first_of(of))
    text += fmt::format("<p>{}{}</p>\n", prose(line), line.ends_with('.') ? "" : ".");
  if (const figure f = losses_of(of); !f.empty()) text += html_of(f) + "\n";
  std::string more = "<ul>\n";
  for (const summary_line& line : lines_of(of))
    if (!line.text.empty()) more += fmt::format("<li>{}</li>\n", prose(line.title + ": " + line.text));
  return text + folded("what was compared, and each tensor", more + "</ul>\n" + html_table(compare_table(of)));
}

}  // namespace

std::string comparison_section(const report_page& page) {
  if (page.comparisons.empty()) return "";
  std::string text =
      "<section><h2>Beside another run</h2>\n<p>The first step and tensor in which the runs differ by more than rounding "
      "or another order of sums explains; at equal losses, by more than they usually do.</p>\n";
  for (const compare_answer& of : page.comparisons) text += part_of(of);
  return text + "</section>\n";
}

}  // namespace ulp
