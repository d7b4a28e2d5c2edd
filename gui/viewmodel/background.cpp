#include "background.hpp"

#include <QElapsedTimer>
#include <QString>
#include <exception>
#include <memory>

namespace ulp::gui {

background::~background() {
  ++generation_;
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void background::start(work run) {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  const std::uint64_t generation = ++generation_;
  running_ = true;
  thread_ = std::jthread([this, generation, run = std::move(run)](const std::stop_token& stop) {
    const auto post = [this](auto f) { QMetaObject::invokeMethod(this, std::move(f), Qt::QueuedConnection); };
    QElapsedTimer since_last;
    since_last.start();
    const report told = [&](double share) {
      if (stop.stop_requested()) throw stopped{};
      if (since_last.elapsed() < 50) return;
      since_last.restart();
      post([this, generation, share] {
        if (generation == generation_) emit progressed(share);
      });
    };
    try {
      const auto then = std::make_shared<std::function<void()>>(run(told));
      post([this, generation, then] { done(generation, *then); });
    } catch (const stopped&) {
      // Whoever stopped it knows.
    } catch (const std::exception& problem) {
      const QString reason = QString::fromUtf8(problem.what());
      post([this, generation, reason] { done(generation, [this, reason] { emit failed(reason); }); });
    }
  });
}

void background::cancel() {
  if (!running_) return;
  ++generation_;
  thread_.request_stop();
  running_ = false;
  emit finished();
}

void background::done(std::uint64_t generation, const std::function<void()>& then) {
  if (generation != generation_) return;
  running_ = false;
  then();
  emit finished();
}

}  // namespace ulp::gui
