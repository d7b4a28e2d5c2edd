#include "counted_scales.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "document.hpp"

namespace ulp::gui {
namespace {

// Adds up the cells of single steps.
class layer_sums {
 public:
  layer_sums(std::shared_ptr<const drawn_columns> drawn, const layer_question& question) {
    const std::size_t tensors = drawn->run->tensors.size();
    counted_.answer = {
        .question = question, .tensors = tensors, .cells = std::vector<layer_cell>(drawn->columns.size() * tensors)};
    counted_.firsts.resize(tensors);
    counted_.searched = counted_.by_step = tensor_mask(tensors, true);
    counted_.drawn = std::move(drawn);
  }

  void add(const layer_scale& of) {
    const layer_question& question = counted_.answer.question;
    const std::vector<drawn_column>& columns = counted_.drawn->columns;
    const std::size_t column = counted_.drawn->at(static_cast<double>(of.step));
    if (columns.empty() || of.step < columns[column].span.first_step || of.step > columns[column].span.last_step)
      return;
    const layer_cell cell = cell_of(question.metric, of);
    ulp::add(question.metric, counted_.answer.cells[column * counted_.answer.tensors + of.tensor], cell);
    const step_range shown = counted_.drawn->shown;
    if (of.step < shown.first || of.step > shown.last) return;
    first_step& first = counted_.firsts[of.tensor];
    if (!first.earliest && may_cross(question, cell)) first.earliest = of.step;
    if (!first.latest && crosses(question, cell)) first.latest = of.step;
  }

  [[nodiscard]] counted_layers result() { return std::move(counted_); }

 private:
  counted_layers counted_;
};

// The indices that a run has for tensors that a replay has others for.
class run_indices {
 public:
  explicit run_indices(const std::vector<tensor_info>& tensors) {
    for (std::uint32_t t = 0; t < tensors.size(); ++t) by_name_.emplace(tensors[t].name, t);
  }
  // nullopt where the run has no tensor of that name.
  [[nodiscard]] std::optional<std::uint32_t> of(std::uint32_t tensor, const std::vector<tensor_info>& tensors) {
    while (known_.size() < tensors.size()) {
      const auto found = by_name_.find(tensors[known_.size()].name);
      known_.push_back(found == by_name_.end() ? std::nullopt : std::optional(found->second));
    }
    return known_[tensor];
  }

 private:
  std::unordered_map<std::string_view, std::uint32_t> by_name_;
  std::vector<std::optional<std::uint32_t>> known_;
};

}  // namespace

counted_layers counted_scales(std::shared_ptr<const drawn_columns> drawn, const layer_question& question,
                              const fp8_spec& spec, std::shared_ptr<const replayed_scales> known, listener& to,
                              std::size_t most_rows) {
  const std::shared_ptr<const loaded_run> run = drawn->run;
  layer_sums sums(std::move(drawn), question);
  if (known != nullptr && known->run == run->id && known->spec == spec && known->complete) {
    for (const layer_scale& row : known->rows) sums.add(row);
  } else {
    const auto replayed = std::make_shared<replayed_scales>();
    replayed->run = run->id;
    replayed->spec = spec;
    kept_lines lines(to);
    run_indices indices(run->tensors);
    static_cast<void>(fp8_replay_over(
        question_of(run->text, spec), lines,
        [&](const std::vector<fp8_row>& rows, const std::vector<tensor_info>& tensors) {
          for (const fp8_row& row : rows) {
            const auto tensor = indices.of(row.tensor, tensors);
            if (!tensor) continue;
            layer_scale now = layer_scale_of(row);
            now.tensor = *tensor;
            sums.add(now);
            if (replayed->rows.size() == most_rows) replayed->complete = false;
            if (replayed->complete) replayed->rows.push_back(now);
          }
        },
        with_noise::no));
    if (!replayed->complete) replayed->rows = {};
    replayed->notes = without(lines.notes(), run->notes);
    known = replayed;
  }
  counted_layers done = sums.result();
  done.scales = std::move(known);
  return done;
}

}  // namespace ulp::gui
