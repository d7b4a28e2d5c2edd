#include "command_line.hpp"

#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>

#include "viewmodel/shown_text.hpp"

namespace ulp::gui {

command_line::command_line(view_state& state, QWidget* parent)
    : QWidget(parent), state_(state), text_(new QLineEdit(this)), copy_(new QPushButton(tr("Copy"), this)) {
  auto* const row = new QHBoxLayout(this);
  row->setContentsMargins(8, 4, 8, 8);
  row->addWidget(text_, 1);
  row->addWidget(copy_);
  text_->setReadOnly(true);
  text_->setObjectName("command");
  text_->setAccessibleName(tr("Command that reproduces the replay"));
  copy_->setAccessibleName(tr("Copy the command"));
  connect(copy_, &QPushButton::clicked, this, &command_line::copy);
  connect(&state_, &view_state::changed, this, [this](view_state::parts what) {
    if (what.testAnyFlags(view_state::parts{view_state::run} | view_state::replays)) refresh();
  });
  refresh();
}

void command_line::copy() const { QGuiApplication::clipboard()->setText(text_->text()); }

void command_line::refresh() {
  const loaded_run* const run = state_.current_run();
  text_->setText(run == nullptr ? QString() : QString::fromStdString(command_of(state_.front().spec, run->text)));
  text_->setCursorPosition(0);
  text_->setToolTip(tip_of(text_->text()));
  copy_->setEnabled(run != nullptr);
}

}  // namespace ulp::gui
