#include "plan_view.hpp"

#include <QFontMetricsF>
#include <QHBoxLayout>
#include <QHelpEvent>
#include <QLabel>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QVBoxLayout>
#include <algorithm>

#include <ulp/report/pictures/plan_map.hpp>
#include <ulp/report/tables/plan_table.hpp>

#include "plot/frame.hpp"
#include "plot/wrapped.hpp"
#include "viewmodel/shown_text.hpp"

namespace ulp::gui {
namespace {

constexpr double least_cell = 6;
constexpr double gap = 3;

QColor colour(plan_group g) {
  return QColor(QString::fromUtf8(colour_of(g).data(), static_cast<int>(colour_of(g).size())));
}

}  // namespace

plan_view::plan_view(view_state& state, QWidget* parent)
    : view(state, "plan", tr("Plan"), tr("In how few bits could each tensor be kept, and in which format?"), parent),
      hardware_(new QComboBox(this)),
      lose_(new QLineEdit(this)) {
  for (const std::string& name : plan_hardware_names()) hardware_->addItem(QString::fromStdString(name));
  hardware_->setObjectName("hardware");
  hardware_->setAccessibleName(tr("Hardware"));
  lose_->setObjectName("lose");
  lose_->setAccessibleName(tr("Share of the energy that may be lost"));
  lose_->setPlaceholderText(QStringLiteral("1e-3"));
  lose_->setToolTip(tr("The share of a tensor's energy, its sum of squares, that may be lost in any step"));
  lose_->setFixedWidth(lose_->fontMetrics().horizontalAdvance("0.000000001"));
  auto* const line = new QHBoxLayout;
  line->addWidget(new QLabel(tr("Hardware"), this));
  line->addWidget(hardware_);
  line->addSpacing(12);
  line->addWidget(new QLabel(tr("May lose"), this));
  line->addWidget(lose_);
  line->addStretch();
  auto* const layout = new QVBoxLayout(this);
  layout->setContentsMargins(8, 6, 8, 8);
  layout->addLayout(line);
  layout->addStretch(1);
  const auto ask = [this] {
    this->state().set_plan(
        {.hardware = hardware_->currentText().toStdString(), .lose = lose_->text().trimmed().toStdString()});
  };
  connect(hardware_, &QComboBox::activated, this, ask);
  connect(lose_, &QLineEdit::editingFinished, this, ask);
  connect(&work_, &background::failed, this, [this](const QString& why) {
    why_not_ = why;
    update();
  });
}

QString plan_view::shown_under() const { return tr("plan for %1").arg(shown_text(state().plan().hardware)); }

void plan_view::start() {
  planned_ = {state().current_run()->id, state().plan()};
  plan_.reset();
  why_not_ = tr("Planning ...");
  work_.start(
      [this, run = state().current_run()->text, choice = state().plan()](listener& to) -> std::function<void()> {
        return [this, plan = plan_of(run, choice, to)] {
          plan_ = plan;
          update();
        };
      });
}

void plan_view::refresh(view_state::parts) {
  hardware_->setCurrentText(QString::fromStdString(state().plan().hardware));
  if (!lose_->hasFocus()) lose_->setText(QString::fromStdString(state().plan().lose));
  if (const QString why = why_empty(); !why.isEmpty()) {
    work_.cancel();
    plan_.reset();
    planned_ = {};
    why_not_ = why;
  } else if (planned_ != std::pair{state().current_run()->id, state().plan()}) {
    start();
  }
  update();
}

void plan_view::catch_up_now() {
  catch_up();
  if (!why_empty().isEmpty() || (plan_ && !work_.running())) return;
  work_.cancel();
  try {
    plan_ = plan_of(state().current_run()->text, state().plan(), nobody());
  } catch (const std::exception& problem) {
    why_not_ = shown_text(problem.what());
  }
}

table plan_view::data() const { return plan_ ? plan_table(*plan_) : table{}; }

void plan_view::draw(QPainter& to, const QRectF& room, const theme& colours) {
  const std::vector<drawn_cell> on_screen = cells_;
  draw_map(to, room, colours);
  cells_ = on_screen;
}

void plan_view::draw_map(QPainter& to, const QRectF& room, const theme& colours) {
  cells_.clear();
  if (!plan_) return draw_empty(to, room, colours, why_not_);
  const plan_map map = plan_map_of(*plan_, least_cell / std::max(100.0, room.width()));
  const QFontMetricsF metrics(to.font());
  to.setPen(colours.text);
  double y = room.top();
  for (const summary_line& line : lines_of(*plan_)) {
    if (line.title != "plan" && line.title != "bits" && line.title != "16 bits") continue;
    const QString text = with_whole_ranges(shown_text(line.title + ": " + line.text));
    const double height = wrapped_height(to.font(), room.width(), text);
    draw_wrapped(to, QRectF(room.left(), y, room.width(), height), text);
    y += height + 2;
  }
  std::vector<legend_entry> entries;
  for (const plan_legend_entry& e : map.legend)
    entries.push_back({.text = shown_text(e.text), .line = QPen(Qt::NoPen), .fill = QBrush(colour(e.group))});
  y += 6;
  y += draw_legend(to, QRectF(room.left(), y, room.width(), room.bottom() - y), entries, colours) + 6;

  // Lines are as high as there is room, from what letters take to three of them.
  std::size_t lines = 0;
  for (const plan_band& band : map.bands) lines += band.lines;
  const double title = metrics.height() + 6;
  const double left = room.bottom() - y - static_cast<double>(map.bands.size()) * (title + 2 * gap);
  const double height =
      std::clamp(left / static_cast<double>(std::max<std::size_t>(1, lines)) - gap, 4.0, 3.2 * metrics.height());
  for (const plan_band& band : map.bands) {
    to.setPen(colours.text);
    to.drawText(QRectF(room.left(), y, room.width(), title), Qt::AlignLeft | Qt::AlignVCenter,
                metrics.elidedText(shown_text(band.title), Qt::ElideRight, room.width()));
    y += title;
    for (const plan_cell& cell : band.cells) {
      QRectF widest;
      for (const plan_cell::piece& p : cell.pieces) {
        const QRectF place(room.left() + p.from * room.width(), y + static_cast<double>(p.line) * (height + gap),
                           std::max(1.0, (p.to - p.from) * room.width() - 1), height);
        to.fillRect(place, colour(cell.group));
        if (state().tensor() == cell.tensor) {
          to.setPen(QPen(colours.text, 2));
          to.setBrush(Qt::NoBrush);
          to.drawRect(place.adjusted(1, 1, -1, -1));
        }
        cells_.push_back({place, cell.tensor, shown_text(cell.why)});
        if (place.width() > widest.width()) widest = place;
      }
      to.setPen(QColor(0x16, 0x18, 0x1b));
      const QString treatment = shown_text(cell.treatment);
      const QString name = shown_text(cell.name);
      const auto fits = [&](const QString& text) { return metrics.horizontalAdvance(text) + 8 <= widest.width(); };
      if (height >= metrics.height() && fits(treatment))
        to.drawText(widest, Qt::AlignCenter,
                    fits(name) && height >= 2 * metrics.height() ? name + '\n' + treatment : treatment);
    }
    y += static_cast<double>(band.lines) * (height + gap) + 2 * gap;
  }
}

void plan_view::paintEvent(QPaintEvent*) {
  QPainter to(this);
  const theme colours = theme::of(palette());
  to.fillRect(rect(), colours.background);
  draw_map(to, QRectF(rect()).adjusted(8, hardware_->geometry().bottom() + 10, -8, -8), colours);
}

const plan_view::drawn_cell* plan_view::cell_at(const QPointF& place) const {
  const auto found = std::ranges::find_if(cells_, [&](const drawn_cell& c) { return c.place.contains(place); });
  return found == cells_.end() ? nullptr : &*found;
}

std::optional<QPoint> plan_view::place_of(std::uint32_t tensor) const {
  const auto found = std::ranges::find(cells_, tensor, &drawn_cell::tensor);
  return found == cells_.end() ? std::nullopt : std::optional(found->place.center().toPoint());
}

bool plan_view::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return view::event(event);
  const auto* const help = static_cast<QHelpEvent*>(event);
  if (const drawn_cell* const cell = cell_at(help->pos()))
    QToolTip::showText(help->globalPos(), "<qt>" + cell->why.toHtmlEscaped() + "</qt>", this, cell->place.toRect());
  else
    QToolTip::hideText();
  return true;
}

void plan_view::mousePressEvent(QMouseEvent* event) {
  const drawn_cell* const cell = event->button() == Qt::LeftButton ? cell_at(event->position()) : nullptr;
  if (cell == nullptr) return view::mousePressEvent(event);
  const bool is_chosen = state().tensor() == cell->tensor;
  state().set_tensor(is_chosen ? std::nullopt : std::optional(cell->tensor));
}

QString plan_view::legend() const {
  return tr(
      "The plan of ulp plan for the whole run: each tensor in the fewest bits that lose at most the given share of its "
      "energy in every step, on the chosen hardware. Kind by kind, cells are tensors in the order of the network, as "
      "long as they have elements, and their colour is the kind of treatment. Point at one to see what it loses and why "
      "nothing cheaper holds; click it to select the tensor in all views.");
}

}  // namespace ulp::gui
