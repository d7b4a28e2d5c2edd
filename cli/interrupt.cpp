#include "interrupt.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <ulp/report/table.hpp>

namespace ulp::cli {
namespace {

std::atomic<bool> was_interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void remember_interrupt(int) { was_interrupted = true; }

// Reads in progress are broken off (no SA_RESTART), and the next Ctrl-C finds the default.
void catch_interrupt() {
  struct sigaction action {};
  action.sa_handler = remember_interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
}

}  // namespace

progress::progress(std::string unit, std::uint64_t total)
    : unit_(std::move(unit)), total_(total), terminal_(isatty(STDERR_FILENO) == 1) {
  catch_interrupt();
}

progress::~progress() {
  if (shown_) fmt::print(stderr, "\r\033[K");
  std::signal(SIGINT, SIG_DFL);
}

bool progress::interrupted() noexcept { return was_interrupted; }

void progress::advance(std::uint64_t units) {
  if (was_interrupted) throw interrupted_error{};
  finished_ += units;
  const auto now = clock::now();
  if (!terminal_ || now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  shown_ = true;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = static_cast<double>(finished_) / seconds;
  fmt::print(stderr, "\r\033[K{} {}", grouped(finished_), unit_);
  if (total_ > 0) fmt::print(stderr, " of {}", grouped(total_));
  fmt::print(stderr, ", {:.3g}/s", rate);
  if (total_ > finished_) fmt::print(stderr, ", {:.0f} s left", static_cast<double>(total_ - finished_) / rate);
  std::fflush(stderr);
}

}  // namespace ulp::cli
