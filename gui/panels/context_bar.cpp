#include "context_bar.hpp"

#include <QLabel>
#include <QToolButton>
#include <utility>

#include "viewmodel/shown_text.hpp"

namespace ulp::gui {
namespace {

QString shortened(const QString& text) {
  constexpr qsizetype most = 36;
  return text.size() <= most ? text : text.left(most - 3) + "...";
}

}  // namespace

context_bar::context_bar(view_state& state, QWidget* parent)
    : QWidget(parent), state_(state), row_(new QHBoxLayout(this)) {
  row_->setContentsMargins(8, 3, 8, 3);
  row_->setSpacing(6);
  setObjectName("context");
  connect(&state_, &view_state::changed, this, &context_bar::refresh);
  refresh();
}

void context_bar::show_for(heeded by) {
  by_ = std::move(by);
  refresh();
}

void context_bar::refresh() {
  while (QLayoutItem* const item = row_->takeAt(0)) {
    if (item->widget() != nullptr) {
      item->widget()->hide();
      item->widget()->deleteLater();
    }
    delete item;
  }
  const std::vector<restriction> all = restrictions_of(state_, by_);
  for (const restriction& r : all) {
    auto* const chip = new QToolButton(this);
    chip->setText(shortened(r.text).replace('&', "&&") + QStringLiteral("  \u00D7"));
    chip->setToolTip(tip_of(r.text));
    chip->setAccessibleName(tr("Remove: %1").arg(r.text));
    chip->setFocusPolicy(Qt::StrongFocus);
    connect(chip, &QToolButton::clicked, this, [this, of = r.of] { lift(of, state_); });
    row_->addWidget(chip);
  }
  if (const QString rest = all.empty() ? context_of(state_, by_) : scales_note(state_, by_); !rest.isEmpty()) {
    auto* const label = new QLabel(rest, this);
    label->setForegroundRole(QPalette::PlaceholderText);
    row_->addWidget(label);
  }
  row_->addStretch(1);
}

}  // namespace ulp::gui
