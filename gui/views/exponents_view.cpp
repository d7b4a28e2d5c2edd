#include "exponents_view.hpp"

#include <QPainter>
#include <QResizeEvent>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include <ulp/model/outcomes/expectation.hpp>

#include "block_choice.hpp"
#include "charts/chart.hpp"
#include "format_bands.hpp"
#include "plot/frame.hpp"
#include "viewmodel/shown_text.hpp"

namespace ulp::gui {
namespace {

// Where there is less, the chart has it for itself.
constexpr double least_height_with_rulers = 330;

QString percent(const value_range& n, double all) {
  if (!(all > 0)) return QObject::tr("none");
  const auto text = [&](double x) { return QString::number(100 * x / all, 'g', 4).toStdString(); };
  return QString::fromStdString(ends_text(text(n.low), text(n.high))) + " %";
}
value_range range_of(const count_range& n) { return {static_cast<double>(n.low), static_cast<double>(n.high)}; }

QString percent(const count_range& n, double all) { return percent(range_of(n), all); }
// Over all draws: mean and standard deviation.
QString percent(const expected_count& n, double all) {
  const value_range sd = n.deviation();
  return sd.high > 0 ? QObject::tr("%1 \u00b1 %2").arg(percent(n.mean, all).chopped(2), percent(sd, all))
                     : percent(n.mean, all);
}

QString power(double log2) { return QObject::tr("2^%1").arg(log2, 0, 'g', 4); }
QString count_text(double n) { return n == std::floor(n) ? QString::number(n, 'f', 0) : QString::number(n, 'f', 1); }
double height_of(double count) { return count > 0 ? std::log10(count) : not_known; }

}  // namespace

exponents_view::exponents_view(view_state& state, QWidget* parent)
    : chart_view(state, "exponents", tr("Exponents"),
                 tr("What is lost at this step, and at which scale would it not be?"), parent),
      format_(new block_choice(state, this)),
      scale_title_(new QLabel(tr("Loss scale"), this)),
      slider_(new QSlider(Qt::Horizontal, this)),
      scale_(new QLabel(this)),
      follow_(new QPushButton(tr("Follow replay"), this)),
      none_(new QPushButton(tr("No scale"), this)),
      whole_(make_toggle(tr("All steps shown"), this)),
      shares_(new QLabel(this)) {
  slider_->setRange(-16, 40);
  slider_->setPageStep(4);
  slider_->setTickInterval(8);
  slider_->setTickPosition(QSlider::TicksBelow);
  slider_->setMaximumWidth(320);
  slider_->setAccessibleName(tr("Loss scale that is tried out, as a power of two"));
  slider_->setToolTip(tr("Try out a loss scale; Ctrl+[ and Ctrl+] move it"));
  scale_->setMinimumWidth(120);
  follow_->setToolTip(tr("Use the scale of the replay in front again"));
  none_->setToolTip(tr("Try out training without a loss scale: 2^0"));
  controls().addWidget(new QLabel(tr("Format"), this));
  controls().addWidget(format_);
  controls().addWidget(scale_title_);
  controls().addWidget(slider_, 1);
  controls().addWidget(scale_);
  controls().addWidget(follow_);
  controls().addWidget(none_);
  controls().addWidget(whole_);
  controls().addStretch();
  shares_->setTextFormat(Qt::PlainText);
  shares_->setWordWrap(true);
  auto* const box = static_cast<QVBoxLayout*>(layout());
  box->insertWidget(1, shares_);
  rulers_ = new ruler_strip(plot(), this);
  box->addWidget(rulers_);
  connect(slider_, &QSlider::valueChanged, this, [this](int log2) { this->state().set_tried_scale(log2); });
  connect(follow_, &QPushButton::clicked, this, [this] { this->state().set_tried_scale(std::nullopt); });
  connect(none_, &QPushButton::clicked, this, [this] { this->state().set_tried_scale(0); });
  connect(&reader_, &background::failed, shares_, &QLabel::setText);
  connect(&block_reader_, &background::failed, this, [this](const QString& why) {
    block_failure_ = why;
    chart_view::refresh({});
  });
  connect(whole_, &QPushButton::toggled, this, [this] { refresh(view_state::cursor); });
  plot().set_tip([this](double x, double) { return shows_blocks() ? block_told_of(x) : told_of(x); });
}

drawn_column exponents_view::cursor_column() const {
  const std::int64_t step = state().run_step();
  const drawn_columns& drawn = *state().drawn();
  if (!drawn.columns.empty() && drawn.run == state().shared_run()) {
    const drawn_column& c = drawn.columns[drawn.at(static_cast<double>(step))];
    if (c.span.first_step <= step && step <= c.span.last_step) return c;
  }
  const auto& columns = state().current_run()->picture.columns();
  const std::size_t c = state().current_run()->picture.column_of(step);
  return {.span = columns.spans()[c], .tables = &columns.columns()[c]};
}

bool exponents_view::knows_step() const {
  return exact_run_ == state().current_run()->id && exact_step_ == state().run_step();
}

bool exponents_view::shows_column() const {
  if (whole_->isChecked() || !why_empty().isEmpty() || knows_step()) return false;
  const column_span span = cursor_column().span;
  return span.first_step != span.last_step;
}

void exponents_view::count() {
  tables_ = {};
  binades_ = {};
  compared_ = {};
  if (!why_empty().isEmpty()) return;
  if (whole_->isChecked()) {
    tables_ = state().drawn()->merged();
    counted_ = state().drawn()->counted();
  } else if (knows_step()) {
    tables_ = exact_;
    counted_ = {exact_step_, exact_step_};
  } else {
    const drawn_column column = cursor_column();
    tables_ = *column.tables;
    counted_ = {column.span.first_step, column.span.last_step};
  }
  binades_ = tables_.binades(state().selected());
  compared_ = compared();
  if (!shows_column()) return;
  reader_.start([this, run = state().shared_run(), step = state().run_step()](listener& to) -> std::function<void()> {
    return [this, run, step, tables = tables_of_step(*run, step, to)] {
      exact_run_ = run->id;
      exact_step_ = step;
      exact_ = tables;
      refresh(view_state::cursor);
    };
  });
}

void exponents_view::measure() {
  reach_.reset();
  if (!why_empty().isEmpty()) return;
  const tensor_mask& shown = state().selected();
  const auto see = [&](double magnitude, int shift) {
    if (!(magnitude > 0)) return;
    const int exponent = std::ilogb(magnitude) - shift;
    if (!reach_) reach_ = {exponent, exponent};
    reach_ = {std::min(reach_->lowest, exponent), std::max(reach_->highest, exponent)};
  };
  for (const tensor_tables& column : state().current_run()->picture.columns().columns())
    for (const tensor_tables::entry& e : column.entries) {
      if (e.tensor >= shown.size() || !shown[e.tensor]) continue;
      const int shift = std::ilogb(e.factor);
      for (const cell& c : e.table.cells) see(std::ldexp(1.0, c.exponent), shift);
      see(e.table.largest_possible(), shift);
      for (const bucket& b : e.table.buckets)
        if (!b.may_hold_zero()) see(std::min(std::fabs(b.low), std::fabs(b.high)), shift);
    }
}

binade_counts exponents_view::compared() const {
  const auto first = state().doc().run();
  if (first == nullptr || first == state().shared_run() || first->tensors.empty()) return {};
  const run_picture& picture = first->picture;
  if (picture.columns().columns().empty()) return {};
  const tensor_mask shown = state().gradients_of(*first);
  const auto [from, to] =
      whole_->isChecked() ? state().shown() : view_state::step_range{state().cursor_step(), state().cursor_step()};
  const auto& spans = picture.columns().spans();
  if (from > spans.back().last_step || to < spans.front().first_step) return {};
  const std::size_t first_column = picture.column_of(from);
  const std::size_t last_column = picture.column_of(to);
  binade_counts all;
  for (std::size_t c = first_column; c <= last_column; ++c) all.merge(picture.columns().columns()[c].binades(shown));
  if (whole_->isChecked()) return all;
  // Of the step's column the mean: bars are of one step.
  const column_span& span = picture.columns().spans()[first_column];
  const auto number = [](const auto& s) { return s.key.step; };
  const auto steps = std::ranges::upper_bound(picture.steps(), span.last_step, {}, number) -
                     std::ranges::lower_bound(picture.steps(), span.first_step, {}, number);
  for (auto& [exponent, count] : all.by_exponent) count /= static_cast<double>(std::max<std::ptrdiff_t>(1, steps));
  return all;
}

void exponents_view::catch_up_now() {
  if (shows_column()) {
    exact_ = tables_of_step(*state().current_run(), state().run_step(), nobody());
    exact_run_ = state().current_run()->id;
    exact_step_ = state().run_step();
  }
  refresh(view_state::parts{view_state::cursor} | view_state::tensors);
  catch_up();
  if (!shows_blocks() || !why_empty().isEmpty()) return;
  block_reader_.cancel();
  const block_question asked = blocks_asked();
  take_blocks(asked, blocks_of_steps(*state().current_run(), asked.steps.first, asked.steps.last, asked.shown,
                                     {asked.row}, nobody())
                         .front());
  if (isVisible()) chart_view::refresh({});
}

void exponents_view::refresh(view_state::parts what) {
  const view_state::parts range = view_state::parts{view_state::range} | view_state::columns;
  const bool asks_range = whole_->isChecked() || shows_column();
  if (what && !(what & ~range) && !asks_range) return;
  if (what.testAnyFlags(view_state::parts{view_state::run} | view_state::tensors)) measure();
  if (what.testAnyFlags(view_state::parts{view_state::run} | view_state::replays | view_state::cursor |
                        view_state::tensors) ||
      (asks_range && what.testAnyFlags(range)))
    count();
  if (what.testAnyFlags(view_state::parts{view_state::run} | view_state::blocks)) show_controls();
  if (shows_blocks()) count_blocks();
  has_rulers_ = !shows_blocks() && height() > least_height_with_rulers + rulers_height();
  rulers_->setVisible(has_rulers_);
  chart_view::refresh(what);
}

void exponents_view::resizeEvent(QResizeEvent* event) {
  chart_view::resizeEvent(event);
  if (isVisible()) refresh({});
}

double exponents_view::log2_scale() const {
  // What no loss scale multiplies is as it is.
  const tensor_mask& shown = state().selected();
  const bool is_scaled = std::ranges::any_of(tables_.entries, [&](const tensor_tables::entry& e) {
    return e.is_scaled && e.tensor < shown.size() && shown[e.tensor];
  });
  const double scale = is_scaled ? state().scale_at(state().cursor_step()) : 1;
  return scale > 0 && std::isfinite(scale) ? std::log2(scale) : 0;
}

format_bands exponents_view::bands() const {
  const scenario s = scenario_of(state().front().spec);
  return bands_of(s.recipe.usual(), log2_scale());
}

QString exponents_view::steps_and_tensors(step_range of) const {
  const QString steps =
      of.first == of.last ? tr("step %1").arg(of.first) : tr("steps %1 to %2").arg(of.first).arg(of.last);
  const auto chosen = static_cast<std::size_t>(std::ranges::count(state().selected(), true));
  const QString tensors = state().tensor() ? shown_text(state().current_run()->tensors[*state().tensor()].name)
                          : chosen == state().selected().size()
                              ? tr("all %1 tensors").arg(chosen)
                              : tr("%1 of %2 tensors").arg(chosen).arg(state().selected().size());
  return steps + ", " + tensors;
}

QString exponents_view::shares() const {
  const scenario s = scenario_of(state().front().spec);
  const double scale = state().scale_at(state().cursor_step());
  const outcome_counts c = tables_.outcomes(state().selected(), s.recipe.usual(), scale);
  const auto nonzero = static_cast<double>(c.nonzero().high);
  QString parts = tr("lost %1, subnormal %2, normal %3, overflow %4")
                      .arg(percent(c.underflow, nonzero), percent(c.subnormal, nonzero), percent(c.normal, nonzero),
                           percent(c.overflow, nonzero));
  if (s.recipe.usual().rounding.direction == direction::stochastic) {
    expected_outcomes e;
    for (const tensor_tables::entry& t : tables_.entries)
      if (t.tensor < state().selected().size() && state().selected()[t.tensor])
        e += expected_outcomes_of(t.table, s.recipe.usual(), {.scale = t.is_scaled ? scale : 1, .factor = t.factor},
                                  t.type);
    parts = tr("expected over all draws: lost %1, subnormal %2, overflow %3")
                .arg(percent(e.underflow, nonzero), percent(e.subnormal, nonzero), percent(e.overflow, nonzero));
  }
  QString text = tr("%1 in %2 at %3: ")
                     .arg(steps_and_tensors(counted_), QString::fromStdString(state().front().spec.format),
                          power(std::log2(scale)));
  text += tr("%1 of %2 nonzero values; %3 zeros, %4 not finite")
              .arg(parts)
              .arg(QString::fromStdString(grouped(c.nonzero().high)),
                   QString::fromStdString(ends_text(grouped(c.zeros().low), grouped(c.zeros().high))),
                   QString::fromStdString(grouped(c.nonfinite)));
  if (const value_range scales = state().scales_in(counted_.first, counted_.last); !scales.exact())
    text += tr(". The replay used [%1, %2] in these steps")
                .arg(power(std::log2(scales.low)), power(std::log2(scales.high)));
  return text;
}

QString exponents_view::told_of(double x) const {
  if (!reach_) return {};
  if (x < plot().left() + ends - 1)
    return binades_.maybe_zeros > 0 ? tr("%1 zeros, and %2 that may be zero")
                                          .arg(count_text(binades_.zeros), count_text(binades_.maybe_zeros))
                                    : tr("%1 zeros").arg(count_text(binades_.zeros));
  if (x > plot().right() - ends + 1) return tr("%1 infinite or NaN").arg(count_text(binades_.nonfinite));
  const int exponent = static_cast<int>(std::floor(x));
  const auto found = binades_.by_exponent.find(exponent);
  const double count = found == binades_.by_exponent.end() ? 0 : found->second;
  double all = 0;
  for (const auto& [e, n] : binades_.by_exponent) all += n;
  return tr("from 2^%1 to 2^%2: %3 gradients (%4 % of the nonzero)\nat %5: %6")
      .arg(exponent)
      .arg(exponent + 1)
      .arg(count_text(count))
      .arg(100 * count / all, 0, 'g', 3)
      .arg(power(log2_scale()), fate_of(bands(), exponent));
}

void exponents_view::set_axes(const QString& magnitude, const QString& values, double left, double right, double most) {
  plot().set_axes({.title = magnitude,
                   .low = left - ends,
                   .high = right + ends,
                   .format = "2^%.0f",
                   .first = left,
                   .last = right,
                   .marks = {{left - ends + 1, tr("0")}, {right + ends - 1, tr("inf, NaN")}}},
                  {.title = tr("%1 (log)").arg(values),
                   .low = foot,
                   .high = std::ceil(std::log10(most)) + 0.3,
                   .format = "10^%.0f"});
}

QString exponents_view::fill(const theme& colours) {
  const QString why = why_empty();
  if (!why.isEmpty()) return why;
  if (shows_blocks()) return fill_blocks(colours);
  if (binades_.by_exponent.empty() || !reach_)
    return tr("The selected tensors hold no finite nonzero gradient at step %1.").arg(counted_.first);
  const double scale = state().scale_at(state().cursor_step());
  {
    const QSignalBlocker quiet(slider_);
    slider_->setValue(static_cast<int>(std::lround(scale > 0 ? std::log2(scale) : 0)));
  }
  scale_->setText((state().tried_scale() ? tr("%1, tried out") : tr("%1 of the replay")).arg(power(std::log2(scale))));
  told_ = shares();
  shares_->setText(with_whole_ranges(told_));
  setAccessibleDescription(told_);

  // The axis holds the gradients of the run, and the limits at the scales of the replay where they are near.
  const scenario s = scenario_of(state().front().spec);
  double left = reach_->lowest - 1.0;
  double right = reach_->highest + 2.0;
  if (const auto& result = state().front().result; result && !result->steps.empty()) {
    constexpr double near = 40;
    const extremes scales = result->scales.between(
        0, result->steps.size(), [&](std::size_t i) { return log2_or_gap(result->steps[i].scale_used); });
    const double lost = bands_of(s.recipe.usual(), scales.greatest).at.nonzero - 2;
    const double overflow = bands_of(s.recipe.usual(), scales.least).at.overflow + 2;
    if (lost > left - near) left = std::min(left, std::floor(lost));
    if (overflow < right + near) right = std::max(right, std::ceil(overflow));
  }
  double most = 1;
  for (const auto& [exponent, count] : binades_.by_exponent) most = std::max(most, count);
  const double zeros = binades_.zeros + binades_.maybe_zeros;
  most = std::max({most, zeros, binades_.nonfinite});
  plot().reserve_left(has_rulers_ ? ruler_names_width(plot().font()) : 0);
  set_axes(state().current_run()->as_recorded ? tr("magnitude as recorded") : tr("magnitude of the gradient"),
           tr("gradients"), left, right, most);

  const format_bands limits = bands();
  const auto faded = [](QColor colour, int alpha) {
    colour.setAlpha(alpha);
    return colour;
  };
  const auto cut = [&](double x) { return std::clamp(x, left, right); };
  chart_content content;
  content.bands = {{limits.is_drawn ? tr("may become zero") : tr("becomes zero"), faded(colours.lost, 70), left,
                    cut(limits.at.nonzero)},
                   {tr("subnormal"), faded(colours.subnormal, 60), cut(limits.at.nonzero), cut(limits.at.normal)},
                   {tr("overflows"), faded(colours.overflow, 70), cut(limits.at.overflow), right}};
  chart_bars bars{tr("gradients"), colours.heat(0.75), {}};
  for (const auto& [exponent, count] : binades_.by_exponent)
    if (count > 0) bars.tops.emplace_back(exponent + 0.5, height_of(count));
  // Zeros and what is not finite stand apart, at the ends.
  chart_bars apart{tr("zeros"), colours.faint, {}};
  if (zeros > 0) apart.tops.emplace_back(left - ends + 1, height_of(zeros));
  chart_bars nonfinite{tr("infinite or NaN"), colours.overflow, {}};
  if (binades_.nonfinite > 0) nonfinite.tops.emplace_back(right + ends - 1, height_of(binades_.nonfinite));
  content.bars = {bars, apart, nonfinite};
  // Binades that a limit cuts, if a part of them is lost.
  const outcome_counts outcomes =
      tables_.outcomes(state().selected(), s.recipe.usual(), state().scale_at(state().cursor_step()));
  const auto cuts = [&](double limit, const count_range& lost, int exponent) {
    return lost.high > 0 && limit > exponent && limit < exponent + 1;
  };
  for (const auto& [exponent, count] : binades_.by_exponent)
    if (count > 0 && (cuts(limits.at.nonzero, outcomes.underflow, exponent) ||
                      cuts(limits.at.overflow, outcomes.overflow, exponent)))
      content.hatched.push_back({content.hatched.empty() ? tr("partly lost") : QString(), exponent + 0.04,
                                 exponent + 0.96, height_of(count)});
  if (const binade_counts& other = compared_; !other.by_exponent.empty()) {
    chart_line outline{whole_->isChecked() ? tr("the first replay's run")
                                           : tr("the first replay's run, mean of nearby steps"),
                       QPen(colours.text, 1.5, Qt::DashLine),
                       {}};
    const int from = other.by_exponent.begin()->first;
    const int to = other.by_exponent.rbegin()->first;
    outline.points.emplace_back(from, foot);
    for (int exponent = from; exponent <= to; ++exponent) {
      const auto found = other.by_exponent.find(exponent);
      const double height = found == other.by_exponent.end() ? foot : std::max(foot, std::log10(found->second));
      outline.points.emplace_back(exponent, height);
      outline.points.emplace_back(exponent + 1, height);
    }
    outline.points.emplace_back(to + 1, foot);
    content.lines.push_back(std::move(outline));
  }
  plot().show(content);
  rulers_->show_scale(log2_scale());
  return {};
}

void exponents_view::draw(QPainter& to, const QRectF& room, const theme& colours) {
  // In a small picture the chart has the room: first the rulers go, then the words.
  has_rulers_ = !shows_blocks() && room.height() - words_height(to, room) > least_height_with_rulers + rulers_height();
  chart_view::draw(to, room.adjusted(0, 0, 0, has_rulers_ ? -rulers_height() : 0), colours);
}

void exponents_view::draw_beside(QPainter& to, const QRectF& room, const theme& colours) {
  if (has_rulers_)
    draw_rulers(to, QRectF(room.left(), room.bottom(), room.width(), rulers_height()), colours, plot(), log2_scale());
}

table exponents_view::data() const {
  if (shows_blocks()) return block_data();
  table t;
  t.columns = {{"exponent", "exponent"}, {"count", "gradients"}};
  for (const auto& [exponent, count] : binades_.by_exponent) t.rows.push_back({std::int64_t{exponent}, count});
  return t;
}

QString exponents_view::legend() const {
  return tr(
      "The number of gradients in each binade, at the cursor's step or over all steps shown. The bands show what the "
      "format makes of them at this loss scale: zero, subnormal, normal (plain), overflow. They move with the scale; "
      "the bars stay. A hatched bar is cut by a limit: part of it is lost. With stochastic rounding all values below "
      "the smallest number may become zero; the line above tells the expected share and its standard deviation. "
      "Zeros are at the left end, infinities and NaN at the right end. The bars below show what other formats hold "
      "at the same scale; the thin part is subnormal. Of a format whose blocks share a scale, chosen at the left, "
      "values are counted by how far they lie from the scale of their block, which takes block tables (ulp record "
      "--blocks): the bands stay, and a loss scale changes nothing. Without them no more is drawn than what the largest "
      "value of each tensor tells.");
}

}  // namespace ulp::gui
