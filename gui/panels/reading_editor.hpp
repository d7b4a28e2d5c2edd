// What the user says of the inputs that they do not say themselves, for all open runs.
#ifndef ULP_GUI_PANELS_READING_EDITOR_HPP
#define ULP_GUI_PANELS_READING_EDITOR_HPP

#include <QLabel>
#include <QPushButton>
#include <QWidget>

#include "option_fields.hpp"
#include "viewmodel/view_state.hpp"

namespace ulp::gui {

class reading_editor final : public QWidget {
  Q_OBJECT
 public:
  explicit reading_editor(view_state& state, QWidget* parent = nullptr);

  // The field of an option gets the focus.
  void ask_for(const QString& option);

 private:
  // Throws std::invalid_argument where a text means nothing.
  [[nodiscard]] run_text typed() const;
  void show_known();
  void look_at_typed();
  void apply();

  view_state& state_;
  option_fields* fields_;
  QPushButton* again_;
  QLabel* problem_;
  run_text known_;  // what the fields were filled with
};

}  // namespace ulp::gui

#endif
