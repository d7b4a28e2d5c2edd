// The window: views in the middle, the scenario at the left, where things come from at the right.
#ifndef ULP_GUI_APP_MAIN_WINDOW_HPP
#define ULP_GUI_APP_MAIN_WINDOW_HPP

#include <QLabel>
#include <QMainWindow>
#include <QProgressBar>
#include <QTabWidget>
#include <QTimer>
#include <QToolButton>

#include "session.hpp"
#include "viewmodel/document.hpp"
#include "viewmodel/view_state.hpp"
#include "views/view.hpp"

namespace ulp::gui {

class main_window : public QMainWindow {
  Q_OBJECT
 public:
  main_window();

  void open(const document::inputs_of_run& inputs);
  // All that the session names, as it was looked at; without runs only the scenarios and the view.
  void open(const session& s);
  void show_view(const QString& key);
  [[nodiscard]] document& doc() noexcept { return doc_; }
  [[nodiscard]] view_state& state() noexcept { return state_; }

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void closeEvent(QCloseEvent* event) override;

 private:
  void make_menus();
  void choose_and_open();
  void choose_and_export();
  void show_recent();
  void choose_and_save_session();
  void choose_and_open_session();
  [[nodiscard]] document::inputs_of_run chosen_files(const QString& title);
  void choose_and_compare();
  void look_for_growth();
  void remember_recent();
  [[nodiscard]] view& current() const;

  document doc_;
  view_state state_;
  QTabWidget* tabs_;
  QTimer watch_;
  QString seen_;  // sizes and times of the open files when they were last read
  QMenu* recent_ = nullptr;
  QMenu* docks_ = nullptr;
  QProgressBar* progress_;
  QToolButton* cancel_;
  QLabel* place_;
};

}  // namespace ulp::gui

#endif
