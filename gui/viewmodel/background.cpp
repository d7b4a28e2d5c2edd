#include "background.hpp"

#include <QElapsedTimer>
#include <QPromise>
#include <QString>
#include <QtConcurrentRun>
#include <exception>
#include <utility>

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

void run(QPromise<std::function<void()>>& promise, const background::work& work) {
  QElapsedTimer since_last;
  since_last.start();
  promise.setProgressRange(0, whole);
  const auto told = [&](double share) {
    if (promise.isCanceled()) throw background::stopped{};
    constexpr qint64 often_enough = 50;
    if (since_last.elapsed() < often_enough) return;
    since_last.restart();
    promise.setProgressValue(static_cast<int>(share * whole));
  };
  try {
    promise.addResult(work(told));
  } catch (const background::stopped&) {
    // Whoever stopped it knows.
  }
}

}  // namespace

background::background(QObject* parent) : QObject(parent) {
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
  watcher_.setFuture(QtConcurrent::run(&one_, &run, std::move(work)));
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
