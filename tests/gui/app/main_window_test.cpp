// Pins the window, without a screen: opening, dropping, refusing and reloading runs; views and steps by keyboard; what
// it remembers; that it can be closed at any moment of loading and replaying, and that no settings keep it from
// starting.
#include "app/main_window.hpp"

#include <QAbstractButton>
#include <QAbstractScrollArea>
#include <QAction>
#include <QApplication>
#include <QDragEnterEvent>
#include <QDropEvent>
#include <QLabel>
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>
#include <QMimeData>
#include <QScreen>
#include <QSettings>
#include <QSignalSpy>
#include <QTabWidget>
#include <QTest>
#include <QTimer>
#include <QToolButton>
#include <memory>

#include "app/themes.hpp"
#include "gui/support/fixture.hpp"
#include "views/all_views.hpp"

using namespace ulp::test;
using namespace ulp::gui;

namespace {

bool settled(main_window& window) {
  return QTest::qWaitFor([&] { return window.doc().run() != nullptr && !window.doc().busy(); }, 20000);
}

struct opened_window : main_window {
  opened_window() {
    show();
    if (!QTest::qWaitForWindowActive(this)) qFatal("the window does not become active");
    open({digits_path()});
    if (!settled(*this)) qFatal("the example run does not open");
  }
};

QString shown_view(const main_window& window) {
  return static_cast<const view*>(window.findChild<QTabWidget*>()->currentWidget())->key();
}

// Answers the next message box, and keeps what it said.
class message_reader : public QObject {
 public:
  explicit message_reader(QStringList& said) {
    connect(&timer_, &QTimer::timeout, this, [this, &said] {
      if (auto* const box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget())) {
        said << box->text();
        box->accept();
      }
    });
    timer_.start(5);
  }

 private:
  QTimer timer_;
};

}  // namespace

class main_window_test : public QObject {
  Q_OBJECT

 private slots:
  void init() { QSettings().clear(); }

  void opening_says_what_is_open() {
    main_window window;
    QCOMPARE(window.windowTitle(), QString("ulpscope"));
    window.show();
    window.open({digits_path()});
    auto* const progress = window.findChild<QProgressBar*>();
    QVERIFY(progress->isVisible());
    QVERIFY(settled(window));
    QTRY_VERIFY(!progress->isVisible());
    QCOMPARE(window.windowTitle(), QString("digits.ulp - ulpscope"));
    QVERIFY(QSettings().value("recent").toStringList().first().endsWith("tests/data/octaves/digits.ulp"));
  }

  void views_are_reached_by_number() {
    opened_window window;
    QStringList keys = view_keys();
    for (const char* const shifted : {"tensor-scales", "plan", "compare"}) keys.removeOne(shifted);
    for (int i = 0; i < 9; ++i) {
      QTest::keyClick(&window, static_cast<Qt::Key>(Qt::Key_1 + i), Qt::ControlModifier);
      QCOMPARE(shown_view(window), keys[i]);
    }
    QCOMPARE(keys.size(), 9);
    QTest::keyClick(&window, Qt::Key_5, Qt::ControlModifier | Qt::ShiftModifier);
    QCOMPARE(shown_view(window), QString("tensor-scales"));
    QTest::keyClick(&window, Qt::Key_7, Qt::ControlModifier | Qt::ShiftModifier);
    QCOMPARE(shown_view(window), QString("plan"));
    QTest::keyClick(&window, Qt::Key_1, Qt::ControlModifier | Qt::ShiftModifier);
    QCOMPARE(shown_view(window), QString("compare"));
    window.show_view("scale");
    QCOMPARE(shown_view(window), QString("scale"));
  }

  void steps_are_walked_by_keyboard_in_every_view() {
    opened_window window;
    view_state& state = window.state();
    for (const QString& key : view_keys()) {
      window.show_view(key);
      QCoreApplication::processEvents();
      state.set_cursor(0);
      QWidget* const focused = QApplication::focusWidget() == nullptr ? &window : QApplication::focusWidget();
      QTest::keyClick(focused, Qt::Key_Right, Qt::AltModifier);
      QTest::keyClick(focused, Qt::Key_Right, Qt::AltModifier | Qt::ShiftModifier);
      QTest::keyClick(focused, Qt::Key_Left, Qt::AltModifier);
      QVERIFY2(state.cursor_step() == 100, qPrintable(key + " " + QString::number(state.cursor_step())));
      state.set_shown({10, 20});
      QTest::keyClick(focused, Qt::Key_Escape);
      QVERIFY2(state.shown() == state.whole(), qPrintable(key));
    }
    state.set_cursor(400);
    window.doc().change_replay(0, skipping_spec());
    QVERIFY(settled(window));
    QTest::keyClick(&window, Qt::Key_P, Qt::ControlModifier);
    QVERIFY(state.cursor_step() < 400);
    QVERIFY(state.front().result->steps[state.cursor_index()].skipped);
    QTest::keyClick(&window, Qt::Key_BracketRight, Qt::ControlModifier);
    QVERIFY(state.tried_scale().has_value());
    QTest::keyClick(&window, Qt::Key_Equal, Qt::ControlModifier);
    QVERIFY(!state.tried_scale().has_value());
  }

  void replays_are_reached_by_keys() {
    opened_window window;
    window.doc().add_replay(skipping_spec());
    QVERIFY(settled(window));
    QTest::keyClick(&window, Qt::Key_2, Qt::AltModifier);
    QCOMPARE(window.state().front_index(), std::size_t{1});
    QTest::keyClick(&window, Qt::Key_B, Qt::ControlModifier);
    QVERIFY(window.doc().replays()[0].spec == skipping_spec());
    QCOMPARE(window.state().front_index(), std::size_t{0});
    QTest::keyClick(&window, Qt::Key_F, Qt::ControlModifier | Qt::ShiftModifier);
    QCOMPARE(window.doc().replays()[0].spec.format, std::string("cbfloat16"));
    QVERIFY(settled(window));
    QTest::keyClick(&window, Qt::Key_Up, Qt::AltModifier);
    QVERIFY(window.state().shown() != window.state().whole());
    QTest::keyClick(&window, Qt::Key_Down, Qt::AltModifier);
    QVERIFY(window.state().shown() == window.state().whole());
    // Which the rounding does not have for cbfloat16.
    ulp::scenario_text of_hardware = window.doc().replays()[0].spec;
    of_hardware.format = "float16";
    of_hardware.rounding.direction = "nvidia";
    window.doc().change_replay(0, of_hardware);
    QVERIFY(settled(window));
    QTest::keyClick(&window, Qt::Key_F, Qt::ControlModifier | Qt::ShiftModifier);
    QCOMPARE(window.doc().replays()[0].spec.format, std::string("bfloat16"));
    QVERIFY(settled(window));
    QTest::keyClick(&window, Qt::Key_F, Qt::ControlModifier);
    QCOMPARE(shown_view(window), QString("layers"));
    QCOMPARE(QApplication::focusWidget()->objectName(), QString("filter"));
  }

  void a_session_opens_what_it_names() {
    main_window window;
    window.show();
    session s;
    const temporary_dir dir;
    const std::string log = (dir / "log.csv").string();
    write_file(log, "step,maxabs\n1,3\n15,4\n");
    s.runs = {{digits_path()}, {log}};
    s.replays = {{.spec = skipping_spec(), .run = 1}, {.spec = in_format("bfloat16"), .run = 0}};
    s.view = "scale";
    s.first_step = 10;
    s.last_step = 20;
    s.cursor = 15;
    window.open(s);
    QVERIFY(settled(window));
    QCOMPARE(shown_view(window), QString("scale"));
    QCOMPARE(window.doc().runs().size(), std::size_t{2});
    QCOMPARE(window.doc().run()->text.inputs.front(), log);
    QCOMPARE(window.state().shown().first, std::int64_t{10});
    QCOMPARE(window.state().cursor_step(), std::int64_t{15});
    // Where it fails, the next run is looked at from its start.
    s.runs = {{"/no/such/file"}};
    s.replays.resize(1);
    s.replays[0].run = 0;
    QStringList said;
    const message_reader reader(said);
    window.open(s);
    QTRY_COMPARE(said.size(), 1);
    window.open({digits_path()});
    QVERIFY(settled(window));
    QCOMPARE(window.doc().runs().size(), std::size_t{1});
  }

  void a_growing_file_is_watched() {
    const temporary_dir dir;
    const std::string log = (dir / "log.csv").string();
    write_file(log, "step,maxabs\n1,3\n");
    main_window window;
    window.show();
    for (QAction* const action : window.findChildren<QAction*>())
      if (action->text().contains("Watch")) action->trigger();
    window.open({log});
    QVERIFY(settled(window));
    write_file(log, "step,maxabs\n1,3\n2,5\n");
    QTRY_COMPARE_WITH_TIMEOUT(window.state().whole().last, std::int64_t{2}, 10000);
  }

  void nothing_overlaps_or_is_cut_data() {
    QTest::addColumn<QString>("key");
    for (const QString& key : view_keys()) QTest::newRow(qPrintable(key)) << key;
  }
  void nothing_overlaps_or_is_cut() {
    QFETCH(const QString, key);
    opened_window window;
    window.resize(1100, 700);
    window.show_view(key);
    QCoreApplication::processEvents();
    QCOMPARE(window.size(), QSize(1100, 700));
    for (const QWidget* const w : window.findChildren<QWidget*>()) {
      if (!w->isVisible() || w->isWindow() || w->objectName().startsWith("qt_")) continue;
      const auto* const label = qobject_cast<const QLabel*>(w);
      if (qobject_cast<const QAbstractButton*>(w) != nullptr || label != nullptr) {
        // Lines that are wrapped need the height that goes with their width.
        const int least = label != nullptr && label->wordWrap() ? label->heightForWidth(label->width())
                                                                : w->minimumSizeHint().height();
        const int narrowest = label != nullptr && label->wordWrap() ? 40 : w->minimumSizeHint().width();
        QVERIFY2(w->width() >= narrowest && w->height() >= least,
                 qPrintable(QString(w->metaObject()->className()) + " " + w->objectName() + " " +
                            w->property("text").toString()));
      }
      for (const QObject* const child : w->parentWidget()->children()) {
        const auto* const other = qobject_cast<const QWidget*>(child);
        if (other == nullptr || other == w || !other->isVisible() || other->isWindow()) continue;
        if (qobject_cast<const QMainWindow*>(w->parentWidget()) == nullptr &&
            qobject_cast<const QAbstractScrollArea*>(w->parentWidget()) == nullptr)
          QVERIFY2(!w->geometry().intersects(other->geometry()),
                   qPrintable(QString(w->metaObject()->className()) + " and " + other->metaObject()->className()));
      }
    }
  }

  void no_two_actions_share_keys() {
    main_window window;
    QStringList keys;
    for (const QAction* const action : window.findChildren<QAction*>())
      if (action->shortcutContext() == Qt::WindowShortcut)  // each table has its own Ctrl+C
        for (const QKeySequence& k : action->shortcuts()) keys << k.toString();
    const auto all = keys.size();
    QVERIFY(all >= 20);
    keys.removeDuplicates();
    QCOMPARE(keys.size(), all);
  }

  void bad_inputs_are_refused_in_one_clear_message() {
    const temporary_dir dir;
    opened_window window;
    QStringList said;
    const message_reader reader(said);
    for (const std::filesystem::path& bad : bad_inputs(dir.path())) {
      said.clear();
      window.open({bad.string()});
      QTRY_COMPARE(said.size(), 1);
      QVERIFY2(said[0].contains(QString::fromStdString(bad.filename().string())), qPrintable(said[0]));
      QTRY_VERIFY(!window.doc().busy());
      QCOMPARE(window.windowTitle(), QString("digits.ulp - ulpscope"));  // what was open stays
      QVERIFY(!window.findChild<QProgressBar*>()->isVisible());
      QCOMPARE(QSettings().value("recent").toStringList().size(), 1);
    }
  }

  void a_file_can_be_dropped() {
    main_window window;
    window.show();
    QMimeData files;
    files.setUrls({QUrl::fromLocalFile(QString::fromStdString(digits_path()))});
    QDragEnterEvent enter({50, 50}, Qt::CopyAction, &files, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&window, &enter);
    QVERIFY(enter.isAccepted());
    QDropEvent drop({50, 50}, Qt::CopyAction, &files, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&window, &drop);
    QVERIFY(settled(window));
    QMimeData text;
    text.setText("no file");
    QDragEnterEvent refused({50, 50}, Qt::CopyAction, &text, Qt::LeftButton, Qt::NoModifier);
    refused.ignore();
    QApplication::sendEvent(&window, &refused);
    QVERIFY(!refused.isAccepted());
  }

  void a_reload_reads_what_is_there_now() {
    const temporary_dir dir;
    const std::string log = (dir / "log.csv").string();
    write_file(log, "step,maxabs\n1,3\n");
    main_window window;
    window.show();
    window.open({log});
    QVERIFY(settled(window));
    QCOMPARE(window.state().whole().last, std::int64_t{1});
    write_file(log, "step,maxabs\n1,3\n2,5\n");
    QTest::keyClick(&window, Qt::Key_F5);
    QTRY_COMPARE(window.state().whole().last, std::int64_t{2});
    QVERIFY(settled(window));
    QCOMPARE(window.doc().replays()[0].result->steps.size(), std::size_t{2});
  }

  void a_cancel_leaves_a_window_that_works() {
    main_window window;
    window.show();
    window.open({digits_path()});
    for (QToolButton* const button : window.findChildren<QToolButton*>())
      if (button->text() == "Cancel") QTest::mouseClick(button, Qt::LeftButton);
    QVERIFY(!window.doc().busy());
    QVERIFY(window.doc().run() == nullptr);
    QTRY_VERIFY(!window.findChild<QProgressBar*>()->isVisible());
    window.open({digits_path()});
    QVERIFY(settled(window));
  }

  void it_can_be_closed_at_any_moment_data() {
    QTest::addColumn<int>("milliseconds");
    for (const int n : {0, 1, 3, 10, 30, 100}) QTest::addRow("%d ms", n) << n;
  }
  void it_can_be_closed_at_any_moment() {
    QFETCH(const int, milliseconds);
    {
      main_window window;
      window.show();
      window.show_view(milliseconds % 2 == 0 ? "layers" : "formats");
      window.open({digits_path()});
      window.doc().add_replay(skipping_spec());
      QTest::qWait(milliseconds);
      QVERIFY(window.close());
    }
    QTest::qWait(10);  // what was still on its way finds nobody
  }

  void what_it_remembers_it_uses() {
    QSize size;
    {
      main_window window;
      window.show();
      const QSize first = window.size();
      window.resize(700, 500);  // a part of the screen, beyond which Qt 6.8 restores nothing
      size = window.size();
      QVERIFY(size != first);
      QVERIFY(window.close());
    }
    main_window again;
    QCOMPARE(again.height(), size.height());
    // Qt makes a window that its letters hold wider than the screen, as those of Debian 13 this one, as wide as that.
    if (size.width() <= again.screen()->size().width()) QCOMPARE(again.width(), size.width());
  }

  void no_settings_keep_it_from_starting_data() {
    QTest::addColumn<QVariant>("value");
    QTest::newRow("text") << QVariant("garbage");
    QTest::newRow("bytes") << QVariant(QByteArray(3000, '\xFF'));
    QTest::newRow("number") << QVariant(-1);
    QTest::newRow("map") << QVariant(QVariantMap{{"a", 1}});
    QTest::newRow("list") << QVariant(QStringList{"/no/such/file", "", "\n"});
  }
  void no_settings_keep_it_from_starting() {
    QFETCH(const QVariant, value);
    {
      QSettings settings;
      for (const char* const key : {"geometry", "docks", "recent", "window/geometry", "theme", "view", "session"})
        settings.setValue(key, value);
    }
    main_window window;
    window.show();
    QVERIFY(window.isVisible() && window.width() >= 300 && window.height() >= 200);
    for (QMenu* const menu : window.findChildren<QMenu*>()) emit menu->aboutToShow();
    window.open({digits_path()});
    QVERIFY(settled(window));
    QVERIFY(window.close());
  }

  void help_tells_what_the_view_answers() {
    opened_window window;
    window.show_view("layers");
    QStringList said;
    const message_reader reader(said);
    QTest::keyClick(&window, Qt::Key_F1);
    QTRY_COMPARE(said.size(), 1);
    QVERIFY2(said[0].contains("Which tensors lose gradients"), qPrintable(said[0]));
  }
};

int main(int argc, char** argv) {
  QApplication::setStyle(program_style());
  QApplication application(argc, argv);
  QApplication::setOrganizationName("ulpscope");
  QApplication::setApplicationName("ulpscope-main-window-test");
  main_window_test test;
  return QTest::qExec(&test, argc, argv);
}
#include "main_window_test.moc"
