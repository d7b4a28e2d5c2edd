#include "layers_view.hpp"

#include <QPainter>
#include <QStandardItemModel>
#include <algorithm>

#include <ulp/ask/questions/typed_values.hpp>

#include "layer_words.hpp"
#include "viewmodel/counted_scales.hpp"
#include "viewmodel/counted_updates.hpp"
#include "viewmodel/shown_text.hpp"

namespace ulp::gui {
namespace {

// That are read of steps, while somebody waits: a good part of a second; and while nobody does.
constexpr std::uint64_t tables_at_once = 50'000;
constexpr std::uint64_t tables_in_background = 2'000'000;
constexpr int margin = 8;

}  // namespace

layers_view::layers_view(view_state& state, QWidget* parent)
    : step_view(state, "layers", tr("Layers"), tr("Which tensors lose gradients, and when?"), parent),
      metric_(new QComboBox(this)),
      weights_format_(new QComboBox(this)),
      recipe_(new QComboBox(this)),
      kind_(new QComboBox(this)),
      tree_(make_toggle(tr("By module"), this)),
      filter_(new QLineEdit(this)),
      bar_(new QScrollBar(Qt::Vertical, this)) {
  for (const layer_metric m : layer_metrics_in_order()) metric_->addItem(choice_text(m), static_cast<int>(m));
  metric_->setObjectName("metric");
  metric_->setAccessibleName(tr("Metric"));
  weights_format_->setObjectName("weights_format");
  weights_format_->setAccessibleName(tr("Format that weights are kept in"));
  weights_format_->hide();
  recipe_->setObjectName("recipe");
  recipe_->setAccessibleName(tr("FP8 recipe"));
  recipe_->hide();
  kind_->setObjectName("kind");
  kind_->setAccessibleName(tr("Kind of tensors"));
  kind_->hide();
  tree_->setObjectName("modules");
  tree_->setToolTip(tr("List modules, with the sums of what is in them, rather than tensors, the worst first"));
  filter_->setPlaceholderText(tr("filter tensors: a regular expression"));
  filter_->setAccessibleName(tr("Filter of tensors"));
  filter_->setClearButtonEnabled(true);
  filter_->setObjectName("filter");
  bar_->setObjectName("rows");
  bar_->setAccessibleName(tr("Rows"));
  bar_->setFocusPolicy(Qt::NoFocus);
  bar_->hide();
  connect(metric_, &QComboBox::currentIndexChanged, this,
          [this] { this->state().set_metric_of_layers(static_cast<layer_metric>(metric_->currentData().toInt())); });
  connect(weights_format_, &QComboBox::currentIndexChanged, this,
          [this] { this->state().set_weights_format(weights_format_->currentData().toString().toStdString()); });
  connect(recipe_, &QComboBox::activated, this, [this] {
    if (recipe_->currentData().isValid())
      this->state().set_fp8({.recipe = recipe_->currentData().toString().toStdString()});
  });
  connect(&work_, &background::failed, this, [this](const QString& reason) {
    failure_ = reason;
    counted_ = {};
    arrange();
  });
  connect(kind_, &QComboBox::currentIndexChanged, this, [this] {
    arrange();
    if (!work_.running()) read_steps_on();
  });
  connect(tree_, &QPushButton::toggled, this, [this] {
    current_.reset();
    bar_->setValue(0);
    arrange();
  });
  connect(bar_, &QScrollBar::valueChanged, this, [this] { picture_again(); });
  connect(filter_, &QLineEdit::textChanged, this, [this](const QString& text) {
    QPalette p = palette();
    const QString problem = view_state::problem_with_filter(text);
    if (problem.isEmpty())
      this->state().set_filter(text);
    else
      p.setColor(QPalette::Text, theme::of(p).overflow);
    filter_->setPalette(p);
    filter_->setToolTip(problem.isEmpty() ? problem : QStringLiteral("<p>%1</p>").arg(problem.toHtmlEscaped()));
  });
}

void layers_view::resizeEvent(QResizeEvent* event) {
  step_view::resizeEvent(event);
  arrange();
}

QString layers_view::why_no_lost_updates() const {
  const loaded_run& run = *state().current_run();
  if (!run.no_updates.empty()) return shown_text(run.no_updates);
  const std::string& name = state().weights_format();
  return shown_text(why_no_updates(run.kind, value_format_named(name), name));
}

bool layers_view::can_ask() const {
  if (state().current_run() == nullptr) return false;
  if (shows_recipe()) return true;
  return shows_updates() ? why_no_lost_updates().isEmpty() : state().front().result || state().tried_scale();
}

layers_view::question layers_view::asked_now() const {
  const scenario s = scenario_of(state().front().spec);
  question now{
      .drawn = state().drawn(),
      .of = {.metric = state().metric_of_layers(), .to = s.recipe.usual().format, .mode = s.recipe.usual().rounding},
      .columns = {},
      .where = where_text()};
  if (shows_updates()) {
    now.of.to = value_format_named(state().weights_format());
    now.of.mode = {};
    return now;
  }
  if (shows_recipe()) {
    now.of.to = {};
    now.of.mode = {};
    now.recipe = state().fp8();
    return now;
  }
  // Where the policy ended the run there is no scale any more.
  static const tensor_tables nothing;
  const auto result = state().front().result;
  const bool ends = !state().tried_scale() && result && !result->steps.empty() && !result->summary.error.empty();
  for (const drawn_column& c : now.drawn->columns) {
    const bool is_beyond = ends && c.span.last_step > result->steps.back().step;
    now.columns.push_back({is_beyond ? &nothing : c.tables, state().scales_in(c.span.first_step, c.span.last_step)});
  }
  return now;
}

layer_reading layers_view::reading_now() const {
  tensor_mask wanted(counted_.answer.tensors, false);
  for (const std::uint32_t t : shown_tensors()) wanted[t] = true;
  return {.drawn = counted_.drawn,
          .wanted = std::move(wanted),
          .tried_scale = state().tried_scale(),
          .replay = state().front().result};
}

counted_layers layers_view::counted_of(const question& asked, const counted_before& known, listener& to) {
  if (asked.of.metric == layer_metric::lost_updates) return counted_updates(asked.drawn, asked.of, known.updates, to);
  if (asked.recipe) return counted_scales(asked.drawn, asked.of, *asked.recipe, known.scales, to);
  const std::size_t tensors = asked.drawn->run->tensors.size();
  counted_layers done{.drawn = asked.drawn,
                      .answer = answer_to(asked.of, asked.columns, tensors, to),
                      .firsts = {},
                      .searched = tensor_mask(tensors, false),
                      .by_step = tensor_mask(tensors, false)};
  if (has_threshold(asked.of.metric)) done.firsts = first_steps_of(*done.drawn, done.answer);
  return done;
}

std::shared_ptr<const layer_updates> layers_view::updates_known() const {
  const bool is_it =
      shows_updates() && asked_.drawn && run_of_updates_ == asked_.drawn->run->id && format_of_updates_ == asked_.of.to;
  return is_it ? updates_ : nullptr;
}

void layers_view::refresh(view_state::parts what) {
  if (what.testAnyFlags(view_state::parts{view_state::run} | view_state::replays | view_state::metric |
                        view_state::recipe)) {
    offer_metrics();
    offer_weights_formats();
    offer_recipes();
  }
  // What is typed and is no expression yet stays.
  if (known_filter_ != state().filter()) filter_->setText(state().filter());
  known_filter_ = state().filter();
  if (what == view_state::cursor) return update();
  const bool had_counts = counted_.drawn != nullptr;
  // Of another run what was counted tells nothing; of the same in other columns it stays until these are counted.
  if (what.testFlag(view_state::run) && counted_.drawn &&
      (state().current_run() == nullptr || counted_.drawn->run->id != state().current_run()->id)) {
    counted_ = {};
    asked_ = {};
  }
  if (!can_ask()) {
    // While it is replayed again, what was counted stays.
    work_.cancel();
    reading_.cancel();
    asked_ = {};
    if (state().current_run() == nullptr || is_beside_replays() || !state().front().failure.isEmpty()) counted_ = {};
  } else if (question now = asked_now(); now != asked_) {
    asked_ = std::move(now);
    failure_.clear();
    reading_.cancel();
    work_.start([this, now = asked_, known = known()](listener& to) -> std::function<void()> {
      return [this, where = now.where, done = counted_of(now, known, to)]() mutable {
        take(std::move(done), where);
        read_steps_on();
      };
    });
  }
  const bool lost_counts = had_counts && !counted_.drawn;
  if (lost_counts || what.testAnyFlags(view_state::parts{view_state::run} | view_state::tensors)) {
    offer_kinds();
    arrange();
    if (!work_.running()) read_steps_on();
  } else {
    heading_ = heading_now();
    picture_again();
  }
}

void layers_view::take(counted_layers counted, const QString& where) {
  counted_ = std::move(counted);
  where_ = where;
  if (counted_.updates) {
    run_of_updates_ = counted_.drawn->run->id;
    format_of_updates_ = counted_.answer.question.to;
    updates_ = counted_.updates;
  }
  if (counted_.scales) scales_ = counted_.scales;
  arrange();
}

bool layers_view::lacks_first_steps() const {
  return !counted_.firsts.empty() && std::ranges::any_of(shown_tensors(), [this](std::uint32_t t) {
    return !counted_.firsts[t].exact() && !counted_.searched[t];
  });
}

bool layers_view::lacks_counts() const {
  return std::ranges::any_of(shown_tensors(), [this](std::uint32_t t) {
    if (counted_.by_step[t]) return false;
    for (std::size_t c = 0; c < counted_.drawn->columns.size(); ++c)
      if (gui::is_open(*counted_.drawn, counted_.answer, c, t)) return true;
    return false;
  });
}

void layers_view::read_steps_on() {
  reading_.cancel();
  if (!counted_.drawn || counted_.drawn != state().drawn()) return;
  layer_reading reading = reading_now();
  reading.most_tables = tables_in_background;
  if (lacks_first_steps()) {
    reading_.start([this, reading, answer = counted_.answer](listener& to) -> std::function<void()> {
      return [this, wanted = reading.wanted, steps = found(reading, answer, to)] {
        take(wanted, steps);
        counted_.searched = wanted;
        read_steps_on();
      };
    });
  } else if (lacks_counts()) {
    reading_.start([this, reading, answer = counted_.answer](listener& to) -> std::function<void()> {
      return [this, wanted = reading.wanted, counted = counted_by_step(reading, answer, to)] {
        take(wanted, counted);
        counted_.by_step = wanted;
      };
    });
  }
}

void layers_view::take(const tensor_mask& wanted, const found_steps& found) {
  for (std::size_t t = 0; t < wanted.size(); ++t) {
    if (!wanted[t]) continue;
    counted_.firsts[t] = found.of[t];
    counted_.searched[t] = found.complete;
  }
  arrange();
}

void layers_view::take(const tensor_mask& wanted, counted_steps counted) {
  counted_.answer = std::move(counted.answer);
  for (std::size_t t = 0; t < wanted.size(); ++t)
    if (wanted[t]) counted_.by_step[t] = counted.complete;
  arrange();
}

void layers_view::catch_up_now() {
  catch_up();
  if (!can_ask()) return;
  if (work_.running()) {
    work_.cancel();
    try {
      take(counted_of(asked_, known(), nobody()), asked_.where);
    } catch (const std::exception& problem) {
      failure_ = shown_text(problem.what());
      counted_ = {};
      arrange();
    }
  }
  if (!counted_.drawn || counted_.drawn != state().drawn()) return;
  reading_.cancel();
  layer_reading reading = reading_now();
  reading.most_tables = tables_at_once;
  if (lacks_first_steps()) take(reading.wanted, found(reading, counted_.answer, nobody()));
  if (lacks_counts()) take(reading.wanted, counted_by_step(reading, counted_.answer, nobody()));
  read_steps_on();
}

// What the run does not tell of can be seen to be there, and why it cannot be had.
void layers_view::offer_metrics() {
  const int at = metric_->findData(static_cast<int>(layer_metric::lost_updates));
  const QString why = state().current_run() == nullptr ? QString() : shown_text(state().current_run()->no_updates);
  metric_->setItemData(at, tip_of(why), Qt::ToolTipRole);
  if (auto* const items = qobject_cast<QStandardItemModel*>(metric_->model()))
    items->item(at)->setEnabled(why.isEmpty());
  const QSignalBlocker quiet(metric_);
  metric_->setCurrentIndex(metric_->findData(static_cast<int>(state().metric_of_layers())));
}

void layers_view::offer_weights_formats() {
  const QSignalBlocker quiet(weights_format_);
  weights_format_->clear();
  const std::string& replayed = state().front().spec.format;
  weights_format_->addItem(tr("kept in %1, as replayed").arg(shown_text(replayed)), QString());
  std::vector<std::string> others = usual_weight_formats;
  if (std::ranges::find(others, state().weights_format()) == others.end()) others.push_back(state().weights_format());
  for (const std::string& name : others)
    if (name != replayed)
      weights_format_->addItem(tr("kept in %1").arg(shown_text(name)), QString::fromStdString(name));
  weights_format_->setCurrentIndex(
      std::max(0, weights_format_->findData(QString::fromStdString(state().weights_format()))));
  const bool is_shown =
      shows_updates() && state().current_run() != nullptr && state().current_run()->no_updates.empty();
  if (is_shown == !weights_format_->isHidden()) return;
  weights_format_->setVisible(is_shown);
  lay_out();
}

void layers_view::offer_recipes() {
  const QSignalBlocker quiet(recipe_);
  recipe_->clear();
  const fp8_spec& now = state().fp8();
  // One with parameters, which Tensor scales offers, is there as it is.
  if (now != fp8_spec{.recipe = now.recipe}) recipe_->addItem(shown_text(name_of(now)));
  for (const std::string& name : fp8_recipe_names())
    recipe_->addItem(QString::fromStdString(name), QString::fromStdString(name));
  if (!recipe_->itemData(0).isValid())
    recipe_->setCurrentIndex(0);
  else
    recipe_->setCurrentIndex(recipe_->findData(QString::fromStdString(now.recipe)));
  const bool is_shown = shows_recipe() && why_empty().isEmpty();
  if (is_shown == !recipe_->isHidden()) return;
  recipe_->setVisible(is_shown);
  lay_out();
}

void layers_view::offer_kinds() {
  const QVariant chosen = kind_->currentData();
  const QSignalBlocker quiet(kind_);
  kind_->clear();
  kind_->addItem(tr("all kinds"));
  if (state().current_run() != nullptr) {
    std::set<tensor_kind> present;
    for (std::size_t t = 0; t < state().filtered().size(); ++t)
      if (state().filtered()[t]) present.insert(state().current_run()->tensors[t].kind);
    if (present.size() > 1)
      for (const tensor_kind k : present) kind_->addItem(plural_of(k), static_cast<int>(k));
  }
  kind_->setCurrentIndex(std::max(0, kind_->findData(chosen)));
  if (!chosen.isValid()) kind_->setCurrentIndex(0);
  kind_->setVisible(kind_->count() > 1);
}

std::vector<std::uint32_t> layers_view::shown_tensors() const {
  std::vector<std::uint32_t> all;
  const tensor_mask& shown = state().filtered();
  if (state().current_run() == nullptr || counted_.answer.tensors != shown.size()) return all;
  const QVariant kind = kind_->currentData();
  for (std::uint32_t t = 0; t < shown.size(); ++t)
    if (shown[t] && (!kind.isValid() || static_cast<int>(state().current_run()->tensors[t].kind) == kind.toInt()))
      all.push_back(t);
  return all;
}

bool layers_view::is_open(const module_row& row) const { return (row.depth == 0) != toggled_.contains(row.path); }

void layers_view::arrange() {
  picture_.reset();
  rows_.clear();
  if (counted_.drawn)
    rows_ = tree_->isChecked()
                ? by_module(counted_, shown_tensors(), [this](const module_row& row) { return is_open(row); })
                : worst_first(counted_, shown_tensors());
  if (current_ && *current_ >= rows_.size()) current_.reset();
  heading_ = heading_now();
  lay_out();
}

layers_look layers_view::look() const {
  return {.counted = counted_,
          .rows = rows_,
          .is_tree = tree_->isChecked(),
          .heading = heading_,
          .shown = state().shown(),
          .top = std::min(static_cast<std::size_t>(bar_->value()), rows_.empty() ? 0 : rows_.size() - 1),
          .current = current_,
          .selected = state().tensor()};
}

QRectF layers_view::room_on_screen() const {
  const double at_bar = bar_->isHidden() ? 0 : bar_->sizeHint().width();
  return QRectF(rect()).adjusted(margin, margin + controls_height_, -margin - at_bar, -margin);
}

void layers_view::lay_out() {
  // Controls in a line, and in the next where there is no room.
  double x = margin;
  double y = margin - 2;
  for (QWidget* const w : std::initializer_list<QWidget*>{metric_, weights_format_, recipe_, kind_, tree_, filter_}) {
    if (w->isHidden()) continue;
    const QSize wanted = w->sizeHint();
    const int left = width() - margin - static_cast<int>(x);
    const int least = w == filter_ ? 140 : std::min(wanted.width(), 260);
    if (left < least && x > margin) {
      x = margin;
      y += wanted.height() + 4;
    }
    const int most = width() - margin - static_cast<int>(x);
    const int wide = w == filter_ ? std::min(360, most) : std::min(least, most);
    w->setGeometry(static_cast<int>(x), static_cast<int>(y), std::max(wide, 1), wanted.height());
    x += wide + 8;
  }
  controls_height_ = y + filter_->sizeHint().height() + 6 - margin;
  bar_->hide();
  if (rows_.empty()) return update();
  const layers_picture without_bar(look(), room_on_screen(), font());
  const std::size_t most_rows = without_bar.rows_that_fit();
  const auto last_top = static_cast<int>(rows_.size() - std::min(most_rows, rows_.size()));
  {
    const QSignalBlocker quiet(bar_);
    bar_->setRange(0, last_top);
    bar_->setPageStep(static_cast<int>(most_rows));
    bar_->setVisible(last_top > 0);
  }
  const int bar_width = bar_->sizeHint().width();
  const QRectF plot = without_bar.plot().area();
  bar_->setGeometry(width() - margin / 2 - bar_width, static_cast<int>(plot.top()), bar_width,
                    static_cast<int>(plot.height()));
  picture_again();
}

void layers_view::picture_again() {
  if (rows_.empty())
    picture_.reset();
  else
    picture_.emplace(look(), room_on_screen(), font());
  update();
}

void layers_view::draw(QPainter& to, const QRectF& room, const theme& colours) {
  const bool on_screen = to.device() == this;
  const QRectF rest = on_screen ? room_on_screen() : room;
  QString why = why_empty();
  if (const auto result = state().front().result;
      why.isEmpty() && result && result->per_layer && !state().tried_scale() && !is_beside_replays())
    why = tr(
        "This policy gives each layer a scale of its own: try out a scale (Ctrl+Up), or see ulp replay --per-tensor.");
  if (!why.isEmpty()) return draw_empty(to, rest, colours, why);
  if (shows_updates() && !can_ask()) return draw_empty(to, rest, colours, why_no_lost_updates());
  if (!failure_.isEmpty()) return draw_empty(to, rest, colours, failure_);
  if (!can_ask() && !state().front().failure.isEmpty())
    return draw_empty(to, rest, colours, tr("The replay failed: %1").arg(state().front().failure));
  if (counted_.answer.cells.empty() || counted_.answer.tensors != state().current_run()->tensors.size())
    return draw_empty(to, rest, colours, can_ask() ? tr("Counting ...") : tr("Waiting for the replay ..."));
  if (rows_.empty()) return draw_empty(to, rest, colours, why_no_rows());
  if (on_screen) {
    if (!picture_) picture_.emplace(look(), rest, font());
    keep(picture_->plot());
    picture_->draw(to, colours);
    draw_cursor(to, picture_->plot(), colours);
  } else {
    layers_look on_paper = look();
    on_paper.current.reset();
    const layers_picture picture(on_paper, room, to.font());
    picture.draw(to, colours);
    draw_cursor(to, picture.plot(), colours);
  }
}

}  // namespace ulp::gui
