#include "tensor_scales_view.hpp"

#include <QSignalBlocker>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include <ulp/ask/questions/number_text.hpp>
#include <ulp/model/outcomes/outcome.hpp>

#include "charts/chart.hpp"
#include "viewmodel/shown_text.hpp"

namespace ulp::gui {
namespace {

double log2_used(const scaled_step& s) { return log2_or_gap(s.multiplied_by); }
double log2_ideal(const scaled_step& s) { return log2_or_gap(s.ideal); }
double log2_amax(const scaled_step& s) { return log2_or_gap(s.amax); }

// "2^4.81"
QString scale_words(double x) {
  return x > 0 && std::isfinite(x) ? QStringLiteral("2^%1").arg(std::log2(x), 0, 'f', 2) : QString::number(x);
}

QString text_of(const count_range& n) {
  const QString low = QString::fromStdString(grouped(n.low));
  return n.exact() ? low : QObject::tr("[%1, %2]").arg(low, QString::fromStdString(grouped(n.high)));
}

QString share_text(const outcome_counts& of, const count_range& part) {
  return with_whole_ranges(QString::fromStdString(percent_text(share_of_nonzero(of, part))));
}

QString steps_text(std::uint64_t n, std::uint64_t of) {
  if (n == 0) return QObject::tr("no step");
  return QObject::tr("%1 of %2 steps (%3 %)")
      .arg(QString::fromStdString(grouped(n)), QString::fromStdString(grouped(of)),
           QString::fromStdString(percent_number(static_cast<double>(n) / static_cast<double>(of))));
}

QString reason_of(fp8_choice why) {
  switch (why) {
    case fp8_choice::kept_out: return QObject::tr("its configuration keeps it out");
    case fp8_choice::vector: return QObject::tr("vectors such as biases and norms are not");
    case fp8_choice::output: return QObject::tr("what products give is not");
    case fp8_choice::cast:
    case fp8_choice::in_place_of: break;
  }
  return QObject::tr("no step has it");
}

}  // namespace

tensor_scales_view::tensor_scales_view(view_state& state, QWidget* parent)
    : chart_view(state, "tensor-scales", tr("Tensor scales"),
                 tr("Would each tensor's scale fit it in FP8, and which tensor's would not?"), parent),
      recipe_(new QComboBox(this)),
      tensor_(new QComboBox(this)),
      amax_(make_toggle(tr("&Amax"), this)),
      told_(new QLabel(this)) {
  for (const std::string& name : fp8_recipe_names()) recipe_->addItem(QString::fromStdString(name));
  recipe_->setObjectName("recipe");
  recipe_->setAccessibleName(tr("FP8 recipe"));
  tensor_->setObjectName("tensor");
  tensor_->setAccessibleName(tr("Tensor"));
  tensor_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  tensor_->setMinimumContentsLength(24);
  amax_->setChecked(true);
  amax_->setToolTip(tr("The largest magnitude in the step"));
  told_->setWordWrap(true);
  told_->setTextFormat(Qt::PlainText);
  controls().addWidget(new QLabel(tr("Recipe"), this));
  controls().addWidget(recipe_);
  controls().addSpacing(12);
  controls().addWidget(new QLabel(tr("Tensor"), this));
  controls().addWidget(tensor_, 1);
  controls().addWidget(amax_);
  static_cast<QVBoxLayout*>(layout())->insertWidget(1, told_);
  connect(recipe_, &QComboBox::textActivated, this,
          [this](const QString& name) { this->state().set_fp8_recipe(name.toStdString()); });
  connect(tensor_, &QComboBox::activated, this, [this] {
    const QVariant chosen = tensor_->currentData();
    this->state().set_tensor(chosen.isValid() ? std::optional(chosen.toUInt()) : std::nullopt);
  });
  connect(amax_, &QPushButton::toggled, this, [this] { chart_view::refresh({}); });
  connect(&work_, &background::progressed, this, [this](double share) {
    share_ = share;
    chart_view::refresh({});
  });
  connect(&work_, &background::failed, this, [this](const QString& why) {
    replayed none = running_;
    none.failure = why;
    take(std::move(none));
  });
  link_steps();
  plot().set_tip([this](double x, double) { return told_of(static_cast<std::int64_t>(std::floor(x))); });
}

const tensor_scales_view::replayed* tensor_scales_view::known() const {
  const loaded_run* const run = state().current_run();
  const auto found = std::ranges::find_if(
      kept_, [&](const replayed& r) { return run != nullptr && r.run == run->id && r.recipe == state().fp8_recipe(); });
  return found == kept_.end() ? nullptr : &*found;
}

std::optional<std::uint32_t> tensor_scales_view::shown_tensor(const tensor_scales& all) const {
  const auto is_left = [&](std::uint32_t t) {
    return state().tensor() ? t == *state().tensor() : t < state().filtered().size() && state().filtered()[t];
  };
  const auto found = std::ranges::find_if(all.worst_first, is_left);
  return found == all.worst_first.end() ? std::nullopt : std::optional(*found);
}

QString tensor_scales_view::why_not_cast(const tensor_scales& all) const {
  const QString recipe = QString::fromStdString(all.recipe);
  if (!state().tensor()) return tr("The filter leaves no tensor that is cast under %1.").arg(recipe);
  const std::uint32_t tensor = *state().tensor();
  const auto why = all.choices.find(tensor);
  return tr("%1 is not cast under %2: %3.")
      .arg(shown_text(state().current_run()->tensors[tensor].name), recipe,
           reason_of(why == all.choices.end() ? fp8_choice::cast : why->second));
}

bool tensor_scales_view::lacks_rows() const {
  if (!why_empty().isEmpty()) return false;
  const replayed* const all = known();
  if (all == nullptr) return true;
  if (!all->scales) return false;
  const auto tensor = shown_tensor(*all->scales);
  return tensor && !all->scales->rows.contains(*tensor);
}

void tensor_scales_view::start() {
  const replayed* const all = known();
  const auto tensor = all == nullptr || !all->scales ? state().tensor() : shown_tensor(*all->scales);
  running_ = {.run = state().current_run()->id, .recipe = state().fp8_recipe(), .scales = {}, .failure = {}};
  share_ = 0;
  work_.start([this, run = state().shared_run(), of = running_, tensor](listener& to) -> std::function<void()> {
    replayed done = of;
    done.scales = scales_under(*run, of.recipe, tensor, to);
    return [this, done] { take(done); };
  });
}

void tensor_scales_view::take(replayed all) {
  std::erase_if(kept_, [&](const replayed& r) {
    const bool is_open = std::ranges::any_of(state().doc().runs(), [&](const auto& run) { return run->id == r.run; });
    return !is_open || (r.run == all.run && r.recipe == all.recipe);
  });
  if (kept_.size() == most_kept) kept_.erase(kept_.begin());
  kept_.push_back(std::move(all));
  if (isVisible() && lacks_rows()) start();  // of a long run those of one tensor are known, and another one is shown
  offer_tensors();
  chart_view::refresh({});
}

void tensor_scales_view::catch_up_now() {
  catch_up();
  // Of a filter that leaves others than the worst the rows may not be kept yet.
  for (int tries = 0; tries < 2 && lacks_rows(); ++tries) {
    work_.cancel();
    const replayed* const before = known();
    replayed all{.run = state().current_run()->id, .recipe = state().fp8_recipe(), .scales = {}, .failure = {}};
    const auto tensor = before == nullptr ? state().tensor() : shown_tensor(*before->scales);
    try {
      all.scales = scales_under(*state().current_run(), all.recipe, tensor, nobody());
    } catch (const std::exception& problem) {
      all.failure = shown_text(problem.what());
    }
    take(std::move(all));
  }
}

void tensor_scales_view::refresh(view_state::parts what) {
  const bool is_wanted = work_.running() && state().current_run() != nullptr &&
                         running_.run == state().current_run()->id && running_.recipe == state().fp8_recipe() &&
                         !what.testFlag(view_state::tensors);
  if (work_.running() && !is_wanted) work_.cancel();
  if (lacks_rows() && !work_.running()) start();
  recipe_->setCurrentText(QString::fromStdString(state().fp8_recipe()));
  offer_tensors();
  chart_view::refresh(what);
}

void tensor_scales_view::offer_tensors() {
  const QSignalBlocker quiet(tensor_);
  tensor_->clear();
  const replayed* const all = known();
  tensor_->setEnabled(all != nullptr && all->scales);
  if (all == nullptr || !all->scales) return;
  const tensor_scales& scales = *all->scales;
  const auto name_of = [&](std::uint32_t t) { return shown_text(scales.tensors[t].name); };
  bool first = true;
  for (const std::uint32_t t : scales.worst_first) {
    if (t >= state().filtered().size() || !state().filtered()[t]) continue;
    if (first) tensor_->addItem(tr("the worst: %1").arg(name_of(t)));
    first = false;
    tensor_->addItem(name_of(t), t);
  }
  tensor_->setCurrentIndex(state().tensor() ? tensor_->findData(*state().tensor()) : 0);
}

void tensor_scales_view::look_at(const std::shared_ptr<const tensor_scales>& all, std::uint32_t tensor) {
  if (drawn_.of == all && drawn_.tensor == tensor) return;
  drawn_ = {.of = all, .tensor = tensor, .rows = &all->rows.at(tensor)};
  const std::vector<scaled_step>& rows = *drawn_.rows;
  const auto extremes_of = [&](double of(const scaled_step&)) {
    return series_extremes(rows.size(), [&](std::size_t i) { return of(rows[i]); });
  };
  drawn_.used = extremes_of(log2_used);
  drawn_.ideal = extremes_of(log2_ideal);
  drawn_.amax = extremes_of(log2_amax);
  for (const scaled_step& s : rows) {
    if (s.saturates) drawn_.saturating.push_back(s.step);
    if (s.held) drawn_.held.push_back(s.step);
  }
}

QString tensor_scales_view::fill(const theme& colours) {
  told_->clear();
  if (const QString why = why_empty(); !why.isEmpty()) return why;
  const replayed* const all = known();
  const QString replaying =
      tr("Replaying %1: %2 %").arg(QString::fromStdString(state().fp8_recipe())).arg(100 * share_, 0, 'f', 0);
  if (all == nullptr) return replaying;
  if (!all->scales) return all->failure;
  const auto tensor = shown_tensor(*all->scales);
  if (!tensor) return why_not_cast(*all->scales);
  if (!all->scales->rows.contains(*tensor)) return replaying;
  look_at(all->scales, *tensor);
  told_->setText(summary());

  const std::vector<scaled_step>& rows = *drawn_.rows;
  const auto line_of = [&](const series_extremes& known, double of(const scaled_step&)) {
    return stepped(
        rows.size(), [&](std::size_t i) { return rows[i].step; }, known, state().shown(), fineness(),
        [&](std::size_t i) { return of(rows[i]); });
  };
  extremes seen;
  std::vector<chart_line> lines;
  const auto add = [&](const QString& name, const QPen& pen, const stepped_line& line) {
    seen.merge(line.range());
    lines.push_back({name, pen, points_of(line), line.is_noise()});
  };
  if (amax_->isChecked()) add(tr("amax"), QPen(colours.faint, 1), line_of(drawn_.amax, log2_amax));
  // Dashes are seen over a line that they follow; where they would be drawn solid, it is told that one lies under the other.
  const stepped_line ideal = line_of(drawn_.ideal, log2_ideal);
  const fp8_tensor_summary& sum = all->scales->summaries.at(*tensor);
  const bool is_ideal = std::max(sum.most_binades_above, sum.most_binades_below) < 0.05;
  const auto add_ideal = [&] {
    add(is_ideal ? tr("ideal scale (as the scale used)") : tr("ideal scale"), colours.line(1), ideal);
  };
  if (ideal.is_noise()) add_ideal();
  add(tr("scale used"), colours.line(0), line_of(drawn_.used, log2_used));
  if (!ideal.is_noise()) add_ideal();
  if (!(seen.least <= seen.greatest)) return tr("No scale or amax of these steps is above zero and finite.");
  const double low = std::floor(seen.least) - 1.5;
  const double high = std::ceil(seen.greatest) + 1.5;
  const chart_ticks saturating = ticks(drawn_.saturating, colours.line(3).color());
  const chart_ticks held = ticks(drawn_.held, colours.text);
  QStringList marks;
  if (!saturating.at.empty()) marks << tr("ticks at the bottom: saturates");
  if (!held.at.empty()) marks << tr("ticks at the top: scale held");
  plot().set_axes(
      steps_axis(marks.isEmpty() ? tr("step") : tr("step (%1)").arg(marks.join(", "))),
      {.title = amax_->isChecked() ? tr("scale, amax") : tr("scale"), .low = low, .high = high, .format = "2^%.0f"});
  lines.push_back(cursor_line(colours, low, high));
  plot().show({.lines = std::move(lines), .foot = {saturating}, .head = {held}});
  return {};
}

QString tensor_scales_view::summary() const {
  const tensor_scales& all = *drawn_.of;
  const fp8_tensor_summary& sum = all.summaries.at(drawn_.tensor);
  QString text =
      tr("%1, %2: saturates in %3, off by more than a binade in %4")
          .arg(shown_text(all.tensors[drawn_.tensor].name), QString::fromStdString(all.formats.at(drawn_.tensor)),
               steps_text(sum.saturating, sum.steps), steps_text(sum.stale, sum.steps));
  if (sum.first_stale) text += tr(", first at step %1").arg(*sum.first_stale);
  if (sum.held > 0) text += tr("; scale held in %1").arg(steps_text(sum.held, sum.steps));
  text += tr(". Saturated: %1 of the nonzero values, underflow: %2.")
              .arg(share_text(sum.counts, sum.counts.overflow), share_text(sum.counts, sum.counts.underflow));
  for (const std::string& line : all.warnings) text += "\n" + shown_text(line);
  return text;
}

QString tensor_scales_view::told_of(std::int64_t step) const {
  const replayed* const all = known();
  if (all == nullptr || all->scales != drawn_.of || drawn_.rows == nullptr || drawn_.rows->empty()) return {};
  const auto after = std::ranges::upper_bound(*drawn_.rows, step, {}, &scaled_step::step);
  const scaled_step& s = after == drawn_.rows->begin() ? *after : *std::prev(after);
  QStringList lines{tr("step %1: amax %2").arg(s.step).arg(scale_words(s.amax)),
                    tr("scale used %1%2").arg(scale_words(s.multiplied_by), s.held ? tr(" (held)") : QString())};
  if (!std::isnan(s.ideal))
    lines
        << tr("ideal %1: off by %2 binades").arg(scale_words(s.ideal)).arg(QString::asprintf("%+.2f", s.binades_off()));
  lines << tr("%1 values saturated, %2 underflow").arg(text_of(s.saturated), text_of(s.underflow));
  return lines.join('\n');
}

table tensor_scales_view::data() const {
  const replayed* const all = known();
  const auto tensor = all == nullptr || !all->scales ? std::nullopt : shown_tensor(*all->scales);
  return table_of(tensor ? *all->scales : tensor_scales{}, tensor.value_or(0));
}

std::vector<std::string> tensor_scales_view::notes() const {
  const replayed* const all = known();
  if (all == nullptr || !all->scales) return {};
  std::vector<std::string> lines = all->scales->notes;
  lines.insert(lines.end(), all->scales->warnings.begin(), all->scales->warnings.end());
  return lines;
}

QString tensor_scales_view::legend() const {
  return tr(
      "The run replayed under an FP8 recipe, in which each tensor has a scale of its own. One tensor is shown: the "
      "worst of those that the filter leaves, or the one that is chosen, which all views then show. The thick line is "
      "what its values are multiplied by before they are rounded, the dashed one the ideal scale, which would take the "
      "largest magnitude (amax, the thin line) to the format's largest number. Above the ideal scale values saturate; "
      "far below it small values are lost. Where amax is zero, infinite or NaN there is no ideal. Ticks at the bottom "
      "are steps in which values saturate, ticks at the top steps in which an infinite or NaN amax, of the step or of "
      "those remembered, kept the scale as it was. The worst tensor had such an amax, or else saturates in the most "
      "steps, or else loses the most values to underflow. The replay is of the recorded values: training under these "
      "scales would have gone elsewhere.");
}

}  // namespace ulp::gui
