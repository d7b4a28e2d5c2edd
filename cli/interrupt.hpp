// Ctrl-C, the other signals that end the program, and progress of long work.
#ifndef ULP_CLI_INTERRUPT_HPP
#define ULP_CLI_INTERRUPT_HPP

#include <chrono>
#include <cstdint>
#include <exception>
#include <string>

namespace ulp::cli {

class interrupted_error : public std::exception {};

// Once, at the start. From then on no signal that can be caught leaves unfinished files.
void catch_signals() noexcept;

// Tells that the program was interrupted. 130 after Ctrl-C; after another signal does not return but ends as that does.
[[nodiscard]] int end_interrupted() noexcept;

// While one lives, Ctrl-C, SIGTERM, SIGHUP and SIGXCPU are noted (progress::interrupted) instead of killing the program, so
// that what was begun can be ended cleanly; the second of them kills.
class interruptible {
 public:
  interruptible() noexcept;
  ~interruptible();
  interruptible(const interruptible&) = delete;
  interruptible& operator=(const interruptible&) = delete;
};

// Counts units of work. Shows a line with rate and time left on stderr where that is a terminal and not --quiet is given, at most ten times a
// second. It is interruptible: after a signal the next `advance` throws interrupted_error.
class progress {
 public:
  // total 0: not known.
  progress(std::string unit, std::uint64_t total);
  ~progress();
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  void advance(std::uint64_t units = 1);

  // Whether such a signal came: an error that follows may be a read that it broke off.
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
  interruptible guard_;
};

}  // namespace ulp::cli

#endif
