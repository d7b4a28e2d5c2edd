// The listener of the commands: what it hears goes to stderr, with a progress bar (see output.hpp, interrupt.hpp).
#ifndef ULP_CLI_LISTENING_HPP
#define ULP_CLI_LISTENING_HPP

#include <cstdint>
#include <memory>
#include <string>
#include <ulp/ask/progress/listener.hpp>
#include <vector>

#include "interrupt.hpp"

namespace ulp::cli {

class listening final : public listener {
 public:
  // Where stdout belongs to a machine, configurations are told as notes, else printed there.
  explicit listening(bool machine_stdout) : machine_stdout_(machine_stdout) {}

  void note(const std::string& line) override;
  void warn(const std::string& line) override;
  void tell(const std::string& line) override;
  void configured(const configuration& by) override;
  void begin(const std::string& unit, std::uint64_t total) override {
    works_.push_back(unit.empty() ? nullptr : std::make_unique<progress>(unit, total));
  }
  void advance() override {
    if (works_.back() != nullptr) works_.back()->advance();
  }
  void end() noexcept override { works_.pop_back(); }

 private:
  bool machine_stdout_;
  std::vector<std::unique_ptr<progress>> works_;  // the inner ones last
};

// One for those that print nothing of configurations.
[[nodiscard]] listener& on_stderr();

}  // namespace ulp::cli

#endif
