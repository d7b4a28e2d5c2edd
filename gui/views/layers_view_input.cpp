// What mouse and keys do in the view of layers.
#include <QAccessible>
#include <QCoreApplication>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>

#include "layers_view.hpp"
#include "viewmodel/shown_text.hpp"

namespace ulp::gui {

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

}  // namespace ulp::gui
