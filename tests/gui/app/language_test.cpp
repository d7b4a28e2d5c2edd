// Pins the language of the window: German where it is asked for, by option or by the desktop, in menus, views and
// pictures; numbers as in English; and one line for a language that there is not.
#include "app/language.hpp"

#include <QCoreApplication>
#include <QMap>
#include <QMenu>
#include <QMenuBar>
#include <QTabWidget>
#include <QTest>

#include "app/main_window.hpp"
#include "gui/support/fixture.hpp"
#include "support/program.hpp"
#include "views/view.hpp"

using namespace ulp::test;
using namespace ulp::gui;

namespace {

// On a desktop that asks for these languages, as LANGUAGE lists them.
program_result export_with(const std::string& desktop, const std::string& options) {
  return run_shell("unset DISPLAY WAYLAND_DISPLAY QT_QPA_PLATFORM\nexport LC_ALL=C.UTF-8 LANGUAGE=" + desktop +
                   "\nexec timeout 60 \"$ULPSCOPE_PROGRAM\" tests/data/octaves/digits.ulp " + options);
}

}  // namespace

class language_test : public QObject {
  Q_OBJECT

  temporary_dir dir_;

  std::string exported(const std::string& desktop, const std::string& options, const std::string& name) {
    const auto made = export_with(desktop, options + " --export '" + (dir_ / name).string() + "'");
    if (made.exit_code != 0) qFatal("%s", made.err.c_str());
    return read_file(dir_ / name);
  }

 private slots:
  void initTestCase() {
    if (!languages().contains("de")) QSKIP("Qt's LinguistTools were not found: there is no German");
  }

  void a_picture_is_german_where_it_is_asked_for() {
    const std::string view = "--view window";
    QVERIFY(exported("", view, "en.svg").find("gradients, stronger is more") != std::string::npos);
    const char* const german = "Gradienten, kr";
    QVERIFY(exported("", view + " --language de", "de.svg").find(german) != std::string::npos);
    QVERIFY(exported("fr:de", view, "desktop.svg").find(german) != std::string::npos);
    QVERIFY(exported("de", view + " --language en", "asked.svg").find(german) == std::string::npos);
    QVERIFY(exported("en:de", view, "first.svg").find(german) == std::string::npos);
  }

  void numbers_are_the_same_in_every_language() {
    for (const char* const view : {"formats", "steps", "layers", "clipping"}) {
      const std::string options = std::string{"--view "} + view;
      QVERIFY2(exported("", options, "en.csv") == exported("", options + " --language de", "de.csv"), view);
    }
  }

  void a_language_that_there_is_not_is_refused() {
    for (const char* const language : {"xx", "''", "DE"}) {
      const auto made =
          export_with("", "--language " + std::string{language} + " --export " + (dir_ / "x.png").string());
      QCOMPARE(made.exit_code, 2);
      QVERIFY2(made.err.starts_with("ulpscope: --language: '") && made.err.ends_with("' is not one of de, en\n"),
               made.err.c_str());
    }
  }

  void the_window_is_german() {
    speak("de");
    main_window window;
    QStringList menus;
    for (const QAction* const menu : window.menuBar()->actions()) menus << menu->text();
    QCOMPARE(menus, QStringList({"&Datei", "&Bearbeiten", "&Gehe zu", "&Replays", "&Ansicht", "&Hilfe"}));
    const auto* const tabs = window.findChild<QTabWidget*>();
    QCOMPARE(tabs->tabText(0), QString("Übersicht"));
    QCOMPARE(static_cast<const view*>(tabs->widget(0))->question(),
             QString("Was ist in diesem Lauf passiert, und was sollte sich ändern?"));
  }

  void keys_are_unique_within_a_menu() {
    main_window window;
    QList<QMenu*> menus = window.menuBar()->findChildren<QMenu*>();
    const auto check = [](const QList<QAction*>& actions) {
      QMap<QChar, QString> seen;
      for (const QAction* const action : actions) {
        const qsizetype mark = action->text().indexOf('&');
        if (mark < 0) continue;
        const QChar key = action->text()[mark + 1].toLower();
        QVERIFY2(!seen.contains(key), qPrintable(action->text() + " and " + seen.value(key)));
        seen[key] = action->text();
      }
    };
    check(window.menuBar()->actions());
    for (const QMenu* const menu : menus) check(menu->actions());
  }
};

QTEST_MAIN(language_test)
#include "language_test.moc"
