#include "main_window.hpp"

#include <QAction>
#include <QActionGroup>
#include <QApplication>
#include <QCloseEvent>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenuBar>
#include <QMessageBox>
#include <QMimeData>
#include <QSettings>
#include <QStatusBar>
#include <algorithm>
#include <cmath>
#include <exception>
#include <stdexcept>
#include <ulp/report/usual_formats.hpp>

#include "export.hpp"
#include "panels/inspector.hpp"
#include "panels/scenario_editor.hpp"
#include "viewmodel/shown_text.hpp"
#include "views/all_views.hpp"
#include "views/overview_view.hpp"

namespace ulp::gui {
namespace {

constexpr qsizetype most_recent = 10;

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

// Of as many views as there are digits.
QKeySequence view_shortcut(int index) {
  return index < 9 ? QKeySequence(QStringLiteral("Ctrl+%1").arg(index + 1)) : QKeySequence();
}

// Of the files that are open, by which a change is noticed. A recording that is being written changes in its write-ahead log
// first.
QString stamps(const document& doc) {
  QString all;
  for (const auto& run : doc.runs())
    for (const std::string& input : run->text.inputs)
      for (const char* const suffix : {"", "-wal"}) {
        const QFileInfo file(QString::fromStdString(input) + suffix);
        all += QStringLiteral("%1 %2 ").arg(file.size()).arg(file.lastModified().toMSecsSinceEpoch());
      }
  return all;
}

void warn(QWidget* parent, const QString& text) {
  QMessageBox box(QMessageBox::Warning, "ulpscope", text, QMessageBox::Ok, parent);
  box.setTextFormat(Qt::PlainText);
  box.exec();
}

}  // namespace

main_window::main_window()
    : state_(doc_),
      tabs_(new QTabWidget(this)),
      progress_(new QProgressBar(this)),
      cancel_(new QToolButton(this)),
      place_(new QLabel(this)) {
  place_->setTextFormat(Qt::PlainText);
  setWindowTitle("ulpscope");
  setAcceptDrops(true);
  tabs_->setDocumentMode(true);
  setCentralWidget(tabs_);
  for (view* const v : make_views(state_, this)) {
    const int at = tabs_->addTab(v, v->title());
    const QString keys = view_shortcut(at).toString(QKeySequence::NativeText);
    tabs_->setTabToolTip(at, keys.isEmpty() ? v->question() : tr("%1 (%2)").arg(v->question(), keys));
    if (auto* const overview = qobject_cast<overview_view*>(v))
      connect(overview, &overview_view::asked_for, this, &main_window::show_view);
  }
  const auto dock = [this](const QString& title, const char* name, QWidget* content, Qt::DockWidgetArea area) {
    auto* const d = new QDockWidget(title, this);
    d->setObjectName(name);
    d->setWidget(content);
    addDockWidget(area, d);
    return d;
  };
  QDockWidget* const scenario =
      dock(tr("Scenario"), "scenario", new scenario_editor(state_, this), Qt::LeftDockWidgetArea);
  QDockWidget* const about = dock(tr("Inspector"), "inspector", new inspector(state_, this), Qt::RightDockWidgetArea);
  about->hide();
  make_menus();
  docks_->addAction(scenario->toggleViewAction());
  docks_->addAction(about->toggleViewAction());

  statusBar()->addWidget(place_, 1);
  statusBar()->addPermanentWidget(progress_);
  statusBar()->addPermanentWidget(cancel_);
  progress_->setMaximumWidth(220);
  progress_->setRange(0, 100);
  cancel_->setText(tr("Cancel"));
  progress_->hide();
  cancel_->hide();
  connect(cancel_, &QToolButton::clicked, &doc_, &document::cancel);
  watch_.setInterval(1000);
  connect(&watch_, &QTimer::timeout, this, &main_window::look_for_growth);
  connect(&doc_, &document::progressed, this, [this](const QString& what, double share) {
    progress_->setFormat(what + " %p %");
    progress_->setValue(static_cast<int>(100 * share));
    progress_->show();
    cancel_->show();
  });
  connect(&doc_, &document::idle, this, [this] {
    progress_->hide();
    cancel_->hide();
  });
  connect(&doc_, &document::failed, this, [this](const QString& why) {
    progress_->hide();
    cancel_->hide();
    warn(this, why);
  });
  connect(&doc_, &document::run_changed, this, [this] {
    QStringList names;
    for (const auto& run : doc_.runs()) names << QFileInfo(shown_text(run->text.inputs.front())).fileName();
    setWindowTitle(names.isEmpty() ? QStringLiteral("ulpscope") : names.join(tr(" and ")) + " - ulpscope");
    remember_recent();
  });
  connect(&state_, &view_state::changed, this, [this] {
    if (state_.current_run() == nullptr) return;
    if (state_.current_run()->picture.steps().empty()) return place_->clear();
    const auto shown = state_.shown();
    place_->setText(tr("step %1; shown %2 to %3%4")
                        .arg(state_.cursor_step())
                        .arg(shown.first)
                        .arg(shown.last)
                        .arg(state_.tensor() ? "; " + shown_text(state_.current_run()->tensors[*state_.tensor()].name)
                                             : QString()));
  });

  resize(1280, 800);
  const QSettings settings;
  restoreGeometry(settings.value("geometry").toByteArray());
  restoreState(settings.value("docks").toByteArray(), 1);
}

void main_window::make_menus() {
  QMenu* const file = menuBar()->addMenu(tr("&File"));
  file->addAction(tr("&Open..."), QKeySequence::Open, this, &main_window::choose_and_open);
  file->addAction(tr("&Compare with..."), QKeySequence(tr("Ctrl+Shift+O")), this, &main_window::choose_and_compare);
  recent_ = file->addMenu(tr("Open &recent"));
  connect(recent_, &QMenu::aboutToShow, this, &main_window::show_recent);
  file->addAction(tr("Re&load"), QKeySequence::Refresh, &doc_, &document::reload);
  QAction* const watching = file->addAction(tr("&Watch while it grows"));
  watching->setCheckable(true);
  connect(watching, &QAction::toggled, this, [this](bool on) {
    seen_ = stamps(doc_);
    on ? watch_.start() : watch_.stop();
  });
  file->addSeparator();
  file->addAction(tr("Open &session..."), this, &main_window::choose_and_open_session);
  file->addAction(tr("Sa&ve session..."), QKeySequence::Save, this, &main_window::choose_and_save_session);
  file->addSeparator();
  file->addAction(tr("&Export view..."), QKeySequence(tr("Ctrl+E")), this, &main_window::choose_and_export);
  file->addSeparator();
  file->addAction(tr("&Quit"), QKeySequence::Quit, this, &QWidget::close);

  QMenu* const go = menuBar()->addMenu(tr("&Go"));
  const auto move = [&](const QString& text, const QKeySequence& keys, auto act) {
    go->addAction(text, keys, this, act);
  };
  move(tr("Next step"), QKeySequence(tr("Alt+Right")), [this] { state_.move_cursor(1); });
  move(tr("Previous step"), QKeySequence(tr("Alt+Left")), [this] { state_.move_cursor(-1); });
  move(tr("100 steps on"), QKeySequence(tr("Alt+Shift+Right")), [this] { state_.move_cursor(100); });
  move(tr("100 steps back"), QKeySequence(tr("Alt+Shift+Left")), [this] { state_.move_cursor(-100); });
  move(tr("Next skipped step"), QKeySequence(tr("Ctrl+N")), [this] { state_.move_to_skip(1); });
  move(tr("Previous skipped step"), QKeySequence(tr("Ctrl+P")), [this] { state_.move_to_skip(-1); });
  go->addSeparator();
  const auto zoom = [this](double factor) {
    const auto shown = state_.shown();
    const auto at = static_cast<double>(state_.cursor_step());
    const double before = std::clamp(at - static_cast<double>(shown.first), 0.0, 1e18);
    const double after = std::clamp(static_cast<double>(shown.last) - at, 0.0, 1e18);
    state_.set_shown({static_cast<std::int64_t>(std::floor(at - before * factor)),
                      static_cast<std::int64_t>(std::ceil(at + after * factor))});
  };
  move(tr("Zoom in at the cursor"), QKeySequence(tr("Alt+Up")), [zoom] { zoom(0.5); });
  move(tr("Zoom out"), QKeySequence(tr("Alt+Down")), [zoom] { zoom(2); });
  move(tr("All steps"), QKeySequence(tr("Ctrl+0")), [this] { state_.set_shown(state_.whole()); });
  move(tr("Undo zoom and filter"), QKeySequence(Qt::Key_Escape), [this] { state_.undo(); });
  go->addSeparator();
  const auto try_scale = [this](int by) {
    const double scale = state_.scale_at(state_.cursor_step());
    state_.set_tried_scale((scale > 0 && std::isfinite(scale) ? std::ilogb(scale) : 0) + by);
  };
  move(tr("Try a larger scale"), QKeySequence(tr("Ctrl+]")), [try_scale] { try_scale(1); });
  move(tr("Try a smaller scale"), QKeySequence(tr("Ctrl+[")), [try_scale] { try_scale(-1); });
  move(tr("Follow the replay's scale"), QKeySequence(tr("Ctrl+=")), [this] { state_.set_tried_scale(std::nullopt); });

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

  docks_ = menuBar()->addMenu(tr("&View"));
  for (int i = 0; i < tabs_->count(); ++i)
    docks_->addAction(tabs_->tabText(i), view_shortcut(i), this, [this, i] { tabs_->setCurrentIndex(i); });
  docks_->addAction(tr("&Filter tensors"), QKeySequence(tr("Ctrl+F")), this, [this] {
    show_view("layers");
    if (auto* const filter = findChild<QWidget*>("filter")) filter->setFocus();
  });
  docks_->addSeparator();
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

view& main_window::current() const { return *static_cast<view*>(tabs_->currentWidget()); }

void main_window::show_view(const QString& key) {
  for (int i = 0; i < tabs_->count(); ++i)
    if (static_cast<view*>(tabs_->widget(i))->key() == key) tabs_->setCurrentIndex(i);
}

void main_window::open(const document::inputs_of_run& inputs) {
  if (inputs.empty()) return;
  doc_.open(inputs);
}

void main_window::open(const session& s) {
  show_view(s.view);
  if (s.runs.empty()) return doc_.set({}, entries_of(s));
  doc_.open(s.runs, entries_of(s), [this, s] { look_as(s, state_); });
}

document::inputs_of_run main_window::chosen_files(const QString& title) {
  document::inputs_of_run inputs;
  QStringList globs;
  for (const input_format& form : input_formats())
    globs.push_back(QString::fromUtf8(form.globs.data(), static_cast<qsizetype>(form.globs.size())));
  const QString kinds = tr("Runs (%1);;All files (*)").arg(globs.join(' '));
  for (const QString& file : QFileDialog::getOpenFileNames(this, title, {}, kinds))
    inputs.push_back(file.toStdString());
  return inputs;
}

void main_window::choose_and_open() { open(chosen_files(tr("Open a run"))); }

void main_window::choose_and_compare() {
  if (const auto inputs = chosen_files(tr("Compare with another run")); !inputs.empty()) doc_.compare(inputs);
}

void main_window::choose_and_export() {
  const QString path = QFileDialog::getSaveFileName(this, tr("Export the view"), current().key() + ".png",
                                                    tr("Pictures (*.png *.svg *.pdf);;Numbers (*.csv *.json)"));
  if (path.isEmpty()) return;
  try {
    export_view(current(), path, {1100, 700}, theme::of(palette()));
    statusBar()->showMessage(tr("Wrote %1").arg(path), 5000);
  } catch (const std::exception& problem) {
    warn(this, shown_text(problem.what()));
  }
}

void main_window::choose_and_save_session() {
  if (doc_.run() == nullptr) return;
  const QString path =
      QFileDialog::getSaveFileName(this, tr("Save the session"), "run.ulpscope.json", tr("Sessions (*.json)"));
  if (path.isEmpty()) return;
  try {
    save(to_json(session_of(state_, current().key())), path, doc_);
  } catch (const std::exception& problem) {
    warn(this, shown_text(problem.what()));
  }
}

void main_window::choose_and_open_session() {
  const QString path = QFileDialog::getOpenFileName(this, tr("Open a session"), {}, tr("Sessions (*.json)"));
  if (path.isEmpty()) return;
  try {
    open(read_session(path));
  } catch (const std::runtime_error& problem) {
    warn(this, shown_text(problem.what()));
  }
}

void main_window::look_for_growth() {
  const QString now = stamps(doc_);
  // While the last state is still being read it is looked at again after that.
  if (now == seen_ || doc_.busy()) return;
  seen_ = now;
  doc_.reload();
}

void main_window::show_recent() {
  recent_->clear();
  const QStringList known = QSettings().value("recent").toStringList();
  for (const QString& one : known) recent_->addAction(one, this, [this, one] { open({one.toStdString()}); });
  if (known.isEmpty()) recent_->addAction(tr("none yet"))->setEnabled(false);
}

void main_window::remember_recent() {
  QSettings settings;
  QStringList known = settings.value("recent").toStringList();
  for (const auto& run : doc_.runs()) {
    if (run->text.inputs.size() != 1) continue;
    const QString path = QFileInfo(QString::fromStdString(run->text.inputs.front())).absoluteFilePath();
    known.removeAll(path);
    known.prepend(path);
  }
  settings.setValue("recent", QStringList(known.mid(0, most_recent)));
}

void main_window::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void main_window::dropEvent(QDropEvent* event) {
  std::vector<std::string> inputs;
  for (const QUrl& url : event->mimeData()->urls())
    if (url.isLocalFile()) inputs.push_back(url.toLocalFile().toStdString());
  if (event->modifiers().testFlag(Qt::ShiftModifier) && !inputs.empty())
    doc_.compare(inputs);
  else
    open(inputs);
}

void main_window::closeEvent(QCloseEvent* event) {
  QSettings settings;
  settings.setValue("geometry", saveGeometry());
  settings.setValue("docks", saveState(1));
  doc_.cancel();
  QMainWindow::closeEvent(event);
}

}  // namespace ulp::gui
