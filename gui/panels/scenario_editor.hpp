// The replays and the scenario of the one in front. A change is replayed a moment after the last key.
#ifndef ULP_GUI_PANELS_SCENARIO_EDITOR_HPP
#define ULP_GUI_PANELS_SCENARIO_EDITOR_HPP

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QTableWidget>
#include <QTimer>
#include <QVBoxLayout>
#include <QWidget>
#include <array>

#include "option_fields.hpp"
#include "scaler_choice.hpp"
#include "viewmodel/view_state.hpp"

namespace ulp::gui {

class scenario_editor : public QWidget {
  Q_OBJECT
 public:
  explicit scenario_editor(view_state& state, QWidget* parent = nullptr);

 signals:
  void comparison_wanted();

 private:
  // What the editor is made of, from top to bottom; what they return is in the order of the keyboard.
  using buttons_of_replays = std::array<QWidget*, 3>;
  using last_widgets = std::array<QWidget*, 2>;
  buttons_of_replays add_replays(QVBoxLayout& box);
  void add_fields(QVBoxLayout& box);
  last_widgets add_rest(QVBoxLayout& box);
  void name_fields();
  void offer_values();
  void set_up_parameters();
  void follow_edits();
  void follow_state();

  void show_replays();
  void show_front();
  void show_parameters(const scenario_text& spec);
  // Throws std::invalid_argument where a number is none.
  [[nodiscard]] scenario_text typed() const;
  [[nodiscard]] bool is_typed(const scenario_text& spec) const;
  void apply();

  view_state& state_;
  QListWidget* replays_;
  scaler_choice* scaler_;
  QTableWidget* parameters_;
  QComboBox* format_;
  QComboBox* rounding_;
  QComboBox* clip_how_;
  QLineEdit* clip_at_;
  QComboBox* order_;
  QLineEdit* check_;
  option_fields* further_;
  QLabel* problem_;
  QTimer pause_;
  std::size_t edited_ = 0;  // the replay that what is typed is of
  bool showing_ = false;    // not the user's change
  std::string shown_scaler_;
};

}  // namespace ulp::gui

#endif
