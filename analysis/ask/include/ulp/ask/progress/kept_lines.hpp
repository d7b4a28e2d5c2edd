// A listener that keeps what is told.
#ifndef ULP_ASK_PROGRESS_KEPT_LINES_HPP
#define ULP_ASK_PROGRESS_KEPT_LINES_HPP

#include <string>
#include <vector>

#include <ulp/ask/progress/listener.hpp>

namespace ulp {

// The work is heard by another listener.
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

}  // namespace ulp

#endif
