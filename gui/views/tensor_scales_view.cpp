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
double log2_live(const scaled_step& s) { return log2_or_gap(s.live); }

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
      parameters_(new QLineEdit(this)),
      tensor_(new QComboBox(this)),
      amax_(make_toggle(tr("&Amax"), this)),
      told_(new QLabel(this)) {
  for (const std::string& name : fp8_recipe_names()) recipe_->addItem(QString::fromStdString(name));
  recipe_->setObjectName("recipe");
  recipe_->setAccessibleName(tr("FP8 recipe"));
  parameters_->setObjectName("parameters");
  parameters_->setAccessibleName(tr("Parameters of the recipe"));
  parameters_->setPlaceholderText(tr("margin=1 ..."));
  parameters_->setToolTip(
      tr("What differs from the policy's defaults, as --set has it; ulp scalers lists the parameters"));
  parameters_->setMaximumWidth(34 * fontMetrics().averageCharWidth());
  tensor_->setObjectName("tensor");
  tensor_->setAccessibleName(tr("Tensor"));
  tensor_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  tensor_->setMinimumContentsLength(16);
  amax_->setChecked(true);
  amax_->setToolTip(tr("The largest magnitude in the step"));
  told_->setWordWrap(true);
  told_->setTextFormat(Qt::PlainText);
  controls().addWidget(new QLabel(tr("Recipe"), this));
  controls().addWidget(recipe_);
  controls().addWidget(parameters_, 1);
  controls().addSpacing(12);
  controls().addWidget(new QLabel(tr("Tensor"), this));
  controls().addWidget(tensor_, 1);
  controls().addWidget(amax_);
  static_cast<QVBoxLayout*>(layout())->insertWidget(1, told_);
  connect(recipe_, &QComboBox::textActivated, this, [this](const QString& name) {
    // Parameters that its policy does not have are those of the one before.
    fp8_question asked = question_of({}, fp8_spec{.recipe = name.toStdString()});
    std::vector<std::string> before = this->state().fp8().parameters;
    take_parameters(asked, before);
    this->state().set_fp8(spec_of(asked));
  });
  connect(parameters_, &QLineEdit::editingFinished, this, [this] { set_parameters(); });
  connect(tensor_, &QComboBox::activated, this, [this] {
    const std::string name = tensor_->currentData().toString().toStdString();
    const auto of_run = index_in_run(name);
    chosen_ = of_run ? std::string{} : name;
    this->state().set_tensor(of_run);
    tensor_scales_view::refresh(view_state::tensors);
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
      kept_, [&](const replayed& r) { return run != nullptr && r.run == run->id && r.spec == state().fp8(); });
  return found == kept_.end() ? nullptr : &*found;
}

QString tensor_scales_view::why_not() const {
  return state().current_run() != nullptr && state().current_run()->amaxes_only ? why_no_steps() : why_empty();
}

void tensor_scales_view::set_parameters() {
  fp8_spec asked = state().fp8();
  asked.parameters.clear();
  for (const QString& parameter : parameters_->text().split(' ', Qt::SkipEmptyParts))
    asked.parameters.push_back(parameter.toStdString());
  if (asked == state().fp8()) return;
  QPalette p = palette();
  QString problem;
  try {
    state().set_fp8(checked(std::move(asked)));
  } catch (const std::invalid_argument& mistake) {
    problem = shown_text(mistake.what());
    p.setColor(QPalette::Text, theme::of(p).overflow);
  }
  parameters_->setPalette(p);
  told_->setText(problem);
}

std::optional<std::uint32_t> tensor_scales_view::index_in_run(const std::string& name) const {
  const std::vector<tensor_info>& tensors = state().current_run()->tensors;
  const auto found = std::ranges::find(tensors, name, &tensor_info::name);
  return found == tensors.end() ? std::nullopt : std::optional(static_cast<std::uint32_t>(found - tensors.begin()));
}

std::string tensor_scales_view::wanted_name() const {
  return state().tensor() ? state().current_run()->tensors[*state().tensor()].name : chosen_;
}

std::optional<std::uint32_t> tensor_scales_view::shown_tensor(const tensor_scales& all) const {
  const std::string name = wanted_name();
  const auto named = std::ranges::find(all.worst_first, name,
                                       [&](std::uint32_t t) -> const std::string& { return all.tensors[t].name; });
  if (named != all.worst_first.end()) return *named;
  if (state().tensor()) return std::nullopt;
  const tensor_mask left = state().filtered(*state().current_run(), all.tensors);
  const auto found = std::ranges::find_if(all.worst_first, [&](std::uint32_t t) { return left[t]; });
  return found == all.worst_first.end() ? std::nullopt : std::optional(*found);
}

QString tensor_scales_view::why_not_cast(const tensor_scales& all) const {
  const QString recipe = QString::fromStdString(all.recipe);
  if (!state().tensor()) return tr("The filter leaves no tensor that is cast under %1.").arg(recipe);
  const std::string name = wanted_name();
  if (all.live)
    return tr("The scales that the recording holds of its own run are not of %1: choose another tensor.")
        .arg(shown_text(name));
  const auto at = std::ranges::find(all.tensors, name, &tensor_info::name) - all.tensors.begin();
  const auto why = all.choices.find(static_cast<std::uint32_t>(at));
  return tr("%1 is not cast under %2: %3.")
      .arg(shown_text(name), recipe, reason_of(why == all.choices.end() ? fp8_choice::cast : why->second));
}

bool tensor_scales_view::lacks_rows() const {
  if (!why_not().isEmpty()) return false;
  const replayed* const all = known();
  if (all == nullptr) return true;
  if (!all->scales) return false;
  const auto tensor = shown_tensor(*all->scales);
  return tensor && !all->scales->rows.contains(*tensor);
}

// As far as it is known; before, the one that is chosen.
std::string tensor_scales_view::name_to_keep() const {
  const replayed* const all = known();
  if (all == nullptr || !all->scales) return wanted_name();
  const auto tensor = shown_tensor(*all->scales);
  return tensor ? all->scales->tensors[*tensor].name : std::string{};
}

void tensor_scales_view::start() {
  running_ = {.run = state().current_run()->id, .spec = state().fp8(), .scales = {}, .failure = {}};
  share_ = 0;
  work_.start(
      [this, run = state().shared_run(), of = running_, name = name_to_keep()](listener& to) -> std::function<void()> {
        replayed done = of;
        done.scales = scales_under(*run, of.spec, name, to);
        return [this, done] { take(done); };
      });
}

void tensor_scales_view::take(replayed all) {
  std::erase_if(kept_, [&](const replayed& r) {
    const bool is_open = std::ranges::any_of(state().doc().runs(), [&](const auto& run) { return run->id == r.run; });
    return !is_open || (r.run == all.run && r.spec == all.spec);
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
    replayed all{.run = state().current_run()->id, .spec = state().fp8(), .scales = {}, .failure = {}};
    try {
      all.scales = scales_under(*state().current_run(), all.spec, name_to_keep(), nobody());
    } catch (const std::exception& problem) {
      all.failure = shown_text(problem.what());
    }
    take(std::move(all));
  }
}

void tensor_scales_view::refresh(view_state::parts what) {
  const bool is_wanted = work_.running() && state().current_run() != nullptr &&
                         running_.run == state().current_run()->id && running_.spec == state().fp8() &&
                         !what.testFlag(view_state::tensors);
  if (work_.running() && !is_wanted) work_.cancel();
  if (lacks_rows() && !work_.running()) start();
  recipe_->setCurrentText(QString::fromStdString(state().fp8().recipe));
  if (!parameters_->hasFocus() || what.testFlag(view_state::recipe)) {
    QStringList parameters;
    for (const std::string& p : state().fp8().parameters) parameters << shown_text(p);
    parameters_->setText(parameters.join(' '));
    parameters_->setCursorPosition(0);
  }
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
  const tensor_mask left = state().filtered(*state().current_run(), scales.tensors);
  bool first = true;
  for (const std::uint32_t t : scales.worst_first) {
    if (!left[t]) continue;
    const std::string& name = scales.tensors[t].name;
    if (first) tensor_->addItem(tr("the worst: %1").arg(shown_text(name)));
    first = false;
    tensor_->addItem(shown_text(name), QString::fromStdString(name));
  }
  const std::string wanted = wanted_name();
  tensor_->setCurrentIndex(wanted.empty() ? 0 : tensor_->findData(QString::fromStdString(wanted)));
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
  drawn_.live = extremes_of(log2_live);
  for (const scaled_step& s : rows) {
    if (s.saturates) drawn_.saturating.push_back(s.step);
    if (s.held) drawn_.held.push_back(s.step);
  }
}

QString tensor_scales_view::fill(const theme& colours) {
  told_->clear();
  if (const QString why = why_not(); !why.isEmpty()) return why;
  const replayed* const all = known();
  const QString replaying = tr("Replaying %1: %2 %").arg(shown_under()).arg(100 * share_, 0, 'f', 0);
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
  // What differs from the replay's stands out beside it.
  if (all->scales->live) {
    QColor pale = colours.line(2).color();
    pale.setAlpha(110);
    add(tr("the run's own scale"), QPen(pale, 6), line_of(drawn_.live, log2_live));
  }
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
  text += all.is_of_amaxes
              ? tr(". Amaxes alone are known: values are not counted.")
              : tr(". Saturated: %1 of the nonzero values, underflow: %2.")
                    .arg(share_text(sum.counts, sum.counts.overflow), share_text(sum.counts, sum.counts.underflow));
  if (all.live)
    text += tr(" The run's own scales are the replay's in %1.")
                .arg(steps_text(all.live->equal_tensor_steps, all.live->tensor_steps));
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
  if (std::isfinite(s.live)) lines << tr("the run's own %1").arg(scale_words(s.live));
  if (!drawn_.of->is_of_amaxes)
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
      "steps, or else loses the most values to underflow. Where the recording holds the scales of its own run, the pale line is "
      "what that multiplied by. The replay is of the recorded values: training under these "
      "scales would have gone elsewhere.");
}

}  // namespace ulp::gui
