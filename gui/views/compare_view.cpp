#include "compare_view.hpp"

#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <utility>

#include <ulp/report/tables/compare_summary.hpp>

#include "charts/chart.hpp"
#include "stepped.hpp"
#include "viewmodel/shown_text.hpp"

namespace ulp::gui {

compare_view::compare_view(view_state& state, QWidget* parent)
    : chart_view(state, "compare", tr("Compare"), tr("In which step and tensor do two runs part?"), parent),
      align_(new QComboBox(this)),
      told_(new QLabel(this)) {
  align_->addItems({tr("steps of one number"), tr("steps of one loss")});
  align_->setObjectName("align");
  align_->setAccessibleName(tr("Which steps are compared"));
  align_->setToolTip(tr("Of one loss: for runs that advance at different speeds, as ulp compare --align loss"));
  told_->setWordWrap(true);
  told_->setTextFormat(Qt::PlainText);
  controls().addWidget(new QLabel(tr("Compared are"), this));
  controls().addWidget(align_);
  controls().addStretch();
  static_cast<QVBoxLayout*>(layout())->insertWidget(1, told_);
  connect(align_, &QComboBox::currentIndexChanged, this, [this] { compare_view::refresh(view_state::run); });
  connect(&work_, &background::failed, this, &compare_view::tell);
  link_steps();
  plot().set_tip([this](double x, double) { return told_of(static_cast<std::int64_t>(std::floor(x))); });
}

compare_view::pair_of_runs compare_view::runs() const {
  const auto& all = state().doc().runs();
  if (all.size() < 2) return {};
  const auto& front = state().shared_run();
  return {all.front(), front && front != all.front() ? front : all[1]};
}

QString compare_view::why_not() const {
  const auto [a, b] = runs();
  if (!a) return tr("One run is open. Open another beside it (Ctrl+Shift+O, or --compare) to compare them.");
  for (const auto& run : {a, b})
    if (run->text.inputs.size() > 1)
      return tr("%1 and other files are one run: compare takes runs of one file, such as recordings.")
          .arg(shown_text(run->text.inputs.front()));
  return {};
}

bool compare_view::is_by_loss() const { return align_->currentIndex() == 1; }

QString compare_view::shown_under() const {
  const auto [a, b] = runs();
  return a ? tr("beside %1").arg(shown_text(b->text.inputs.front())) : QString();
}

void compare_view::tell(const QString& why) {
  told_->setText(why);
  chart_view::refresh({});
}

void compare_view::take(compare_answer found) {
  found_ = std::move(found);
  QStringList lines;
  for (const std::string& line : first_of(*found_)) lines << shown_text(line);
  tell(with_whole_ranges(lines.join('\n')));
}

void compare_view::start() {
  compared_ = runs();
  compared_by_ = align_->currentIndex();
  found_.reset();
  told_->setText(tr("Comparing ..."));
  const auto [a, b] = compared_;
  work_.start(
      [this, a = a->text, b = b->text.inputs.front(), by_loss = is_by_loss()](listener& to) -> std::function<void()> {
        return [this, found = comparison_of(a, b, by_loss, to)] { take(found); };
      });
}

void compare_view::refresh(view_state::parts what) {
  if (!why_not().isEmpty()) {
    work_.cancel();
    compared_ = {};
    found_.reset();
    told_->clear();
  } else if (compared_ != runs() || compared_by_ != align_->currentIndex()) {
    start();
  }
  chart_view::refresh(what);
}

void compare_view::catch_up_now() {
  catch_up();
  if (!why_not().isEmpty() || found_) return;
  work_.cancel();
  try {
    const auto [a, b] = runs();
    take(comparison_of(a->text, b->text.inputs.front(), is_by_loss(), nobody()));
  } catch (const std::exception& problem) {
    tell(shown_text(problem.what()));
  }
}

table compare_view::data() const { return found_ ? compare_table(*found_) : table{}; }

QString compare_view::fill(const theme& colours) {
  if (const QString why = why_not(); !why.isEmpty()) return why;
  if (!found_) return tr("The losses are drawn once the runs are compared.");
  std::vector<chart_line> lines;
  extremes seen;
  std::size_t index = 0;
  for (const auto& [name, run] : {std::pair{tr("A: %1"), &found_->a}, std::pair{tr("B: %1"), &found_->b}}) {
    const std::vector<step_loss>& losses = run->losses;
    const auto loss_of = [&](std::size_t i) { return losses[i].loss; };
    const stepped_line line = stepped(
        losses.size(), [&](std::size_t i) { return losses[i].step; }, series_extremes(losses.size(), loss_of),
        state().shown(), fineness(), loss_of);
    seen.merge(line.range());
    lines.push_back({name.arg(shown_text(run->name)), colours.line(index++), points_of(line), line.is_noise()});
  }
  if (!(seen.least <= seen.greatest)) return tr("No loss of these steps is known.");
  const double room = seen.least < seen.greatest ? 0.05 * (seen.greatest - seen.least) : 1;
  const double low = seen.least - room;
  const double high = seen.greatest + room;
  const double unit = std::pow(10, std::floor(std::log10(high - low)) - 1);
  if (const auto mark = mark_of(*found_)) {
    const auto at = [&](std::int64_t step, const QString& name, Qt::PenStyle style) {
      const double x = static_cast<double>(step) + 0.5;
      lines.push_back({name, QPen(colours.overflow, 2, style), {{x, low}, {x, high}}});
    };
    if (mark->a == mark->b) {
      at(mark->a, tr("step %1: %2").arg(mark->a).arg(shown_text(mark->what)), Qt::SolidLine);
    } else {
      at(mark->a, tr("step %1 of A: %2").arg(mark->a).arg(shown_text(mark->what)), Qt::SolidLine);
      at(mark->b, tr("step %1 of B, the same loss").arg(mark->b), Qt::DashLine);
    }
  }
  lines.push_back(cursor_line(colours, low, high));
  plot().set_axes(steps_axis(tr("step")),
                  {.title = tr("loss"), .low = low, .high = high, .format = "%g", .unit = unit});
  plot().show({.lines = std::move(lines)});
  return {};
}

QString compare_view::told_of(std::int64_t step) const {
  if (!found_) return {};
  QStringList lines;
  for (const auto& [name, run] :
       {std::pair{QStringLiteral("A"), &found_->a}, std::pair{QStringLiteral("B"), &found_->b}}) {
    const auto at = std::ranges::lower_bound(run->losses, step, {}, &step_loss::step);
    if (at != run->losses.end() && at->step == step)
      lines << tr("%1, step %2: loss %3").arg(name).arg(step).arg(at->loss, 0, 'g', 6);
  }
  return lines.join('\n');
}

QString compare_view::legend() const {
  return tr(
      "The losses of the first run and of the one in front, or the second, and the first step in which they differ by more "
      "than rounding or another order of sums explains, as ulp compare finds it; the sentences above say by how much and "
      "what that looks like. Steps of one loss are for runs that advance at different speeds: there sizes of gradients are "
      "held against what their ratio usually is, and the mark is at a step of each run. .csv and .json hold a row for each "
      "tensor.");
}

}  // namespace ulp::gui
