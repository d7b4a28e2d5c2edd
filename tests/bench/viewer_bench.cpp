// How long the viewer lets its user wait, without a screen: FILE is a recording.
//   build/release/tests/bench/made_recording /tmp/long.ulp 1000000 1 4096
//   QT_QPA_PLATFORM=offscreen build/release/tests/bench/viewer_bench /tmp/long.ulp
#include <sys/resource.h>

#include <QApplication>
#include <QElapsedTimer>
#include <QPushButton>
#include <QThread>
#include <QTimer>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

#include "app/allocator.hpp"
#include "app/main_window.hpp"
#include "views/all_views.hpp"

namespace {

using namespace ulp::gui;

double milliseconds(const QElapsedTimer& since) { return static_cast<double>(since.nsecsElapsed()) * 1e-6; }

// Runs the event loop until `enough`; returns the longest time that it did not answer.
double wait_for(const std::function<bool()>& enough) {
  double longest = 0;
  while (!enough()) {
    QElapsedTimer turn;
    turn.start();
    QApplication::processEvents();
    longest = std::max(longest, milliseconds(turn));
    QThread::usleep(200);
  }
  return longest;
}

struct painted : QObject {
  bool eventFilter(QObject* of, QEvent* event) override {
    if (event->type() != QEvent::Paint) return false;
    any = true;
    if (qobject_cast<view*>(of) != nullptr) seen = true;
    return false;
  }
  bool any = false;   // of the window
  bool seen = false;  // a view
};

// How long the event loop is busy with each change, the painting that follows included: the median and the greatest.
void time_changes(const char* what, const QString& key, const std::function<void(int)>& change) {
  std::vector<double> times;
  for (int i = 0; i < 40; ++i) {
    QElapsedTimer since;
    since.start();
    change(i);
    double busy = milliseconds(since);
    for (int quiet = 0; quiet < 4;) {
      QElapsedTimer turn;
      turn.start();
      QApplication::processEvents();
      const double took = milliseconds(turn);
      busy += took;
      quiet = took < 0.1 ? quiet + 1 : 0;
      QThread::msleep(2);
    }
    times.push_back(busy);
  }
  std::ranges::sort(times);
  std::printf("  %-10s %-12s %7.1f ms, at most %7.1f ms\n", what, key.toUtf8().constData(), times[times.size() / 2],
              times.back());
}

// The most so far.
long megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

}  // namespace

int main(int argc, char** argv) {
  return_free_memory();
  QElapsedTimer since;
  since.start();
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 12);
  QApplication application(argc, argv);
  QApplication::setApplicationName("viewer_bench");
  if (argc < 2) return std::fputs("viewer_bench FILE...\n", stderr), 2;
  painted paint;
  main_window window;
  for (QWidget* const w : window.findChildren<QWidget*>()) w->installEventFilter(&paint);
  window.resize(1100, 700);
  window.show_view("window");
  window.show();
  wait_for([&] { return paint.any; });
  std::printf("first frame %.0f ms\n", milliseconds(since));

  since.restart();
  bool loaded = false;
  QObject::connect(&window.state(), &view_state::changed, &window, [&](view_state::parts what) {
    if (!loaded && what.testFlag(view_state::run)) {
      loaded = true;
      paint.seen = false;
    }
  });
  window.open(std::vector<std::string>(argv + 1, argv + argc));
  double stall = wait_for([&] { return loaded && paint.seen; });
  std::printf("first picture %.0f ms, longest stall %.0f ms, %ld MB\n", milliseconds(since), stall, megabytes());
  stall = wait_for([&] { return !window.doc().busy(); });
  std::printf("replayed %.0f ms, longest stall %.0f ms, %ld MB\n", milliseconds(since), stall, megabytes());

  for (const QString& key : view_keys()) {
    window.show_view(key);
    since.restart();
    QApplication::processEvents();
    std::printf("%s shown after %.1f ms\n", key.toUtf8().constData(), milliseconds(since));
    for (int i = 0; i < 20; ++i) {
      QThread::msleep(20);
      QApplication::processEvents();
    }
    view_state& state = window.state();
    time_changes("scale", key, [&](int i) { state.set_tried_scale(i % 24); });
    state.set_tried_scale(std::nullopt);
    const auto all = state.whole();
    const std::int64_t span = (all.last - all.first) / 2;
    time_changes("pan", key, [&](int i) {
      const std::int64_t first = all.first + span * i / 40;
      state.set_shown({first, first + span});
    });
    time_changes("cursor", key, [&](int i) { state.set_cursor(all.first + span * i / 40); });
    state.set_shown(all);
  }

  // A part of the middle, until its columns are single steps.
  window.show_view("window");
  const auto whole = window.state().whole();
  const std::int64_t middle = whole.first + (whole.last - whole.first) / 2;
  since.restart();
  window.state().set_shown({middle, middle + 199});
  stall =
      wait_for([&] { return (window.state().drawn()->fine && !window.state().refining()) || since.elapsed() > 60000; });
  std::printf("200 steps refined after %.0f ms, longest stall %.0f ms, %ld MB\n", milliseconds(since), stall,
              megabytes());
  window.state().set_shown(whole);

  window.show_view("policies");
  QApplication::processEvents();
  view* const policies = window.findChild<view*>("policies");
  since.restart();
  for (QPushButton* const button : policies->findChildren<QPushButton*>()) button->click();
  stall = wait_for([&] { return !policies->data().rows.empty() || since.elapsed() > 120000; });
  std::printf("sweep of %zu policies %.0f ms, longest stall %.0f ms\n", policies->data().rows.size(),
              milliseconds(since), stall);
  std::printf("memory %ld MB\n", megabytes());
}
