#include "main_window.hpp"

#include <QCloseEvent>
#include <QDockWidget>
#include <QFileInfo>
#include <QMessageBox>
#include <QScreen>
#include <QSettings>
#include <QStatusBar>
#include <QTabBar>
#include <QVBoxLayout>

#include "panels/ask_bar.hpp"
#include "panels/context_bar.hpp"
#include "panels/inspector.hpp"
#include "step_keys.hpp"
#include "viewmodel/shown_text.hpp"
#include "views/all_views.hpp"
#include "views/overview_view.hpp"

namespace ulp::gui {
namespace {

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

}  // namespace

main_window::main_window()
    : state_(doc_),
      history_(state_),
      middle_(new QStackedWidget(this)),
      start_(new start_page(this)),
      tabs_(new QTabWidget(this)),
      side_(new side_panel(state_, this)),
      progress_(new QProgressBar(this)),
      cancel_(new QToolButton(this)),
      place_(new QLabel(this)) {
  place_->setTextFormat(Qt::PlainText);
  setWindowTitle("ulpscope");
  setAcceptDrops(true);
  tabs_->setDocumentMode(true);
  tabs_->tabBar()->setFocusPolicy(Qt::TabFocus);  // else a click there takes the arrow keys from the steps
  make_middle();
  for (view* const v : make_views(state_, this)) {
    tabs_->addTab(v, v->title());
    if (auto* const overview = qobject_cast<overview_view*>(v)) {
      connect(overview, &overview_view::asked_for, this, &main_window::show_view);
      connect(overview, &overview_view::doubted, ask_, &ask_bar::doubt);
    }
  }
  const auto dock = [this](const QString& title, const char* name, QWidget* content, Qt::DockWidgetArea area) {
    auto* const d = new QDockWidget(title, this);
    d->setObjectName(name);
    d->setWidget(content);
    addDockWidget(area, d);
    return d;
  };
  QDockWidget* const left = dock(tr("Replay"), "scenario", side_, Qt::LeftDockWidgetArea);
  QDockWidget* const about = dock(tr("Inspector"), "inspector", new inspector(state_, this), Qt::RightDockWidgetArea);
  about->hide();
  connect(&side_->scenario(), &scenario_editor::comparison_wanted, this, &main_window::choose_and_compare);
  make_menus();
  docks_->addAction(left->toggleViewAction());
  docks_->addAction(about->toggleViewAction());
  new step_keys(state_, *this);

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
  connect(&state_, &view_state::refining_failed, this,
          [this](const QString& why) { statusBar()->showMessage(tr("Not drawn finer: %1").arg(why), 10000); });
  connect(&doc_, &document::failed, this, [this](const QString& why) {
    progress_->hide();
    cancel_->hide();
    warn(why);
  });
  connect(&doc_, &document::run_changed, this, [this] {
    QStringList names;
    for (const auto& run : doc_.runs()) names << QFileInfo(shown_text(run->text.inputs.front())).fileName();
    setWindowTitle(names.isEmpty() ? QStringLiteral("ulpscope") : names.join(tr(" and ")) + " - ulpscope");
    for (const auto& run : doc_.runs())
      if (run->text.inputs.size() == 1) remember_file(QString::fromStdString(run->text.inputs.front()), run->text);
    if (doc_.runs().empty() || middle_->currentIndex() == 1) return;
    middle_->setCurrentIndex(1);
    current().setFocus();
  });
  connect(&state_, &view_state::changed, this, [this] {
    if (state_.current_run() == nullptr) return;
    if (state_.current_run()->picture.steps().empty()) return place_->clear();
    place_->setText(tr("step %1").arg(state_.cursor_step()));
  });

  resize(QSize(1280, 800).boundedTo(screen()->availableSize()));
  const QSettings settings;
  restoreGeometry(settings.value("geometry").toByteArray());
  restoreState(settings.value("docks").toByteArray(), 1);
}

void main_window::make_middle() {
  auto* const work = new QWidget(this);
  auto* const box = new QVBoxLayout(work);
  box->setContentsMargins(0, 0, 0, 0);
  box->setSpacing(0);
  ask_ = new ask_bar(state_, this);
  box->addWidget(ask_);
  auto* const context = new context_bar(state_, this);
  box->addWidget(context);
  box->addWidget(tabs_, 1);
  middle_->addWidget(start_);
  middle_->addWidget(work);
  setCentralWidget(middle_);
  connect(ask_, &ask_bar::wanted, this, [this](const QString& option) {
    side_->parentWidget()->show();
    side_->ask_for(option);
  });
  connect(tabs_, &QTabWidget::currentChanged, this, [this, context] {
    context->show_for([v = &current()](restriction::kind of) { return v->heeds(of); });
    if (!tabs_->tabBar()->hasFocus()) current().setFocus();
  });
  connect(start_, &start_page::open_wanted, this, &main_window::choose_and_open);
  connect(start_, &start_page::folder_wanted, this, &main_window::choose_folder);
  connect(start_, &start_page::file_wanted, this, &main_window::open_recent);
  connect(start_, &start_page::session_wanted, this, [this](const session& s) { open(s); });
}

view& main_window::current() const { return *static_cast<view*>(tabs_->currentWidget()); }

void main_window::show_view(const QString& key) {
  for (int i = 0; i < tabs_->count(); ++i)
    if (static_cast<view*>(tabs_->widget(i))->key() == key) tabs_->setCurrentIndex(i);
}

void main_window::watch(bool on) {
  seen_ = stamps(doc_);
  on ? watch_.start() : watch_.stop();
}

void main_window::look_for_growth() {
  const QString now = stamps(doc_);
  // While the last state is still being read it is looked at again after that.
  if (now == seen_ || doc_.busy()) return;
  seen_ = now;
  doc_.reload();
}

void main_window::warn(const QString& text) {
  QMessageBox box(QMessageBox::Warning, "ulpscope", text, QMessageBox::Ok, this);
  box.setTextFormat(Qt::PlainText);
  box.exec();
}

void main_window::resizeEvent(QResizeEvent* event) {
  QMainWindow::resizeEvent(event);
  state_.set_room(tabs_->width());
}

void main_window::closeEvent(QCloseEvent* event) {
  QSettings settings;
  settings.setValue("geometry", saveGeometry());
  settings.setValue("docks", saveState(1));
  doc_.cancel();
  QMainWindow::closeEvent(event);
}

}  // namespace ulp::gui
