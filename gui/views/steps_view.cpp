#include "steps_view.hpp"

#include <QHeaderView>
#include <QItemSelectionModel>
#include <algorithm>
#include <array>

namespace ulp::gui {
namespace {

std::vector<table_column> columns() {
  return {{"step", "step"},
          {"scale_used", "scale"},
          {"found_inf", "found inf"},
          {"skipped", "skipped"},
          {"scale_next", "next scale"},
          {"critical_scale", "critical scale"},
          {"underflow", "underflow", {}, range_keys::both},
          {"overflow", "overflow", {}, range_keys::both},
          {"norm", "norm"},
          {"clip_coefficient", "clip coefficient"},
          {"clipped", "clipped"},
          {"loss", "loss"}};
}

// The replay may have seen more of a growing file than the run did.
double loss_of(const loaded_run& run, std::int64_t step) {
  const auto& steps = run.picture.steps();
  const auto at = std::ranges::lower_bound(steps, step, {}, [](const logged_step& s) { return s.key.step; });
  return at != steps.end() && at->key.step == step ? at->scalars.loss : not_known;
}

table_value cell(const replayed_run& r, const loaded_run& run, std::size_t row, std::size_t column) {
  const replay_step& s = r.steps[row];
  const auto count = [&](const count_range& c) { return s.has_counts ? table_value{c} : table_value{}; };
  switch (column) {
    case 0: return s.step;
    case 1: return as_power(s.scale_used);
    case 2: return std::string{s.certain ? "" : "~"} + (s.found_inf ? "yes" : "");
    case 3: return std::string{s.skipped ? "yes" : ""};
    case 4: return as_power(s.scale_next);
    case 5: return s.critical_certain ? table_value{s.critical_scale} : table_value{"~" + as_power(s.critical_scale)};
    case 6: return count(s.underflow);
    case 7: return count(s.overflow);
    case 8: return s.norm;
    case 9: return s.clip_coefficient;
    case 10: return std::string{s.clipped ? "yes" : ""};
    case 11: return loss_of(run, s.step);
    default: return {};
  }
}

}  // namespace

steps_view::steps_view(view_state& state, QWidget* parent)
    : rows_view(state, "steps", tr("Steps"), tr("What exactly happened at each step?"), parent) {
  connect(grid().selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& index) {
    const auto result = this->state().front().result;
    if (!following_ && index.isValid() && result)
      this->state().set_cursor(result->steps[static_cast<std::size_t>(index.row())].step);
  });
}

void steps_view::refresh(view_state::parts what) {
  const auto result = state().front().result;
  if (what.testAnyFlags(view_state::parts{view_state::run} | view_state::replays)) {
    set_note(state().doc().title_of(state().front()) +
             (state().front().failure.isEmpty() ? QString() : ": " + state().front().failure));
    const auto run = state().shared_run();
    if (result && run)
      rows().set(columns(), result->steps.size(),
                 [result, run](std::size_t row, std::size_t column) { return cell(*result, *run, row, column); });
    else
      rows().set(columns(), 0, {});
    const std::array widths{70, 80, 76, 70, 84, 120, 150, 150, 160, 160, 70, 120};
    for (int c = 0; c < rows().columnCount(); ++c) grid().setColumnWidth(c, widths.at(static_cast<std::size_t>(c)));
  }
  if (!result) return;
  const auto at = std::ranges::lower_bound(result->steps, state().cursor_step(), {}, &replay_step::step);
  following_ = true;
  grid().selectRow(static_cast<int>(at - result->steps.begin()));
  following_ = false;
}

table steps_view::data() const {
  table t;
  t.columns = columns();
  const auto result = state().front().result;
  const auto run = state().shared_run();
  if (!result || !run) return t;
  for (std::size_t row = 0; row < result->steps.size(); ++row) {
    t.rows.emplace_back();
    for (std::size_t c = 0; c < t.columns.size(); ++c) t.rows.back().push_back(cell(*result, *run, row, c));
  }
  return t;
}

QString steps_view::legend() const {
  return tr("One row per step of the replay in front, exactly as drawn in the pictures. The marked row is the cursor.");
}

}  // namespace ulp::gui
