// Exponents over the scale that blocks share.
#include <algorithm>
#include <cmath>

#include <ulp/report/pictures/block_window.hpp>

#include "block_choice.hpp"
#include "charts/chart.hpp"
#include "exponents_view.hpp"
#include "viewmodel/shown_text.hpp"

namespace ulp::gui {
namespace {

double height_of(double count) { return count > 0 ? std::log10(count) : not_known; }

QColor faded(QColor colour, int alpha) {
  colour.setAlpha(alpha);
  return colour;
}

QString count_text(const count_range& n) { return QString::fromStdString(ends_text(grouped(n.low), grouped(n.high))); }

}  // namespace

QString exponents_view::shown_under() const {
  return shows_blocks() && counted_blocks_ ? shown_text(title_of(*counted_blocks_)) : chart_view::shown_under();
}

void exponents_view::show_controls() {
  format_->follow();
  for (QWidget* const of_scale :
       {static_cast<QWidget*>(scale_title_), static_cast<QWidget*>(slider_), static_cast<QWidget*>(scale_),
        static_cast<QWidget*>(follow_), static_cast<QWidget*>(none_)})
    of_scale->setVisible(!shows_blocks());
}

exponents_view::block_question exponents_view::blocks_asked() const {
  const std::int64_t step = state().run_step();
  return {.run = state().current_run()->id,
          .row = *state().block(),
          .steps = whole_->isChecked() ? state().shown() : step_range{step, step},
          .shown = state().selected()};
}

void exponents_view::count_blocks() {
  if (!why_empty().isEmpty()) return;
  block_question asked = blocks_asked();
  if (asked == block_asked_) return;
  block_asked_ = asked;
  counted_blocks_.reset();
  block_failure_.clear();
  block_reader_.start([this, run = state().shared_run(), asked](listener& to) -> std::function<void()> {
    return [this, asked,
            counted = blocks_of_steps(*run, asked.steps.first, asked.steps.last, asked.shown, {asked.row}, to)] {
      take_blocks(asked, counted.front());
      chart_view::refresh({});
    };
  });
}

void exponents_view::take_blocks(const block_question& asked, compared_blocks counted) {
  block_asked_ = asked;
  block_failure_.clear();
  counted_blocks_ = std::move(counted);
}

QString exponents_view::block_words(const QString& in) const {
  return tr("%1 in %2: %3.")
      .arg(steps_and_tensors(block_asked_.steps), in, shown_text(outcomes_text(*counted_blocks_)));
}

QString exponents_view::fill_blocks(const theme& colours) {
  shares_->clear();
  told_.clear();
  plot().reserve_left(0);
  if (!block_failure_.isEmpty()) return block_failure_;
  if (!counted_blocks_) return tr("Counting ...");
  const block_window window = block_window_of(*counted_blocks_);
  const QString words = block_words(shown_text(title_of(*counted_blocks_)));
  if (window.empty()) return words;
  told_ = block_words(shown_text(counted_blocks_->of.name));  // over a picture elsewhere the title stands already
  shares_->setText(with_whole_ranges(words));
  setAccessibleDescription(words);

  const double left = window.low;
  const double right = window.high;
  const auto zeros = static_cast<double>(counted_blocks_->exponents.zeros);
  const auto nonfinite = static_cast<double>(counted_blocks_->exponents.nonfinite);
  double most = std::max({1.0, zeros, nonfinite});
  for (const auto& [exponent, n] : window.bars) most = std::max(most, static_cast<double>(n.high));
  set_axes(tr("magnitude over %1").arg(shown_text(window.unit)), tr("values"), left, right, most);
  chart_content content;
  if (window.limits) {
    const auto cut = [&](double x) { return std::clamp(x, left, right); };
    const format_limits& at = *window.limits;
    content.bands = {
        {window.is_bound ? tr("may become zero") : tr("becomes zero"), faded(colours.lost, 70), left, cut(at.nonzero)}};
    if (!window.is_bound) {
      if (at.normal > at.nonzero)
        content.bands.push_back({tr("subnormal"), faded(colours.subnormal, 60), cut(at.nonzero), cut(at.normal)});
      content.bands.push_back({counted_blocks_->of.row->saturates ? tr("saturates") : tr("overflows"),
                               faded(colours.overflow, 70), cut(at.overflow), right});
    }
  }
  // What is in one of two binades is drawn behind what is sure.
  chart_bars perhaps{{}, faded(colours.heat(0.75), 90), {}};
  chart_bars sure{tr("values"), colours.heat(0.75), {}};
  for (const auto& [exponent, n] : window.bars) {
    if (exponent < window.low || exponent >= window.high) continue;
    if (!n.exact()) perhaps.tops.emplace_back(exponent + 0.5, height_of(static_cast<double>(n.high)));
    if (n.low > 0) sure.tops.emplace_back(exponent + 0.5, height_of(static_cast<double>(n.low)));
  }
  if (!perhaps.tops.empty()) perhaps.name = tr("in one of two binades");
  chart_bars apart{tr("zeros"), colours.faint, {}};
  if (zeros > 0) apart.tops.emplace_back(left - ends + 1, height_of(zeros));
  chart_bars infinite{tr("infinite or NaN"), colours.overflow, {}};
  if (nonfinite > 0) infinite.tops.emplace_back(right + ends - 1, height_of(nonfinite));
  content.bars = {perhaps, sure, apart, infinite};
  plot().show(content);
  return {};
}

QString exponents_view::block_told_of(double x) const {
  if (!counted_blocks_) return {};
  const block_window window = block_window_of(*counted_blocks_);
  if (x < plot().left() + ends - 1)
    return tr("%1 zeros").arg(QString::fromStdString(grouped(counted_blocks_->exponents.zeros)));
  if (x > plot().right() - ends + 1)
    return tr("%1 infinite or NaN").arg(QString::fromStdString(grouped(counted_blocks_->exponents.nonfinite)));
  const int exponent = static_cast<int>(std::floor(x));
  const auto found = window.bars.find(exponent);
  const count_range n = found == window.bars.end() ? count_range{} : found->second;
  QString text = tr("from 2^%1 to 2^%2 times %3: %4 values")
                     .arg(exponent)
                     .arg(exponent + 1)
                     .arg(shown_text(window.unit), count_text(n));
  if (const std::string fate = fate_text(window, exponent); !fate.empty()) text += '\n' + shown_text(fate);
  return text;
}

table exponents_view::block_data() const {
  table t;
  t.columns = {{"exponent", "exponent"}, {"count", "values", alignment::by_value, range_keys::both}};
  if (counted_blocks_)
    for (const auto& [exponent, n] : counted_blocks_->exponents.by_exponent)
      t.rows.push_back({std::int64_t{exponent}, n});
  return t;
}

}  // namespace ulp::gui
