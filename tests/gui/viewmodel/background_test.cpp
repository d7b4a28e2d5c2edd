// Pins work in the background: its result arrives in the event loop's thread, only that of the last start arrives, a
// cancel and the end of the object stop it, what it throws is told, and one finished() follows each outcome.
#include "viewmodel/background.hpp"

#include <QElapsedTimer>
#include <QSignalSpy>
#include <QTest>
#include <QThread>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>

using namespace std::chrono_literals;
using ulp::gui::background;

namespace {

// Until it is stopped, or ten seconds have passed: then it says so.
background::work endless(std::atomic<bool>& entered, std::atomic<bool>& too_long) {
  return [&](ulp::listener& to) -> std::function<void()> {
    entered = true;
    ulp::work waiting(to, "waits", 10000);
    for (int i = 0; i < 10000; ++i) {
      waiting.advance();
      std::this_thread::sleep_for(1ms);
    }
    too_long = true;
    return [] {};
  };
}

}  // namespace

class background_test : public QObject {
  Q_OBJECT

 private slots:
  void result_arrives_in_the_thread_of_the_event_loop() {
    background b;
    QSignalSpy finished(&b, &background::finished);
    const QThread* worked_in = nullptr;
    const QThread* arrived_in = nullptr;
    b.start([&](ulp::listener&) -> std::function<void()> {
      worked_in = QThread::currentThread();
      return [&] { arrived_in = QThread::currentThread(); };
    });
    QVERIFY(b.running());
    QVERIFY(finished.wait(5000));
    QVERIFY(!b.running());
    QCOMPARE(arrived_in, QThread::currentThread());
    QVERIFY(worked_in != arrived_in);
    QCOMPARE(finished.count(), 1);
  }

  void only_the_last_result_arrives() {
    background b;
    QSignalSpy finished(&b, &background::finished);
    QList<int> arrived;
    // Those before are done, and their results posted, before the next is started.
    for (const int n : {1, 2, 3}) {
      std::atomic<bool> done = false;
      b.start([&, n](ulp::listener&) -> std::function<void()> {
        done = true;
        return [&, n] { arrived << n; };
      });
      while (!done) std::this_thread::sleep_for(1ms);
    }
    QVERIFY(finished.wait(5000));
    QTest::qWait(20);
    QCOMPARE(arrived, QList<int>{3});
    QCOMPARE(finished.count(), 1);
  }

  void a_new_start_stops_what_is_running() {
    background b;
    std::atomic<bool> entered = false;
    std::atomic<bool> too_long = false;
    b.start(endless(entered, too_long));
    QTRY_VERIFY(entered);
    int arrived = 0;
    b.start([&](ulp::listener&) -> std::function<void()> { return [&] { arrived = 7; }; });
    QTRY_COMPARE(arrived, 7);
    QVERIFY(!too_long);
  }

  void cancelled_work_gives_nothing() {
    background b;
    QSignalSpy finished(&b, &background::finished);
    QSignalSpy failed(&b, &background::failed);
    bool arrived = false;
    std::atomic<bool> done = false;
    b.start([&](ulp::listener&) -> std::function<void()> {
      done = true;
      return [&] { arrived = true; };
    });
    while (!done) std::this_thread::sleep_for(1ms);
    b.cancel();
    QVERIFY(!b.running());
    b.cancel();
    QTest::qWait(30);
    QVERIFY(!arrived);
    QCOMPARE(finished.count(), 1);
    QCOMPARE(failed.count(), 0);
  }

  void what_is_thrown_is_told() {
    background b;
    QStringList order;
    connect(&b, &background::failed, this, [&](const QString& why) { order << why; });
    connect(&b, &background::finished, this, [&] { order << "finished"; });
    b.start([](ulp::listener&) -> std::function<void()> { throw std::runtime_error("no such gradient"); });
    QTRY_COMPARE(order.size(), 2);
    QCOMPARE(order, (QStringList{"no such gradient", "finished"}));
    QVERIFY(!b.running());
  }

  void progress_is_told_on_the_way() {
    background b;
    QList<double> shares;
    connect(&b, &background::progressed, this, [&](double share) { shares << share; });
    QSignalSpy finished(&b, &background::finished);
    QElapsedTimer since;
    since.start();
    b.start([](ulp::listener& to) -> std::function<void()> {
      ulp::work waiting(to, "waits", 200);
      for (int i = 0; i < 200; ++i) {
        waiting.advance();
        std::this_thread::sleep_for(1ms);
      }
      return [] {};
    });
    QVERIFY(finished.wait(60000));
    QVERIFY(shares.size() >= 2);
    QVERIFY(shares.size() <= 2 + since.elapsed() / 50);  // not for each call
    QVERIFY(std::is_sorted(shares.begin(), shares.end()));
    QVERIFY(shares.front() > 0 && shares.back() <= 1);
  }

  void a_work_within_another_is_part_of_its_unit() {
    background b;
    QList<double> shares;
    connect(&b, &background::progressed, this, [&](double share) { shares << share; });
    QSignalSpy finished(&b, &background::finished);
    b.start([](ulp::listener& to) -> std::function<void()> {
      ulp::work runs(to, "runs", 2);
      for (int run = 0; run < 2; ++run) {
        {
          ulp::work steps(to, "steps", 10);
          for (int i = 0; i < 10; ++i) {
            std::this_thread::sleep_for(60ms);
            steps.advance();
          }
        }
        runs.advance();
      }
      return [] {};
    });
    QVERIFY(finished.wait(60000));
    QVERIFY(!shares.empty());
    QCOMPARE(shares.front(), 0.05);
    QVERIFY(std::is_sorted(shares.begin(), shares.end()));
    QVERIFY(shares.back() > 0.5);
  }

  void the_end_of_the_object_stops_its_work() {
    std::atomic<bool> entered = false;
    std::atomic<bool> too_long = false;
    bool arrived = false;
    {
      background b;
      b.start([&](ulp::listener&) -> std::function<void()> { return [&] { arrived = true; }; });
    }
    {
      background b;
      b.start(endless(entered, too_long));
      QTRY_VERIFY(entered);
    }
    QTest::qWait(20);
    QVERIFY(!too_long);
    QVERIFY(!arrived);
  }
};

QTEST_GUILESS_MAIN(background_test)
#include "background_test.moc"
