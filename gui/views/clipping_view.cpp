#include "clipping_view.hpp"

#include <algorithm>
#include <cmath>

#include "charts/chart.hpp"
#include "stepped.hpp"

namespace ulp::gui {

clipping_view::clipping_view(view_state& state, QWidget* parent)
    : chart_view(state, "clipping", tr("Clipping"), tr("How often does clipping trigger, and by how much?"), parent),
      rate_(new QLabel(this)) {
  controls().addWidget(rate_);
  controls().addStretch();
  link_steps();
}

void clipping_view::refresh(view_state::parts what) {
  if (what != view_state::parts{view_state::scale}) chart_view::refresh(what);
}

QString clipping_view::fill(const theme& colours) {
  rate_->clear();
  if (const QString why = why_no_steps(); !why.isEmpty()) return why;
  const replay_entry& front = state().front();
  if (!front.failure.isEmpty()) return front.failure;
  if (!front.result) return tr("Replaying ...");
  const auto shown = state().shown();
  const stepped_line norms = stepped(front.result->steps, front.result->norms, shown, fineness(), log2_norm);
  double low = norms.range().least;
  double high = norms.range().greatest;
  const chart_line line{tr("L2 norm of the unscaled gradients"), QPen(colours.line(1).color(), 1.5), points_of(norms),
                        norms.is_noise()};
  if (!(low <= high)) return tr("None of these steps has a known, finite, positive norm.");
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
    QString rate = tr("clipping triggers in %1 of %2 steps%3")
                       .arg(sum.clipped)
                       .arg(sum.steps)
                       .arg(sum.clipping_unknown > 0 ? tr(", not known of %1").arg(sum.clipping_unknown) : QString());
    if (const auto& n = front.result->clamped)
      rate += n->exact() ? tr("; %1 values are clamped").arg(n->low)
                         : tr("; %1 to %2 values are clamped").arg(n->low).arg(n->high);
    rate_->setText(rate);
  } else {
    rate_->setText(tr("no clipping: set a norm or a value at the left to see how often it would trigger"));
  }
  low = std::floor(low) - 1;
  high = std::ceil(high) + 1;
  plot().set_axes(tr("step (ticks at the bottom: clipped)"), static_cast<double>(shown.first),
                  static_cast<double>(shown.last + 1), tr("norm"), low, high, "%.0f", "2^%.0f");
  lines.push_back(cursor_line(colours, low, high));
  plot().show({}, {}, lines, {}, {ticks(front.result->clipped, colours.line(0).color())});
  return {};
}

table clipping_view::data() const {
  table t;
  t.columns = {{"step", "step"}, {"norm", "norm"}, {"clip_coefficient", "coefficient"}, {"clipped", "clipped"}};
  if (const auto result = state().front().result)
    for (const replay_step& s : result->steps) t.rows.push_back({s.step, s.norm, s.clip_coefficient, s.clipped});
  return t;
}

QString clipping_view::legend() const {
  return tr(
      "The L2 norm of the unscaled gradients at each step, and the bound. Ticks at the bottom are the steps in which "
      "clipping triggers.");
}

}  // namespace ulp::gui
