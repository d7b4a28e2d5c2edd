#include "step_keys.hpp"

#include <QAbstractItemView>
#include <QAbstractSlider>
#include <QAbstractSpinBox>
#include <QApplication>
#include <QComboBox>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QTabBar>
#include <QTextEdit>

namespace ulp::gui {
namespace {

template <typename... Widgets>
bool is_any_of(const QWidget& w) {
  return ((qobject_cast<const Widgets*>(&w) != nullptr) || ...);
}

bool has_own_arrows(const QWidget& w) {
  if (const auto* const text = qobject_cast<const QTextEdit*>(&w)) return !text->isReadOnly();
  return is_any_of<QLineEdit, QAbstractSpinBox, QComboBox, QAbstractSlider, QAbstractItemView, QMenu, QMenuBar,
                   QTabBar>(w);
}

}  // namespace

step_keys::step_keys(view_state& state, QWidget& window) : QObject(&window), state_(state), window_(window) {
  qApp->installEventFilter(this);
}

bool step_keys::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::KeyPress || state_.current_run() == nullptr) return false;
  const auto* const key = static_cast<const QKeyEvent*>(event);
  if (key->key() != Qt::Key_Left && key->key() != Qt::Key_Right) return false;
  const auto modifiers = key->modifiers() & ~Qt::KeypadModifier;
  if (modifiers != Qt::NoModifier && modifiers != Qt::ShiftModifier) return false;
  const auto* const target = qobject_cast<const QWidget*>(watched);
  if (target == nullptr || target->window() != &window_ || has_own_arrows(*target)) return false;
  const int steps = modifiers == Qt::ShiftModifier ? 100 : 1;
  state_.move_cursor(key->key() == Qt::Key_Right ? steps : -steps);
  return true;
}

}  // namespace ulp::gui
