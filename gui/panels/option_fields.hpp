// Fields for options that are data: a box for a flag, a list where few values are taken, else a line of text.
#ifndef ULP_GUI_PANELS_OPTION_FIELDS_HPP
#define ULP_GUI_PANELS_OPTION_FIELDS_HPP

#include <QWidget>
#include <vector>

#include <ulp/ask/questions/text_option.hpp>

namespace ulp::gui {

class option_fields final : public QWidget {
  Q_OBJECT
 public:
  // One for each; their values are not looked at.
  explicit option_fields(const std::vector<text_option>& options, QWidget* parent = nullptr);

  // Of the same options in the same order.
  void show_values(const std::vector<text_option>& options);
  void take_values(const std::vector<text_option>& options) const;

 signals:
  void changed();

 private:
  std::vector<QWidget*> fields_;
};

}  // namespace ulp::gui

#endif
