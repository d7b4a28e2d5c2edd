// The time between two looks at a recording that grows.
#ifndef ULP_CLI_PATIENCE_HPP
#define ULP_CLI_PATIENCE_HPP

#include <chrono>
#include <string>

#include <ulp/io/recording/following.hpp>

namespace ulp::cli {

class patience {
 public:
  using clock = std::chrono::steady_clock;

  patience(std::string recording, clock::duration interval) : recording_(std::move(recording)), interval_(interval) {}

  // Waits for an interval, or longer where the last look took long, so that whoever looks at a run hardly takes from its
  // processor. False once a signal came (see interruptible).
  [[nodiscard]] bool wait();
  // Tells what is waited for, each thing once in a row.
  void tell_of(recording_writer_state state);
  // The same of a recording that does not exist yet alone, for those who show the others themselves.
  void tell_of_absence();

 private:
  void say(const std::string& what);

  std::string recording_;
  clock::duration interval_;
  clock::time_point last_ = clock::now();
  std::string told_;
};

}  // namespace ulp::cli

#endif
