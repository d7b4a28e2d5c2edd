// The window's menus and their keys. Keys that ask for a bracket have a second form: not every keyboard has brackets.
#include <QActionGroup>
#include <QClipboard>
#include <QGuiApplication>
#include <QInputDialog>
#include <QMap>
#include <QMenuBar>
#include <QMessageBox>
#include <QStatusBar>
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <ulp/report/tables/usual_formats.hpp>

#include "export.hpp"
#include "main_window.hpp"
#include "panels/configuration.hpp"
#include "themes.hpp"
#include "views/all_views.hpp"

namespace ulp::gui {
namespace {

// The same in the next of the usual formats, round and round, that its other options allow; as it is where none does.
scenario_text in_next_format(scenario_text spec, const run_text& run) {
  const std::vector<const char*> usual = usual_formats(format_room::few);
  const auto known = std::ranges::find(usual, spec.format);
  std::size_t at = known == usual.end() ? usual.size() - 1 : static_cast<std::size_t>(known - usual.begin());
  for (std::size_t tried = 0; tried < usual.size(); ++tried) try {
      scenario_text next = spec;
      at = (at + 1) % usual.size();
      next.format = usual[at];
      static_cast<void>(scenario_of(next, run));
      return next;
    } catch (const std::invalid_argument&) {
    }
  return spec;
}

// There are fewer digits than views: some have that of another one, with Shift.
QKeySequence view_shortcut(int index) {
  static const QMap<QString, QString> beside{{"tensor-scales", "scale"}, {"plan", "formats"}, {"compare", "overview"}};
  const QStringList keys = view_keys();
  const auto digit = [&](const QString& key) {
    int place = 0;
    for (const QString& other : keys.first(keys.indexOf(key) + 1)) place += beside.contains(other) ? 0 : 1;
    return place;
  };
  const auto other = beside.find(keys[index]);
  if (other != beside.end()) return {QStringLiteral("Ctrl+Shift+%1").arg(digit(*other))};
  return {QStringLiteral("Ctrl+%1").arg(digit(keys[index]))};
}

}  // namespace

void main_window::make_menus() {
  make_file_menu();
  make_edit_menu();
  make_go_menu();
  make_replay_menu();
  make_view_menu();
  make_help_menu();
}

void main_window::make_file_menu() {
  QMenu* const file = menuBar()->addMenu(tr("&File"));
  file->addAction(tr("&Open..."), QKeySequence::Open, this, &main_window::choose_and_open);
  file->addAction(tr("Open &folder..."), this, &main_window::choose_folder);
  file->addAction(tr("&Compare with..."), QKeySequence(tr("Ctrl+Shift+O")), this, &main_window::choose_and_compare);
  recent_ = file->addMenu(tr("Open &recent"));
  connect(recent_, &QMenu::aboutToShow, this, &main_window::show_recent);
  file->addAction(tr("Re&load"), QKeySequence::Refresh, &doc_, &document::reload);
  QAction* const watching = file->addAction(tr("&Watch while it grows"));
  watching->setCheckable(true);
  connect(watching, &QAction::toggled, this, &main_window::watch);
  file->addSeparator();
  file->addAction(tr("Load confi&guration..."), this, [this] { choose_configuration(state_, this); });
  file->addAction(tr("Sa&ve session..."), QKeySequence::Save, this, &main_window::choose_and_save_session);
  file->addAction(tr("&Export view..."), QKeySequence(tr("Ctrl+E")), this, &main_window::choose_and_export);
  file->addSeparator();
  file->addAction(tr("&Quit"), QKeySequence::Quit, this, &QWidget::close);
}

void main_window::make_edit_menu() {
  QMenu* const edit = menuBar()->addMenu(tr("&Edit"));
  QAction* const undo = history_.steps().createUndoAction(this, tr("&Undo"));
  QAction* const redo = history_.steps().createRedoAction(this, tr("&Redo"));
  undo->setShortcut(QKeySequence(tr("Ctrl+Z")));
  redo->setShortcut(QKeySequence(tr("Ctrl+Shift+Z")));
  edit->addActions({undo, redo});
  edit->addSeparator();
  edit->addAction(tr("Copy &picture"), QKeySequence(tr("Ctrl+Shift+C")), this, &main_window::copy_picture);
  edit->addAction(tr("Copy &table"), QKeySequence(tr("Ctrl+Shift+T")), this, &main_window::copy_table);
  edit->addAction(tr("Copy &command"), QKeySequence(tr("Ctrl+Shift+L")), this, [this] {
    side_->copy_command();
    statusBar()->showMessage(tr("Copied the command"), 5000);
  });
}

void main_window::make_go_menu() {
  QMenu* const go = menuBar()->addMenu(tr("&Go"));
  const auto move = [&](const QString& text, const QList<QKeySequence>& keys, auto act) {
    QAction* const action = go->addAction(text, this, act);
    action->setShortcuts(keys);
  };
  move(tr("&Go to step..."), {QKeySequence(tr("Ctrl+G"))}, [this] { ask_for_step(); });
  move(tr("Next step"), {QKeySequence(tr("Alt+Right"))}, [this] { state_.move_cursor(1); });
  move(tr("Previous step"), {QKeySequence(tr("Alt+Left"))}, [this] { state_.move_cursor(-1); });
  move(tr("100 steps on"), {QKeySequence(tr("Alt+Shift+Right"))}, [this] { state_.move_cursor(100); });
  move(tr("100 steps back"), {QKeySequence(tr("Alt+Shift+Left"))}, [this] { state_.move_cursor(-100); });
  move(tr("Next skipped step"), {QKeySequence(tr("Ctrl+N"))}, [this] { state_.move_to_skip(1); });
  move(tr("Previous skipped step"), {QKeySequence(tr("Ctrl+P"))}, [this] { state_.move_to_skip(-1); });
  go->addSeparator();
  const auto zoom = [this](double factor) {
    const auto shown = state_.shown();
    const auto at = static_cast<double>(state_.cursor_step());
    const double before = std::clamp(at - static_cast<double>(shown.first), 0.0, 1e18);
    const double after = std::clamp(static_cast<double>(shown.last) - at, 0.0, 1e18);
    state_.set_shown({static_cast<std::int64_t>(std::floor(at - before * factor)),
                      static_cast<std::int64_t>(std::ceil(at + after * factor))});
  };
  move(tr("Zoom in at the cursor"), {QKeySequence(tr("Alt+Up"))}, [zoom] { zoom(0.5); });
  move(tr("Zoom out"), {QKeySequence(tr("Alt+Down"))}, [zoom] { zoom(2); });
  move(tr("All steps"), {QKeySequence(tr("Ctrl+0"))}, [this] { state_.set_shown(state_.whole()); });
  move(tr("Undo zoom and filter"), {QKeySequence(Qt::Key_Escape)}, [this] { state_.undo(); });
  go->addSeparator();
  const auto try_scale = [this](int by) {
    const double scale = state_.scale_at(state_.cursor_step());
    state_.set_tried_scale((scale > 0 && std::isfinite(scale) ? std::ilogb(scale) : 0) + by);
  };
  move(tr("Try a larger scale"), {QKeySequence(tr("Ctrl+Up")), QKeySequence(tr("Ctrl+]"))},
       [try_scale] { try_scale(1); });
  move(tr("Try a smaller scale"), {QKeySequence(tr("Ctrl+Down")), QKeySequence(tr("Ctrl+["))},
       [try_scale] { try_scale(-1); });
  move(tr("Follow the replay's scale"), {QKeySequence(tr("Ctrl+L")), QKeySequence(tr("Ctrl+="))},
       [this] { state_.set_tried_scale(std::nullopt); });
}

void main_window::make_replay_menu() {
  QMenu* const replays = menuBar()->addMenu(tr("&Replays"));
  for (std::size_t i = 0; i < document::most_replays; ++i)
    replays->addAction(tr("To the front: replay %1").arg(i + 1), QKeySequence(QStringLiteral("Alt+%1").arg(i + 1)),
                       this, [this, i] { state_.set_front(i); });
  replays->addSeparator();
  replays->addAction(tr("Compare the others with the one in front"), QKeySequence(tr("Ctrl+B")), this,
                     [this] { state_.make_first(); });
  replays->addAction(tr("Next format"), QKeySequence(tr("Ctrl+Shift+F")), this, [this] {
    const run_text run = doc_.runs().empty() ? run_text{} : doc_.runs().front()->text;
    doc_.change_replay(state_.front_index(), in_next_format(state_.front().spec, run));
  });
}

void main_window::make_view_menu() {
  docks_ = menuBar()->addMenu(tr("&View"));
  for (int i = 0; i < tabs_->count(); ++i) {
    docks_->addAction(tabs_->tabText(i), view_shortcut(i), this, [this, i] { tabs_->setCurrentIndex(i); });
    const QString keys = view_shortcut(i).toString(QKeySequence::NativeText);
    const QString question = static_cast<const view*>(tabs_->widget(i))->question();
    tabs_->setTabToolTip(i, keys.isEmpty() ? question : tr("%1 (%2)").arg(question, keys));
  }
  docks_->addAction(tr("&Filter tensors"), QKeySequence(tr("Ctrl+F")), this, [this] {
    show_view("layers");
    if (auto* const filter = findChild<QWidget*>("filter")) filter->setFocus();
  });
  docks_->addSeparator();
  QMenu* const colours = docks_->addMenu(tr("&Theme"));
  auto* const only_one = new QActionGroup(this);
  const QStringList titles{tr("&System"), tr("&Light"), tr("&Dark"), tr("&High contrast")};
  for (qsizetype i = 0; i < titles.size(); ++i) {
    const QString name = theme_names()[i];
    QAction* const action = colours->addAction(titles[i], this, [name] {
      use_theme(name);
      remember_theme(name);
    });
    action->setCheckable(true);
    action->setChecked(name == remembered_theme());
    only_one->addAction(action);
  }
  docks_->addSeparator();
}

void main_window::make_help_menu() {
  QMenu* const help = menuBar()->addMenu(tr("&Help"));
  help->addAction(tr("&What is this view?"), QKeySequence::HelpContents, this, [this] {
    QMessageBox::information(this, current().title(), current().question() + "\n\n" + current().legend());
  });
  help->addAction(tr("&About"), this, [this] {
    QMessageBox::about(this, "ulpscope",
                       tr("What 16 bits do to the gradients of a training run, exactly.\n\n"
                          "The viewer is under the GPL 3, as Qt Charts is; the libraries are under the Apache "
                          "License 2.0."));
  });
}

void main_window::ask_for_step() {
  if (state_.current_run() == nullptr) return;
  const auto all = state_.whole();
  bool chosen = false;
  const QString text = QInputDialog::getText(this, tr("Go to step"), tr("Step, %1 to %2:").arg(all.first).arg(all.last),
                                             QLineEdit::Normal, QString::number(state_.cursor_step()), &chosen);
  if (!chosen) return;
  bool is_number = false;
  const qlonglong step = text.trimmed().toLongLong(&is_number);
  if (!is_number) return warn(tr("'%1' is not a step").arg(text));
  go_to_step(step);
}

void main_window::go_to_step(std::int64_t step) {
  state_.set_cursor(step);
  const auto shown = state_.shown();
  const std::int64_t at = state_.cursor_step();
  if (at >= shown.first && at <= shown.last) return;
  const std::int64_t half = (shown.last - shown.first) / 2;
  state_.set_shown({at - half, at + half});
}

void main_window::copy_picture() {
  const QSize size = current().size().expandedTo({480, 320});
  QGuiApplication::clipboard()->setImage(picture_of(current(), size, theme::of(palette())));
  statusBar()->showMessage(tr("Copied the picture"), 5000);
}

void main_window::copy_table() {
  current().catch_up_now();
  QGuiApplication::clipboard()->setText(tabbed(current().data()));
  statusBar()->showMessage(tr("Copied the table"), 5000);
}

}  // namespace ulp::gui
