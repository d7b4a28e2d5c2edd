// What Python hears while a run is read: notes are kept for the result, and Ctrl-C ends the work.
#ifndef ULP_PYTHON_RUNS_LISTENER_HPP
#define ULP_PYTHON_RUNS_LISTENER_HPP

#include <chrono>
#include <string>
#include <vector>

#include <ulp/ask/progress/listener.hpp>

namespace ulp::python {

// To be used without the interpreter's lock, which it takes a few times a second to look for signals.
class note_keeper final : public listener {
 public:
  void note(const std::string& line) override;
  void warn(const std::string& line) override { note(line); }
  void tell(const std::string& line) override { note(line); }
  void configured(const configuration& by) override;
  void begin(const std::string& unit, std::uint64_t total) override;
  void advance() override;
  void end() noexcept override {}

  // In order, each once.
  [[nodiscard]] const std::vector<std::string>& notes() const noexcept { return notes_; }

 private:
  std::vector<std::string> notes_;
  std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now();
};

}  // namespace ulp::python

#endif
