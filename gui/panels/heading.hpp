// The title of a part of a panel.
#ifndef ULP_GUI_PANELS_HEADING_HPP
#define ULP_GUI_PANELS_HEADING_HPP

#include <QLabel>

namespace ulp::gui {

[[nodiscard]] inline QLabel* make_heading(const QString& text, QWidget* parent) {
  auto* const label = new QLabel(text, parent);
  QFont bold = label->font();
  bold.setBold(true);
  label->setFont(bold);
  return label;
}

}  // namespace ulp::gui

#endif
