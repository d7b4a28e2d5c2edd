#include "policies_view.hpp"

#include <QHBoxLayout>
#include <QLabel>
#include <algorithm>
#include <ulp/report/estimates.hpp>
#include <ulp/report/regret_text.hpp>

namespace ulp::gui {
namespace {

QString underflow_text(const sweep_result& r) {
  if (!r.has_counts || r.nonzero == 0) return {};
  const auto text = [&](std::uint64_t n) {
    return QString::number(100 * static_cast<double>(n) / static_cast<double>(r.nonzero), 'g', 3);
  };
  return r.underflow.exact() ? text(r.underflow.low) + " %"
                             : QStringLiteral("%1 to %2 %").arg(text(r.underflow.low), text(r.underflow.high));
}

// `base` with these values of its parameters in turn.
grid_text grid_around(scenario_text base, const policies_view::grid_of_values& values) {
  for (const auto& [name, list] : values) set_parameter(base, name, list);
  const std::vector<std::string> scalers{base.scaler};
  return {.base = std::move(base), .scalers = scalers};
}

// The parameters that start and grow the scale, where the policy has them.
QString usual_values(const scaler_entry& entry) {
  QStringList parts;
  for (const scaler_parameter& p : entry.parameters) {
    const QString name = QString::fromStdString(p.name);
    if (name.contains("init") || name == "loss_scale" || name == "scale") {
      if (parts.isEmpty()) parts << name + "=256,4096,65536,1048576";
    } else if (name.contains("interval") || name.contains("window") || name.contains("every_n") ||
               name.contains("growth_steps") || name.contains("steps_per") || name == "period") {
      if (parts.size() < 2) parts << name + "=50,200,1000,2000";
    }
  }
  return parts.join(' ');
}

}  // namespace

policies_view::policies_view(view_state& state, QWidget* parent)
    : rows_view(state, "policies", tr("Policies"), tr("Which parameters of the policy would have done best?"), parent),
      values_(new QLineEdit(this)),
      sweep_(new QPushButton(tr("&Sweep"), this)) {
  auto* const line = new QHBoxLayout;
  line->addWidget(new QLabel(tr("Values"), this));
  line->addWidget(values_, 1);
  line->addWidget(sweep_);
  box().insertLayout(0, line);
  values_->setPlaceholderText(tr("parameter=value,value,... parameter=value,..."));
  values_->setAccessibleName(tr("Values of the parameters to try"));
  connect(sweep_, &QPushButton::clicked, this, &policies_view::start);
  connect(values_, &QLineEdit::returnPressed, this, &policies_view::start);
  connect(&work_, &background::progressed, this,
          [this](double share) { set_note(tr("Replaying the grid: %1 %").arg(100 * share, 0, 'f', 0)); });
  connect(&work_, &background::failed, this, [this](const QString& why) { set_note(why); });
  connect(&grid(), &QTableView::activated, this, [this](const QModelIndex& index) {
    this->state().doc().add_replay(results_[static_cast<std::size_t>(index.row())].text, this->state().front().run);
  });
}

void policies_view::refresh(view_state::parts what) {
  const std::uint64_t run = state().current_run() == nullptr ? 0 : state().current_run()->id;
  const bool another = run != run_;
  if (another) {
    run_ = run;
    work_.cancel();
    results_.clear();
    show_results();
  }
  if (values_->text().isEmpty() || what.testFlag(view_state::replays))
    if (const scaler_entry* const entry = find_scaler(state().front().spec.scaler);
        entry != nullptr && !values_->isModified())
      values_->setText(usual_values(*entry));
  if (!another) return;
  const QString why = why_no_steps();
  set_note(!why.isEmpty() ? why
                          : tr("Every combination of the values is replayed with the policy in front. The best come "
                               "first; double-click one to add it to the replays."));
}

std::optional<policies_view::grid_of_values> policies_view::typed() {
  grid_of_values values;
  const auto refuse = [&](const QString& why) {
    set_note(why);
    return std::nullopt;
  };
  for (const QString& part : values_->text().split(' ', Qt::SkipEmptyParts)) {
    const auto at = part.indexOf('=');
    if (at <= 0) return refuse(tr("'%1' is not parameter=value,value").arg(part));
    const QString list = part.mid(at + 1).split(',', Qt::SkipEmptyParts).join(',');
    if (list.isEmpty()) return refuse(tr("'%1' has no values").arg(part));
    values.emplace_back(part.left(at).toStdString(), list.toStdString());
  }
  return values;
}

void policies_view::start() {
  if (const QString why = why_no_steps(); !why.isEmpty()) return set_note(why);
  const auto values = typed();
  if (!values) return;
  work_.start([this, run = state().shared_run(), base = state().front().spec,
               values = *values](const background::report& told) -> std::function<void()> {
    return [this, results = swept_over(run->text, grid_around(base, values), told)] {
      results_ = results;
      show_results();
    };
  });
}

void policies_view::catch_up_now() {
  catch_up();
  // Without a window nobody presses the button.
  if (isVisible() || !results_.empty()) return;
  if (const QString why = why_no_steps(); !why.isEmpty()) return set_note(why);
  if (const auto values = typed())
    results_ = swept_over(state().current_run()->text, grid_around(state().front().spec, *values), [](double) {});
  show_results();
}

table policies_view::data() const {
  table t;
  t.columns = {{"policy", "policy"},
               {"skipped", "skipped"},
               {"underflow", "underflow", alignment::right},
               {"regret", "regret", alignment::right},
               {"free_regret", "free regret", alignment::right},
               {"mean_scale", "mean scale", alignment::right},
               {"last_scale", "scale at the end", alignment::right},
               {"pareto", "on the front"}};
  const bool some_without =
      std::ranges::any_of(results_, [](const swept_policy& p) { return !p.result.why_no_regret.empty(); });
  if (some_without) t.columns.push_back({"why_no_regret", "why no regret"});
  for (const swept_policy& p : results_) {
    const std::string skips = skipped_text(p.result.skipped, p.result.uncertain, p.result.bounds);
    t.rows.push_back({parameters_text(p.text),
                      skips.starts_with('~') ? table_value{skips} : static_cast<std::int64_t>(p.result.skipped),
                      underflow_text(p.result).toStdString(), regret_text(p.result), free_regret_text(p.result),
                      power_text(p.result.mean_log2_scale), as_power(p.result.last_scale),
                      std::string{p.on_front ? "yes" : ""}});
    if (some_without) t.rows.back().push_back(p.result.why_no_regret);
  }
  return t;
}

void policies_view::show_results() {
  rows().set(data());
  grid().resizeColumnsToContents();
  if (results_.empty()) return;
  QString note =
      tr("%1 policies; those on the front are Pareto-optimal in skipped steps and underflow. Double-click one "
         "to add it to the replays.")
          .arg(results_.size());
  for (const std::string& line : best_lines(results_)) note += "\n" + QString::fromStdString(line);
  set_note(note);
}

QString policies_view::legend() const {
  return tr(
      "Each row is the policy in front, replayed with other parameters. Skipped steps cost training time, underflow "
      "costs gradients. No other row beats a row on the front in both. Regret is what the policy cost above the best "
      "trajectory of loss scales in hindsight, in skipped steps; a step that loses its whole magnitude costs as much "
      "as a skip. The best starts where the policy does and moves no further in a step; the free one starts and moves "
      "as it likes.");
}

}  // namespace ulp::gui
