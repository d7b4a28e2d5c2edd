#include "overview_view.hpp"

#include <QCoreApplication>
#include <QFontMetricsF>
#include <QHeaderView>
#include <QPainter>
#include <QScrollBar>
#include <QVBoxLayout>
#include <QWheelEvent>
#include <algorithm>
#include <utility>

#include <ulp/report/tables/estimates.hpp>

#include "viewmodel/column_words.hpp"
#include "viewmodel/counted_words.hpp"
#include "viewmodel/shown_text.hpp"
#include "window_view.hpp"

namespace ulp::gui {
namespace {

constexpr int gap = 10;

enum column : std::uint8_t {
  replay,
  skipped,
  first_skip,
  scale_at_end,
  underflow,
  overflow,
  clipped,
  regret,
  diverged
};

table_value share(const outcome_counts& c, const value_range& of) {
  if (c.nonzero().high == 0) return {};
  return percent_text(of);
}

table_value step_or_nothing(const std::optional<std::int64_t>& step) {
  return step ? table_value{*step} : table_value{};
}

std::vector<table_value> row_of(const drawn_replay& r, bool clips, std::string name, std::string regret) {
  const trajectory_summary& s = r.summary;
  std::vector<table_value> row(9);
  row[replay] = std::move(name);
  const std::string skips = skipped_text(s.skipped, s.uncertain, s.bounds);
  row[skipped] = skips.starts_with('~') ? table_value{skips} : static_cast<std::int64_t>(s.skipped);
  row[first_skip] = step_or_nothing(s.first_skip);
  if (s.steps > 0) row[scale_at_end] = as_power(s.last_scale);
  if (s.has_counts) {
    row[underflow] = share(s.counts, underflow_share(s.counts));
    row[overflow] = share(s.counts, share_of_nonzero(s.counts, s.counts.overflow));
  }
  if (clips && s.clipping_unknown < s.steps) row[clipped] = static_cast<std::int64_t>(s.clipped);
  if (!regret.empty()) row[column::regret] = std::move(regret);
  row[diverged] = step_or_nothing(s.first_divergence);
  return row;
}

QString list_of(const QStringList& lines) {
  QString html;
  for (const QString& line : lines) html += QStringLiteral("<p style='margin:2px 0'>%1</p>").arg(line.toHtmlEscaped());
  return html;
}

// What every program tells of runs and replays beside the story, once each.
QStringList told_beside(const view_state& state, const told_story* story, const told_recipe* recipe) {
  QStringList all;
  const auto add = [&](const QString& lead, const std::vector<std::string>& lines) {
    for (const std::string& line : lines)
      if (const QString text = lead + shown_text(line); !all.contains(text)) all << text;
  };
  const QString warning = QStringLiteral("⚠ ");
  for (const auto& run : state.doc().runs()) {
    all << shown_text(run->text.inputs.front()) +
               QObject::tr(": %1 of %2")
                   .arg(count_of_steps(run->picture.steps().size()), count_of_tensors(run->tensors.size()));
    add(warning, run->warnings);
    add({}, run->notes);
  }
  if (story != nullptr) add({}, story->notes);
  if (recipe != nullptr) {
    add(warning, recipe->warnings);
    add({}, recipe->notes);
  }
  const bool several = state.doc().replays().size() > 1;
  for (const replay_entry& r : state.doc().replays()) {
    const QString lead = several ? state.doc().title_of(r) + ": " : QString();
    if (!r.failure.isEmpty()) all << warning + lead + r.failure;
    if (!r.result) continue;
    add(warning + lead, r.result->warnings);
    for (const summary_line& line : r.result->lines)
      for (const char* const told :
           {"critical", "recovery", "expected", "recorded", "checked", "uncertain", "schedule", "open loop"})
        if (line.title == told && !line.text.empty()) all << lead + shown_text(line.title + ": " + line.text);
    add(lead, r.result->notes);
  }
  return all;
}

}  // namespace

overview_view::overview_view(view_state& state, QWidget* parent)
    : view(state, "overview", tr("Overview"), tr("What happened in this run, and what should change?"), parent),
      story_(state),
      scroll_(new QScrollArea(this)),
      page_(new QWidget),
      header_(new story_header(page_)),
      card_box_(new QWidget(page_)),
      card_grid_(new QGridLayout(card_box_)),
      clear_(new QLabel(page_)),
      hero_(new window_view(state, page_)),
      hero_title_(new QLabel(page_)),
      rows_(new rows_model(this)),
      grid_(new QTableView(page_)),
      notes_(new QLabel(page_)) {
  auto* const all = new QVBoxLayout(this);
  all->setContentsMargins(0, 0, 0, 0);
  all->addWidget(scroll_);
  scroll_->setWidget(page_);
  scroll_->setWidgetResizable(true);
  scroll_->setFrameShape(QFrame::NoFrame);
  scroll_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll_->setFocusPolicy(Qt::NoFocus);
  auto* const box = new QVBoxLayout(page_);
  box->setContentsMargins(gap, gap, gap, gap);
  box->setSpacing(gap);
  box->addWidget(header_);
  box->addWidget(clear_);
  box->addWidget(card_box_);
  box->addWidget(hero_title_);
  box->addWidget(hero_);
  box->addWidget(grid_);
  box->addWidget(notes_);
  box->addStretch();
  card_grid_->setContentsMargins(0, 0, 0, 0);
  card_grid_->setSpacing(gap);
  hero_->setObjectName("hero");
  hero_->setFixedHeight(300);
  hero_title_->setTextFormat(Qt::PlainText);
  clear_->setWordWrap(true);
  clear_->setTextFormat(Qt::PlainText);
  notes_->setWordWrap(true);
  notes_->setTextFormat(Qt::RichText);
  notes_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  notes_->setAccessibleName(tr("Notes"));
  grid_->setModel(rows_);
  grid_->setSelectionBehavior(QAbstractItemView::SelectRows);
  grid_->setShowGrid(false);
  grid_->verticalHeader()->hide();
  grid_->verticalHeader()->setDefaultSectionSize(24);
  grid_->horizontalHeader()->setHighlightSections(false);
  grid_->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  grid_->setAccessibleName(tr("Replays"));
  grid_->setToolTip(tr("Double-click a number for the view that explains it"));
  setFocusProxy(header_);
  hero_->installEventFilter(this);
  scroll_->viewport()->installEventFilter(this);
  connect(&story_, &story::changed, this, [this] {
    show_story();
    show_table();
  });
  connect(grid_, &QTableView::activated, this, [this](const QModelIndex& index) {
    this->state().set_front(static_cast<std::size_t>(index.row()));
    const auto result = this->state().front().result;
    const auto go_to = [&](const std::optional<std::int64_t>& step) {
      if (step) this->state().set_cursor(*step);
    };
    switch (index.column()) {
      case underflow: return emit asked_for("layers");
      case overflow: return emit asked_for("window");
      case clipped: return emit asked_for("clipping");
      case column::regret: return emit asked_for("policies");
      case first_skip:
        if (result) go_to(result->summary.first_skip);
        return emit asked_for("scale");
      case diverged:
        if (result) go_to(result->summary.first_divergence);
        return emit asked_for("scale");
      default: return emit asked_for("scale");
    }
  });
}

// What is told of an FP8 recipe, where one is asked for; and what to do where the recording wants one.
void overview_view::add_recipe(story_lines& to) const {
  if (!story_.is_of_recipe()) {
    if (state().current_run()->has_live_scales)
      to.lines.emplace_back(tr("In FP8"), tr("The recording holds the scales of its own run: choose its recipe and "
                                             "parameters in Tensor scales, or with --recipe and --set, to replay it "
                                             "against them."));
    return;
  }
  const QString name = shown_text(name_of(state().fp8()));
  const told_recipe* const recipe = story_.under_recipe();
  if (recipe == nullptr) {
    to.lines.emplace_back(tr("In FP8"), tr("%1 is being replayed ...").arg(name));
    return;
  }
  if (!recipe->why_not.isEmpty()) {
    to.lines.emplace_back(tr("In FP8"), tr("%1 cannot be replayed: %2").arg(name, recipe->why_not));
    to.grade = std::min(to.grade, finding_grade::notable);
    return;
  }
  to.lines.emplace_back(tr("In FP8"), tr("under %1: %2").arg(name, shown_text(recipe->told.happened)));
  to.grade = std::min(to.grade, recipe->told.grade);
}

story_lines overview_view::told_lines() const {
  const loaded_run* const run = state().current_run();
  if (run == nullptr || run->picture.steps().empty()) return {{{tr("No story"), why_no_steps()}}, finding_grade::fine};
  if (run->as_recorded)
    return {
        {{tr("Not judged yet"),
          tr("It is not known whether these values were multiplied by a loss scale: nothing is concluded before "
             "that is said.")},
         {tr("What to do"), tr("Answer the question above the views, or open the run with --factor or --scalars.")}},
        finding_grade::notable};
  const auto& told = story_.told();
  if (!told) {
    const QString why = story_.why_not();
    story_lines all{{{tr("What happened"), tr("The run is being judged ...")}}, finding_grade::fine};
    if (!why.isEmpty()) all = {{{tr("Not judged"), why}}, finding_grade::notable};
    if (run->amaxes_only) all = {{}, finding_grade::fine};
    add_recipe(all);
    return all;
  }
  const advice_summary& first = told->given.first;
  QString change = shown_text(first.change);
  for (const std::string& line : first.lines) change += "\n" + shown_text(line);
  story_lines all{{{tr("What happened"), shown_text(first.happened)}}, first.grade};
  // The run may be well, and what is tried on it not.
  if (const told_replay* const replay = story_.told_of(state().front());
      replay != nullptr && replay->underflow.grade != finding_grade::fine) {
    all.lines.emplace_back(tr("Under this replay"), shown_text(replay->underflow.conclusion));
    all.grade = std::min(all.grade, replay->underflow.grade);
  }
  add_recipe(all);
  all.lines.emplace_back(tr("What to change"), change);
  all.lines.emplace_back(tr("How sure"), shown_text(first.sure));
  if (first.left_out_from)
    all.lines.emplace_back(tr("Left out below"),
                           tr("the steps from %1 on, when the run was lost").arg(*first.left_out_from));
  return all;
}

void overview_view::show_story() {
  header_->show_story(told_lines());
  const loaded_run* const run = state().current_run();
  const auto& told = story_.told();
  notes_->setText(run == nullptr ? QString() : list_of(told_beside(state(), told.get(), story_.under_recipe())));
  const bool is_judged = run != nullptr && told && !run->as_recorded;
  if (is_judged && told->given.first.cause == "recorded_wrongly" &&
      told->given.first.happened.find("gradients are said to be") != std::string::npos)
    emit doubted(told->run, shown_text(told->given.first.happened));
  const told_replay* const of_replay = is_judged ? story_.told_of(state().front()) : nullptr;
  const auto result = is_judged ? state().front().result : nullptr;
  fit_heights();
  const told_recipe* const recipe = run != nullptr && !run->as_recorded ? story_.under_recipe() : nullptr;
  const std::string under = recipe == nullptr ? std::string{} : recipe->told.under;
  if (carded_ == (is_judged ? told : nullptr) && carded_replay_ == of_replay && carded_result_ == result &&
      carded_recipe_ == std::pair{run == nullptr ? 0 : run->id, under})
    return;
  carded_ = is_judged ? told : nullptr;
  carded_replay_ = of_replay;
  carded_result_ = result;
  carded_recipe_ = {run == nullptr ? 0 : run->id, under};
  cards_ = is_judged ? cards_of(*told, of_replay, *run, state().front()) : std::vector<story_card>{};
  if (recipe != nullptr) cards_ = with_recipe(std::move(cards_), *recipe, *run, state().front());
  clear_->setVisible(is_judged && !cards_.empty());
  const bool all_clear =
      is_judged && of_replay != nullptr && told->given.all_clear() &&
      std::ranges::all_of(cards_, [](const story_card& card) { return card.grade == finding_grade::fine; });
  if (is_judged)
    clear_->setText((all_clear ? tr("All clear. ") : QString()) + shown_text(told->given.thresholds) +
                    tr(" Bars are logarithmic, from 0.0001 to 100 %."));
  qDeleteAll(std::exchange(buttons_, {}));
  for (const story_card& card : cards_) {
    auto* const button = new card_button(card, card_box_);
    connect(button, &card_button::clicked, this, [this, card] {
      if (card.view.isEmpty()) return;
      look_at(card, state());
      emit asked_for(card.view);
    });
    buttons_.push_back(button);
  }
  lay_out_cards();
}

// Cards beside each other are as high as the highest.
void overview_view::lay_out_cards() {
  const int room = scroll_->viewport()->width() - 2 * gap;
  const int columns = std::max(1, (room + gap) / (card_width + gap));
  const double width = (room - gap * (columns - 1)) / static_cast<double>(columns);
  const auto per_row = static_cast<std::size_t>(columns);
  for (std::size_t i = 0; i < buttons_.size(); ++i) {
    const std::size_t first = i - i % per_row;
    double height = 0;
    for (std::size_t c = first; c < std::min(first + per_row, buttons_.size()); ++c)
      height = std::max(height, card_height(font(), width, buttons_[c]->card()));
    buttons_[i]->setFixedHeight(static_cast<int>(height));
    card_grid_->addWidget(buttons_[i], static_cast<int>(i / per_row), static_cast<int>(i % per_row));
    buttons_[i]->show();
  }
  for (int c = 0; c < card_grid_->columnCount(); ++c) card_grid_->setColumnStretch(c, c < columns ? 1 : 0);
  card_box_->setVisible(!buttons_.empty());
  fit_heights();
}

// Of what is wrapped: a layout inside a scroll area asks for it too late.
void overview_view::fit_heights() {
  const int width = scroll_->viewport()->width() - 2 * gap;
  for (QWidget* const w :
       {static_cast<QWidget*>(header_), static_cast<QWidget*>(clear_), static_cast<QWidget*>(notes_)})
    w->setFixedHeight(std::max(0, w->heightForWidth(width)));
  // The rows of the table, and a bar below them where not all columns fit.
  const bool has_bar = grid_->horizontalHeader()->length() > width - 2 * grid_->frameWidth();
  grid_->setFixedHeight(grid_->horizontalHeader()->sizeHint().height() + 24 * std::max(1, rows_->rowCount()) +
                        2 * grid_->frameWidth() + (has_bar ? grid_->horizontalScrollBar()->sizeHint().height() : 0));
}

void overview_view::show_table() {
  table_ = {};
  table_.columns = {{"replay", "replay"},
                    {"skipped", "skipped", alignment::right},
                    {"first_skip", "first skip"},
                    {"last_scale", "scale at the end", alignment::right},
                    {"underflow", "underflow", alignment::right},
                    {"overflow", "overflow", alignment::right},
                    {"clipped", "clipped steps"},
                    {"regret", "regret", alignment::right},
                    {"diverged", "diverges at step"}};
  if (state().current_run() != nullptr && !state().current_run()->amaxes_only)
    for (const replay_entry& r : state().doc().replays()) {
      const std::string name = state().doc().title_of(r).toStdString();
      if (r.result && !r.result->steps.empty()) {
        const told_replay* const told = story_.told_of(r);
        table_.rows.push_back(row_of(*r.result, !r.spec.clip_norm.empty() || !r.spec.clip_value.empty(), name,
                                     told == nullptr ? std::string{} : told->regret));
      } else
        table_.rows.push_back({name, {}, {}, {}, {}, {}, {}, {}, {}});
    }
  rows_->set(table_);
  grid_->resizeColumnsToContents();
  grid_->setVisible(rows_->rowCount() > 0);
  fit_heights();
}

void overview_view::refresh(view_state::parts what) {
  if (!what.testAnyFlags(view_state::parts{view_state::run} | view_state::replays)) return;
  const bool has_tensors = why_empty().isEmpty();
  hero_->setVisible(has_tensors);
  hero_title_->setVisible(has_tensors);
  hero_title_->setText(
      tr("Gradients by exponent, and what %1 keeps of them").arg(QString::fromStdString(state().front().spec.format)));
  QFont font = this->font();
  font.setBold(true);
  hero_title_->setFont(font);
  show_story();
  show_table();
}

void overview_view::catch_up_now() {
  story_.tell_now();
  catch_up();
  show_story();
  show_table();
  hero_->catch_up_now();
}

// The wheel scrolls the page; with a key the picture takes it. The page is laid out anew when its width is known.
bool overview_view::eventFilter(QObject* of, QEvent* event) {
  if (of == scroll_->viewport() && event->type() == QEvent::Resize) lay_out_cards();
  if (of != hero_ || event->type() != QEvent::Wheel) return view::eventFilter(of, event);
  if (static_cast<QWheelEvent*>(event)->modifiers() != Qt::NoModifier) return false;
  QCoreApplication::sendEvent(scroll_->verticalScrollBar(), event);
  return true;
}

// On paper nothing scrolls. What happened comes first, and the worst findings; then, where there is room for it, the table,
// the picture of the run, and more findings.
void overview_view::draw(QPainter& to, const QRectF& room, const theme& colours) {
  if (state().current_run() == nullptr) return draw_empty(to, room, colours, why_empty());
  to.save();
  to.setClipRect(room);
  const QFontMetricsF metrics(to.font());
  const double row = metrics.height() + 4;
  const double most_story = cards_.empty() ? room.height() : std::max(0.42 * room.height(), 4 * row);
  double y = room.top() +
             draw_story(to, room, shortened_story(to.font(), room.width(), most_story, header_->shown()), colours) +
             gap;
  const auto columns = static_cast<std::size_t>(std::max(1.0, std::floor((room.width() + gap) / (card_width + gap))));
  const double width = (room.width() - gap * static_cast<double>(columns - 1)) / static_cast<double>(columns);
  std::vector<double> heights;  // of the rows of cards
  for (std::size_t i = 0; i < cards_.size(); ++i) {
    if (i % columns == 0) heights.push_back(0);
    heights.back() = std::max(heights.back(), card_height(to.font(), width, cards_[i]));
  }
  double table_height = table_.rows.empty() ? 0 : row * (static_cast<double>(table_.rows.size()) + 1) + gap;
  const double for_cards = room.bottom() - y;
  const double least_cards = heights.empty() ? 0 : least_card_height(to.font()) + (cards_.size() > columns ? row : 0);
  const bool has_table = table_height > 0 && for_cards - least_cards - gap >= table_height;
  if (!has_table) table_height = 0;
  const double least_hero = std::max(150.0, 0.36 * room.height());
  const double fewest = heights.empty() ? 0 : std::min(heights.front(), for_cards - table_height - least_cards);
  const bool has_hero = why_empty().isEmpty() && for_cards - table_height - fewest - row - gap >= 100;
  double left_over = for_cards - table_height - (has_hero ? least_hero : 0);
  std::size_t rows = 0;
  for (double used = 0; rows < heights.size(); ++rows) {
    used += heights[rows] + gap;
    if (used + (rows + 1 < heights.size() ? row : 0) > left_over) break;
  }
  if (rows == 0 && !heights.empty()) {
    rows = 1;
    left_over = for_cards - table_height - (has_hero ? 100 : 0) - gap - (cards_.size() > columns ? row : 0);
    heights.front() = std::min(heights.front(), std::max(least_card_height(to.font()), left_over));
  }
  const std::size_t shown = std::min(cards_.size(), rows * columns);
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0 && i % columns == 0) y += heights[i / columns - 1] + gap;
    draw_card(to,
              QRectF(room.left() + static_cast<double>(i % columns) * (width + gap), y, width, heights[i / columns]),
              cards_[i], colours);
  }
  if (rows > 0) y += heights[rows - 1] + gap;
  if (shown < cards_.size()) {
    to.setPen(colours.faint);
    to.drawText(QRectF(room.left(), y - gap / 2.0, room.width(), row), Qt::AlignVCenter,
                (story_.is_of_recipe() ? tr("%1 of %2 findings; all of them are in the window")
                                       : tr("%1 of %2 findings; all of them are in ulp advise and in the window"))
                    .arg(shown)
                    .arg(cards_.size()));
    y += row;
  }
  if (const double hero_height = room.bottom() - table_height - y; has_hero && hero_height > 80) {
    hero_->draw(to, QRectF(room.left(), y, room.width(), hero_height), colours);
    y += hero_height;
  }
  if (has_table) draw_table(to, QRectF(room.left(), y + gap / 2.0, room.width(), table_height), colours);
  to.restore();
}

void overview_view::draw_table(QPainter& to, const QRectF& room, const theme& colours) const {
  const QFontMetricsF metrics(to.font());
  const double row = metrics.height() + 4;
  const double y = room.top();
  double x = room.left();
  for (std::size_t c = 0; c < table_.columns.size(); ++c) {
    double column = metrics.horizontalAdvance(header_text(table_.columns[c].title));
    for (const auto& one : table_.rows)
      column = std::max(column, metrics.horizontalAdvance(shown_text(to_cell(one[c]))));
    column = std::min(column, room.width() / 3);
    // What does not fit is said to be there.
    const bool is_last = c + 1 == table_.columns.size();
    const std::size_t left_out = table_.columns.size() - c;
    const QString more = left_out == 1 ? tr("one more column") : tr("%1 more columns").arg(left_out);
    if (x + column + (is_last ? 0 : metrics.horizontalAdvance(more) + 16) > room.right()) {
      to.setPen(colours.faint);
      to.drawText(QRectF(x, y, room.right() - x, row), Qt::AlignVCenter | Qt::AlignLeft, more);
      break;
    }
    const auto align = Qt::AlignVCenter | (c == 0 ? Qt::AlignLeft : Qt::AlignRight);
    to.setPen(colours.faint);
    to.drawText(QRectF(x, y, column, row), align, header_text(table_.columns[c].title));
    to.setPen(colours.text);
    for (std::size_t r = 0; r < table_.rows.size(); ++r)
      to.drawText(QRectF(x, y + row * static_cast<double>(r + 1), column, row), align,
                  metrics.elidedText(shown_text(to_cell(table_.rows[r][c])), Qt::ElideMiddle, column + 1));
    x += column + 16;
  }
}

QString overview_view::legend() const {
  return tr(
      "At the top: what happened, what to change, how sure that is, as ulp advise has it. Each card is a finding, "
      "the worst first; a click opens the view, step and tensor that show it. Below are the gradients of the run, "
      "and a row per replay: double-click a number to open the view that explains it.");
}

}  // namespace ulp::gui
