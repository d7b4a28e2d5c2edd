#include "interrupt.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <ulp/report/table.hpp>

namespace ulp::cli {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void remember_interrupt(int) { interrupted = true; }

}  // namespace

progress::progress(std::string unit, std::uint64_t total)
    : unit_(std::move(unit)), total_(total), terminal_(isatty(STDERR_FILENO) == 1) {
  std::signal(SIGINT, remember_interrupt);
}

progress::~progress() {
  if (shown_) fmt::print(stderr, "\r\033[K");
  std::signal(SIGINT, SIG_DFL);
}

void progress::advance() {
  if (interrupted) throw interrupted_error{};
  ++finished_;
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
