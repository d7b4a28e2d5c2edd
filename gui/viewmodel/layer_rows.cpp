#include "layer_rows.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ulp::gui {
namespace {

layer_row row_of(const counted_layers& counted, module_row of, bool is_open) {
  const layer_answer& answer = counted.answer;
  const std::size_t columns = counted.drawn->columns.size();
  layer_row row{.of = std::move(of), .is_open = is_open, .cells = std::vector<layer_cell>(columns)};
  double most = -INFINITY;
  for (std::size_t c = 0; c < columns; ++c) {
    for (const std::uint32_t t : row.of.tensors) add(answer.question.metric, row.cells[c], answer.at(c, t));
    add(answer.question.metric, row.total, row.cells[c]);
    const double bad = badness(answer.question, row.cells[c]);
    // The worst of all columns lies between the worst of their lower and that of their upper ends.
    if (const value_range value = value_of(answer.question, row.cells[c]); !std::isnan(bad)) {
      const bool low = low_is_bad(answer.question.metric);
      const auto worse = [&](double a, double b) { return low ? std::fmin(a, b) : std::fmax(a, b); };
      row.worst_value = {worse(row.worst_value.low, value.low), worse(row.worst_value.high, value.high)};
    }
    if (std::isnan(bad) || (row.worst && bad <= most)) continue;
    most = bad;
    row.worst = c;
  }
  if (!counted.firsts.empty())
    for (const std::uint32_t t : row.of.tensors) row.first.join(counted.firsts[t]);
  return row;
}

}  // namespace

double badness(const layer_question& question, const layer_cell& cell) {
  const value_range value = value_of(question, cell);
  return low_is_bad(question.metric) ? -value.low : value.high;
}

std::vector<layer_row> worst_first(const counted_layers& counted, const std::vector<std::uint32_t>& shown) {
  struct place {
    double worst;
    double total;
    std::uint32_t tensor;
    std::size_t row;
  };
  std::vector<layer_row> rows;
  std::vector<place> order;
  for (const std::uint32_t t : shown) {
    const std::string& name = counted.drawn->run->tensors[t].name;
    layer_row row =
        row_of(counted, {.path = name, .label = name, .depth = 0, .is_module = false, .tensors = {t}}, false);
    if (!row.worst) continue;
    const layer_question& q = counted.answer.question;
    order.push_back({badness(q, row.cells[*row.worst]), badness(q, row.total), t, rows.size()});
    rows.push_back(std::move(row));
  }
  std::ranges::sort(order, [](const place& a, const place& b) {
    return a.worst != b.worst ? a.worst > b.worst : a.total != b.total ? a.total > b.total : a.tensor < b.tensor;
  });
  std::vector<layer_row> sorted;
  sorted.reserve(rows.size());
  for (const place& p : order) sorted.push_back(std::move(rows[p.row]));
  return sorted;
}

std::vector<layer_row> by_module(const counted_layers& counted, const std::vector<std::uint32_t>& shown,
                                 const std::function<bool(const module_row&)>& is_open) {
  std::vector<std::string> names;
  for (const tensor_info& t : counted.drawn->run->tensors) names.push_back(t.name);
  std::vector<layer_row> rows;
  for (module_row& of : module_rows(names, shown, is_open)) {
    const bool open = of.is_module && is_open(of);
    rows.push_back(row_of(counted, std::move(of), open));
  }
  return rows;
}

}  // namespace ulp::gui
