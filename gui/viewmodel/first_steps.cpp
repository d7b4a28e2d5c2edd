#include "first_steps.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

namespace ulp::gui {
namespace {

step_range seen_of(const drawn_columns& drawn, const column_span& span) {
  return {std::max(span.first_step, drawn.shown.first), std::min(span.last_step, drawn.shown.last)};
}

bool is_one_step(const column_span& span) { return span.first_step == span.last_step; }

double scale_at(const first_step_search& search, std::int64_t step) {
  if (search.tried_scale) return std::ldexp(1.0, *search.tried_scale);
  if (!search.replay || search.replay->steps.empty()) return 1;
  const auto& steps = search.replay->steps;
  const auto after = std::ranges::upper_bound(steps, step, {}, &replay_step::step);
  return after == steps.begin() ? steps.front().scale_used : std::prev(after)->scale_used;
}

// Of one tensor, while steps come in their order.
struct finder {
  first_step found;

  [[nodiscard]] bool done() const noexcept { return found.latest.has_value(); }
  void see(std::int64_t step, const layer_question& question, const layer_cell& cell) {
    if (!found.earliest && may_cross(question, cell)) found.earliest = step;
    if (!found.latest && crosses(question, cell)) found.latest = step;
  }
};

class search_over_columns {
 public:
  search_over_columns(const first_step_search& search, const layer_answer& answer, const background::report& told)
      : search_(search), answer_(answer), told_(told), of_(answer.tensors) {}

  std::vector<first_step> result() {
    const auto& columns = search_.drawn->columns;
    for (std::size_t c = 0; c < columns.size() && !is_over(); ++c) {
      told_(static_cast<double>(c) / static_cast<double>(columns.size()));
      if (!is_asked(c)) continue;
      if (is_one_step(columns[c].span)) {
        see_cells(c);
      } else if (can_seek(*search_.drawn->run)) {
        read(seen_of(*search_.drawn, columns[c].span));
      } else {
        read({seen_of(*search_.drawn, columns[c].span).first, search_.drawn->shown.last});
        break;
      }
    }
    std::vector<first_step> all;
    const std::vector<first_step> rough = first_steps_of(*search_.drawn, answer_);
    for (std::uint32_t t = 0; t < of_.size(); ++t)
      all.push_back(wants(t) && !is_over() ? of_[t].found : with_rough(of_[t].found, rough[t]));
    return all;
  }

 private:
  [[nodiscard]] bool is_over() const { return tables_ > search_.most_tables; }
  [[nodiscard]] bool wants(std::uint32_t t) const { return t < search_.wanted.size() && search_.wanted[t]; }
  [[nodiscard]] bool asks(std::size_t column, std::uint32_t t) const {
    return wants(t) && !of_[t].done() && may_cross(answer_.question, answer_.at(column, t));
  }
  [[nodiscard]] bool is_asked(std::size_t column) const {
    for (std::uint32_t t = 0; t < of_.size(); ++t)
      if (asks(column, t)) return true;
    return false;
  }
  static first_step with_rough(const first_step& exact, const first_step& rough) {
    return {exact.earliest ? exact.earliest : rough.earliest, exact.latest ? exact.latest : rough.latest};
  }

  // A column of one step says all itself.
  void see_cells(std::size_t c) {
    for (std::uint32_t t = 0; t < of_.size(); ++t)
      if (asks(c, t)) of_[t].see(search_.drawn->columns[c].span.first_step, answer_.question, answer_.at(c, t));
  }

  void read(step_range range) {
    // Rows of one step may come one after the other; a tensor may have several.
    std::map<std::uint32_t, layer_cell> cells;
    std::optional<std::int64_t> at;
    const auto finish = [&] {
      for (const auto& [tensor, cell] : cells) of_[tensor].see(*at, answer_.question, cell);
      cells.clear();
    };
    const auto see = [&](const step& now, const std::vector<tensor_info>& tensors) {
      if (now.key.step != at) finish();
      at = now.key.step;
      const std::size_t c = search_.drawn->at(static_cast<double>(*at));
      if (is_over() || (can_stop(range) && !is_asked(c))) return false;
      const double scale = scale_at(search_, *at);
      for (const tensor_row& row : now.tensors) {
        if (row.tensor >= of_.size() || !asks(c, row.tensor)) continue;
        ++tables_;
        const tensor_tables::entry one{.tensor = row.tensor,
                                       .factor = row.unit(),
                                       .type = row.type,
                                       .table = row.table,
                                       .is_scaled = is_scaled(tensors[row.tensor].kind)};
        add(answer_.question.metric, cells[row.tensor], cell_of(answer_.question, one, {scale, scale}));
      }
      return true;
    };
    read_steps(
        *search_.drawn->run, range, [this](double) { told_(0); }, see);
    finish();
  }
  // Where one column is read, as soon as it is asked no more.
  [[nodiscard]] bool can_stop(step_range range) const {
    return search_.drawn->at(static_cast<double>(range.first)) == search_.drawn->at(static_cast<double>(range.last));
  }

  const first_step_search& search_;
  const layer_answer& answer_;
  const background::report& told_;
  std::vector<finder> of_;
  std::uint64_t tables_ = 0;
};

}  // namespace

void first_step::join(const first_step& other) {
  const auto least = [](std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
    return a && b ? std::min(a, b) : a ? a : b;
  };
  earliest = least(earliest, other.earliest);
  latest = least(latest, other.latest);
}

std::vector<first_step> first_steps_of(const drawn_columns& drawn, const layer_answer& answer) {
  std::vector<first_step> all(answer.tensors);
  for (std::size_t c = 0; c < drawn.columns.size(); ++c) {
    const column_span& span = drawn.columns[c].span;
    const step_range seen = seen_of(drawn, span);
    const bool is_whole = seen == step_range{span.first_step, span.last_step};
    if (seen.last < seen.first) continue;
    for (std::size_t t = 0; t < answer.tensors; ++t) {
      first_step& first = all[t];
      const layer_cell& cell = answer.at(c, t);
      if (!first.earliest && may_cross(answer.question, cell)) first.earliest = seen.first;
      if (!first.latest && is_whole && crosses(answer.question, cell)) first.latest = seen.last;
    }
  }
  return all;
}

std::vector<first_step> found(const first_step_search& search, const layer_answer& answer,
                              const background::report& told) {
  return search_over_columns(search, answer, told).result();
}

}  // namespace ulp::gui
