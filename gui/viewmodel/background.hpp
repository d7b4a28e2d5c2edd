// Work in a thread of its own, whose result comes back to the thread of Qt's event loop.
#ifndef ULP_GUI_VIEWMODEL_BACKGROUND_HPP
#define ULP_GUI_VIEWMODEL_BACKGROUND_HPP

#include <QObject>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace ulp::gui {

class background : public QObject {
  Q_OBJECT
 public:
  // What is told on the way: the share done, 0 to 1. Throws `stopped` where the work is not wanted any more.
  using report = std::function<void(double)>;
  struct stopped {};
  // Runs in the thread; what it returns runs in the event loop, unless other work was started or this was cancelled.
  using work = std::function<std::function<void()>(const report&)>;

  explicit background(QObject* parent = nullptr) : QObject(parent) {}
  // Waits for the thread, which is asked to stop.
  ~background() override;

  // In place of what is running, once that has stopped; returns at once. What `run` throws goes to failed().
  void start(work run);
  void cancel();
  [[nodiscard]] bool running() const noexcept { return running_; }

 signals:
  void progressed(double share);
  void failed(const QString& reason);
  void finished();  // after success, failure and cancel alike

 private:
  struct job {
    std::uint64_t generation = 0;
    work run;
  };
  void work_off(const std::stop_token& stop);
  void run(const job& now);
  void done(std::uint64_t generation, const std::function<void()>& then);

  std::atomic<std::uint64_t> generation_ = 0;  // of the job that is wanted
  bool running_ = false;
  std::mutex lock_;
  std::condition_variable_any wake_;
  std::optional<job> next_;
  std::jthread thread_;
};

}  // namespace ulp::gui

#endif
