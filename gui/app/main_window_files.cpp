// What the window opens and writes: chosen, dropped, or opened before.
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QInputDialog>
#include <QMimeData>
#include <QStatusBar>
#include <algorithm>
#include <exception>

#include "chosen_inputs.hpp"
#include "export.hpp"
#include "main_window.hpp"
#include "viewmodel/shown_text.hpp"

namespace ulp::gui {

void main_window::open(const document::inputs_of_run& inputs) {
  if (inputs.empty()) return;
  doc_.open(inputs);
}

void main_window::open(const session& s) {
  show_view(s.view);
  doc_.read_with(s.reading);
  if (s.runs.empty()) return doc_.set({}, entries_of(s));
  doc_.open(s.runs, entries_of(s), [this, s] { look_as(s, state_); });
}

void main_window::open_files(const QStringList& files, bool beside) {
  if (files.size() == 1 && QFileInfo(files.front()).isDir()) return open_folder(files.front());
  if (files.size() == 1 && is_session(files.front())) return open_session(files.front());
  open_runs(runs_of(files), beside);
}

// Read as it was before.
void main_window::open_recent(const QString& file) {
  if (const auto how = remembered_reading(file)) doc_.read_with(*how);
  open_files({file});
}

void main_window::open_session(const QString& path) {
  try {
    open(read_session(path));
    remember_file(path);
  } catch (const std::runtime_error& problem) {
    warn(shown_text(problem.what()));
  }
}

void main_window::open_folder(const QString& folder) {
  const std::vector<document::inputs_of_run> runs = runs_of(inputs_in(folder));
  if (runs.empty())
    return warn(tr("%1: no file in this folder is named like a recording, a dump or a log").arg(folder));
  if (runs.size() == 1) return open(runs.front());
  QStringList names;
  for (const auto& run : runs) names << name_of(run);
  bool chosen = false;
  const QString name = QInputDialog::getItem(this, tr("Open folder"), tr("The folder holds several runs. Open:"), names,
                                             0, false, &chosen);
  if (chosen) open(runs[static_cast<std::size_t>(names.indexOf(name))]);
}

void main_window::open_runs(const std::vector<document::inputs_of_run>& runs, bool beside) {
  if (runs.empty()) return;
  if (runs.size() == 1) return beside ? doc_.compare(runs.front()) : open(runs.front());
  std::vector<document::inputs_of_run> all;
  std::vector<replay_entry> replays;
  if (beside) {
    for (const auto& run : doc_.runs()) all.push_back(run->text.inputs);
    for (const replay_entry& r : doc_.replays()) replays.push_back({.spec = doc_.chosen_of(r), .run = r.run});
  }
  for (const auto& run : runs) {
    replays.push_back({.spec = doc_.chosen_of(doc_.replays().front()), .run = all.size()});
    all.push_back(run);
  }
  if (replays.size() > document::most_replays)
    return warn(tr("These are %1 replays; at most %2 can be compared").arg(replays.size()).arg(document::most_replays));
  doc_.open(all, std::move(replays), [] {});
}

QStringList main_window::chosen_files(const QString& title) {
  return QFileDialog::getOpenFileNames(this, title, {}, input_filters());
}

void main_window::choose_and_open() { open_files(chosen_files(tr("Open a run"))); }

void main_window::choose_folder() {
  const QString folder = QFileDialog::getExistingDirectory(this, tr("Open a folder"));
  if (!folder.isEmpty()) open_folder(folder);
}

void main_window::choose_and_compare() { open_runs(runs_of(chosen_files(tr("Compare with another run"))), true); }

void main_window::choose_and_export() {
  const QString path = QFileDialog::getSaveFileName(this, tr("Export the view"), current().key() + ".png",
                                                    tr("Pictures (*.png *.svg *.pdf);;Numbers (*.csv *.json)"));
  if (path.isEmpty()) return;
  try {
    export_view(current(), path, {1100, 700}, theme::of(palette()));
    statusBar()->showMessage(tr("Wrote %1").arg(path), 5000);
  } catch (const std::exception& problem) {
    warn(shown_text(problem.what()));
  }
}

void main_window::choose_and_save_session() {
  if (doc_.run() == nullptr) return;
  const QString path =
      QFileDialog::getSaveFileName(this, tr("Save the session"), "run.ulpscope.json", tr("Sessions (*.json)"));
  if (path.isEmpty()) return;
  try {
    save(to_json(session_of(state_, current().key())), path, doc_);
    remember_file(path);
  } catch (const std::exception& problem) {
    warn(shown_text(problem.what()));
  }
}

void main_window::show_recent() {
  recent_->clear();
  const QStringList known = recent_files();
  for (const QString& one : known) recent_->addAction(one, this, [this, one] { open_recent(one); });
  if (known.isEmpty()) recent_->addAction(tr("none yet"))->setEnabled(false);
}

void main_window::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void main_window::dropEvent(QDropEvent* event) {
  QStringList files;
  for (const QUrl& url : event->mimeData()->urls())
    if (url.isLocalFile()) files << url.toLocalFile();
  open_files(files, event->modifiers().testFlag(Qt::ShiftModifier));
}

}  // namespace ulp::gui
