#include "formats_view.hpp"

#include <QHBoxLayout>
#include <QLabel>
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include <ulp/ask/questions/typed_values.hpp>

#include "viewmodel/run_detail.hpp"
#include "viewmodel/shown_text.hpp"
#include "viewmodel/story.hpp"

namespace ulp::gui {
namespace {

// The first of the steps that does not come before `step`.
std::size_t index_of(const run_picture& run, std::int64_t step) {
  return static_cast<std::size_t>(
      std::ranges::lower_bound(run.steps(), step, {}, [](const pictured_step& s) { return s.key.step; }) -
      run.steps().begin());
}

// Of these steps alone, where no columns end with them.
tensor_tables tables_of(const loaded_run& run, step_range steps, listener& to) {
  constexpr std::size_t columns = 64;
  const std::size_t blocks = steps_in(run, steps) / columns / block_of_steps + 1;
  const std::shared_ptr<const run_detail> detail = detail_of(run, steps, blocks * block_of_steps, to);
  tensor_tables all;
  for (const tensor_tables& t : detail->columns) all.merge(t);
  return all;
}

// Why verdicts are as they are, once each: "Unknown: zeros were rounded before they were recorded."
QString reasons_in(const table& t) {
  QStringList all;
  const auto at = std::ranges::find(t.columns, "loss_scaling", &table_column::key) - t.columns.begin();
  if (at == static_cast<std::ptrdiff_t>(t.columns.size())) return {};
  for (const auto& row : t.rows) {
    const QString verdict = shown_text(to_cell(row[static_cast<std::size_t>(at)]));
    const QString reason = verdict.left(1).toUpper() + verdict.mid(1) + '.';
    if (verdict.contains(':') && !all.contains(reason)) all << reason;
  }
  return all.join(' ');
}

}  // namespace

formats_view::formats_view(view_state& state, QWidget* parent)
    : rows_view(state, "formats", tr("Formats"), tr("Which format suffices, and at which static scale?"), parent),
      each_(make_toggle(tr("Each &tensor"), this)),
      beside_blocks_(make_toggle(tr("Beside &blocks"), this)),
      epsilon_(new QLineEdit(QString::fromStdString(shortest(usual_epsilon)), this)),
      measure_(new QComboBox(this)),
      block_rows_(new QLineEdit(this)) {
  each_->setToolTip(tr("For each tensor the smallest format that suffices, and the static scales for every format"));
  epsilon_->setFixedWidth(epsilon_->fontMetrics().horizontalAdvance("0.000000001"));
  epsilon_->setAccessibleName(tr("Share that may be lost"));
  epsilon_->setToolTip(tr("The share that may underflow, as ulp advise --epsilon; 1e-5 unless you change it"));
  measure_->addItems({tr("of the magnitude"), tr("of the values")});
  measure_->setAccessibleName(tr("Share of what"));
  measure_->setToolTip(
      tr("Magnitude: the sum of |x| of what underflows, as ulp advise judges. Values: how many underflow."));
  beside_blocks_->setObjectName("beside_blocks");
  beside_blocks_->setToolTip(
      tr("Formats whose blocks share a scale, beside the others: what each makes of the values"));
  block_rows_->setObjectName("block_rows");
  block_rows_->setAccessibleName(tr("Formats of blocks"));
  block_rows_->setPlaceholderText(tr("the usual ones; or mxfp4, te_nvfp4_16x16 ..."));
  block_rows_->setToolTip(tr("Names of ulp formats --blocks, with commas between them"));
  auto* const may_lose = new QLabel(tr("May lose"), this);
  of_loss_ = {may_lose, epsilon_, measure_};
  auto* const line = new QHBoxLayout;
  line->addWidget(each_);
  line->addWidget(beside_blocks_);
  line->addWidget(block_rows_, 1);
  line->addSpacing(12);
  line->addWidget(may_lose);
  line->addWidget(epsilon_);
  line->addWidget(measure_);
  line->addStretch();
  box().insertLayout(0, line);
  let_sort();
  show_controls();
  connect(each_, &QPushButton::toggled, this, [this](bool on) {
    if (on) beside_blocks_->setChecked(false);
    count_anew();
  });
  connect(beside_blocks_, &QPushButton::toggled, this, [this](bool on) {
    if (on) each_->setChecked(false);
    show_controls();
    count_anew();
  });
  connect(block_rows_, &QLineEdit::editingFinished, this, &formats_view::take_typed_rows);
  connect(epsilon_, &QLineEdit::editingFinished, this, &formats_view::count_anew);
  connect(measure_, &QComboBox::currentIndexChanged, this, &formats_view::count_anew);
  connect(&work_, &background::failed, this, [this](const QString& why) { set_note(why); });
}

std::optional<double> formats_view::epsilon() const {
  try {
    const double share = positive_number(epsilon_->text().trimmed().toStdString(), "");
    return share < 1 ? std::optional(share) : std::nullopt;
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

QString formats_view::words() const {
  const drawn_columns& drawn = *state().drawn();
  if (drawn.columns.empty()) return tr("No step is shown.");
  const QString first = QString::number(counted().first);
  const QString last = QString::number(counted().last);
  QString text = drawn.exact
                     ? tr("Steps %1 to %2.").arg(first, last)
                     : tr("Steps %1 to %2 are counted: the columns that hold the steps shown, %3 to %4.")
                           .arg(first, last, QString::number(drawn.shown.first), QString::number(drawn.shown.last));
  const auto lost = state().lost_from();
  if (const auto left_out = left_out_from())
    text += ' ' + tr("Left out, as on the Overview: those from %1 on, when the run was lost.").arg(*left_out);
  else if (!lost)
    text += ' ' + tr("If the run was lost at some step, those after it are counted, too.");
  else if (*lost && **lost <= counted().last)
    text += ' ' + tr("The run had been lost by then, in step %1.").arg(**lost);
  const auto leaves_out = [](const tensor_mask& some) { return std::ranges::find(some, false) != some.end(); };
  if (state().tensor() || leaves_out(state().filtered()))
    text += ' ' + tr("Of the selected tensors.");
  else if (leaves_out(state().selected()))
    text += ' ' + tr("Of the gradients.");
  if (!state().front().spec.check.empty()) text += ' ' + tr("Overflow is that of the tensors checked by default.");
  text += ' ' + tr("A format suffices if at most %1 % of %2 underflows and no finite step overflows.")
                    .arg(QString::number(100 * epsilon().value_or(usual_epsilon), 'g', 6),
                         measure_->currentIndex() == 0 ? tr("the magnitude") : tr("the nonzero values"));
  const QString reasons = reasons_in(table_);
  return reasons.isEmpty() ? text : text + '\n' + reasons;
}

std::optional<std::int64_t> formats_view::left_out_from() const {
  const auto lost = state().lost_from();
  const step_range all = state().drawn()->counted();
  const bool is_within = lost && *lost && all.first < **lost && **lost <= all.last;
  return is_within ? *lost : std::nullopt;
}

step_range formats_view::counted() const {
  step_range all = state().drawn()->counted();
  if (const auto left_out = left_out_from()) all.last = *left_out - 1;
  return all;
}

void formats_view::take(table t) {
  table_ = std::move(t);
  rows().set(table_);
  fit_columns();
  const QString why = why_empty();
  set_note(why.isEmpty() ? words() : why);
}

std::function<table(listener&)> formats_view::asked() const {
  const std::optional<double> share = epsilon();
  const auto drawn = state().drawn();
  if (!why_empty().isEmpty() || !share || drawn->columns.empty()) return {};
  return [run = state().shared_run(), drawn, steps = counted(), cut = left_out_from().has_value(),
          shown = state().selected(), scale = state().scale_at(state().cursor_step()), share = *share,
          measure = measure_->currentIndex() == 0 ? lost_share::of_magnitude : lost_share::of_values,
          each = each_->isChecked()](listener& to) {
    const format_question asked{
        .run = run->picture,
        .first = index_of(run->picture, steps.first),
        .end = index_of(run->picture, steps.last + 1),
        .tables = cut ? tables_of(*run, steps, to) : drawn->merged(),
        .tensors = run->tensors,
        .shown = shown,
        .scale = scale,
        .epsilon = share,
        .measure = measure,
        .as_recorded = run->as_recorded,
    };
    return each ? tensor_format_matrix(asked, to) : format_matrix(asked, to);
  };
}

void formats_view::show_controls() {
  block_rows_->setVisible(beside_blocks_->isChecked());
  for (QWidget* const of_loss : of_loss_) of_loss->setVisible(!beside_blocks_->isChecked());
}

void formats_view::take_typed_rows() {
  std::vector<std::string> names;
  for (const QString& name : block_rows_->text().split(',', Qt::SkipEmptyParts))
    names.push_back(name.trimmed().toStdString());
  try {
    state().set_block_rows(block_formats_named(names, tr("Formats").toStdString()));
  } catch (const std::invalid_argument& mistake) {
    set_note(shown_text(mistake.what()));
  }
}

std::function<block_counts(listener&)> formats_view::blocks_asked() const {
  const auto drawn = state().drawn();
  if (!why_empty().isEmpty() || drawn->columns.empty()) return {};
  return [run = state().shared_run(), drawn, steps = counted(), cut = left_out_from().has_value(),
          shown = state().selected(), scale = state().scale_at(state().cursor_step()),
          rows = state().block_rows()](listener& to) {
    const tensor_tables tables = cut ? tables_of(*run, steps, to) : drawn->merged();
    return block_counts{.formats = compared_formats(tables, shown, scale),
                        .blocks = blocks_of_steps(*run, steps.first, steps.last, shown, rows, to)};
  };
}

QString formats_view::block_words(const block_counts& counted_now) const {
  QString text = tr("Steps %1 to %2, ").arg(counted().first).arg(counted().last);
  text += state().tensor() ? shown_text(state().current_run()->tensors[*state().tensor()].name)
                           : tr("%1 tensors").arg(std::ranges::count(state().selected(), true));
  text +=
      tr(": formats without blocks at the loss scale %1; blocks choose their own scale. Bits are of a value with its "
         "share of the scale; least and largest numbers are times the scale.")
          .arg(QString::fromStdString(as_power(state().scale_at(state().cursor_step()))));
  // Each reason once.
  QStringList reasons;
  for (const compared_blocks& b : counted_now.blocks) {
    if (b.why_open.empty()) continue;
    const QString reason = shown_text(b.why_open);
    QStringList names;
    for (const compared_blocks& other : counted_now.blocks)
      if (other.why_open == b.why_open) names << QString::fromStdString(other.of.name);
    const QString line = tr("Not counted (?), %1: %2.").arg(names.join(", "), reason);
    if (!reasons.contains(line)) reasons << line;
  }
  return reasons.isEmpty() ? text : text + '\n' + reasons.join('\n');
}

void formats_view::take_blocks(block_counts counted_now) {
  table_ = block_comparison_table(counted_now.formats, counted_now.blocks);
  rows().set(table_);
  fit_columns();
  set_note(block_words(counted_now));
}

void formats_view::count_anew() {
  work_.cancel();
  if (beside_blocks_->isChecked()) {
    const auto ask = blocks_asked();
    if (!ask) return take({});
    if (table_.rows.empty()) set_note(tr("Counting ..."));
    return work_.start([this, ask](listener& to) -> std::function<void()> {
      return [this, counted_now = ask(to)] { take_blocks(counted_now); };
    });
  }
  if (const auto ask = asked()) {
    if (table_.rows.empty()) set_note(tr("Counting ..."));
    work_.start([this, ask](listener& to) -> std::function<void()> { return [this, t = ask(to)] { take(t); }; });
    return;
  }
  take({});
  if (!epsilon())
    set_note(tr("'%1' is not a share that may be lost: give a number above 0 and below 1, such as 1e-5.")
                 .arg(epsilon_->text()));
}

void formats_view::refresh(view_state::parts what) {
  using state = view_state;
  if (what.testFlag(state::blocks) && (this->state().block() || !this->state().own_block_rows().empty())) {
    QStringList names;
    for (const named_block_format& row : this->state().own_block_rows()) names << QString::fromStdString(row.name);
    block_rows_->setText(names.join(", "));
    beside_blocks_->setChecked(true);
  }
  // The scales that do depend on tensors and steps alone.
  const auto always = state::parts{state::run} | state::tensors | state::columns | state::lost | state::blocks;
  if (what.testAnyFlags(each_->isChecked() ? always : always | state::replays | state::scale | state::cursor))
    count_anew();
}

void formats_view::catch_up_now() {
  find_loss_now(state());
  catch_up();
  work_.cancel();
  if (beside_blocks_->isChecked()) {
    if (const auto ask = blocks_asked()) take_blocks(ask(nobody()));
  } else if (const auto ask = asked()) {
    take(ask(nobody()));
  }
}

QString formats_view::legend() const {
  return tr(
      "What each format does to the gradients of the steps shown: whether they need a loss scale in it, and the "
      "static scales that suffice, as ulp advise answers for these steps: what comes after the run was lost is left "
      "out. Where a run has several kinds of gradients, the kind that asks for the highest scale decides. Beside no "
      "scale (1), losses are told at the scale under the cursor, or at the one that you try. Rounding is each "
      "format's own. A range means that the input leaves it open. Each tensor lists the smallest format that holds a "
      "tensor without a loss scale; the tensors that fit fewest formats come first. Beside blocks lists formats whose "
      "blocks share a scale as well: bits with the share of the scale, which numbers there are, whose scale it is and how "
      "it follows, and how many values are lost to zero, subnormal and beyond the largest number. These counts are exact, "
      "or ranges; where they take block tables that the input lacks (ulp record --blocks) there is a question mark. "
      "Click a header to sort; Ctrl+C copies the selected rows.");
}

}  // namespace ulp::gui
