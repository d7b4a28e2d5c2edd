#include "counted_updates.hpp"

#include <utility>

#include <ulp/ask/precision/weights_answer.hpp>
#include <ulp/ask/progress/listener.hpp>

#include "document.hpp"

namespace ulp::gui {
namespace {

std::vector<first_step> first_steps_in(step_range shown, const layer_question& question, std::size_t tensors,
                                       const layer_updates& counted) {
  std::vector<first_step> all(tensors);
  for (const updates_cell& of : counted.cells) {
    if (of.step < shown.first || of.step > shown.last || of.tensor >= tensors) continue;
    first_step& first = all[of.tensor];
    if (!first.earliest && may_cross(question, of.cell)) first.earliest = of.step;
    if (!first.latest && crosses(question, of.cell)) first.latest = of.step;
  }
  return all;
}

layer_updates updates_of(const loaded_run& run, const format& in, listener& to) {
  kept_lines lines(to);
  layer_updates all = layer_updates_of(
      count_weights(run.text, {{.format_name = {}, .how = {in}, .rounding_name = {}}}, not_known, lines), run.tensors);
  all.notes = lines.notes();
  return all;
}

}  // namespace

counted_layers counted_updates(std::shared_ptr<const drawn_columns> drawn, const layer_question& question,
                               std::shared_ptr<const layer_updates> known, listener& to) {
  const loaded_run& run = *drawn->run;
  const std::size_t tensors = run.tensors.size();
  if (known == nullptr) known = std::make_shared<const layer_updates>(updates_of(run, question.to, to));
  std::vector<column_span> spans;
  for (const drawn_column& c : drawn->columns) spans.push_back(c.span);
  counted_layers done{.drawn = std::move(drawn),
                      .answer = answer_to(question, spans, tensors, *known),
                      .firsts = {},
                      .searched = tensor_mask(tensors, true),
                      .by_step = tensor_mask(tensors, true),
                      .updates = std::move(known)};
  done.firsts = first_steps_in(done.drawn->shown, question, tensors, *done.updates);
  return done;
}

}  // namespace ulp::gui
