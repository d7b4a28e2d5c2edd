#include "steps_view.hpp"

#include <QBrush>
#include <QHBoxLayout>
#include <QItemSelectionModel>
#include <QLabel>
#include <algorithm>
#include <cmath>
#include <memory>

#include "viewmodel/counted_words.hpp"
#include "viewmodel/shown_text.hpp"

namespace ulp::gui {
namespace {

enum which : std::uint8_t { all, skipped, overflowing };

std::vector<table_column> columns() {
  return {{"step", "step"},
          {"found_inf", "overflow"},
          {"scale_used", "scale", alignment::right},
          {"scale_next", "next scale", alignment::right},
          {"skipped", "skipped"},
          {"critical_scale", "critical scale", alignment::right},
          {"underflow", "underflow"},
          {"overflow", "values that overflow"},
          {"norm", "norm"},
          {"clip_coefficient", "clip coefficient"},
          {"clipped", "clipped"},
          {"loss", "loss"}};
}

// The replay may have seen more of a growing file than the run did.
double loss_of(const loaded_run& run, std::int64_t step) {
  const auto& steps = run.picture.steps();
  const auto at = std::ranges::lower_bound(steps, step, {}, [](const pictured_step& s) { return s.key.step; });
  return at != steps.end() && at->key.step == step ? at->scalars.loss : not_known;
}

// 2^3 like 2^16, not 8: a column has one unit.
std::string power_of_two(double scale) { return log2_text(scale).substr(0, log2_text(scale).find('.')); }

bool is_power_of_two(double scale) {
  int exponent = 0;
  return !(scale > 0) || !std::isfinite(scale) || std::frexp(scale, &exponent) == 0.5;
}

// What the rows are made of.
struct listed_steps {
  std::shared_ptr<const drawn_replay> result;
  std::shared_ptr<const loaded_run> run;
  bool powers = true;  // all scales are powers of two, 0 or infinite

  [[nodiscard]] table_value cell(std::size_t index, std::size_t column) const {
    const replay_step& s = result->steps[index];
    const auto count = [&](const count_range& c) { return s.has_counts ? table_value{c} : table_value{}; };
    const auto scale = [&](double x) { return powers ? power_of_two(x) : shortest(x); };
    switch (column) {
      case 0: return s.step;
      case 1: return std::string{s.certain ? "" : "~"} + (s.found_inf ? "yes" : "");
      case 2: return scale(s.scale_used);
      case 3: return scale(s.scale_next);
      case 4: return std::string{s.skipped ? "yes" : ""};
      case 5:
        return value_if(!std::isnan(s.critical_scale), (s.critical_certain ? "" : "~") + log2_text(s.critical_scale));
      case 6: return count(s.underflow);
      case 7: return count(s.overflow);
      case 8: return s.norm;
      case 9: return s.clip_coefficient;
      case 10: return std::string{s.clipped ? "yes" : ""};
      case 11: return loss_of(*run, s.step);
      default: return {};
    }
  }
};

}  // namespace

steps_view::steps_view(view_state& state, QWidget* parent)
    : rows_view(state, "steps", tr("Steps"), tr("What exactly happened at each step?"), parent),
      which_(new QComboBox(this)) {
  which_->addItems({tr("All steps"), tr("Skipped steps"), tr("Steps that overflow")});
  which_->setAccessibleName(tr("Which steps are listed"));
  which_->setToolTip(tr("Steps whose overflow is not decided (~) are listed with those that overflow"));
  auto* const line = new QHBoxLayout;
  line->addWidget(which_);
  line->addStretch();
  box().insertLayout(0, line);
  let_sort();
  connect(which_, &QComboBox::currentIndexChanged, this, [this] {
    list();
    follow_cursor();
  });
  connect(grid().selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& index) {
    const auto result = this->state().front().result;
    if (!following_ && index.isValid() && result)
      this->state().set_cursor(result->steps[listed_[rows().set_row(index.row())]].step);
  });
}

void steps_view::list() {
  listed_.clear();
  const auto result = state().front().result;
  const auto run = state().shared_run();
  listed_steps of{result, run};
  if (result && run) {
    for (std::size_t i = 0; i < result->steps.size(); ++i) {
      const replay_step& s = result->steps[i];
      of.powers = of.powers && is_power_of_two(s.scale_used) && is_power_of_two(s.scale_next);
      const bool is_listed = which_->currentIndex() == skipped       ? s.skipped
                             : which_->currentIndex() == overflowing ? s.found_inf || !s.certain
                                                                     : true;
      if (is_listed) listed_.push_back(i);
    }
  }
  following_ = true;
  rows().set(columns(), listed_.size(),
             [of, listed = listed_](std::size_t row, std::size_t column) { return of.cell(listed[row], column); });
  following_ = false;
  QColor tint = theme::of(palette()).lost;
  tint.setAlphaF(0.22F);
  if (result)
    rows().set_background([result, listed = listed_, brush = QVariant(QBrush(tint))](std::size_t row) {
      return result->steps[listed[row]].skipped ? brush : QVariant();
    });
  QString note = shown_text(state().doc().title_of(state().front()).toStdString());
  if (!state().front().failure.isEmpty())
    note += ": " + state().front().failure;
  else if (result)
    note += ": " + (which_->currentIndex() == all ? count_of_steps(listed_.size())
                                                  : tr("%1 of %2")
                                                        .arg(QString::fromStdString(grouped(listed_.size())),
                                                             count_of_steps(result->steps.size())));
  set_note(note);
  for (int c = 0; c < rows().columnCount(); ++c) grid().setColumnWidth(c, c < 5 ? 84 : 132);
}

std::optional<int> steps_view::row_at_cursor() const {
  const auto result = state().front().result;
  if (!result) return std::nullopt;
  const auto step_of = [&](std::size_t i) { return result->steps[i].step; };
  const auto at = std::ranges::lower_bound(listed_, state().cursor_step(), {}, step_of);
  if (at == listed_.end() || step_of(*at) != state().cursor_step()) return std::nullopt;
  return rows().shown_row(static_cast<std::size_t>(at - listed_.begin()));
}

void steps_view::follow_cursor() {
  const std::optional<int> row = row_at_cursor();
  if (row && grid().currentIndex().row() == *row) return;
  following_ = true;
  if (row) {
    grid().selectRow(*row);
    grid().scrollTo(rows().index(*row, 0), QAbstractItemView::PositionAtCenter);
  } else {
    grid().clearSelection();
    grid().setCurrentIndex({});
  }
  following_ = false;
}

void steps_view::refresh(view_state::parts what) {
  if (what.testAnyFlags(view_state::parts{view_state::run} | view_state::replays)) list();
  if (what.testAnyFlags(view_state::parts{view_state::run} | view_state::replays | view_state::cursor)) follow_cursor();
}

int steps_view::first_drawn(int room) const { return row_at_cursor().value_or(0) - room / 2; }

table steps_view::data() const {
  table none;
  none.columns = {{"step", "step"}};
  const auto run = state().shared_run();
  if (!state().front().result || !run) return none;
  return replayed_table(*run, state().front().spec, nobody());
}

QString steps_view::legend() const {
  return tr(
      "One row per step of the replay in front, exactly as drawn in the pictures. The marked row is the cursor; "
      "skipped steps are tinted. The critical scale, rounded down, is the largest at which the step does not overflow; ~ marks "
      "what the input does not decide. Click a header to sort, a third time for the order of the steps; Ctrl+C copies "
      "the selected rows. Exported numbers are those of ulp replay.");
}

}  // namespace ulp::gui
