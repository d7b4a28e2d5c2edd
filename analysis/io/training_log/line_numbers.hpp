// Numbers that grep -n, nl or an editor put in front of lines: "12:text", "12: text", "L12: text", "  12<tab>text". They
// ascend from the first line on, where the ranks of srun --label repeat.
#ifndef ULP_IO_TRAINING_LOG_LINE_NUMBERS_HPP
#define ULP_IO_TRAINING_LOG_LINE_NUMBERS_HPP

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ulp::io {

// Passes lines on, without their numbers once these are known to be numbers of lines. Keeps few lines until it knows.
class line_numbers {
 public:
  using receiver = std::function<void(std::string_view line, std::uint64_t number)>;
  explicit line_numbers(receiver pass) : pass_(std::move(pass)) {}

  void line(const std::string& text, std::uint64_t number);
  void finish();

 private:
  enum class state : std::uint8_t { open, numbered, plain };
  void decide(state now);

  receiver pass_;
  state state_ = state::open;
  std::vector<std::pair<std::string, std::uint64_t>> held_;  // while it is open
  std::int64_t last_ = -1;
};

}  // namespace ulp::io

#endif
