// The scaler by name: a button that opens all of them, by framework, with a field to search in.
#ifndef ULP_GUI_PANELS_SCALER_CHOICE_HPP
#define ULP_GUI_PANELS_SCALER_CHOICE_HPP

#include <QLineEdit>
#include <QPushButton>
#include <QString>
#include <QTreeWidget>
#include <QWidget>

namespace ulp::gui {

class scaler_choice final : public QPushButton {
  Q_OBJECT
 public:
  explicit scaler_choice(QWidget* parent = nullptr);

  [[nodiscard]] const QString& scaler() const noexcept { return scaler_; }
  void set_scaler(const QString& name);
  // Of any name; a longer one is cut.
  [[nodiscard]] QSize minimumSizeHint() const override;

 signals:
  void changed();

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void open_list();
  void search(const QString& text);
  void choose(const QTreeWidgetItem* item);
  bool eventFilter(QObject* watched, QEvent* event) override;

  QString scaler_;
  QWidget* list_;  // the popup
  QLineEdit* searched_;
  QTreeWidget* tree_;
};

}  // namespace ulp::gui

#endif
