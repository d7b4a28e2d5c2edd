#include "view.hpp"

#include <QEvent>
#include <QPainter>
#include <utility>

namespace ulp::gui {

view::view(view_state& state, const char* key, const QString& title, const QString& question, QWidget* parent)
    : QWidget(parent), state_(state), key_(key), title_(title), question_(question) {
  setObjectName(key_);
  setAccessibleName(title_);
  setAccessibleDescription(question_);
  setFocusPolicy(Qt::StrongFocus);
  missed_ = view_state::parts::fromInt(~0U);
  connect(&state_, &view_state::changed, this, [this](view_state::parts what) {
    missed_ |= what;
    if (isVisible()) catch_up();
  });
}

void view::catch_up() {
  if (missed_) refresh(std::exchange(missed_, {}));
}

void view::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  catch_up();
}

void view::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() != QEvent::PaletteChange) return;
  missed_ = view_state::parts::fromInt(~0U);
  if (isVisible()) catch_up();
}

QString view::shown_under() const {
  const bool has_replays = state_.current_run() == nullptr || !state_.current_run()->amaxes_only;
  return QString::fromStdString(has_replays ? name_of(state_.front().spec) : name_of(state_.fp8()));
}

QString view::why_no_steps() const {
  const loaded_run* const run = state_.current_run();
  if (run == nullptr) return tr("No run is open. Open a recording, dumps or a log, or drop them here.");
  if (run->picture.steps().empty()) return tr("The run has no steps.");
  return {};
}

QString view::why_empty() const {
  if (const QString why = why_no_steps(); !why.isEmpty()) return why;
  if (state_.current_run()->amaxes_only) return tr("Amaxes alone are known of this run: Tensor scales shows them.");
  if (state_.current_run()->tensors.empty()) return tr("The run has no tensors: there is nothing to show here.");
  return {};
}

void view::draw_empty(QPainter& to, const QRectF& room, const theme& colours, const QString& why) {
  to.save();
  to.setPen(colours.faint);
  to.drawText(room, Qt::AlignCenter | Qt::TextWordWrap, why);
  to.restore();
}

QPushButton* make_toggle(const QString& text, QWidget* parent) {
  auto* const button = new QPushButton(text, parent);
  button->setCheckable(true);
  QObject::connect(button, &QPushButton::toggled, button, [button](bool on) {
    QPalette p;
    if (on) {
      p.setColor(QPalette::Button, p.color(QPalette::Highlight));
      p.setColor(QPalette::ButtonText, p.color(QPalette::HighlightedText));
    }
    button->setPalette(p);
  });
  return button;
}

void picture_view::refresh(view_state::parts) { update(); }

void picture_view::paintEvent(QPaintEvent*) {
  QPainter to(this);
  to.setRenderHint(QPainter::Antialiasing);
  const theme colours = theme::of(palette());
  to.fillRect(rect(), colours.background);
  draw(to, QRectF(rect()).adjusted(8, 8, -8, -8), colours);
  if (hasFocus()) {
    to.setPen(QPen(palette().color(QPalette::Highlight), 1));
    to.setBrush(Qt::NoBrush);
    to.drawRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5));
  }
}

}  // namespace ulp::gui
