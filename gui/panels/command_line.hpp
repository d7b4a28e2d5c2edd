// The command that does the same as the replay in front, to be copied.
#ifndef ULP_GUI_PANELS_COMMAND_LINE_HPP
#define ULP_GUI_PANELS_COMMAND_LINE_HPP

#include <QLineEdit>
#include <QPushButton>
#include <QWidget>

#include "viewmodel/view_state.hpp"

namespace ulp::gui {

class command_line final : public QWidget {
  Q_OBJECT
 public:
  explicit command_line(view_state& state, QWidget* parent = nullptr);
  // To the clipboard.
  void copy() const;

 private:
  void refresh();

  view_state& state_;
  QLineEdit* text_;
  QPushButton* copy_;
};

}  // namespace ulp::gui

#endif
