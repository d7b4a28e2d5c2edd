// The run in front, in a few lines: its steps, tensors and factor, what is checked for overflow, its file.
#ifndef ULP_GUI_PANELS_RECORDING_FACTS_HPP
#define ULP_GUI_PANELS_RECORDING_FACTS_HPP

#include <QLabel>
#include <QWidget>

#include "viewmodel/view_state.hpp"

namespace ulp::gui {

class recording_facts final : public QWidget {
  Q_OBJECT
 public:
  explicit recording_facts(view_state& state, QWidget* parent = nullptr);

 private:
  void refresh();

  view_state& state_;
  QLabel* steps_;
  QLabel* tensors_;
  QLabel* factor_;
  QLabel* checked_;
  QLabel* file_;
};

}  // namespace ulp::gui

#endif
