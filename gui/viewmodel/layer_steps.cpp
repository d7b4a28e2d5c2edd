#include "layer_steps.hpp"

#include <algorithm>
#include <vector>

#include <ulp/model/recipe/scaling.hpp>

namespace ulp::gui {

step_range seen_of(const drawn_columns& drawn, const column_span& span) {
  return {std::max(span.first_step, drawn.shown.first), std::min(span.last_step, drawn.shown.last)};
}

void layer_steps::read(step_range range, const std::function<bool(std::int64_t, std::uint32_t)>& asks,
                       const std::function<bool(std::int64_t, const cells_of_step&)>& see) {
  // Rows of a step may come one after the other, as may those of a tensor.
  cells_of_step cells;
  std::optional<std::int64_t> at;
  bool goes_on = true;
  const auto finish = [&] {
    if (at && goes_on) goes_on = see(*at, cells);
    cells.clear();
  };
  read_steps(*reading_.drawn->run, {range.first, range.last}, to_,
             [&](const step& now, const std::vector<tensor_info>& tensors) {
               if (now.key.step != at) finish();
               at = now.key.step;
               if (!goes_on || is_over()) return goes_on = false;
               const double scale = scale_at(*at, reading_.tried_scale, reading_.replay.get());
               for (const tensor_row& row : now.tensors) {
                 if (!wants(row.tensor) || !asks(*at, row.tensor)) continue;
                 ++tables_;
                 const tensor_tables::entry one{.tensor = row.tensor,
                                                .factor = row.unit(),
                                                .type = row.type,
                                                .table = row.table,
                                                .is_scaled = is_scaled(tensors[row.tensor])};
                 add(question_.metric, cells[row.tensor], cell_of(question_, one, {scale, scale}));
               }
               return true;
             });
  finish();
}

bool is_open(const drawn_columns& drawn, const layer_answer& answer, std::size_t column, std::uint32_t tensor) {
  const column_span& span = drawn.columns[column].span;
  const step_range all{span.first_step, span.last_step};
  const layer_cell& cell = answer.at(column, tensor);
  return all.first < all.last && seen_of(drawn, span) == all && cell.known &&
         !(cell.part.exact() && cell.whole.exact());
}

counted_steps counted_by_step(const layer_reading& reading, const layer_answer& answer, listener& to) {
  counted_steps counted{.answer = answer};
  layer_steps steps(reading, answer.question, to);
  const drawn_columns& drawn = *reading.drawn;
  // Column by column, or in one go where that would be reading from the start each time.
  std::vector<step_range> ranges;
  for (std::size_t c = 0; c < drawn.columns.size(); ++c) {
    bool asked = false;
    for (std::uint32_t t = 0; t < answer.tensors; ++t)
      asked = asked || (steps.wants(t) && is_open(drawn, answer, c, t));
    if (asked) ranges.push_back(seen_of(drawn, drawn.columns[c].span));
  }
  if (!ranges.empty() && !can_seek(*drawn.run)) ranges = {{ranges.front().first, ranges.back().last}};
  work reading_on(to, "columns", ranges.size());
  for (std::size_t r = 0; r < ranges.size(); ++r, reading_on.advance()) {
    const auto column_of = [&](std::int64_t step) { return drawn.at(static_cast<double>(step)); };
    std::map<std::size_t, layer_cell> sums;  // by their place in the answer
    steps.read(
        ranges[r], [&](std::int64_t step, std::uint32_t t) { return is_open(drawn, answer, column_of(step), t); },
        [&](std::int64_t step, const layer_steps::cells_of_step& cells) {
          for (const auto& [t, cell] : cells)
            add(answer.question.metric, sums[column_of(step) * answer.tensors + t], cell);
          return true;
        });
    counted.complete = !steps.is_over();
    if (!counted.complete) break;
    for (const auto& [place, cell] : sums) counted.answer.cells[place] = cell;
  }
  return counted;
}

}  // namespace ulp::gui
