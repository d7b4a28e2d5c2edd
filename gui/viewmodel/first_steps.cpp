#include "first_steps.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace ulp::gui {
namespace {

bool is_one_step(const column_span& span) { return span.first_step == span.last_step; }

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
  search_over_columns(const layer_reading& reading, const layer_answer& answer, listener& to)
      : reading_(reading), answer_(answer), to_(to), steps_(reading, answer.question, to), of_(answer.tensors) {}

  found_steps result() {
    const auto& columns = reading_.drawn->columns;
    work searching(to_, "columns", columns.size());
    for (std::size_t c = 0; c < columns.size() && !steps_.is_over(); ++c, searching.advance()) {
      if (!is_asked(c)) continue;
      const step_range seen = seen_of(*reading_.drawn, columns[c].span);
      if (is_one_step(columns[c].span)) {
        see_cells(c);
      } else if (can_seek(*reading_.drawn->run)) {
        read(seen, true);
      } else {
        read({seen.first, reading_.drawn->shown.last}, false);
        break;
      }
    }
    found_steps all{.of = {}, .complete = !steps_.is_over()};
    const std::vector<first_step> rough = first_steps_of(*reading_.drawn, answer_);
    for (std::uint32_t t = 0; t < of_.size(); ++t)
      all.of.push_back(steps_.wants(t) && all.complete ? of_[t].found : with_rough(of_[t].found, rough[t]));
    return all;
  }

 private:
  [[nodiscard]] bool asks(std::size_t column, std::uint32_t t) const {
    return steps_.wants(t) && !of_[t].done() && may_cross(answer_.question, answer_.at(column, t));
  }
  [[nodiscard]] bool is_asked(std::size_t column) const {
    for (std::uint32_t t = 0; t < of_.size(); ++t)
      if (asks(column, t)) return true;
    return false;
  }
  [[nodiscard]] std::size_t column_of(std::int64_t step) const { return reading_.drawn->at(static_cast<double>(step)); }
  static first_step with_rough(const first_step& exact, const first_step& rough) {
    return {exact.earliest ? exact.earliest : rough.earliest, exact.latest ? exact.latest : rough.latest};
  }

  // A column of one step says all itself.
  void see_cells(std::size_t c) {
    for (std::uint32_t t = 0; t < of_.size(); ++t)
      if (asks(c, t)) of_[t].see(reading_.drawn->columns[c].span.first_step, answer_.question, answer_.at(c, t));
  }

  void read(step_range range, bool is_one_column) {
    steps_.read(
        range, [this](std::int64_t step, std::uint32_t t) { return asks(column_of(step), t); },
        [&](std::int64_t step, const layer_steps::cells_of_step& cells) {
          for (const auto& [t, cell] : cells) of_[t].see(step, answer_.question, cell);
          return !is_one_column || is_asked(column_of(step));
        });
  }

  const layer_reading& reading_;
  const layer_answer& answer_;
  listener& to_;
  layer_steps steps_;
  std::vector<finder> of_;
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

found_steps found(const layer_reading& reading, const layer_answer& answer, listener& to) {
  return search_over_columns(reading, answer, to).result();
}

}  // namespace ulp::gui
