// Work beside the event loop, by Qt Concurrent; its result comes back to the thread that started it.
#ifndef ULP_GUI_VIEWMODEL_BACKGROUND_HPP
#define ULP_GUI_VIEWMODEL_BACKGROUND_HPP

#include <QFutureWatcher>
#include <QObject>
#include <QThreadPool>
#include <cstdint>
#include <functional>

#include <ulp/ask/progress/listener.hpp>

namespace ulp::gui {

class background : public QObject {
  Q_OBJECT
 public:
  // Thrown by the listener where the work is not wanted any more.
  struct stopped {};
  // Runs in a thread, and tells how far it is; what it returns runs in the event loop, unless other work was started or this was
  // cancelled.
  using work = std::function<std::function<void()>(listener&)>;

  // Whether somebody waits for it. What nobody waits for stands still, where it tells of itself, while something awaited
  // runs anywhere; if that takes long, it lets go of all it has and begins anew afterwards.
  enum class urgency : std::uint8_t { awaited, beside };

  explicit background(QObject* parent = nullptr, urgency how = urgency::awaited);
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
  void done();

  urgency urgency_;
  QThreadPool one_;  // after each other
  QFutureWatcher<std::function<void()>> watcher_;
  bool running_ = false;
};

}  // namespace ulp::gui

#endif
