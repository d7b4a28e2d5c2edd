// What is shown while nothing is open: how to open something, and an example that answers three questions.
#ifndef ULP_GUI_APP_START_PAGE_HPP
#define ULP_GUI_APP_START_PAGE_HPP

#include <QPushButton>
#include <QScrollArea>
#include <QString>
#include <QVBoxLayout>
#include <optional>

#include "session.hpp"

namespace ulp::gui {

// The recording that comes with the program, installed or in the source tree; empty where it is missing.
[[nodiscard]] QString example_path();

// Files opened before, the latest first; those that are there.
[[nodiscard]] QStringList recent_files();
// With the options that it was read with, of a run.
void remember_file(const QString& path, const std::optional<run_text>& how = std::nullopt);
// nullopt where none are remembered, as of a session.
[[nodiscard]] std::optional<run_text> remembered_reading(const QString& path);

class start_page final : public QScrollArea {
  Q_OBJECT
 public:
  explicit start_page(QWidget* parent = nullptr);

 signals:
  void open_wanted();
  void folder_wanted();
  void file_wanted(const QString& path);
  void session_wanted(const ulp::gui::session& s);

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void show_recent();

  QPushButton* open_;
  QWidget* recent_;
  QVBoxLayout* recent_list_;
};

}  // namespace ulp::gui

#endif
