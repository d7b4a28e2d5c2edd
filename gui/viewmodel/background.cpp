#include "background.hpp"

#include <QElapsedTimer>
#include <QPromise>
#include <QString>
#include <QThread>
#include <QtConcurrentRun>
#include <algorithm>
#include <atomic>
#include <exception>
#include <ranges>
#include <utility>
#include <vector>

#include "shown_text.hpp"

namespace ulp::gui {
namespace {

constexpr int whole = 1000;  // of which progress is told in parts

QString reason_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& problem) {
    return shown_text(problem.what());
  }
}

// Works that somebody waits for.
std::atomic<int> awaited = 0;

// Something awaited takes long, and may need the memory that was taken: the work begins anew.
struct postponed {};

class running_work {
 public:
  explicit running_work(background::urgency how) : counts_(how == background::urgency::awaited) {
    if (counts_) ++awaited;
  }
  ~running_work() {
    if (counts_) --awaited;
  }
  running_work(const running_work&) = delete;
  running_work& operator=(const running_work&) = delete;

 private:
  bool counts_;
};

// Hears how far the work is, as a share of the whole, and ends it where it is not wanted.
class hearing final : public listener {
 public:
  hearing(QPromise<std::function<void()>>& promise, background::urgency how) : promise_(promise), urgency_(how) {
    since_last_.start();
    promise_.setProgressRange(0, whole);
  }

  // Lines are for those who keep them, see kept_lines.
  void note(const std::string& /*line*/) override {}
  void warn(const std::string& /*line*/) override {}
  void tell(const std::string& /*line*/) override {}
  void configured(const configuration& /*by*/) override {}
  void begin(const std::string& /*unit*/, std::uint64_t total) override {
    works_.push_back({.total = total});
    hear();
  }
  void advance() override {
    ++works_.back().done;
    hear();
  }
  void end() noexcept override { works_.pop_back(); }

 private:
  struct counted {
    std::uint64_t done = 0;
    std::uint64_t total = 0;
  };

  void hear() {
    if (promise_.isCanceled()) throw background::stopped{};
    if (urgency_ == background::urgency::beside) give_way();
    constexpr qint64 often_enough = 50;
    if (since_last_.elapsed() < often_enough) return;
    since_last_.restart();
    promise_.setProgressValue(static_cast<int>(share() * whole));
  }

  void give_way() const {
    constexpr qint64 short_wait = 2000;
    QElapsedTimer waiting;
    for (waiting.start(); awaited > 0; QThread::msleep(2)) {
      if (promise_.isCanceled()) throw background::stopped{};
      if (waiting.elapsed() > short_wait) throw postponed{};
    }
  }

  [[nodiscard]] double share() const {
    double inner = 0;
    for (const counted& one : works_ | std::views::reverse)
      inner =
          one.total == 0 ? 0 : std::min(1.0, (static_cast<double>(one.done) + inner) / static_cast<double>(one.total));
    return inner;
  }

  QPromise<std::function<void()>>& promise_;
  background::urgency urgency_;
  QElapsedTimer since_last_;
  std::vector<counted> works_;  // the inner ones last
};

void run(QPromise<std::function<void()>>& promise, const background::work& work, background::urgency how) {
  const running_work now(how);
  for (;;) try {
      hearing to(promise, how);
      promise.addResult(work(to));
      return;
    } catch (const background::stopped&) {
      return;  // whoever stopped it knows
    } catch (const postponed&) {
      while (awaited > 0 && !promise.isCanceled()) QThread::msleep(20);
    }
}

}  // namespace

background::background(QObject* parent, urgency how) : QObject(parent), urgency_(how) {
  one_.setMaxThreadCount(1);
  connect(&watcher_, &QFutureWatcherBase::progressValueChanged, this, [this](int value) {
    if (running_ && value > 0) emit progressed(static_cast<double>(value) / whole);
  });
  connect(&watcher_, &QFutureWatcherBase::finished, this, &background::done);
}

background::~background() {
  watcher_.disconnect();
  watcher_.cancel();
  one_.waitForDone();
}

void background::start(work work) {
  watcher_.cancel();
  running_ = true;
  watcher_.setFuture(QtConcurrent::run(&one_, &run, std::move(work), urgency_));
}

void background::cancel() {
  if (!running_) return;
  running_ = false;
  watcher_.cancel();
  emit finished();
}

void background::done() {
  if (!running_) return;
  running_ = false;
  std::function<void()> then;
  try {
    QFuture<std::function<void()>> future = watcher_.future();
    future.waitForFinished();  // throws what the work threw
    if (future.resultCount() > 0) then = future.takeResult();
  } catch (const QUnhandledException& thrown) {
    emit failed(reason_of(thrown.exception()));
  }
  if (then) then();
  emit finished();
}

}  // namespace ulp::gui
