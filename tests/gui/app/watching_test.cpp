// Pins that two windows follow one recording while it is written: 500 steps of 300 tensors are appended, nobody fails, and at the
// end both windows show every step.
#include <QAction>
#include <QApplication>
#include <QMessageBox>
#include <QSettings>
#include <QSignalSpy>
#include <QTest>
#include <QTimer>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <thread>

#include <ulp/io/recording/recording.hpp>
#include <ulp/model/cells/cell_counter.hpp>

#include "app/main_window.hpp"
#include "gui/support/fixture.hpp"

using namespace ulp::test;
using namespace ulp::gui;

namespace {

constexpr std::int64_t steps = 500;
constexpr std::uint32_t tensors = 300;

void write_steps(const std::string& path, std::atomic<std::int64_t>& written, std::string& failure) {
  try {
    std::vector<ulp::tensor_info> all;
    for (std::uint32_t t = 0; t < tensors; ++t)
      all.push_back({.name = "layer." + std::to_string(t) + ".weight", .kind = ulp::tensor_kind::weight_grad});
    ulp::recording_writer to(path, ulp::recording_writer::mode::create);
    ulp::step now;
    for (std::uint32_t t = 0; t < tensors; ++t)
      now.tensors.push_back({.tensor = t, .type = ulp::dtype::float32, .factor = 1});
    for (now.key.step = 0; now.key.step < steps; ++now.key.step) {
      const std::vector<float> values{1, std::ldexp(1.0F, -static_cast<int>(now.key.step % 40))};
      const ulp::cell_table table = ulp::count_cells(std::span{values});
      for (ulp::tensor_row& row : now.tensors) row.table = table;
      to.write(now, all);
      written = now.key.step + 1;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    to.close();
  } catch (const std::exception& problem) {
    failure = problem.what();
  }
}

}  // namespace

class watching_test : public QObject {
  Q_OBJECT

 private slots:
  void init() { QSettings().clear(); }

  void two_windows_show_every_step_that_is_appended() {
    const temporary_dir dir;
    const std::string path = (dir / "growing.ulp").string();
    std::atomic<std::int64_t> written = 0;
    std::string failure;
    std::thread writer([&] { write_steps(path, written, failure); });
    const auto joined = qScopeGuard([&] {
      if (writer.joinable()) writer.join();
    });
    QTRY_VERIFY_WITH_TIMEOUT(written >= 10, 20000);

    // A box with an error would wait for its user.
    QStringList said;
    QTimer reader;
    connect(&reader, &QTimer::timeout, this, [&] {
      auto* const box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
      if (box == nullptr) return;
      said << box->text();
      box->accept();
    });
    reader.start(5);

    const auto windows = {std::make_unique<main_window>(), std::make_unique<main_window>()};
    for (const auto& window : windows) {
      window->show();
      window->open({path});
      for (QAction* const action : window->findChildren<QAction*>())
        if (action->text().contains("Watch")) action->trigger();
    }
    (*windows.begin())->show_view("layers");
    (*std::prev(windows.end()))->show_view("window");
    const auto shows_all = [](main_window& window) {
      const auto run = window.doc().run();
      return run != nullptr && run->picture.steps().size() == static_cast<std::size_t>(steps);
    };
    for (const auto& window : windows) QTRY_VERIFY_WITH_TIMEOUT(shows_all(*window), 120000);
    writer.join();
    QCOMPARE(failure, std::string{});
    QVERIFY2(said.isEmpty(), qPrintable(said.join("; ")));
    for (const auto& window : windows) {
      QTRY_VERIFY_WITH_TIMEOUT(!window->doc().busy(), 60000);
      const auto& all = window->doc().run()->picture.steps();
      for (std::int64_t n = 0; n < steps; ++n) QCOMPARE(all[static_cast<std::size_t>(n)].key.step, n);
      QCOMPARE(window->doc().replays().front().result->steps.size(), static_cast<std::size_t>(steps));
    }
  }
};

QTEST_MAIN(watching_test)
#include "watching_test.moc"
