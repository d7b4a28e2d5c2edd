// Ctrl-C and progress of long work.
#ifndef ULP_CLI_INTERRUPT_HPP
#define ULP_CLI_INTERRUPT_HPP

#include <chrono>
#include <cstdint>
#include <exception>
#include <string>

namespace ulp::cli {

class interrupted_error : public std::exception {};

// Counts units of work. Shows a line with rate and time left on stderr where that is a terminal, at most ten times a
// second. From its construction on Ctrl-C makes the next `advance` throw interrupted_error instead of killing the
// program, so that what was begun can be ended cleanly; a second Ctrl-C kills.
class progress {
 public:
  // total 0: not known.
  progress(std::string unit, std::uint64_t total);
  ~progress();
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  void advance(std::uint64_t units = 1);

  // Whether Ctrl-C was pressed: an error that follows may be a read that it broke off.
  [[nodiscard]] static bool interrupted() noexcept;

 private:
  using clock = std::chrono::steady_clock;
  std::string unit_;
  std::uint64_t total_;
  std::uint64_t finished_ = 0;
  bool shown_ = false;
  bool terminal_;
  clock::time_point start_ = clock::now();
  clock::time_point last_ = start_;
};

}  // namespace ulp::cli

#endif
