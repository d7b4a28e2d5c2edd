// What is replayed, and of what: the replays, the scenario of the one in front, how the inputs are read, the recording, and
// the command that does the same.
#ifndef ULP_GUI_PANELS_SIDE_PANEL_HPP
#define ULP_GUI_PANELS_SIDE_PANEL_HPP

#include <QCheckBox>
#include <QScrollArea>
#include <QWidget>

#include "command_line.hpp"
#include "reading_editor.hpp"
#include "scenario_editor.hpp"

namespace ulp::gui {

class side_panel final : public QWidget {
  Q_OBJECT
 public:
  explicit side_panel(view_state& state, QWidget* parent = nullptr);

  [[nodiscard]] scenario_editor& scenario() const noexcept { return *scenario_; }
  void copy_command() const { command_->copy(); }
  // Opens the reading options, at one of them.
  void ask_for(const QString& option);

 private:
  scenario_editor* scenario_;
  QCheckBox* reads_;
  reading_editor* reading_;
  command_line* command_;
  QScrollArea* room_;
};

}  // namespace ulp::gui

#endif
