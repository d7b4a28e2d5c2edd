#include "scale_view.hpp"

#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "charts/chart.hpp"
#include "step_view.hpp"

namespace ulp::gui {
namespace {

double log2_or_gap(double scale) { return scale > 0 && std::isfinite(scale) ? std::log2(scale) : not_known; }

std::vector<QPointF> points_of(const stepped_line& line) {
  std::vector<QPointF> points;
  for (std::size_t i = 0; i < line.values.size(); ++i) {
    points.emplace_back(line.edges[i], line.values[i]);
    points.emplace_back(line.edges[i + 1], line.values[i]);
  }
  return points;
}

}  // namespace

scale_view::scale_view(view_state& state, QWidget* parent)
    : chart_view(state, "scale", tr("Scale"), tr("Where does the loss scale settle, and what would another policy do?"),
                 parent),
      difference_(new QPushButton(tr("&Difference to the first replay"), this)),
      critical_(new QPushButton(tr("&Critical scale"), this)) {
  // Outlines of check boxes are hardly seen in the dark.
  for (QPushButton* const button : {difference_, critical_}) button->setCheckable(true);
  critical_->setToolTip(tr("The largest scale at which the step does not overflow"));
  critical_->setChecked(true);
  controls().addWidget(difference_);
  controls().addWidget(critical_);
  controls().addStretch();
  for (QPushButton* const box : {difference_, critical_})
    connect(box, &QPushButton::toggled, this, [this] { refresh(view_state::replays); });
  link_steps();
  connect(&plot(), &chart::pointed, this, [this](QPoint global, double x, double) {
    const auto result = this->state().front().result;
    if (!result || result->steps.empty()) return;
    const auto at =
        std::ranges::upper_bound(result->steps, static_cast<std::int64_t>(std::floor(x)), {}, &replay_step::step);
    const replay_step& s = at == result->steps.begin() ? *at : *std::prev(at);
    QToolTip::showText(global, tr("step %1: scale %2%3, next %4")
                                   .arg(s.step)
                                   .arg(QString::fromStdString(as_power(s.scale_used)),
                                        s.skipped ? tr(" (skipped)") : QString(),
                                        QString::fromStdString(as_power(s.scale_next))));
  });
}

QString scale_view::fill(const theme& colours) {
  if (state().current_run() == nullptr) return why_empty();
  const auto& replays = state().doc().replays();
  const auto shown = state().shown();
  const double width = std::max(200, plot().width());
  const auto& first = replays.front().result;
  std::vector<chart_line> lines;
  std::vector<chart_line> skips;
  double low = INFINITY;
  double high = -INFINITY;
  const bool difference = difference_->isChecked() && first;
  for (std::size_t i = 0; i < replays.size(); ++i) {
    if (!replays[i].result) continue;
    std::size_t at = 0;
    const auto value = [&](const replay_step& s) {
      const double log2 = log2_or_gap(s.scale_used);
      if (!difference) return log2;
      while (at < first->steps.size() && first->steps[at].step < s.step) ++at;
      return at < first->steps.size() ? log2 - log2_or_gap(first->steps[at].scale_used) : not_known;
    };
    const stepped_line line = stepped(replays[i].result->steps, shown, width, value);
    for (const double v : line.values)
      if (std::isfinite(v)) {
        low = std::min(low, v);
        high = std::max(high, v);
      }
    lines.push_back({QString::fromStdString(name_of(replays[i].spec)), colours.line(i), points_of(line)});
  }
  if (lines.empty()) {
    for (const replay_entry& r : replays)
      if (!r.failure.isEmpty()) return r.failure;
    return tr("Replaying ...");
  }
  const auto& front = state().front().result;
  if (critical_->isChecked() && !difference && front) {
    const stepped_line line =
        stepped(front->steps, shown, width, [](const replay_step& s) { return log2_or_gap(s.critical_scale); });
    QPen pen(colours.faint, 1);
    lines.insert(lines.begin(), {tr("critical scale"), pen, points_of(line)});
    for (const double v : line.values)
      if (std::isfinite(v)) high = std::max(high, std::min(v, high + 12));
  }
  if (!(low <= high)) return tr("No scale of these steps is above zero and finite.");
  low = std::floor(low) - 1.5;
  high = std::ceil(high) + 1;
  plot().set_axes(tr("step (ticks at the foot: skipped)"), static_cast<double>(shown.first),
                  static_cast<double>(shown.last + 1),
                  difference ? tr("octaves above the first replay") : tr("loss scale"), low, high, "%.0f",
                  difference ? "%.0f" : "2^%.0f");
  for (std::size_t i = 0; i < replays.size(); ++i) {
    if (!replays[i].result) continue;
    // Ticks in one zigzag line along the foot, a row for each replay; one a pixel at most.
    chart_line ticks{{}, QPen(colours.line(i, 1).color(), 1), {}};
    const double foot = low + 0.15 * static_cast<double>(i);
    const double pixel = static_cast<double>(shown.last + 1 - shown.first) / width;
    double last = -INFINITY;
    for (const replay_step& s : replays[i].result->steps) {
      const double x = static_cast<double>(s.step) + 0.5;
      if (!s.skipped || s.step < shown.first || s.step > shown.last || x - last < pixel) continue;
      last = x;
      ticks.points.insert(ticks.points.end(), {{x, foot}, {x, foot + 0.5}, {x, foot}});
    }
    if (!ticks.points.empty()) skips.push_back(std::move(ticks));
  }
  lines.insert(lines.end(), skips.begin(), skips.end());
  lines.push_back(cursor_line(colours, low, high));
  plot().show({}, {}, lines);
  return {};
}

table scale_view::data() const {
  table t;
  t.columns = {{"replay", "replay"},         {"step", "step"},       {"scale_used", "scale"},
               {"scale_next", "next scale"}, {"skipped", "skipped"}, {"critical_scale", "critical"}};
  for (const replay_entry& r : state().doc().replays())
    if (r.result)
      for (const replay_step& s : r.result->steps)
        t.rows.push_back({name_of(r.spec), s.step, s.scale_used, s.scale_next, s.skipped, s.critical_scale});
  return t;
}

}  // namespace ulp::gui
