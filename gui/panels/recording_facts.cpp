#include "recording_facts.hpp"

#include <QFileInfo>
#include <QFormLayout>

#include <ulp/report/tables/table.hpp>

#include "viewmodel/shown_text.hpp"

namespace ulp::gui {
namespace {

QString factor_of(const loaded_run& run) {
  if (!run.text.factor.empty())
    return run.text.factor == "scale" ? QObject::tr("logged scale") : shown_text(run.text.factor);
  return run.as_recorded ? QObject::tr("not known") : QObject::tr("recorded");
}

// A name has no place to be broken at.
QString shortened(const QString& name) {
  constexpr qsizetype most = 28;
  return name.size() <= most ? name : name.left(most / 2 - 2) + "..." + name.right(most / 2 - 1);
}

}  // namespace

recording_facts::recording_facts(view_state& state, QWidget* parent)
    : QWidget(parent),
      state_(state),
      steps_(new QLabel(this)),
      tensors_(new QLabel(this)),
      factor_(new QLabel(this)),
      checked_(new QLabel(this)),
      file_(new QLabel(this)) {
  auto* const form = new QFormLayout(this);
  form->setContentsMargins(0, 0, 0, 0);
  const auto add = [&](const QString& name, QLabel* value) {
    value->setTextFormat(Qt::PlainText);
    value->setWordWrap(true);
    value->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    value->setAccessibleName(name);
    form->addRow(name, value);
  };
  add(tr("steps"), steps_);
  add(tr("tensors"), tensors_);
  add(tr("factor"), factor_);
  add(tr("checked"), checked_);
  add(tr("file"), file_);
  connect(&state_, &view_state::changed, this, [this](view_state::parts what) {
    if (what.testAnyFlags(view_state::parts{view_state::run} | view_state::replays)) refresh();
  });
  refresh();
}

void recording_facts::refresh() {
  const loaded_run* const run = state_.current_run();
  if (run == nullptr) {
    for (QLabel* const label : {steps_, tensors_, factor_, checked_, file_}) label->setText("-");
    return;
  }
  const auto& steps = run->picture.steps();
  steps_->setText(steps.empty() ? QStringLiteral("0")
                                : tr("%1: %2 to %3")
                                      .arg(QString::fromStdString(grouped(steps.size())))
                                      .arg(steps.front().key.step)
                                      .arg(steps.back().key.step));
  tensors_->setText(QString::fromStdString(grouped(run->tensors.size())));
  factor_->setText(factor_of(*run));
  const auto result = state_.front().result;
  checked_->setText(result ? shown_text(result->checked) : QStringLiteral("-"));
  const QString path = shown_text(run->text.inputs.front());
  const auto more = run->text.inputs.size() - 1;
  file_->setText(shortened(QFileInfo(path).fileName()) + (more > 0 ? tr(" and %1 more").arg(more) : QString()));
  file_->setToolTip(tip_of(path + "\n" + shown_text(run->description)));
}

}  // namespace ulp::gui
