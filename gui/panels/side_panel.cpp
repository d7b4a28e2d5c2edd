#include "side_panel.hpp"

#include <QScrollBar>
#include <QTimer>
#include <QVBoxLayout>

#include "heading.hpp"
#include "recording_facts.hpp"

namespace ulp::gui {

side_panel::side_panel(view_state& state, QWidget* parent)
    : QWidget(parent),
      scenario_(new scenario_editor(state, this)),
      reads_(new QCheckBox(tr("Reading options"), this)),
      reading_(new reading_editor(state, this)),
      command_(new command_line(state, this)),
      room_(new QScrollArea(this)) {
  auto* const content = new QWidget(this);
  auto* const inner = new QVBoxLayout(content);
  inner->setContentsMargins(8, 8, 8, 8);
  inner->addWidget(scenario_);
  inner->addWidget(make_heading(tr("Recording"), content));
  inner->addWidget(new recording_facts(state, content));
  inner->addWidget(reads_);
  inner->addWidget(reading_);
  inner->addStretch(1);
  reads_->setToolTip(tr("What the inputs do not say themselves: factor, kinds, roles, steps"));
  reading_->hide();
  connect(reads_, &QCheckBox::toggled, reading_, &QWidget::setVisible);

  room_->setWidget(content);
  room_->setWidgetResizable(true);
  room_->setFrameShape(QFrame::NoFrame);
  room_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  room_->setMinimumWidth(content->minimumSizeHint().width() + room_->verticalScrollBar()->sizeHint().width());
  auto* const box = new QVBoxLayout(this);
  box->setContentsMargins(0, 0, 0, 0);
  box->setSpacing(0);
  box->addWidget(room_, 1);
  box->addWidget(command_);
}

void side_panel::ask_for(const QString& option) {
  reads_->setChecked(true);
  reading_->ask_for(option);
  // Once there is room for it.
  QTimer::singleShot(0, this, [this] {
    if (QWidget* const field = reading_->focusWidget()) room_->ensureWidgetVisible(field);
  });
}

}  // namespace ulp::gui
