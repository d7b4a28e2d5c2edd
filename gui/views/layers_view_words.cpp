// What the view of layers says: over the picture, of its rows and cells, and as a table.
#include <algorithm>

#include <ulp/model/recipe/scaling.hpp>

#include "layer_words.hpp"
#include "layers_view.hpp"
#include "viewmodel/counted_scales.hpp"
#include "viewmodel/counted_words.hpp"
#include "viewmodel/shown_text.hpp"

namespace ulp::gui {

QString layers_view::shown_under() const {
  return shows_recipe() ? shown_text(name_of(state().fp8())) : step_view::shown_under();
}

QString layers_view::where_text() const {
  if (shows_recipe()) return shown_under();
  if (!is_of_scale(state().metric_of_layers())) return QString::fromStdString(state().weights_format());
  const auto range = state().shown();
  return tr("in %1 at %2")
      .arg(QString::fromStdString(state().front().spec.format),
           state().tried_scale()
               ? tr("2^%1, tried out").arg(*state().tried_scale())
               : tr("the replay's scale (%1)").arg(scales_text(state().scales_in(range.first, range.last))));
}

QString layers_view::only_text() const {
  QString text;
  if (kind_->currentData().isValid()) text += tr("; only %1").arg(kind_->currentText());
  if (!state().filter().isEmpty()) text += tr("; only names that match %1").arg(state().filter());
  return text;
}

QString layers_view::why_no_rows() const {
  if (counted_.scales && state().current_run()->has_live_scales)
    return tr(
        "The recording holds the scales of its own run, of tensors that it has no histograms of: Tensor scales "
        "replays them.");
  return (counted_.updates  ? tr("No nonzero update of weights was recorded in these steps")
          : counted_.scales ? tr("No tensor is cast under %1").arg(shown_text(name_of(counted_.scales->spec)))
                            : tr("No tensor holds gradients")) +
         only_text() + '.';
}

QString layers_view::heading_now() const {
  if (!counted_.drawn) return {};
  const layer_question& q = counted_.answer.question;
  const QString none = nothing_text(q.metric);
  const bool nothing =
      !none.isEmpty() && std::ranges::none_of(rows_, [&](const layer_row& row) { return may_cross(q, row.total); });
  QString all = nothing ? none : heading_text(q.metric);
  const auto is_unscaled = [this](std::uint32_t t) { return !is_scaled(state().current_run()->tensors[t]); };
  if (is_of_format(q.metric)) all = all.arg(where_);
  if (is_of_scale(q.metric) && !rows_.empty() && std::ranges::all_of(shown_tensors(), is_unscaled))
    all += tr("; no loss scale multiplies these tensors");
  all += only_text();
  if (counted_.updates || counted_.scales) {
    QStringList notes;
    for (const std::string& note : counted_.updates ? counted_.updates->notes : counted_.scales->notes)
      notes << shown_text(note);
    if (QString text = notes.join("; "); !text.isEmpty()) all += "\n" + text.left(1).toUpper() + text.mid(1) + '.';
  } else if (state().current_run()->as_recorded) {
    all += tr("; values as recorded, since the factor of some is not known");
  }
  return all;
}

QString layers_view::row_text(std::size_t row) const {
  const layer_row& of = rows_[row];
  const layer_question& q = counted_.answer.question;
  const tensor_info& tensor = state().current_run()->tensors[of.of.tensors.front()];
  QString text = shown_text(of.of.path);
  if (of.of.is_module)
    text += ": " + count_of_tensors(of.of.tensors.size());
  else if (tensor.kind != tensor_kind::unknown)
    text += QStringLiteral(" (%1)").arg(QString::fromStdString(std::string{to_string(tensor.kind)}));
  if (!of.worst) return text + "\n" + gap_text(q.metric);
  const column_span& span = counted_.drawn->columns[*of.worst].span;
  const QString total = count_text(q.metric, of.total);
  text += "\n" + tr("steps shown: %1").arg(QString::fromStdString(value_text(q, of.total)));
  if (!total.isEmpty()) text += QStringLiteral(" (%1)").arg(total);
  text += "\n" + (span.first_step == span.last_step
                      ? tr("worst, step %1: %2").arg(span.first_step)
                      : tr("worst, steps %1 to %2: %3").arg(span.first_step).arg(span.last_step))
                     .arg(QString::fromStdString(value_text(q, of.cells[*of.worst])));
  if (has_threshold(q.metric)) text += "\n" + crossing_text(q.metric) + ": " + first_text(of.first);
  return text;
}

QString layers_view::told_at(QPointF place) const {
  const auto row = picture_ ? picture_->row_at(place.y()) : std::nullopt;
  if (!row || counted_.drawn->columns.empty()) return {};
  const std::size_t c = counted_.drawn->at(picture_->plot().value_at_x(place.x()));
  const column_span& span = counted_.drawn->columns[c].span;
  const layer_question& q = counted_.answer.question;
  const layer_cell& cell = rows_[*row].cells[c];
  const QString value = cell.known ? QString::fromStdString(value_text(q, cell)) : gap_text(q.metric);
  const QString count = count_text(q.metric, cell);
  const QString steps = span.first_step == span.last_step
                            ? tr("step %1").arg(span.first_step)
                            : tr("steps %1 to %2").arg(span.first_step).arg(span.last_step);
  return tr("%1, %2: %3").arg(shown_text(rows_[*row].of.path), steps, value) +
         (count.isEmpty() ? QString() : QStringLiteral(" (%1)").arg(count));
}

table layers_view::data() const {
  table t;
  t.columns = {{"tensor", "tensor"},
               {"first_step", "from step"},
               {"last_step", "to"},
               {"value", "value", alignment::by_value, range_keys::where_open},
               {"part", "part", alignment::by_value, range_keys::where_open},
               {"whole", "of", alignment::by_value, range_keys::where_open},
               {"modelled", "modelled"},
               {"from_step", "first"},
               {"from_step_at_most", "first at most"}};
  if (!counted_.drawn) return t;
  const layer_question& q = counted_.answer.question;
  const bool is_sum = q.metric != layer_metric::largest && q.metric != layer_metric::headroom;
  for (const layer_row& row : worst_first(counted_, shown_tensors()))
    for (std::size_t c = 0; c < row.cells.size(); ++c) {
      const layer_cell& cell = row.cells[c];
      const column_span& span = counted_.drawn->columns[c].span;
      const auto step = [](const std::optional<std::int64_t>& s) { return s ? table_value{*s} : table_value{}; };
      t.rows.push_back({row.of.path, span.first_step, span.last_step, value_of(q, cell),
                        value_if(is_sum && cell.known, cell.part), value_if(is_sum && cell.known, cell.whole),
                        cell.modelled, step(row.first.earliest), step(row.first.latest)});
    }
  return t;
}

QString layers_view::legend() const {
  return tr(
      "Each row is a tensor, the worst at the top, or a module with the sum of what is in it. The colour shows the "
      "metric at each step, of a range its worse end, on a logarithmic scale for shares of values. The numbers are "
      "the worst column, the first step at which anything is lost (of headroom: at which it is below 0), and all "
      "steps shown; [low, high] is a range that the input or a changing loss scale leaves open, and ~ marks a model. "
      "Hatched: the tensor has no finite nonzero value, or was not recorded. Updates lost need joint tables of "
      "weights and updates, or dumps of both; no loss scale matters there. What saturates, and which scales are stale, is of "
      "a replay under the FP8 recipe beside the metric, of the tensors that it casts; its parameters are set in Tensor "
      "scales. The wheel scrolls rows, with Ctrl it "
      "zooms; arrow keys move the current row and open and close modules; Enter or a double click selects a tensor "
      "in all views.");
}

}  // namespace ulp::gui
