#include "layers_view.hpp"

#include <QFontMetricsF>
#include <QHBoxLayout>
#include <QLabel>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <array>
#include <cmath>

#include "viewmodel/shown_text.hpp"

namespace ulp::gui {
namespace {

struct metric_text {
  layer_metric metric;
  const char* text;
};
constexpr std::array metrics{
    metric_text{layer_metric::underflow, QT_TRANSLATE_NOOP("layers", "underflow, share of nonzero")},
    metric_text{layer_metric::subnormal, QT_TRANSLATE_NOOP("layers", "subnormal, share of nonzero")},
    metric_text{layer_metric::overflow, QT_TRANSLATE_NOOP("layers", "overflow, share of nonzero")},
    metric_text{layer_metric::zeros, QT_TRANSLATE_NOOP("layers", "zeros before rounding, share of all")},
    metric_text{layer_metric::largest, QT_TRANSLATE_NOOP("layers", "largest gradient, log2")},
    metric_text{layer_metric::headroom, QT_TRANSLATE_NOOP("layers", "binades below overflow")}};

constexpr double controls_height = 34;

bool is_share(layer_metric m) { return m != layer_metric::largest && m != layer_metric::headroom; }

// Shares on a logarithmic ladder: what is lost first is a small part.
double strength_of(layer_metric m, double value, double low, double high) {
  if (is_share(m)) return value <= 0 ? 0 : std::clamp(0.25 + 0.75 * (1 + std::log10(value) / 6), 0.25, 1.0);
  const double at = high > low ? (value - low) / (high - low) : 1;
  return low_is_bad(m) ? 1 - at : at;
}

QString text_of(layer_metric m, double value) {
  if (std::isnan(value)) return QObject::tr("no finite nonzero value");
  return is_share(m) ? QStringLiteral("%1 %").arg(100 * value, 0, 'g', 4) : QString::number(value, 'f', 1);
}

}  // namespace

layers_view::layers_view(view_state& state, QWidget* parent)
    : step_view(state, "layers", tr("Layers"), tr("Which tensors lose gradients, and when?"), parent),
      metric_(new QComboBox(this)),
      filter_(new QLineEdit(this)) {
  for (const metric_text& m : metrics) metric_->addItem(tr(m.text), static_cast<int>(m.metric));
  metric_->setAccessibleName(tr("Metric"));
  filter_->setPlaceholderText(tr("filter tensors: a regular expression"));
  filter_->setAccessibleName(tr("Filter of tensors"));
  filter_->setClearButtonEnabled(true);
  filter_->setObjectName("filter");
  connect(metric_, &QComboBox::currentIndexChanged, this, [this] { refresh(view_state::replays); });
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
  metric_->setGeometry(8, 6, 260, 26);
  filter_->setGeometry(276, 6, std::max(120, std::min(360, width() - 284)), 26);
  step_view::resizeEvent(event);
}

std::function<layers_view::answered(const background::report&)> layers_view::asked() const {
  const std::shared_ptr<const loaded_run> run = state().shared_run();
  layer_question q;
  q.metric = static_cast<layer_metric>(metric_->currentData().toInt());
  const scenario s = scenario_of(state().front().spec);
  q.to = s.format;
  q.mode = s.rounding;
  for (const column_span& span : run->picture.columns().spans()) q.scales.push_back(state().scale_at(span.first_step));
  return [run, q = std::move(q)](const background::report& told) -> answered {
    return {run, answer_to(q, run->picture, run->tensors.size(), told)};
  };
}

void layers_view::refresh(view_state::parts what) {
  // What is typed and is no expression yet stays.
  if (known_filter_ != state().filter()) filter_->setText(state().filter());
  known_filter_ = state().filter();
  if (what.testFlag(view_state::run)) work_.cancel();
  const bool anew = what.testAnyFlags(view_state::parts{view_state::run} | view_state::replays | view_state::scale);
  if (anew && state().current_run() != nullptr && state().front().failure.isEmpty())
    work_.start([this, ask = asked()](const background::report& told) -> std::function<void()> {
      return [this, answer = ask(told)] { take(answer); };
    });
  else
    take({answered_, std::move(answer_)});
}

void layers_view::catch_up_now() {
  catch_up();
  work_.cancel();
  if (state().current_run() != nullptr && state().front().failure.isEmpty()) take(asked()([](double) {}));
}

void layers_view::take(answered answer) {
  // Of another run, or of this one in other columns, it tells nothing.
  answer_ = answer.run == state().shared_run() ? std::move(answer.values) : layer_answer{};
  answered_ = std::move(answer.run);
  order_.clear();
  const tensor_mask& shown = state().filtered();
  if (answer_.tensors == shown.size())
    for (std::uint32_t t = 0; t < answer_.tensors; ++t)
      if (shown[t] && !std::isnan(answer_.rank[t])) order_.push_back(t);
  const auto badness = [&](std::uint32_t t) { return low_is_bad(answer_.metric) ? -answer_.rank[t] : answer_.rank[t]; };
  std::ranges::sort(order_, [&](std::uint32_t a, std::uint32_t b) {
    return badness(a) != badness(b) ? badness(a) > badness(b) : a < b;
  });
  update();
}

void layers_view::draw(QPainter& to, const QRectF& room, const theme& colours) {
  const QString why = why_empty();
  if (!why.isEmpty()) return draw_empty(to, room, colours, why);
  if (answer_.values.empty()) return draw_empty(to, room, colours, tr("Counting ..."));
  if (order_.empty()) return draw_empty(to, room, colours, tr("No tensor that matches the filter holds gradients."));
  double low = INFINITY;
  double high = -INFINITY;
  for (const double v : answer_.values)
    if (std::isfinite(v)) {
      low = std::min(low, v);
      high = std::max(high, v);
    }
  // On paper what the controls say on the screen.
  if (to.device() != this) {
    to.setPen(colours.text);
    to.drawText(QRectF(room.topLeft(), QSizeF(room.width(), controls_height - 8)), Qt::AlignVCenter,
                metric_->currentText() +
                    (state().filter().isEmpty() ? QString() : tr("; tensors that match %1").arg(state().filter())));
  }
  QRectF rest = room.adjusted(0, controls_height, 0, 0);
  std::vector<legend_entry> legend;
  if (is_share(answer_.metric)) {
    legend.push_back({tr("none"), QPen(colours.grid), QBrush(colours.background)});
    for (const double v : {1e-6, 1e-4, 1e-2, 1.0})
      legend.push_back(
          {QStringLiteral("%1 %").arg(100 * v), QPen(Qt::NoPen), colours.heat(strength_of(answer_.metric, v, 0, 1))});
  } else {
    for (const double v : {low, (low + high) / 2, high})
      legend.push_back(
          {QString::number(v, 'f', 1), QPen(Qt::NoPen), colours.heat(strength_of(answer_.metric, v, low, high))});
  }
  legend.push_back({tr("no finite nonzero value"), QPen(Qt::NoPen), QBrush(), true});
  rest.adjust(0, draw_legend(to, rest, legend, colours), 0, 0);

  const QFontMetricsF letters(to.font());
  double labels = 60;
  for (const std::uint32_t t : order_)
    labels = std::max(labels, letters.horizontalAdvance(shown_text(state().current_run()->tensors[t].name)) + 12);
  labels = std::min(labels, rest.width() / 3);
  // As many rows as can be read; the worst are first.
  const auto rows = std::min(order_.size(), static_cast<std::size_t>(std::max(1.0, (rest.height() - 46) / 14)));
  const auto shown = state().shown();
  const frame f(rest, static_cast<double>(shown.first), static_cast<double>(shown.last + 1), 0,
                static_cast<double>(rows), labels);
  keep(f);
  f.draw_axes(
      to, colours,
      rows < order_.size() ? tr("step (the worst %1 of %2 tensors)").arg(rows).arg(order_.size()) : tr("step"),
      [](double) { return QString(); }, false);
  f.draw_cells(to, colours, column_edges(), rows, [&](std::size_t column, std::size_t row) -> std::optional<QRgb> {
    const double value = answer_.at(column, order_[row]);
    if (std::isnan(value)) return std::nullopt;
    if (value <= 0 && is_share(answer_.metric)) return qRgba(0, 0, 0, 0);
    return colours.heat(strength_of(answer_.metric, value, low, high)).rgba();
  });
  to.save();
  for (std::size_t row = 0; row < rows; ++row) {
    const double y0 = f.y_of(static_cast<double>(rows - row));
    const double y1 = f.y_of(static_cast<double>(rows - row - 1));
    const tensor_info& tensor = state().current_run()->tensors[order_[row]];
    const bool chosen = state().tensor() == order_[row];
    QFont font = to.font();
    font.setBold(chosen);
    to.setFont(font);
    to.setPen(chosen ? colours.text : colours.faint);
    to.drawText(QRectF(rest.left(), y0, labels - 6, y1 - y0), Qt::AlignRight | Qt::AlignVCenter,
                letters.elidedText(shown_text(tensor.name), Qt::ElideLeft, labels - 10));
  }
  to.restore();
  draw_cursor(to, f, colours);
}

std::optional<std::size_t> layers_view::row_at(double y) const {
  if (!drawn()) return std::nullopt;
  const double rows = std::round(drawn()->value_at_y(drawn()->area().top()));
  const double row = std::floor(rows - drawn()->value_at_y(y));
  if (row < 0 || row >= rows || row >= static_cast<double>(order_.size())) return std::nullopt;
  return static_cast<std::size_t>(row);
}

QString layers_view::told_at(QPointF place) const {
  const auto row = row_at(place.y());
  if (!row) return {};
  const auto step = static_cast<std::int64_t>(std::floor(drawn()->value_at_x(place.x())));
  const std::size_t c = state().current_run()->picture.column_of(step);
  const column_span& span = state().current_run()->picture.columns().spans()[c];
  return tr("%1, steps %2 to %3: %4")
      .arg(shown_text(state().current_run()->tensors[order_[*row]].name))
      .arg(span.first_step)
      .arg(span.last_step)
      .arg(text_of(answer_.metric, answer_.at(c, order_[*row])));
}

void layers_view::mouseDoubleClickEvent(QMouseEvent* event) {
  const auto row = row_at(event->position().y());
  if (!row) return;
  const std::uint32_t t = order_[*row];
  state().set_tensor(state().tensor() == t ? std::nullopt : std::optional{t});
}

table layers_view::data() const {
  table t;
  t.columns = {{"tensor", "tensor"}, {"first_step", "from step"}, {"last_step", "to"}, {"value", "value"}};
  if (state().current_run() == nullptr || answer_.values.empty()) return t;
  const auto& spans = state().current_run()->picture.columns().spans();
  for (const std::uint32_t tensor : order_)
    for (std::size_t c = 0; c < spans.size(); ++c)
      t.rows.push_back({state().current_run()->tensors[tensor].name, spans[c].first_step, spans[c].last_step,
                        answer_.at(c, tensor)});
  return t;
}

QString layers_view::legend() const {
  return tr(
      "Each row is a tensor, the worst at the top. The colour shows the metric at each step, on a logarithmic scale "
      "for shares. Double-click a tensor to select it in all views. Hatched: the tensor has no finite nonzero value, "
      "or was not recorded.");
}

}  // namespace ulp::gui
