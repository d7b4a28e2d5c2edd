#include "scale_view.hpp"

#include <algorithm>
#include <cmath>

#include <ulp/report/tables/estimates.hpp>

#include "charts/chart.hpp"
#include "stepped.hpp"
#include "viewmodel/shown_text.hpp"

namespace ulp::gui {
namespace {

// "2^16", "3000", "1.414e+05".
QString text_of(double scale) {
  const QString power = QString::fromStdString(as_power(scale));
  return power.startsWith("2^") ? power : QString::number(scale, 'g', 4);
}

// Where it is not known for certain by estimate.
QString end_of(const drawn_replay& r) {
  const replay_step& last = r.steps.back();
  const bool known = last.certain && !(last.may_have_used.low < last.may_have_used.high);
  return QObject::tr("ends at %1%2").arg(known ? "" : "~", text_of(last.scale_next));
}

QString skips_of(const drawn_replay& r) {
  const trajectory_summary& s = r.summary;
  return s.skipped == 0 && s.uncertain == 0
             ? QObject::tr("none skipped")
             : QObject::tr("%1 skipped").arg(QString::fromStdString(skipped_text(s.skipped, s.uncertain, s.bounds)));
}

QString clamp_text(const drawn_replay& r) {
  QStringList parts;
  const auto part = [&](const QString& what, std::uint64_t steps) {
    if (steps > 0)
      parts << QObject::tr("%1 in %2 % of the steps")
                   .arg(what)
                   .arg(100 * static_cast<double>(steps) / static_cast<double>(r.steps.size()), 0, 'g', 3);
  };
  part(QObject::tr("at its floor"), r.at_floor);
  part(QObject::tr("at its ceiling"), r.at_ceiling);
  return parts.join(", ");
}

}  // namespace

scale_view::scale_view(view_state& state, QWidget* parent)
    : chart_view(state, "scale", tr("Scale"), tr("Where does the loss scale settle, and what would another policy do?"),
                 parent),
      difference_(make_toggle(tr("&Difference to the first replay"), this)),
      critical_(make_toggle(tr("&Critical scale"), this)),
      clamps_(new QLabel(this)) {
  critical_->setToolTip(tr("The largest scale at which the step does not overflow"));
  critical_->setChecked(true);
  controls().addWidget(difference_);
  controls().addWidget(critical_);
  controls().addWidget(clamps_);
  controls().addStretch();
  for (QPushButton* const box : {difference_, critical_})
    connect(box, &QPushButton::toggled, this, [this] { refresh(view_state::replays); });
  link_steps();
  plot().set_tip([this](double x, double) { return told_of(static_cast<std::int64_t>(std::floor(x))); });
}

QString scale_view::told_of(std::int64_t step) const {
  const auto& replays = state().doc().replays();
  QStringList lines;
  for (const replay_entry& r : replays) {
    if (!r.result || r.result->steps.empty()) continue;
    const auto after = std::ranges::upper_bound(r.result->steps, step, {}, &replay_step::step);
    const replay_step& s = after == r.result->steps.begin() ? *after : *std::prev(after);
    QString scale = text_of(s.scale_used);
    if (s.may_have_used.low < s.may_have_used.high)
      scale = tr("%1 (possible: %2 to %3)").arg(scale, text_of(s.may_have_used.low), text_of(s.may_have_used.high));
    if (replays.size() > 1) lines << state().doc().title_of(r);
    lines << tr("step %1: scale %2%3, next %4")
                 .arg(s.step)
                 .arg(scale, s.skipped ? tr(" (skipped)") : QString(), text_of(s.scale_next));
  }
  return lines.join('\n');
}

QString scale_view::fill(const theme& colours) {
  clamps_->clear();
  difference_->setEnabled(state().doc().replays().size() > 1 || difference_->isChecked());
  if (state().current_run() == nullptr) return why_empty();
  look_at(state().shared_run());
  const auto& replays = state().doc().replays();
  const auto shown = state().shown();
  const auto left = static_cast<double>(shown.first);
  const auto right = static_cast<double>(shown.last + 1);
  const bool difference = difference_->isChecked() && replays.front().result;
  if (!difference) differences_ = {};
  std::vector<chart_line> lines;
  extremes seen;
  for (std::size_t i = 0; i < replays.size(); ++i) {
    if (!replays[i].result) continue;
    const stepped_line line = difference ? difference_of(i) : scales_of(*replays[i].result);
    seen.merge(line.range());
    QString name = state().doc().title_of(replays[i]);
    if (!difference && !replays[i].result->steps.empty())
      name = tr("%1: %2, %3").arg(name, skips_of(*replays[i].result), end_of(*replays[i].result));
    lines.push_back({name, colours.line(i), points_of(line), line.is_noise()});
  }
  const auto has_steps = [](const replay_entry& r) { return r.result && !r.result->steps.empty(); };
  if (!lines.empty() && std::ranges::none_of(replays, has_steps)) return why_no_steps();
  if (lines.empty()) {
    for (const replay_entry& r : replays)
      if (!r.failure.isEmpty()) return r.failure;
    return tr("Replaying ...");
  }
  if (!difference && logged_->size() > 0) {
    const stepped_line line = stepped(
        logged_->size(), [&](std::size_t i) { return logged_->step(i); }, logged_->known(), shown, fineness(),
        [&](std::size_t i) { return logged_->drawn(i); });
    seen.merge(line.range());
    lines.insert(lines.begin(), {tr("logged by the run"), QPen(colours.text, 3), points_of(line), line.is_noise()});
  }
  const auto& front = state().front().result;
  clamps_->setText(front ? clamp_text(*front) : QString());
  if (front && !difference) {
    const auto level = [&](const QString& name, double scale, const QPen& pen) {
      lines.push_back({name, pen, {{left, std::log2(scale)}, {right, std::log2(scale)}}});
    };
    const QPen bound(colours.faint, 1, Qt::DashDotLine);
    const auto is_near = [&](double scale) {
      return std::log2(scale) >= seen.least - 1 && std::log2(scale) <= seen.greatest + 1;
    };
    if (front->floor > 0 && is_near(front->floor)) level(tr("floor of the policy"), front->floor, bound);
    if (front->ceiling && is_near(*front->ceiling)) level(tr("ceiling of the policy"), *front->ceiling, bound);
    if (state().tried_scale())
      level(tr("tried out"), std::ldexp(1.0, *state().tried_scale()), QPen(colours.text, 2, Qt::DotLine));
    if (front->scale_is_open) {
      const extremes used = seen;  // which the picture is about: what may have been may leave it
      constexpr double room = 12;  // binades, until then
      const stepped_line own = scales_of(*front);
      const auto is_own = [&](const stepped_line& line) {
        return std::ranges::equal(line.pieces, own.pieces, [](const extremes& a, const extremes& b) {
          return a.least == b.least && a.greatest == b.greatest;
        });
      };
      const auto possible = [&](const QString& name, Qt::PenStyle style, const series_extremes& known,
                                double of(const replay_step&)) {
        stepped_line line = stepped(front->steps, known, shown, fineness(), of);
        if (is_own(line)) return;                 // it would lie under the scale that was used
        const QPen edge(colours.text, 1, style);  // seen over the scale that was used
        seen.add(std::clamp(line.range().least, used.least - room, used.greatest + 2));
        for (extremes& e : line.pieces)
          if (!(e.greatest >= used.least - room - 1)) e = {};
        lines.push_back({name, edge, points_of(line), line.is_noise()});
      };
      possible(tr("least possible"), Qt::DotLine, front->least_scales, log2_least);
      possible(tr("greatest possible"), Qt::DashLine, front->greatest_scales, log2_greatest);
    }
    if (critical_->isChecked()) {
      stepped_line line = stepped(front->steps, front->critical, shown, fineness(), log2_critical);
      // Far above what the picture is about there is nothing to see.
      for (extremes& e : line.pieces)
        if (e.least > seen.greatest + 41) e = {};
      // Of the tensors that the scaler sees: others may be larger.
      const QString name =
          front->checked.empty() ? tr("critical scale") : tr("critical scale (%1)").arg(shown_text(front->checked));
      lines.insert(lines.begin(), {name, QPen(colours.faint, 1), points_of(line), line.is_noise()});
      const extremes range = line.range();
      if (std::isfinite(range.least)) {
        const extremes used = seen;
        seen.add(std::clamp(range.least, used.least - 40, used.greatest + 40));
        seen.add(std::clamp(range.greatest, used.least - 40, used.greatest + 40));
      }
    }
    if (state().tried_scale()) seen.add(*state().tried_scale());
  }
  if (!(seen.least <= seen.greatest)) return tr("No scale of these steps is above zero and finite.");
  const double low = std::floor(seen.least) - 1.5;
  const double high = std::ceil(seen.greatest) + 1;
  std::vector<chart_ticks> skips;
  for (std::size_t i = 0; i < replays.size(); ++i)
    if (replays[i].result) skips.push_back(ticks(replays[i].result->skipped, colours.line(i).color()));
  if (!overflows_.empty()) skips.push_back(ticks(overflows_, colours.text));
  const bool any = std::ranges::any_of(skips, [](const chart_ticks& t) { return !t.at.empty(); });
  plot().set_axes(
      steps_axis(any ? !overflows_.empty()
                           ? tr("step (ticks at the bottom: skipped by a replay, and overflows that the run logged)")
                           : tr("step (ticks at the bottom: skipped)")
                     : tr("step")),
      {.title = difference ? tr("binades above the first replay") : tr("loss scale"),
       .low = low,
       .high = high,
       .format = difference ? "%.0f" : "2^%.0f"});
  lines.push_back(cursor_line(colours, low, high));
  plot().show({.lines = std::move(lines), .foot = std::move(skips)});
  return {};
}

void scale_view::look_at(const std::shared_ptr<const loaded_run>& run) {
  if (run == of_) return;
  of_ = run;
  logged_.emplace(std::shared_ptr<const run_picture>(run, &run->picture), logged_value::scale);
  overflows_.clear();
  for (const pictured_step& s : run->picture.steps())
    if (s.scalars.found_inf == true || s.scalars.applied == false) overflows_.push_back(s.key.step);
}

stepped_line scale_view::scales_of(const drawn_replay& result) const {
  return stepped(result.steps, result.scales, state().shown(), fineness(), log2_scale);
}

// Where the first replay has no step of the number, a gap.
stepped_line scale_view::difference_of(std::size_t replay) {
  const auto result = state().doc().replays()[replay].result;
  const auto first = state().doc().replays().front().result;
  const auto of = [&](const replay_step& s) {
    const auto at = std::ranges::lower_bound(first->steps, s.step, {}, &replay_step::step);
    return at != first->steps.end() && at->step == s.step ? log2_scale(s) - log2_scale(*at) : not_known;
  };
  difference& known = differences_.at(replay);
  if (known.of != result || known.to != first)
    known = {result, first, series_extremes(result->steps.size(), [&](std::size_t i) { return of(result->steps[i]); })};
  return stepped(result->steps, known.between, state().shown(), fineness(), of);
}

table scale_view::data() const {
  table t;
  t.columns = {{"replay", "replay"},
               {"step", "step"},
               {"scale_used", "scale"},
               {"scale_next", "next scale"},
               {"skipped", "skipped"},
               {"critical_scale", "critical"},
               {"scale_used_low", "least possible"},
               {"scale_used_high", "greatest possible"}};
  for (const replay_entry& r : state().doc().replays())
    if (r.result)
      for (const replay_step& s : r.result->steps)
        t.rows.push_back({state().doc().title_of(r).toStdString(), s.step, s.scale_used, s.scale_next, s.skipped,
                          s.critical_scale, s.may_have_used.low, s.may_have_used.high});
  return t;
}

QString scale_view::legend() const {
  return tr(
      "The loss scale of each replay, and the thick line that which the run in front logged, with ticks of "
      "its colour where it overflowed. The thin line is the critical scale, the largest at which the step would not "
      "overflow in the tensors that the scaler checks; others may be larger. Dotted and dashed: where the recording "
      "does not decide, the least and the greatest scale that the replay in front may have used, as far as it is "
      "another. The key tells how many steps are skipped, and the scale after the last one; ~ marks an estimate. "
      "Ticks at the bottom are skipped steps, one row per replay. If there are more steps than pixels, a line spans "
      "all its values there.");
}

}  // namespace ulp::gui
