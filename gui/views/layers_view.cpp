#include "layers_view.hpp"

#include <QAccessible>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>

#include "layer_words.hpp"
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
      kind_(new QComboBox(this)),
      tree_(make_toggle(tr("By module"), this)),
      filter_(new QLineEdit(this)),
      bar_(new QScrollBar(Qt::Vertical, this)) {
  for (const layer_metric m : layer_metrics_in_order()) metric_->addItem(choice_text(m), static_cast<int>(m));
  metric_->setObjectName("metric");
  metric_->setAccessibleName(tr("Metric"));
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
  connect(metric_, &QComboBox::currentIndexChanged, this, [this] { refresh(view_state::replays); });
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

bool layers_view::can_ask() const {
  return state().current_run() != nullptr && (state().front().result || state().tried_scale());
}

layers_view::question layers_view::asked_now() const {
  const scenario s = scenario_of(state().front().spec);
  question now{
      .drawn = state().drawn(),
      .of = {.metric = static_cast<layer_metric>(metric_->currentData().toInt()), .to = s.format, .mode = s.rounding},
      .columns = {},
      .where = where_text()};
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

counted_layers layers_view::counted_of(const question& asked, const background::report& told) {
  const std::size_t tensors = asked.drawn->run->tensors.size();
  counted_layers done{.drawn = asked.drawn,
                      .answer = answer_to(asked.of, asked.columns, tensors, told),
                      .firsts = {},
                      .searched = tensor_mask(tensors, false),
                      .by_step = tensor_mask(tensors, false)};
  if (has_threshold(asked.of.metric)) done.firsts = first_steps_of(*done.drawn, done.answer);
  return done;
}

void layers_view::refresh(view_state::parts what) {
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
    if (state().current_run() == nullptr || !state().front().failure.isEmpty()) counted_ = {};
  } else if (question now = asked_now(); now != asked_) {
    asked_ = std::move(now);
    reading_.cancel();
    work_.start([this, now = asked_](const background::report& told) -> std::function<void()> {
      return [this, where = now.where, done = counted_of(now, told)]() mutable {
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
    reading_.start([this, reading, answer = counted_.answer](const background::report& told) -> std::function<void()> {
      return [this, wanted = reading.wanted, steps = found(reading, answer, told)] {
        take(wanted, steps);
        counted_.searched = wanted;
        read_steps_on();
      };
    });
  } else if (lacks_counts()) {
    reading_.start([this, reading, answer = counted_.answer](const background::report& told) -> std::function<void()> {
      return [this, wanted = reading.wanted, counted = counted_by_step(reading, answer, told)] {
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
  const auto quiet = [](double) {};
  if (work_.running()) {
    work_.cancel();
    take(counted_of(asked_, quiet), asked_.where);
  }
  if (!counted_.drawn || counted_.drawn != state().drawn()) return;
  reading_.cancel();
  layer_reading reading = reading_now();
  reading.most_tables = tables_at_once;
  if (lacks_first_steps()) take(reading.wanted, found(reading, counted_.answer, quiet));
  if (lacks_counts()) take(reading.wanted, counted_by_step(reading, counted_.answer, quiet));
  read_steps_on();
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
  for (QWidget* const w : std::initializer_list<QWidget*>{metric_, kind_, tree_, filter_}) {
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
      why.isEmpty() && result && result->per_layer && !state().tried_scale())
    why = tr(
        "This policy gives each layer a scale of its own: try out a scale (Ctrl+Up), or see ulp replay --per-tensor.");
  if (!why.isEmpty()) return draw_empty(to, rest, colours, why);
  if (!can_ask() && !state().front().failure.isEmpty())
    return draw_empty(to, rest, colours, tr("The replay failed: %1").arg(state().front().failure));
  if (counted_.answer.cells.empty() || counted_.answer.tensors != state().current_run()->tensors.size())
    return draw_empty(to, rest, colours, can_ask() ? tr("Counting ...") : tr("Waiting for the replay ..."));
  if (rows_.empty())
    return draw_empty(to, rest, colours,
                      only_text().isEmpty() ? tr("No tensor holds gradients.")
                                            : tr("No tensor holds gradients%1.").arg(only_text()));
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

QString layers_view::where_text() const {
  const auto range = state().shown();
  return tr("in %1 at %2")
      .arg(QString::fromStdString(state().front().spec.format),
           state().tried_scale()
               ? tr("2^%1, tried out").arg(*state().tried_scale())
               : tr("the replay's scale (%1)").arg(scales_text(state().scales_in(range.first, range.last))));
}

QString layers_view::only_text() const {
  QString text;
  if (kind_->currentData().isValid()) text += tr("; only %1").arg(kind_->currentText());
  if (!state().filter().isEmpty()) text += tr("; only names that match %1").arg(state().filter());
  return text;
}

QString layers_view::heading_now() const {
  if (!counted_.drawn) return {};
  const layer_question& q = counted_.answer.question;
  const QString none = nothing_text(q.metric);
  const bool nothing =
      !none.isEmpty() && std::ranges::none_of(rows_, [&](const layer_row& row) { return may_cross(q, row.total); });
  QString all = nothing ? none : heading_text(q.metric);
  const auto is_unscaled = [this](std::uint32_t t) { return !is_scaled(state().current_run()->tensors[t].kind); };
  if (is_of_format(q.metric)) all = all.arg(where_);
  if (is_of_format(q.metric) && !rows_.empty() && std::ranges::all_of(shown_tensors(), is_unscaled))
    all += tr("; no loss scale multiplies these tensors");
  all += only_text();
  if (state().current_run()->as_recorded) all += tr("; values as recorded, since the factor of some is not known");
  return all;
}

QString layers_view::row_text(std::size_t row) const {
  const layer_row& of = rows_[row];
  const layer_question& q = counted_.answer.question;
  const tensor_info& tensor = state().current_run()->tensors[of.of.tensors.front()];
  QString text = shown_text(of.of.path);
  if (of.of.is_module)
    text += ": " + QString::fromStdString(ulp::count_text(of.of.tensors.size(), "tensor"));
  else if (tensor.kind != tensor_kind::unknown)
    text += QStringLiteral(" (%1)").arg(QString::fromStdString(std::string{to_string(tensor.kind)}));
  if (!of.worst) return text + "\n" + tr("no finite nonzero value");
  const column_span& span = counted_.drawn->columns[*of.worst].span;
  const QString total = count_text(q.metric, of.total);
  text += "\n" + tr("steps shown: %1").arg(QString::fromStdString(value_text(q, of.total)));
  if (!total.isEmpty()) text += QStringLiteral(" (%1)").arg(total);
  text += "\n" + (span.first_step == span.last_step
                      ? tr("worst, step %1: %2").arg(span.first_step)
                      : tr("worst, steps %1 to %2: %3").arg(span.first_step).arg(span.last_step))
                     .arg(QString::fromStdString(value_text(q, of.cells[*of.worst])));
  if (has_threshold(q.metric)) text += "\n" + crossing_text(q.metric) + ": " + first_text(of.first);
  return text;
}

QString layers_view::told_at(QPointF place) const {
  const auto row = picture_ ? picture_->row_at(place.y()) : std::nullopt;
  if (!row || counted_.drawn->columns.empty()) return {};
  const std::size_t c = counted_.drawn->at(picture_->plot().value_at_x(place.x()));
  const column_span& span = counted_.drawn->columns[c].span;
  const layer_question& q = counted_.answer.question;
  const layer_cell& cell = rows_[*row].cells[c];
  const QString value = cell.known ? QString::fromStdString(value_text(q, cell)) : tr("no finite nonzero value");
  const QString count = count_text(q.metric, cell);
  const QString steps = span.first_step == span.last_step
                            ? tr("step %1").arg(span.first_step)
                            : tr("steps %1 to %2").arg(span.first_step).arg(span.last_step);
  return tr("%1, %2: %3").arg(shown_text(rows_[*row].of.path), steps, value) +
         (count.isEmpty() ? QString() : QStringLiteral(" (%1)").arg(count));
}

void layers_view::toggle(std::size_t row) {
  const std::string path = rows_[row].of.path;
  if (!toggled_.erase(path)) toggled_.insert(path);
  arrange();
}

void layers_view::select(std::size_t row) {
  if (rows_[row].of.is_module) return toggle(row);
  const std::uint32_t t = rows_[row].of.tensors.front();
  state().set_tensor(state().tensor() == t ? std::nullopt : std::optional{t});
}

void layers_view::set_current(std::size_t row) {
  current_ = row;
  const auto top = static_cast<std::size_t>(bar_->value());
  const auto fit = static_cast<std::size_t>(std::max(1, bar_->pageStep()));
  if (row < top) bar_->setValue(static_cast<int>(row));
  if (row >= top + fit) bar_->setValue(static_cast<int>(row + 1 - fit));
  setAccessibleDescription(row_text(row));
  QAccessibleEvent told(this, QAccessible::DescriptionChanged);
  QAccessible::updateAccessibility(&told);
  picture_again();
}

void layers_view::mousePressEvent(QMouseEvent* event) {
  if (const auto row = picture_ ? picture_->row_at(event->position().y()) : std::nullopt;
      row && event->button() == Qt::LeftButton) {
    set_current(*row);
    if (picture_->is_fold_sign(event->position().x(), *row)) return toggle(*row);
  }
  step_view::mousePressEvent(event);
}

void layers_view::mouseMoveEvent(QMouseEvent* event) {
  step_view::mouseMoveEvent(event);
  if (!picture_ || event->buttons() != Qt::NoButton || picture_->plot().area().contains(event->position())) return;
  if (const auto row = picture_->row_at(event->position().y()))
    QToolTip::showText(event->globalPosition().toPoint(), tip_of(row_text(*row)), this);
}

void layers_view::mouseDoubleClickEvent(QMouseEvent* event) {
  if (const auto row = picture_ ? picture_->row_at(event->position().y()) : std::nullopt) select(*row);
}

void layers_view::wheelEvent(QWheelEvent* event) {
  const bool over_cells = picture_ && picture_->plot().area().contains(event->position());
  if (event->modifiers().testFlag(Qt::ControlModifier) || (bar_->isHidden() && over_cells))
    return step_view::wheelEvent(event);
  QCoreApplication::sendEvent(bar_, event);
}

void layers_view::keyPressEvent(QKeyEvent* event) {
  const bool is_plain = (event->modifiers() & ~Qt::KeypadModifier) == Qt::NoModifier;
  if (!is_plain || rows_.empty()) return step_view::keyPressEvent(event);
  const std::size_t last = rows_.size() - 1;
  const auto page = static_cast<std::size_t>(std::max(1, bar_->pageStep()));
  const std::size_t at = current_.value_or(0);
  const auto move_to = [&](std::size_t row) { set_current(current_ ? std::min(row, last) : 0); };
  switch (event->key()) {
    case Qt::Key_Up: return move_to(at - std::min<std::size_t>(at, 1));
    case Qt::Key_Down: return move_to(at + 1);
    case Qt::Key_PageUp: return move_to(at - std::min(at, page));
    case Qt::Key_PageDown: return move_to(at + page);
    case Qt::Key_Home: return set_current(0);
    case Qt::Key_End: return set_current(last);
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (current_) select(at);
      return;
    case Qt::Key_Left:
    case Qt::Key_Right: break;
    default: return step_view::keyPressEvent(event);
  }
  if (!tree_->isChecked() || !current_) return step_view::keyPressEvent(event);
  const bool opens = event->key() == Qt::Key_Right;
  if (rows_[at].of.is_module && rows_[at].is_open != opens) return toggle(at);
  if (opens) return rows_[at].of.is_module ? move_to(at + 1) : void();
  // To the module that it is in.
  for (std::size_t above = at; above-- > 0;)
    if (rows_[above].of.depth < rows_[at].of.depth) return set_current(above);
}

table layers_view::data() const {
  table t;
  t.columns = {{"tensor", "tensor"},
               {"first_step", "from step"},
               {"last_step", "to"},
               {"value", "value", alignment::by_value, range_keys::where_open},
               {"part", "part", alignment::by_value, range_keys::where_open},
               {"whole", "of", alignment::by_value, range_keys::where_open},
               {"modelled", "modelled"},
               {"from_step", "first"},
               {"from_step_at_most", "first at most"}};
  if (!counted_.drawn) return t;
  const layer_question& q = counted_.answer.question;
  const bool is_sum = q.metric != layer_metric::largest && q.metric != layer_metric::headroom;
  for (const layer_row& row : worst_first(counted_, shown_tensors()))
    for (std::size_t c = 0; c < row.cells.size(); ++c) {
      const layer_cell& cell = row.cells[c];
      const column_span& span = counted_.drawn->columns[c].span;
      const auto step = [](const std::optional<std::int64_t>& s) { return s ? table_value{*s} : table_value{}; };
      t.rows.push_back({row.of.path, span.first_step, span.last_step, value_of(q, cell),
                        value_if(is_sum && cell.known, cell.part), value_if(is_sum && cell.known, cell.whole),
                        cell.modelled, step(row.first.earliest), step(row.first.latest)});
    }
  return t;
}

QString layers_view::legend() const {
  return tr(
      "Each row is a tensor, the worst at the top, or a module with the sum of what is in it. The colour shows the "
      "metric at each step, of a range its worse end, on a logarithmic scale for shares. The numbers are the worst "
      "column, the first step at which anything is lost (of headroom: at which it is below 0), and all steps shown; "
      "[low, high] is a range that the input or a changing loss scale leaves open, and ~ marks a model. Hatched: the "
      "tensor has no finite nonzero value, or was not recorded. The wheel scrolls rows, with Ctrl it zooms; arrow keys "
      "move the current row and open and close modules; Enter or a double click selects a tensor in all views.");
}

}  // namespace ulp::gui
