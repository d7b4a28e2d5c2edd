#include "clipping_view.hpp"

#include <algorithm>
#include <cmath>

#include "charts/chart.hpp"
#include "stepped.hpp"
#include "viewmodel/story.hpp"

namespace ulp::gui {
namespace {

// Bounds are told, and set, with four digits.
QString text_of(double bound) { return QString::number(QString::number(bound, 'g', 4).toDouble(), 'g', 6); }
double typed(double log2) { return text_of(std::exp2(log2)).toDouble(); }

std::optional<double> bound_of(const scenario& s) {
  if (s.clip_norm) return s.clip_norm->max_norm;
  if (s.clip_value) return s.clip_value->max_value;
  return std::nullopt;
}

bool is_by_value(const drawn_replay& r) { return r.rates.what() == clip_rates::compares::value; }

// What is compared with the bound.
QString measure_of(const drawn_replay& r, const scenario& s) {
  if (is_by_value(r))
    return s.order.clip_before_unscale ? QObject::tr("largest scaled gradient") : QObject::tr("largest gradient");
  return s.order.clip_before_unscale ? QObject::tr("L2 norm of the scaled gradients")
                                     : QObject::tr("L2 norm of the unscaled gradients");
}

}  // namespace

clipping_view::clipping_view(view_state& state, QWidget* parent)
    : chart_view(state, "clipping", tr("Clipping"), tr("How often does clipping trigger, and by how much?"), parent),
      rate_(new QLabel(this)) {
  rate_->setWordWrap(true);
  rate_->setTextFormat(Qt::PlainText);
  controls().addWidget(rate_, 1);
  link_steps();
  connect(&plot(), &chart::level_clicked, this, [this](double log2) { set_bound(typed(log2)); });
  connect(&plot(), &chart::level_dragged, this, [this](double log2) {
    dragged_ = typed(log2);
    chart_view::refresh({});
  });
  connect(&plot(), &chart::level_dropped, this, [this](double log2) {
    dragged_.reset();
    set_bound(typed(log2));
  });
  plot().set_tip([this](double x, double) { return told_of(static_cast<std::int64_t>(std::floor(x))); });
}

void clipping_view::set_bound(double bound) {
  const replay_entry& front = state().front();
  if (!front.result || !(bound > 0)) return;
  scenario_text spec = front.spec;
  (is_by_value(*front.result) ? spec.clip_value : spec.clip_norm) = text_of(bound).toStdString();
  state().doc().change_replay(state().front_index(), spec);
}

void clipping_view::refresh(view_state::parts what) {
  if (what.testFlag(view_state::replays)) dragged_.reset();
  if (what != view_state::parts{view_state::scale}) chart_view::refresh(what);
}

QString clipping_view::fill(const theme& colours) {
  rate_->clear();
  if (const QString why = why_no_steps(); !why.isEmpty()) return why;
  const replay_entry& front = state().front();
  if (!front.failure.isEmpty()) return front.failure;
  if (!front.result) {
    rate_->setText(tr("Replaying ..."));
    return drawn_run_ == state().current_run()->id ? QString() : rate_->text();  // the picture stays
  }
  const drawn_replay& result = *front.result;
  const scenario s = scenario_of(front.spec);
  const stepped_line measures =
      stepped(result.steps, result.clip_measures, state().shown(), fineness(), log2_clip_measure);
  extremes seen = measures.range();
  drawn_run_ = 0;
  if (!(seen.least <= seen.greatest))
    return is_by_value(result) ? tr("None of these steps has a known, finite, positive largest gradient.")
                               : tr("None of these steps has a known, finite, positive norm.");
  drawn_run_ = state().current_run()->id;

  rate_before_loss();
  const std::vector<chart_level> lines_across = levels(colours);
  for (const chart_level& l : lines_across) seen.add(l.y);
  if (!dragged_) drawn_ = {std::floor(seen.least) - 0.5, std::ceil(seen.greatest) + 0.5};
  const std::optional<double> bound = dragged_ ? dragged_ : bound_of(s);
  QString told;
  if (bound)
    told = rate_text(*bound);
  else if (lines_across.empty())
    told = tr("No clipping.");
  else
    told = tr("No clipping. Drag the dashed line, or click a share at the right, to set a bound.");
  if (const auto& n = result.clamped; n && !dragged_)
    told += n->exact() ? tr("; %1 values are clamped").arg(n->low)
                       : tr("; [%1, %2] values are clamped").arg(n->low).arg(n->high);
  if (before_ && !lines_across.empty())
    told += (told.endsWith('.') ? " " : ". ") +
            tr("The shares at the right are of the steps before %1, when the run was lost.").arg(*rated_before_);
  rate_->setText(told);

  const chart_ticks clipped = ticks(dragged_ ? steps_at(*dragged_) : result.clipped, colours.line(0).color());
  const chart_ticks unbounded = ticks(result.unbounded, colours.line(3).color());
  QStringList marks;
  if (!clipped.at.empty()) marks << tr("ticks at the bottom: clipped");
  if (!unbounded.at.empty()) marks << tr("ticks at the top: infinite");
  plot().set_axes(steps_axis(marks.isEmpty() ? tr("step") : tr("step (%1)").arg(marks.join(", "))),
                  {.title = is_by_value(result) ? tr("magnitude") : tr("norm"),
                   .low = drawn_.least,
                   .high = drawn_.greatest,
                   .format = "2^%.0f"});
  plot().show(
      {.lines = {{measure_of(result, s), QPen(colours.line(1).color(), 1.5), points_of(measures), measures.is_noise()},
                 cursor_line(colours, drawn_.least, drawn_.greatest)},
       .foot = {clipped},
       .head = {unbounded},
       .levels = lines_across});
  return {};
}

void clipping_view::rate_before_loss() {
  const auto& result = state().front().result;
  const auto lost = state().lost_from().value_or(std::nullopt);
  if (result == rated_ && lost == rated_before_) return;
  rated_ = result;
  rated_before_ = lost;
  before_.reset();
  if (!lost) return;
  std::vector<double> measures;
  for (const replay_step& s : result->steps)
    if (s.step < *lost) measures.push_back(s.clip_measure);
  before_.emplace(result->rates.what(), measures);
}

void clipping_view::catch_up_now() {
  find_loss_now(state());
  chart_view::catch_up_now();
}

// On paper nothing can be dragged.
QString clipping_view::words() const {
  const replay_entry& front = state().front();
  const auto bound = front.result ? bound_of(scenario_of(front.spec)) : std::nullopt;
  return bound ? rate_->text() : QString();
}

std::vector<chart_level> clipping_view::levels(const theme& colours) const {
  const drawn_replay& result = *state().front().result;
  std::vector<chart_level> all;
  for (const int percent : {1, 5, 10}) {
    const double share = percent / 100.0;
    const double bound = offered().bound_for(share);
    // Fewer steps have no such share.
    if (!(bound > 0) || share * static_cast<double>(offered().finite()) < 1) continue;
    // Steps that are infinite, or have no number, have no part in the share.
    const QString text =
        result.rates.finite() < result.steps.size() ? tr("%1 % of finite steps: %2") : tr("%1 % of steps: %2");
    all.push_back({std::log2(bound), text.arg(percent).arg(text_of(bound)), QPen(colours.faint, 1, Qt::DotLine)});
  }
  const std::optional<double> set = dragged_ ? dragged_ : bound_of(scenario_of(state().front().spec));
  const double at = set.value_or(offered().bound_for(0.01));
  if (at > 0 && (set || !is_on_paper()))
    all.push_back({.y = std::log2(at),
                   .text = !set                  ? tr("no bound yet")
                           : is_by_value(result) ? tr("clip value %1").arg(text_of(at))
                                                 : tr("clip norm %1").arg(text_of(at)),
                   .pen = set ? colours.line(0, 2) : QPen(colours.line(0).color(), 1.5, Qt::DashLine),
                   .is_grip = true});
  return all;
}

QString clipping_view::rate_text(double bound) const {
  const drawn_replay& result = *state().front().result;
  const clip_rates& rates = result.rates;
  const std::size_t finite = rates.triggers(bound);
  const auto percent = [&] { return QString::number(100 * rates.rate(bound), 'g', 3); };
  QString text = is_by_value(result) ? tr("Clip value %1 triggers ").arg(text_of(bound))
                                     : tr("Clip norm %1 triggers ").arg(text_of(bound));
  if (rates.infinite() > 0) text += tr("in %1 of %2 steps: ").arg(finite + rates.infinite()).arg(result.steps.size());
  text += tr("in %1 of %2 finite steps").arg(finite).arg(rates.finite());
  if (rates.finite() > 0) text += tr(" (%1 %)").arg(percent());
  if (rates.infinite() > 0) text += tr(", and in %1 with infinities").arg(rates.infinite());
  if (const std::size_t unknown = result.steps.size() - rates.finite() - rates.infinite(); unknown > 0)
    text += tr("; %1 steps have no number").arg(unknown);
  return text;
}

std::vector<std::int64_t> clipping_view::steps_at(double bound) const {
  const drawn_replay& result = *state().front().result;
  const auto triggers = [&](double measure) {
    return is_by_value(result) ? value_clipping{bound}.triggers(measure) : norm_clipping{bound}.triggers(measure);
  };
  const auto shown = state().shown();
  std::vector<std::int64_t> all;
  for (auto at = std::ranges::lower_bound(result.steps, shown.first, {}, &replay_step::step);
       at != result.steps.end() && at->step <= shown.last; ++at)
    if (triggers(at->clip_measure)) all.push_back(at->step);
  return all;
}

QString clipping_view::told_of(std::int64_t step) const {
  const auto result = state().front().result;
  if (!result || result->steps.empty()) return {};
  const auto after = std::ranges::upper_bound(result->steps, step, {}, &replay_step::step);
  const replay_step& s = after == result->steps.begin() ? *after : *std::prev(after);
  QString text = tr("step %1: %2 %3")
                     .arg(s.step)
                     .arg(is_by_value(*result) ? tr("largest gradient") : tr("norm"),
                          std::isnan(s.clip_measure)   ? tr("not known")
                          : std::isinf(s.clip_measure) ? tr("infinite")
                                                       : text_of(s.clip_measure));
  if (s.clipped && !is_by_value(*result) && std::isfinite(s.clip_measure))
    text += tr(", multiplied by %1").arg(text_of(s.clip_coefficient));
  else if (s.clipped)
    text += tr(", clipped");
  return text;
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
      "The L2 norm of the unscaled gradients at each step, or their largest magnitude where values are clipped, and "
      "the bound. Drag the bound to change it; it is replayed when you let go. The labels at the right are the "
      "bounds that trigger in at most 1, 5 and 10 % of the finite steps; a click takes one. Ticks at the bottom are "
      "the steps in which clipping triggers. Ticks at the top are steps with infinities, which trigger at every "
      "bound and are counted apart.");
}

}  // namespace ulp::gui
