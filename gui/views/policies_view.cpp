#include "policies_view.hpp"

#include <QHBoxLayout>
#include <QItemSelectionModel>
#include <QLabel>
#include <QPainter>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include <ulp/report/tables/regret_text.hpp>
#include <ulp/report/tables/sweep_table.hpp>

#include "viewmodel/shown_text.hpp"

namespace ulp::gui {
namespace {

struct metric_text {
  sweep_metric metric;
  const char* text;
};
constexpr std::array metrics{
    metric_text{sweep_metric::regret, QT_TRANSLATE_NOOP("ulp::gui::policies_view", "regret, in steps")},
    metric_text{sweep_metric::free_regret, QT_TRANSLATE_NOOP("ulp::gui::policies_view", "free regret, in steps")},
    metric_text{sweep_metric::skipped, QT_TRANSLATE_NOOP("ulp::gui::policies_view", "skipped steps")},
    metric_text{sweep_metric::underflow, QT_TRANSLATE_NOOP("ulp::gui::policies_view", "underflow, share of nonzero")},
    metric_text{sweep_metric::lost_magnitude,
                QT_TRANSLATE_NOOP("ulp::gui::policies_view", "lost magnitude, in steps")}};

// `base` with these values of its parameters in turn.
grid_text grid_around(scenario_text base, const policies_view::grid_of_values& values) {
  for (const auto& [name, list] : values) set_parameter(base, name, list);
  const std::vector<std::string> scalers{base.scaler};
  return {.base = std::move(base), .scalers = scalers};
}

bool knows_regret(const sweep_answer& of) {
  return std::ranges::any_of(of.policies, [](const swept_policy& p) { return p.result.regret.has_value(); });
}

// The columns of these titles to the left, in this order.
void move_titled(table& t, const std::vector<std::string>& titles) {
  std::vector<std::size_t> order;
  for (const std::string& title : titles)
    for (std::size_t c = 0; c < t.columns.size(); ++c)
      if (t.columns[c].title == title) order.push_back(c);
  for (std::size_t c = 0; c < t.columns.size(); ++c)
    if (std::ranges::find(order, c) == order.end()) order.push_back(c);
  const auto in_order = [&](const auto& all) {
    std::remove_cvref_t<decltype(all)> moved;
    for (const std::size_t c : order) moved.push_back(all[c]);
    return moved;
  };
  t.columns = in_order(t.columns);
  for (auto& row : t.rows) row = in_order(row);
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
      sweep_(new QPushButton(tr("&Sweep"), this)),
      metric_(new QComboBox(this)),
      map_(new policy_map(this)) {
  auto* const line = new QHBoxLayout;
  line->addWidget(new QLabel(tr("Values"), this));
  line->addWidget(values_, 1);
  line->addWidget(sweep_);
  line->addSpacing(12);
  line->addWidget(new QLabel(tr("Colour"), this));
  line->addWidget(metric_);
  box().insertLayout(0, line);
  box().insertWidget(box().count() - 1, map_);
  let_sort();
  values_->setPlaceholderText(tr("parameter=value,value,... parameter=value,..."));
  values_->setAccessibleName(tr("Values of the parameters to try"));
  values_->setMinimumWidth(80);
  for (const metric_text& m : metrics) metric_->addItem(tr(m.text), static_cast<int>(m.metric));
  metric_->setAccessibleName(tr("What the colours of the map tell"));
  metric_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  map_->hide();
  connect(sweep_, &QPushButton::clicked, this, &policies_view::start);
  connect(values_, &QLineEdit::returnPressed, this, &policies_view::start);
  connect(metric_, &QComboBox::currentIndexChanged, this,
          [this] { map_->set_metric(static_cast<sweep_metric>(metric_->currentData().toInt())); });
  connect(&work_, &background::progressed, this,
          [this](double share) { set_note(tr("Replaying the grid: %1 %").arg(100 * share, 0, 'f', 0)); });
  connect(&work_, &background::failed, this, [this](const QString& why) {
    running_.reset();
    set_note(why);
  });
  connect(map_, &policy_map::chosen, this, [this](std::size_t policy) { grid().selectRow(rows().shown_row(policy)); });
  connect(map_, &policy_map::activated, this, &policies_view::add_replay);
  connect(grid().selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& index) {
    map_->set_chosen(index.isValid() ? std::optional(rows().set_row(index.row())) : std::nullopt);
  });
  connect(&grid(), &QTableView::activated, this,
          [this](const QModelIndex& index) { add_replay(rows().set_row(index.row())); });
}

void policies_view::add_replay(std::size_t policy) {
  state().doc().add_replay(results_.policies[policy].text, state().front().run);
}

policies_view::swept_around policies_view::around_front(grid_of_values values) const {
  const loaded_run* const run = state().current_run();
  scenario_text base = grid_around(state().front().spec, values).base;
  return {run == nullptr ? 0 : run->id, std::move(values), std::move(base), state().doc().title_of(state().front())};
}

bool policies_view::is_of_another(const swept_around& sweep) const {
  const swept_around now = around_front(sweep.values);
  return now.run != sweep.run || now.base != sweep.base;
}

// From their beginning, where the field is too short for them.
void policies_view::show_values(const QString& values) {
  values_->setText(values);
  values_->setCursorPosition(0);
}

void policies_view::refresh(view_state::parts what) {
  if (running_ && is_of_another(*running_)) {
    work_.cancel();
    running_.reset();
  }
  const std::uint64_t run = state().current_run() == nullptr ? 0 : state().current_run()->id;
  if (!results_.policies.empty() && of_.run != run) {
    of_ = {};
    results_ = {};
  }
  if (values_->text().isEmpty() || what.testFlag(view_state::replays))
    if (const scaler_entry* const entry = find_scaler(state().front().spec.scaler);
        entry != nullptr && !values_->isModified())
      show_values(usual_values(*entry));
  if (what.testAnyFlags(view_state::parts{view_state::run} | view_state::replays)) show_results();
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
  auto values = typed();
  if (!values) return;
  const grid_text grid = grid_around(state().front().spec, *values);
  running_ = around_front(std::move(*values));
  work_.start([this, run = state().shared_run(), grid, of = *running_](listener& to) -> std::function<void()> {
    return [this, of, results = swept_over(*run, grid, to)] { take(of, results); };
  });
}

void policies_view::take(swept_around of, sweep_answer results) {
  running_.reset();
  of_ = std::move(of);
  results_ = std::move(results);
  // Without regrets their map would be empty.
  if (!knows_regret(results_) && metric_->currentIndex() < metric_->findData(static_cast<int>(sweep_metric::skipped)))
    metric_->setCurrentIndex(metric_->findData(static_cast<int>(sweep_metric::skipped)));
  show_results();
}

void policies_view::catch_up_now() {
  catch_up();
  // Without a window nobody presses the button.
  if (isVisible() || !results_.policies.empty()) return;
  if (const QString why = why_no_steps(); !why.isEmpty()) return set_note(why);
  if (const auto values = typed())
    take(around_front(*values),
         swept_over(*state().current_run(), grid_around(state().front().spec, *values), nobody()));
}

table policies_view::data() const { return sweep_table(results_.policies, results_.steps); }

void policies_view::show_results() {
  stale_ = !results_.policies.empty() && is_of_another(of_);
  // What is the same in all rows is told by the replay; regret and what it consists of come first.
  table t = data();
  for (const char* const key : {"scaler", "format", "rounding"})
    for (std::size_t c = 0; c < t.columns.size(); ++c)
      if (t.columns[c].key == key &&
          std::ranges::all_of(t.rows, [&](const auto& row) { return to_cell(row[c]) == to_cell(t.rows.front()[c]); }))
        t.columns[c].title.clear();
  for (std::size_t c = 0; c < t.columns.size(); ++c)
    if ((t.columns[c].key == "why_no_regret" && !why_no_regret().isEmpty()) ||
        std::ranges::all_of(t.rows, [&](const auto& row) { return to_cell(row[c]) == "-" || to_cell(row[c]).empty(); }))
      t.columns[c].title.clear();
  move_titled(t, {"rank", "best", "set", "regret", "free regret", "skipped"});
  rows().set(t);
  fit_columns();
  map_->show_sweep(results_.policies);
  map_->set_stale(stale_);
  QPalette p = palette();
  if (stale_) p.setColor(QPalette::Text, theme::of(p).faint);
  grid().setPalette(p);
  if (running_) return;
  say();
}

// That of all rows, where they have one alone.
QString policies_view::why_no_regret() const {
  if (results_.policies.empty()) return {};
  const std::string& why = results_.policies.front().result.why_no_regret;
  return std::ranges::all_of(results_.policies, [&](const swept_policy& p) { return p.result.why_no_regret == why; })
             ? shown_text(why)
             : QString();
}

void policies_view::say() {
  if (results_.policies.empty()) {
    const QString why = why_no_steps();
    return set_note(!why.isEmpty() ? why
                                   : tr("Press Sweep, or Enter in the field, to replay every combination of these "
                                        "values with the policy in front."));
  }
  if (stale_)
    return set_note(
        tr("This sweep is of %1, which is no longer in front as it was. Press Sweep for the replay in front.")
            .arg(shown_text(of_.title.toStdString())));
  QString note;
  // Of equal ones the least doubtful, then the first.
  const auto regret = [](const swept_policy& p) {
    const value_range bounds = p.result.regret->regret_bounds();
    return std::pair{p.result.regret->regret(),
                     std::isnan(bounds.high) ? std::numeric_limits<double>::max() : bounds.high};
  };
  const swept_policy* best = nullptr;
  for (const swept_policy& p : results_.policies)
    if (p.result.regret && (best == nullptr || regret(p) < regret(*best))) best = &p;
  if (best != nullptr) {
    const std::string text = regret_text(best->result);
    const auto alike = std::ranges::count_if(
        results_.policies, [&](const swept_policy& p) { return p.result.regret && regret_text(p.result) == text; });
    note = tr("Least regret: %1 with %2").arg(QString::fromStdString(text), shown_text(parameters_text(best->text)));
    note += (alike > 1 ? tr(", and as little with %1 others").arg(alike - 1) : QString()) + ". ";
  }
  note += tr("%1 policies. First come those with a star, which no other beats in both skipped steps and underflow; "
             "among them, and among the rest, the order is by skipped steps, then underflow.")
              .arg(results_.policies.size());
  if (const QString why = why_no_regret(); !why.isEmpty())
    note += tr(" Regret is not known: %1.").arg(why);
  else if (!knows_regret(results_))
    note += tr(" Regret is not known of any; the last column says why.");
  for (const std::string& line : best_lines(results_.policies)) {
    const QString text = QString::fromStdString(line);
    note += "\n" + text.left(1).toUpper() + text.mid(1);
  }
  set_note(note, tr("Double-click a row or a cell, or press Enter, to add it to the replays."));
}

void policies_view::draw(QPainter& to, const QRectF& room, const theme& colours) {
  theme ink = colours;
  if (stale_) ink.text = ink.faint;
  const double most = room.height() / 2;
  if (map_->map().cells.empty() || most < map_->sizeHint().height()) return rows_view::draw(to, room, ink);
  const double height = std::min<double>(most, 1.6 * map_->sizeHint().height());
  to.setPen(colours.faint);
  to.drawText(QRectF(room.left(), room.top(), room.width(), 18), Qt::AlignRight, metric_->currentText());
  map_->draw(to, QRectF(room.left(), room.top(), room.width(), height), colours);
  rows_view::draw(to, room.adjusted(0, height + 12, 0, 0), ink);
}

QString policies_view::legend() const {
  return tr(
      "Each row, and each cell of the map, is the policy in front, replayed with other parameters. Skipped steps cost "
      "training time, underflow "
      "costs gradients. No other row beats a starred one in both. Regret is what the policy cost above the best "
      "trajectory of loss scales in hindsight, in skipped steps; a step that loses its whole magnitude costs as much "
      "as a skip. The best starts where the policy does and moves no further in a step; the free one starts and moves "
      "as it likes. Ranges may reach further than the estimate (~), by which rows are ordered and cells are coloured. "
      "In a map of more than two parameters the best-ranked policy of a cell is shown. Double-click a row "
      "or a cell, or press Enter, to add it to the replays.");
}

}  // namespace ulp::gui
