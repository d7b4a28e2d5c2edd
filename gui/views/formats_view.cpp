#include "formats_view.hpp"

#include <QHBoxLayout>
#include <utility>

#include <ulp/report/format_matrix.hpp>

namespace ulp::gui {
namespace {

constexpr double epsilon = 1e-3;

}  // namespace

formats_view::formats_view(view_state& state, QWidget* parent)
    : rows_view(state, "formats", tr("Formats"), tr("Which format suffices, and at which static scale?"), parent),
      each_(make_toggle(tr("Each &tensor"), this)) {
  each_->setToolTip(tr("The static scales that suffice, for each selected tensor and format"));
  auto* const line = new QHBoxLayout;
  line->addWidget(each_);
  line->addStretch();
  box().insertLayout(0, line);
  connect(each_, &QPushButton::toggled, this, [this] { refresh(view_state::tensors); });
}

void formats_view::take(table t) {
  table_ = std::move(t);
  rows().set(table_);
  grid().resizeColumnsToContents();
  const QString why = why_empty();
  set_note(!why.isEmpty() ? why
                          : tr("Over all steps, of the selected tensors. A static scale suffices if at most %1 % of "
                               "the nonzero values underflow and none overflow in any step.")
                                .arg(100 * epsilon));
}

std::function<table(const background::report&)> formats_view::asked() const {
  if (each_->isChecked())
    return [run = state().shared_run(), shown = state().selected()](const background::report& told) {
      return tensor_format_matrix(run->picture, run->tensors, shown, epsilon, told);
    };
  return [run = state().shared_run(), shown = state().selected(), scale = state().scale_at(state().cursor_step())](
             const background::report& told) { return format_matrix(run->picture, shown, scale, epsilon, told); };
}

void formats_view::refresh(view_state::parts what) {
  if (!why_empty().isEmpty()) {
    work_.cancel();
    return take({});
  }
  // The scales that do depend on the tensors alone.
  if (each_->isChecked() && !what.testAnyFlags(view_state::parts{view_state::run} | view_state::tensors)) return;
  if (!what.testAnyFlags(view_state::parts{view_state::run} | view_state::replays | view_state::tensors |
                         view_state::scale | view_state::cursor))
    return;
  work_.start([this, ask = asked()](const background::report& told) -> std::function<void()> {
    return [this, t = ask(told)] { take(t); };
  });
}

void formats_view::catch_up_now() {
  catch_up();
  work_.cancel();
  if (why_empty().isEmpty()) take(asked()([](double) {}));
}

QString formats_view::legend() const {
  return tr(
      "What each format makes of the nonzero gradients of all steps, without a loss scale and at the cursor's, and the "
      "static scales at which hardly any underflow and none overflow.");
}

}  // namespace ulp::gui
