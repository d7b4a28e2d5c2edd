#include "clipping_view.hpp"

#include <algorithm>
#include <cmath>

#include "charts/chart.hpp"
#include "step_view.hpp"

namespace ulp::gui {

clipping_view::clipping_view(view_state& state, QWidget* parent)
    : chart_view(state, "clipping", tr("Clipping"), tr("How often does clipping trigger, and by how much?"), parent),
      rate_(new QLabel(this)) {
  controls().addWidget(rate_);
  controls().addStretch();
  link_steps();
}

QString clipping_view::fill(const theme& colours) {
  if (state().current_run() == nullptr) return why_empty();
  const replay_entry& front = state().front();
  if (!front.failure.isEmpty()) return front.failure;
  if (!front.result) return tr("Replaying ...");
  const auto shown = state().shown();
  const stepped_line norms =
      stepped(front.result->steps, shown, std::max(200, plot().width()),
              [](const replay_step& s) { return s.norm > 0 && std::isfinite(s.norm) ? std::log2(s.norm) : not_known; });
  double low = INFINITY;
  double high = -INFINITY;
  chart_line line{tr("L2 norm of the unscaled gradients"), QPen(colours.line(1).color(), 1.5), {}};
  for (std::size_t i = 0; i < norms.values.size(); ++i) {
    line.points.emplace_back((norms.edges[i] + norms.edges[i + 1]) / 2, norms.values[i]);
    if (!std::isfinite(norms.values[i])) continue;
    low = std::min(low, norms.values[i]);
    high = std::max(high, norms.values[i]);
  }
  if (!(low <= high)) return tr("The input does not tell the norm of any of these steps.");
  std::vector<chart_line> lines{line};
  const scenario s = scenario_of(front.spec);
  const trajectory_summary& sum = front.result->summary;
  if (s.clip_norm || s.clip_value) {
    const double bound = std::log2(s.clip_norm ? s.clip_norm->max_norm : s.clip_value->max_value);
    low = std::min(low, bound);
    high = std::max(high, bound);
    lines.push_back({s.clip_norm ? tr("clipped to this norm") : tr("each value clipped to this"),
                     colours.line(0, 2),
                     {{static_cast<double>(shown.first), bound}, {static_cast<double>(shown.last + 1), bound}}});
    rate_->setText(tr("clipping triggers in %1 of %2 steps%3")
                       .arg(sum.clipped)
                       .arg(sum.steps)
                       .arg(sum.clipping_unknown > 0 ? tr(", not known of %1").arg(sum.clipping_unknown) : QString()));
  } else {
    rate_->setText(tr("no clipping: set a norm or a value at the left to see how often it would trigger"));
  }
  low = std::floor(low) - 1;
  high = std::ceil(high) + 1;
  plot().set_axes(tr("step"), static_cast<double>(shown.first), static_cast<double>(shown.last + 1), tr("norm"), low,
                  high, "%.0f", "2^%.0f");
  lines.push_back(cursor_line(colours, low, high));
  plot().show({}, {}, lines);
  return {};
}

table clipping_view::data() const {
  table t;
  t.columns = {{"step", "step"}, {"norm", "norm"}, {"clip_coefficient", "coefficient"}, {"clipped", "clipped"}};
  if (const auto result = state().front().result)
    for (const replay_step& s : result->steps) t.rows.push_back({s.step, s.norm, s.clip_coefficient, s.clipped});
  return t;
}

}  // namespace ulp::gui
