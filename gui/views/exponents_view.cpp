#include "exponents_view.hpp"

#include <QFontMetricsF>
#include <QPainter>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/report/usual_formats.hpp>

#include "charts/chart.hpp"
#include "plot/frame.hpp"
#include "viewmodel/shown_text.hpp"

namespace ulp::gui {
namespace {

constexpr double note_height = 40;

constexpr double ruler_height = 16;
const double rulers_height = ruler_height * static_cast<double>(usual_formats(format_room::more).size()) + 4;

// What other formats hold at the same scale: from the smallest result above zero over the smallest normal number (a tick) up
// to overflow.
void draw_rulers(QPainter& to, const QRectF& room, const theme& colours, const chart& axis, double log2) {
  to.save();
  double y = room.top();
  for (const char* const name : usual_formats(format_room::more)) {
    const format f = *find_format(name);
    const format_limits limits = limits_of(f, {.direction = default_direction(f)});
    const double left = room.left() + axis.place_of(axis.left());
    const double right = room.left() + axis.place_of(axis.right());
    const auto x_of = [&](double exponent) {
      return std::clamp(room.left() + axis.place_of(exponent - log2), left, right);
    };
    const double middle = y + ruler_height / 2;
    to.setPen(QPen(colours.subnormal, 3));
    to.drawLine(QPointF(x_of(limits.nonzero), middle), QPointF(x_of(limits.normal), middle));
    to.setPen(QPen(colours.heat(0.75), 5));
    to.drawLine(QPointF(x_of(limits.normal), middle), QPointF(x_of(limits.overflow), middle));
    const double width = QFontMetricsF(to.font()).horizontalAdvance(name) + 12;
    const QRectF label(left + 2, y, width, ruler_height);
    to.fillRect(label, colours.background);
    to.setPen(colours.text);
    to.drawText(label, Qt::AlignCenter, name);
    y += ruler_height;
  }
  to.restore();
}

// The rulers under the chart.
class ruler_strip final : public QWidget {
 public:
  ruler_strip(const chart& axis, QWidget* parent) : QWidget(parent), axis_(axis) {
    setFixedHeight(static_cast<int>(rulers_height));
    setAccessibleName(QObject::tr("What other formats hold at this scale"));
  }
  void show_scale(double log2) {
    log2_ = log2;
    update();
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter to(this);
    draw_rulers(to, rect(), theme::of(palette()), axis_, log2_);
  }

 private:
  const chart& axis_;
  double log2_ = 0;
};

QString percent(const count_range& n, double all) {
  if (!(all > 0)) return QObject::tr("none");
  const auto text = [&](std::uint64_t x) { return QString::number(100 * static_cast<double>(x) / all, 'g', 4); };
  return n.exact() ? text(n.low) + " %" : QStringLiteral("[%1, %2] %").arg(text(n.low), text(n.high));
}

}  // namespace

exponents_view::exponents_view(view_state& state, QWidget* parent)
    : chart_view(state, "exponents", tr("Exponents"),
                 tr("What is lost at this step, and at which scale would it not be?"), parent),
      slider_(new QSlider(Qt::Horizontal, this)),
      scale_(new QLabel(this)),
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
  auto* const follow = new QPushButton(tr("Follow replay"), this);
  follow->setToolTip(tr("Use the scale of the replay in front again"));
  controls().addWidget(new QLabel(tr("Loss scale"), this));
  controls().addWidget(slider_, 1);
  controls().addWidget(scale_);
  controls().addWidget(follow);
  controls().addWidget(whole_);
  controls().addStretch();
  shares_->setTextFormat(Qt::PlainText);
  shares_->setWordWrap(true);
  auto* const box = static_cast<QVBoxLayout*>(layout());
  box->insertWidget(1, shares_);
  rulers_ = new ruler_strip(plot(), this);
  box->addWidget(rulers_);
  connect(slider_, &QSlider::valueChanged, this, [this](int log2) { this->state().set_tried_scale(log2); });
  connect(follow, &QPushButton::clicked, this, [this] { this->state().set_tried_scale(std::nullopt); });
  connect(&reader_, &background::failed, shares_, &QLabel::setText);
  connect(whole_, &QPushButton::toggled, this, [this] { refresh(view_state::cursor); });
}

bool exponents_view::shows_column() const {
  if (whole_->isChecked() || !why_empty().isEmpty()) return false;
  const run_picture& picture = state().current_run()->picture;
  const column_span& span = picture.columns().spans()[picture.column_of(state().run_step())];
  return span.first_step != span.last_step &&
         (exact_run_ != state().current_run()->id || exact_step_ != state().run_step());
}

void exponents_view::count() {
  tables_ = {};
  binades_ = {};
  compared_ = {};
  if (!why_empty().isEmpty()) return;
  const run_picture& picture = state().current_run()->picture;
  const auto& columns = picture.columns().columns();
  const auto& spans = picture.columns().spans();
  const bool whole = whole_->isChecked();
  const std::size_t first = picture.column_of(whole ? state().shown().first : state().run_step());
  const std::size_t last = picture.column_of(whole ? state().shown().last : state().run_step());
  const bool exact = !whole && !shows_column() && spans[first].first_step != spans[first].last_step;
  if (exact) {
    tables_ = exact_;
    span_ = tr("step %1").arg(exact_step_);
  } else {
    for (std::size_t c = first; c <= last; ++c) tables_.merge(columns[c]);
    span_ = spans[first].first_step == spans[last].last_step
                ? tr("step %1").arg(spans[first].first_step)
                : tr("steps %1 to %2").arg(spans[first].first_step).arg(spans[last].last_step);
  }
  binades_ = tables_.binades(state().selected());
  compared_ = compared();
  if (!shows_column()) return;
  reader_.start([this, run = state().shared_run(),
                 step = state().run_step()](const background::report& told) -> std::function<void()> {
    return [this, run, step, tables = tables_of_step(*run, step, told)] {
      exact_run_ = run->id;
      exact_step_ = step;
      exact_ = tables;
      refresh(view_state::cursor);
    };
  });
}

binade_counts exponents_view::compared() const {
  const auto first = state().doc().run();
  if (first == nullptr || first == state().shared_run() || first->tensors.empty()) return {};
  const run_picture& picture = first->picture;
  if (picture.columns().columns().empty()) return {};
  const tensor_mask shown = state().filtered(*first);
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
  const auto number = [](const logged_step& s) { return s.key.step; };
  const auto steps = std::ranges::upper_bound(picture.steps(), span.last_step, {}, number) -
                     std::ranges::lower_bound(picture.steps(), span.first_step, {}, number);
  for (auto& [exponent, count] : all.by_exponent) count /= static_cast<double>(std::max<std::ptrdiff_t>(1, steps));
  return all;
}

void exponents_view::catch_up_now() {
  if (shows_column()) {
    exact_run_ = state().current_run()->id;
    exact_step_ = state().run_step();
    exact_ = tables_of_step(*state().current_run(), exact_step_, [](double) {});
  }
  refresh(view_state::cursor);
  catch_up();
}

void exponents_view::refresh(view_state::parts what) {
  if (what == view_state::parts{view_state::range} && !whole_->isChecked()) return;
  if (what.testAnyFlags(view_state::parts{view_state::run} | view_state::replays | view_state::cursor |
                        view_state::tensors) ||
      (whole_->isChecked() && what.testFlag(view_state::range)))
    count();
  chart_view::refresh(what);
}

QString exponents_view::fill(const theme& colours) {
  const QString why = why_empty();
  if (!why.isEmpty()) return why;
  if (binades_.by_exponent.empty()) return tr("The selected tensors hold no finite nonzero gradient at %1.").arg(span_);
  const scenario s = scenario_of(state().front().spec);
  const double scale = state().scale_at(state().cursor_step());
  const double log2 = scale > 0 ? std::log2(scale) : 0;
  {
    const QSignalBlocker quiet(slider_);
    slider_->setValue(static_cast<int>(std::lround(log2)));
  }
  scale_->setText(state().tried_scale() ? tr("2^%1, tried out").arg(log2)
                                        : tr("2^%1 of the replay").arg(log2, 0, 'g', 4));

  const outcome_counts c = tables_.outcomes(state().selected(), s.format, s.rounding, scale);
  const auto nonzero = static_cast<double>(c.nonzero().high);
  const QString zeros =
      c.maybe_zero > 0 ? tr("%1 to %2").arg(c.zeros().low).arg(c.zeros().high) : QString::number(c.zero);
  shares_->setText(
      tr("%1, %2 in %3 at 2^%4: lost %5, subnormal %6, normal %7, overflow %8 of %9 nonzero values; %10 zeros, "
         "%11 not finite")
          .arg(span_,
               state().tensor() ? shown_text(state().current_run()->tensors[*state().tensor()].name)
                                : tr("selected tensors"),
               QString::fromStdString(state().front().spec.format))
          .arg(log2, 0, 'g', 4)
          .arg(percent(c.underflow, nonzero), percent(c.subnormal, nonzero), percent(c.normal, nonzero),
               percent(c.overflow, nonzero))
          .arg(nonzero, 0, 'f', 0)
          .arg(zeros)
          .arg(c.nonfinite));
  setAccessibleDescription(shares_->text());

  const format_limits limits = limits_of(s.format, s.rounding);
  const int lowest = binades_.by_exponent.begin()->first;
  const int highest = binades_.by_exponent.rbegin()->first;
  const double left = std::max(std::min(lowest - 2.0, limits.nonzero - log2 - 4), highest - 100.0) - 5;
  const double right = std::max(highest + 4.0, limits.overflow - log2 + 2);
  double most = 1;
  for (const auto& [exponent, count] : binades_.by_exponent) most = std::max(most, count);
  const double top = std::ceil(std::log10(most)) + 0.3;
  plot().set_axes(tr("exponent of the gradient: values in [2^k, 2^(k+1))"), left, right, tr("gradients, log10"), 0,
                  top);
  const auto faded = [](QColor colour, int alpha) {
    colour.setAlpha(alpha);
    return colour;
  };
  const std::vector<chart_band> bands{
      {tr("becomes zero"), faded(colours.lost, 70), left, limits.nonzero - log2},
      {tr("subnormal"), faded(colours.subnormal, 60), limits.nonzero - log2, limits.normal - log2},
      {tr("overflows"), faded(colours.overflow, 70), limits.overflow - log2, right}};
  chart_bars bars{tr("gradients"), colours.heat(0.75), {}};
  for (const auto& [exponent, count] : binades_.by_exponent)
    if (count > 0) bars.tops.push_back({exponent + 0.5, std::log10(count) + 0.02});
  // Zeros and what is not finite stand apart, at the ends.
  chart_bars apart{tr("zeros (left end), not finite (right end)"), colours.faint, {}};
  if (const double zeros_at_most = binades_.zeros + binades_.maybe_zeros; zeros_at_most > 0)
    apart.tops.push_back({left + 1, std::log10(zeros_at_most) + 0.02});
  if (binades_.nonfinite > 0) apart.tops.push_back({right - 1, std::log10(binades_.nonfinite) + 0.02});
  // Binades that a limit cuts: a part of them is lost.
  std::vector<hatching> partly;
  for (const auto& [exponent, count] : binades_.by_exponent)
    for (const double limit : {limits.nonzero - log2, limits.overflow - log2})
      if (count > 0 && limit > exponent && limit < exponent + 1) {
        partly.push_back({partly.empty() ? tr("partly lost") : QString(), exponent + 0.04, exponent + 0.96,
                          std::log10(count) + 0.02});
        break;
      }
  std::vector<chart_line> ghost;
  if (const binade_counts& other = compared_; !other.by_exponent.empty()) {
    chart_line outline{whole_->isChecked() ? tr("the first replay's run")
                                           : tr("the first replay's run, mean of nearby steps"),
                       QPen(colours.text, 1.5, Qt::DashLine),
                       {}};
    const int from = other.by_exponent.begin()->first;
    const int to = other.by_exponent.rbegin()->first;
    outline.points.emplace_back(from, 0);
    for (int exponent = from; exponent <= to; ++exponent) {
      const auto found = other.by_exponent.find(exponent);
      const double height = found == other.by_exponent.end() ? 0 : std::max(0.0, std::log10(found->second)) + 0.02;
      outline.points.emplace_back(exponent, height);
      outline.points.emplace_back(exponent + 1, height);
    }
    outline.points.emplace_back(to + 1, 0);
    ghost.push_back(std::move(outline));
  }
  plot().show(bands, {bars, apart}, ghost, partly);
  static_cast<ruler_strip*>(rulers_)->show_scale(log2);
  return {};
}

void exponents_view::draw(QPainter& to, const QRectF& room, const theme& colours) {
  chart_view::draw(to, room.adjusted(0, note_height, 0, -rulers_height), colours);
}

void exponents_view::draw_beside(QPainter& to, const QRectF& room, const theme& colours) {
  to.setPen(colours.text);
  to.drawText(QRectF(room.left(), room.top() - note_height, room.width(), note_height),
              Qt::AlignLeft | Qt::TextWordWrap, shares_->text());
  const double scale = state().scale_at(state().cursor_step());
  draw_rulers(to, QRectF(room.left(), room.bottom(), room.width(), rulers_height), colours, plot(),
              scale > 0 ? std::log2(scale) : 0);
}

table exponents_view::data() const {
  table t;
  t.columns = {{"exponent", "exponent"}, {"count", "gradients"}};
  for (const auto& [exponent, count] : binades_.by_exponent) t.rows.push_back({std::int64_t{exponent}, count});
  return t;
}

QString exponents_view::legend() const {
  return tr(
      "The number of gradients in each binade, at the cursor's step or over all steps shown. The bands show what the "
      "format makes of them at this loss scale: zero, subnormal, normal (plain), overflow. A hatched bar is cut by a "
      "limit: part of it is lost. Zeros are at the left end, infinities and NaN at the right end. The bars below show "
      "what other formats hold at the same scale; the thin part is subnormal.");
}

}  // namespace ulp::gui
