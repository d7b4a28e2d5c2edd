// The window: views in the middle, below what is asked and what is shown; replays and scenario at the left, where things come
// from at the right. While nothing is open there is a start page in place of the views.
#ifndef ULP_GUI_APP_MAIN_WINDOW_HPP
#define ULP_GUI_APP_MAIN_WINDOW_HPP

#include <QLabel>
#include <QMainWindow>
#include <QMenu>
#include <QProgressBar>
#include <QStackedWidget>
#include <QTabWidget>
#include <QTimer>
#include <QToolButton>

#include "panels/side_panel.hpp"
#include "replay_history.hpp"
#include "session.hpp"
#include "start_page.hpp"
#include "viewmodel/document.hpp"
#include "viewmodel/view_state.hpp"
#include "views/view.hpp"

namespace ulp::gui {

class ask_bar;

class main_window : public QMainWindow {
  Q_OBJECT
 public:
  main_window();

  void open(const document::inputs_of_run& inputs);
  // All that the session names, as it was looked at; without runs only the scenarios and the view.
  void open(const session& s);
  // A session, a folder, or files as the runs they are: in place of what is open, or beside it.
  void open_files(const QStringList& files, bool beside = false);
  void show_view(const QString& key);
  // Into the picture, wherever it is.
  void go_to_step(std::int64_t step);
  [[nodiscard]] document& doc() noexcept { return doc_; }
  [[nodiscard]] view_state& state() noexcept { return state_; }

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void closeEvent(QCloseEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void make_middle();
  // main_window_menus.cpp
  void make_menus();
  void make_file_menu();
  void make_edit_menu();
  void make_go_menu();
  void make_replay_menu();
  void make_view_menu();
  void make_help_menu();
  void ask_for_step();
  void copy_picture();
  void copy_table();
  // main_window_files.cpp
  void choose_and_open();
  void choose_folder();
  void choose_and_compare();
  void choose_and_export();
  void choose_and_save_session();
  void open_folder(const QString& folder);
  void open_runs(const std::vector<document::inputs_of_run>& runs, bool beside);
  void open_session(const QString& path);
  [[nodiscard]] QStringList chosen_files(const QString& title);
  void show_recent();
  void open_recent(const QString& file);

  void watch(bool on);
  void look_for_growth();
  void warn(const QString& text);
  [[nodiscard]] view& current() const;

  document doc_;
  view_state state_;
  replay_history history_;
  QStackedWidget* middle_;
  start_page* start_;
  QTabWidget* tabs_;
  ask_bar* ask_ = nullptr;
  side_panel* side_;
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
