// What the inputs of the run in front leave open is asked above the views: the factor of its values, and roles that were
// inferred.
#ifndef ULP_GUI_PANELS_ASK_BAR_HPP
#define ULP_GUI_PANELS_ASK_BAR_HPP

#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QWidget>
#include <cstdint>

#include "viewmodel/view_state.hpp"

namespace ulp::gui {

class ask_bar final : public QWidget {
  Q_OBJECT
 public:
  explicit ask_bar(view_state& state, QWidget* parent = nullptr);
  // The factor that the run of this id has cannot be right, and why.
  void doubt(std::uint64_t run, const QString& why);

 signals:
  void wanted(const QString& option);  // its field is to be shown

 private:
  QWidget* make_question(QLabel* text, const std::vector<QWidget*>& answers);
  void refresh();
  void answer(const std::string& factor, const std::string& scalars = {});
  void answer_typed();
  void choose_scalars();

  view_state& state_;
  QLabel* factor_text_;
  QLabel* roles_text_;
  QPushButton* by_scale_;
  QLineEdit* typed_;
  QPushButton* scalars_;
  QWidget* factor_;
  QWidget* roles_;
  std::uint64_t doubted_ = 0;  // the run whose factor cannot be right
  QString why_doubted_;
  std::uint64_t settled_ = 0;  // the run whose inferred roles were accepted
};

}  // namespace ulp::gui

#endif
