#include "formats_view.hpp"

#include <utility>

#include "viewmodel/format_matrix.hpp"

namespace ulp::gui {
namespace {

constexpr double epsilon = 1e-3;

}  // namespace

formats_view::formats_view(view_state& state, QWidget* parent)
    : rows_view(state, "formats", tr("Formats"), tr("Which format suffices, and at which static scale?"), parent) {}

void formats_view::take(table t) {
  table_ = std::move(t);
  rows().set(table_);
  grid().resizeColumnsToContents();
  set_note(table_.rows.empty()
               ? why_empty()
               : tr("Over all steps, of the selected tensors. From the least static scale on at most %1 % of the "
                    "nonzero values underflow, up to the greatest none overflows.")
                     .arg(100 * epsilon));
}

void formats_view::refresh(view_state::parts what) {
  if (!why_empty().isEmpty()) return take({});
  if (!what.testAnyFlags(view_state::parts{view_state::run} | view_state::replays | view_state::tensors |
                         view_state::scale | view_state::cursor))
    return;
  work_.start(
      [this, run = state().shared_run(), shown = state().selected(),
       scale = state().scale_at(state().cursor_step())](const background::report& told) -> std::function<void()> {
        return [this, t = format_matrix(*run, shown, scale, epsilon, told)] { take(t); };
      });
}

void formats_view::catch_up_now() {
  catch_up();
  work_.cancel();
  if (why_empty().isEmpty())
    take(format_matrix(*state().current_run(), state().selected(), state().scale_at(state().cursor_step()), epsilon,
                       [](double) {}));
}

}  // namespace ulp::gui
