#include "background.hpp"

#include <QElapsedTimer>
#include <QString>
#include <exception>
#include <memory>
#include <utility>

#include "shown_text.hpp"

namespace ulp::gui {

background::~background() {
  {
    const std::lock_guard guard(lock_);
    ++generation_;
    next_.reset();
  }
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void background::start(work run) {
  running_ = true;
  {
    const std::lock_guard guard(lock_);
    next_ = job{.generation = ++generation_, .run = std::move(run)};
  }
  wake_.notify_one();
  if (!thread_.joinable()) thread_ = std::jthread([this](const std::stop_token& stop) { work_off(stop); });
}

void background::cancel() {
  if (!running_) return;
  {
    const std::lock_guard guard(lock_);
    ++generation_;
    next_.reset();
  }
  running_ = false;
  emit finished();
}

void background::work_off(const std::stop_token& stop) {
  for (;;) {
    job now;
    {
      std::unique_lock guard(lock_);
      if (!wake_.wait(guard, stop, [this] { return next_.has_value(); })) return;
      now = std::move(*next_);
      next_.reset();
    }
    run(now);
  }
}

void background::run(const job& now) {
  const auto post = [this](auto f) { QMetaObject::invokeMethod(this, std::move(f), Qt::QueuedConnection); };
  QElapsedTimer since_last;
  since_last.start();
  const std::uint64_t generation = now.generation;
  const report told = [&](double share) {
    if (generation != generation_) throw stopped{};
    if (since_last.elapsed() < 50) return;
    since_last.restart();
    post([this, generation, share] {
      if (generation == generation_) emit progressed(share);
    });
  };
  try {
    const auto then = std::make_shared<std::function<void()>>(now.run(told));
    post([this, generation, then] { done(generation, *then); });
  } catch (const stopped&) {
    // Whoever stopped it knows.
  } catch (const std::exception& problem) {
    const QString reason = shown_text(problem.what());
    post([this, generation, reason] { done(generation, [this, reason] { emit failed(reason); }); });
  }
}

void background::done(std::uint64_t generation, const std::function<void()>& then) {
  if (generation != generation_) return;
  running_ = false;
  then();
  emit finished();
}

}  // namespace ulp::gui
