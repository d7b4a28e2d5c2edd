// Whoever asks something of a run that takes a while: hears what there is to know, and how far the work is.
#ifndef ULP_ASK_PROGRESS_LISTENER_HPP
#define ULP_ASK_PROGRESS_LISTENER_HPP

#include <cstdint>
#include <string>
#include <vector>

#include <ulp/ask/questions/scenario_text.hpp>

namespace ulp {

// All functions are called by the thread that asks, one at a time. What they throw ends the work and passes through.
class listener {
 public:
  listener() = default;
  listener(const listener&) = delete;
  listener& operator=(const listener&) = delete;
  virtual ~listener() = default;

  // One line each, of the input or the result: good to know, doubtful, or that a policy ended the run.
  virtual void note(const std::string& line) = 0;
  virtual void warn(const std::string& line) = 0;
  virtual void tell(const std::string& line) = 0;
  // What was taken from a framework's own configuration.
  virtual void configured(const configuration& by) = 0;

  // So many units of work lie ahead (0: not known); one of them is done; there are no more. Works may stand in one another: the
  // inner ones are parts of a unit. Units without a name are parts of one work, which tell nobody anything.
  virtual void begin(const std::string& unit, std::uint64_t total) = 0;
  virtual void advance() = 0;
  virtual void end() noexcept = 0;
};

// Hears nothing.
[[nodiscard]] listener& nobody() noexcept;

// Keeps what is told; the work is heard by another listener.
class kept_lines final : public listener {
 public:
  explicit kept_lines(listener& work_heard_by = nobody()) : other_(work_heard_by) {}

  void note(const std::string& line) override { notes_.push_back(line); }
  void warn(const std::string& line) override { warnings_.push_back(line); }
  void tell(const std::string& line) override { warnings_.push_back(line); }
  void configured(const configuration& by) override;
  void begin(const std::string& unit, std::uint64_t total) override { other_.begin(unit, total); }
  void advance() override { other_.advance(); }
  void end() noexcept override { other_.end(); }

  [[nodiscard]] const std::vector<std::string>& notes() const noexcept { return notes_; }
  // With what ended the run.
  [[nodiscard]] const std::vector<std::string>& warnings() const noexcept { return warnings_; }

 private:
  listener& other_;
  std::vector<std::string> notes_;
  std::vector<std::string> warnings_;
};

// Units of work, from begin to end.
class work {
 public:
  work(listener& heard_by, const std::string& unit, std::uint64_t total) : listener_(heard_by) {
    listener_.begin(unit, total);
  }
  work(const work&) = delete;
  work& operator=(const work&) = delete;
  ~work() { listener_.end(); }

  void advance() { listener_.advance(); }

 private:
  listener& listener_;
};

}  // namespace ulp

#endif
