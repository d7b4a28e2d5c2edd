// Pins what people expect of any window: a start page, undo and redo, a step to go to, arrow keys, copies, themes, what is
// dropped, folders, and names for those who do not see.
#include <QAbstractButton>
#include <QAccessible>
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QCommandLinkButton>
#include <QDropEvent>
#include <QInputDialog>
#include <QLineEdit>
#include <QMimeData>
#include <QSettings>
#include <QTabWidget>
#include <QTest>
#include <QTextBrowser>
#include <QTimer>
#include <algorithm>
#include <filesystem>
#include <tuple>
#include <ulp/report/findings/cards.hpp>

#include "app/chosen_inputs.hpp"
#include "app/export.hpp"
#include "app/main_window.hpp"
#include "app/themes.hpp"
#include "gui/support/fixture.hpp"
#include "views/all_views.hpp"

using namespace ulp::test;
using namespace ulp::gui;

namespace {

bool settled(main_window& window) {
  QCoreApplication::processEvents();
  return QTest::qWaitFor([&] { return window.doc().run() != nullptr && !window.doc().busy(); }, 20000);
}

struct opened_window : main_window {
  opened_window() {
    show();
    if (!QTest::qWaitForWindowActive(this)) qFatal("the window does not become active");
    open({digits_path()});
    if (!settled(*this)) qFatal("the example run does not open");
    QCoreApplication::processEvents();
  }
};

void drop(main_window& window, const std::vector<std::string>& files, Qt::KeyboardModifiers keys = {}) {
  QMimeData data;
  QList<QUrl> urls;
  for (const std::string& f : files) urls << QUrl::fromLocalFile(QString::fromStdString(f));
  data.setUrls(urls);
  QDragEnterEvent enter({50, 50}, Qt::CopyAction, &data, Qt::LeftButton, keys);
  QApplication::sendEvent(&window, &enter);
  QDropEvent event({50, 50}, Qt::CopyAction, &data, Qt::LeftButton, keys);
  QApplication::sendEvent(&window, &event);
}

QString shown_view(const main_window& window) {
  return static_cast<const view*>(window.findChild<QTabWidget*>()->currentWidget())->key();
}

}  // namespace

class habits_test : public QObject {
  Q_OBJECT

 private slots:
  void init() { QSettings().clear(); }

  void the_start_page_opens_the_example_at_the_view_that_answers() {
    QVERIFY(example_path().endsWith("examples/digits.ulp"));
    for (const auto& [question, key, replays] :
         {std::tuple{"Which layers underflow", "layers", 1}, std::tuple{"another loss scaler", "scale", 3},
          std::tuple{"no loss scale", "formats", 1}}) {
      main_window window;
      window.show();
      QVERIFY(window.findChild<start_page*>()->isVisible());
      QVERIFY(!window.findChild<QTabWidget*>()->isVisible());
      for (auto* const ask : window.findChildren<QCommandLinkButton*>())
        if (ask->text().contains(question)) ask->click();
      QVERIFY(settled(window));
      QVERIFY(!window.findChild<start_page*>()->isVisible());
      QCOMPARE(shown_view(window), QString(key));
      QCOMPARE(window.doc().replays().size(), static_cast<std::size_t>(replays));
      for (const replay_entry& r : window.doc().replays()) QVERIFY(r.result != nullptr);
    }
    main_window again;
    again.show();
    QVERIFY(recent_files().contains(example_path()));
    const auto buttons = again.findChild<start_page*>()->findChildren<QAbstractButton*>();
    QVERIFY(std::ranges::any_of(buttons, [](const auto* b) { return b->text() == "digits.ulp"; }));
  }

  void every_card_leads_to_a_view_that_there_is() {
    for (const ulp::card_row& row : ulp::card_rows()) {
      const auto view = QString::fromUtf8(row.view.data(), static_cast<qsizetype>(row.view.size()));
      QVERIFY2(view.isEmpty() || view_keys().contains(view), qPrintable(view));
    }
  }

  void what_is_done_to_replays_is_undone_and_redone() {
    opened_window window;
    const auto key = [&](Qt::Key k, Qt::KeyboardModifiers m) { QTest::keyClick(&window, k, m); };
    const auto undo = [&] { key(Qt::Key_Z, Qt::ControlModifier); };
    const auto redo = [&] { key(Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier); };
    document& doc = window.doc();
    const ulp::scenario_text first = doc.replays()[0].spec;
    doc.add_replay(skipping_spec());
    doc.change_replay(0, in_format("bfloat16"));
    undo();
    QVERIFY(doc.replays()[0].spec == first);
    QCOMPARE(window.state().front_index(), std::size_t{0});
    undo();
    QCOMPARE(doc.replays().size(), std::size_t{1});
    undo();  // there is nothing left
    QCOMPARE(doc.replays().size(), std::size_t{1});
    redo();
    redo();
    QCOMPARE(doc.replays().size(), std::size_t{2});
    QVERIFY(doc.replays()[0].spec == in_format("bfloat16"));
    QVERIFY(doc.replays()[1].spec == skipping_spec());
    QVERIFY(settled(window));
    for (const replay_entry& r : doc.replays()) QVERIFY(r.result != nullptr);
    doc.remove_replay(0);
    undo();
    QVERIFY(doc.replays()[0].spec == in_format("bfloat16"));
    // Another run: what was before is gone.
    window.open({example_path().toStdString()});
    QTRY_VERIFY(doc.run()->text.inputs.front() == example_path().toStdString());
    QVERIFY(settled(window));
    const auto replays = doc.replays().size();
    undo();
    QCOMPARE(doc.replays().size(), replays);
  }

  void what_is_typed_into_one_field_is_one_step() {
    opened_window window;
    document& doc = window.doc();
    for (const char* const bound : {"1", "12", "125"}) {
      ulp::scenario_text spec = doc.replays()[0].spec;
      spec.clip_norm = bound;
      doc.change_replay(0, spec);
    }
    ulp::scenario_text other = doc.replays()[0].spec;
    other.format = "bfloat16";
    doc.change_replay(0, other);
    QTest::keyClick(&window, Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(doc.replays()[0].spec.clip_norm, std::string{"125"});
    QCOMPARE(doc.replays()[0].spec.format, std::string{"float16"});
    QTest::keyClick(&window, Qt::Key_Z, Qt::ControlModifier);
    QVERIFY(doc.replays()[0].spec.clip_norm.empty());
    QVERIFY(settled(window));
  }

  void arrows_move_the_step_but_in_fields() {
    opened_window window;
    view_state& state = window.state();
    for (const QString& key : {QString("window"), QString("layers"), QString("scale"), QString("overview")}) {
      window.show_view(key);
      state.set_cursor(10);
      QWidget* target = QApplication::focusWidget();
      QVERIFY2(target != nullptr, qPrintable(key));
      if (key == "overview") target = window.findChild<QTextBrowser*>();
      QTest::keyClick(target, Qt::Key_Right);
      QCOMPARE(state.cursor_step(), std::int64_t{11});
      QTest::keyClick(target, Qt::Key_Right, Qt::ShiftModifier);
      QTest::keyClick(target, Qt::Key_Left);
      QCOMPARE(state.cursor_step(), std::int64_t{110});
    }
    window.show_view("layers");
    auto* const filter = window.findChild<QLineEdit*>("filter");
    QTest::keyClicks(filter, "ab");
    QTest::keyClick(filter, Qt::Key_Left);
    QCOMPARE(filter->cursorPosition(), 1);
    QCOMPARE(state.cursor_step(), std::int64_t{110});
  }

  void keys_without_brackets_try_scales() {
    opened_window window;
    QTest::keyClick(&window, Qt::Key_Up, Qt::ControlModifier);
    const auto tried = window.state().tried_scale();
    QVERIFY(tried.has_value());
    QTest::keyClick(&window, Qt::Key_Down, Qt::ControlModifier);
    QCOMPARE(*window.state().tried_scale(), *tried - 1);
    QTest::keyClick(&window, Qt::Key_L, Qt::ControlModifier);
    QVERIFY(!window.state().tried_scale().has_value());
  }

  void a_step_is_gone_to_and_shown() {
    opened_window window;
    window.state().set_shown({0, 100});
    QTimer::singleShot(50, [] {
      auto* const dialog = qobject_cast<QInputDialog*>(QApplication::activeModalWidget());
      dialog->setTextValue("500");
      dialog->accept();
    });
    QTest::keyClick(&window, Qt::Key_G, Qt::ControlModifier);
    QCOMPARE(window.state().cursor_step(), std::int64_t{500});
    QVERIFY(window.state().shown().first <= 500 && window.state().shown().last >= 500);
    QVERIFY(window.state().shown() != window.state().whole());
  }

  void pictures_tables_and_commands_are_copied() {
    opened_window window;
    window.show_view("steps");
    QTest::keyClick(&window, Qt::Key_C, Qt::ControlModifier | Qt::ShiftModifier);
    QVERIFY(!QGuiApplication::clipboard()->image().isNull());
    QTest::keyClick(&window, Qt::Key_T, Qt::ControlModifier | Qt::ShiftModifier);
    const QStringList lines = QGuiApplication::clipboard()->text().split('\n');
    QVERIFY(lines.front().startsWith("step\t"));
    QVERIFY(lines.size() > 800);
    QTest::keyClick(&window, Qt::Key_L, Qt::ControlModifier | Qt::ShiftModifier);
    QVERIFY(QGuiApplication::clipboard()->text().startsWith("ulp replay "));
    ulp::table quoted;
    quoted.columns = {{"a", "a"}, {"b", "b"}};
    quoted.rows = {{std::string{"x, \"y\""}, std::string{"two\tparts"}}};
    QCOMPARE(tabbed(quoted), QString("a\tb\nx, y\ttwo parts\n"));
  }

  void exports_say_what_restricts_them() {
    const temporary_dir dir;
    opened_window window;
    const auto exported = [&] {
      const QString path = QString::fromStdString((dir / "e.svg").string());
      auto& v = static_cast<view&>(*window.findChild<QTabWidget*>()->currentWidget());
      export_view(v, path, {720, 460}, theme::light());
      return QByteArray::fromStdString(read_file(path.toStdString()));
    };
    QVERIFY(exported().contains(">all steps, all tensors<"));
    window.state().set_shown({100, 400});
    window.state().set_filter("conv");
    const QByteArray svg = exported();
    QVERIFY(svg.contains(">steps 100 to 400, filter conv<"));
    QVERIFY(svg.contains("steps 100 to 400, filter conv</desc>"));
  }

  void sessions_are_known_by_their_content() {
    const temporary_dir dir;
    opened_window window;
    window.state().set_filter("conv");
    window.show_view("scale");
    window.doc().read_with({.roles = {"conv 1=low"}, .limits = {"tensors=100000"}});
    const std::string path = (dir / "saved.txt").string();
    const session saved = session_of(window.state(), "scale");
    write_file(path, to_json(saved).toStdString());
    QVERIFY(is_session(QString::fromStdString(path)));
    QVERIFY(!is_session(QString::fromStdString(digits_path())));
    QVERIFY(session_from(to_json(saved), "s") == saved);
    main_window other;
    other.show();
    drop(other, {path});
    QVERIFY(settled(other));
    QCOMPARE(shown_view(other), QString("scale"));
    QCOMPARE(other.state().filter(), QString("conv"));
    QCOMPARE(other.doc().how().roles, std::vector<std::string>{"conv 1=low"});
  }

  void recent_files_are_read_as_before() {
    const temporary_dir dir;
    opened_window window;
    const QString path = QString::fromStdString(digits_path());
    window.doc().read_again({.kinds = {"weight_grad"}, .every = 4});
    QVERIFY(settled(window));
    QVERIFY(remembered_reading(path).has_value());
    QCOMPARE(remembered_reading(path)->kinds, std::vector<std::string>{"weight_grad"});
    QCOMPARE(remembered_reading(path)->every, window.doc().how().every);
    QVERIFY(!remembered_reading("/nowhere/else.ulp").has_value());
    remember_file(path);  // as a session is
    QVERIFY(!remembered_reading(path).has_value());
  }

  void many_files_and_folders_are_the_runs_that_they_are() {
    const temporary_dir dir;
    std::vector<std::string> files;
    for (const char* const name : {"step1.npy", "step2.npy"}) {
      write_file(dir / name, npy_of({1, 2}));
      files.push_back((dir / name).string());
    }
    QCOMPARE(inputs_in(QString::fromStdString(dir.path().string())).size(), 2);
    main_window window;
    window.show();
    drop(window, {dir.path().string()});
    QVERIFY(settled(window));
    QCOMPARE(window.doc().run()->text.inputs, files);
    // Of two kinds: two runs, each under the scenario of the first.
    files.push_back(digits_path());
    drop(window, files);
    QTRY_COMPARE(window.doc().runs().size(), std::size_t{2});
    QVERIFY(settled(window));
    QCOMPARE(window.doc().replays().size(), std::size_t{2});
    // Beside what is open.
    drop(window, {example_path().toStdString()}, Qt::ShiftModifier);
    QTRY_COMPARE(window.doc().runs().size(), std::size_t{3});
    QVERIFY(settled(window));
    const QString filters = input_filters();
    for (const char* const part : {"Runs and sessions (", ";;npy (*.npy);;", "TensorBoard event file", "All files (*)"})
      QVERIFY2(filters.contains(part), qPrintable(filters));
  }

  void themes_are_used_and_remembered() {
    opened_window window;
    const auto choose = [&](const QString& title) {
      for (QAction* const action : window.findChildren<QAction*>())
        if (action->text() == title) action->trigger();
    };
    choose("&Dark");
    QVERIFY(theme::of(QApplication::palette()).dark);
    QCOMPARE(remembered_theme(), QString("dark"));
    choose("&High contrast");
    QCOMPARE(theme::of(QApplication::palette()).background, QColor(Qt::black));
    QCOMPARE(theme::of(QApplication::palette()).text, QColor(Qt::white));
    choose("&Light");
    QVERIFY(!theme::of(QApplication::palette()).dark);
    choose("&System");
    QSettings().setValue("theme", 7);
    QCOMPARE(remembered_theme(), QString("system"));
  }

  void every_control_has_a_name() {
    opened_window window;
    for (const QString& key : view_keys()) {
      window.show_view(key);
      QCoreApplication::processEvents();
      for (QWidget* const w : window.findChildren<QWidget*>()) {
        const bool is_control = qobject_cast<QAbstractButton*>(w) || qobject_cast<QLineEdit*>(w) ||
                                qobject_cast<QComboBox*>(w) || qobject_cast<QAbstractItemView*>(w);
        if (!is_control || w->objectName().startsWith("qt_") || qobject_cast<QComboBox*>(w->parentWidget()) ||
            w->focusPolicy() == Qt::NoFocus || !w->isVisible())
          continue;
        const QAccessibleInterface* const told = QAccessible::queryAccessibleInterface(w);
        QVERIFY2(told != nullptr && !told->text(QAccessible::Name).isEmpty(),
                 qPrintable(key + ": " + w->metaObject()->className() + " " + w->objectName()));
      }
    }
  }

  void a_small_screen_holds_it() {
    opened_window window;
    window.resize(1000, 650);
    QCoreApplication::processEvents();
    QCOMPARE(window.size(), QSize(1000, 650));
    auto* const command = window.findChild<QLineEdit*>("command");
    QVERIFY(command->isVisible());
    const QRect at(command->mapTo(&window, QPoint()), command->size());
    QVERIFY(window.rect().contains(at));
    QVERIFY(window.findChild<QTabWidget*>()->width() > 600);
  }
};

int main(int argc, char** argv) {
  QApplication application(argc, argv);
  QApplication::setOrganizationName("ulpscope");
  QApplication::setApplicationName("ulpscope-habits-test");
  habits_test test;
  return QTest::qExec(&test, argc, argv);
}
#include "habits_test.moc"
