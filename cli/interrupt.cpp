#include "interrupt.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <ulp/ask/questions/number_text.hpp>
#include <ulp/io/output/program.hpp>

#include "output.hpp"

namespace ulp::cli {
namespace {

std::atomic<int> came{0};     // the first signal
std::atomic<int> working{0};  // interruptibles alive
static_assert(std::atomic<int>::is_always_lock_free);

const char* name_of(int signal) noexcept {
  switch (signal) {
    case SIGTERM: return "SIGTERM";
    case SIGHUP: return "SIGHUP";
    case SIGXCPU: return "SIGXCPU: the limit of processor time";
    default: return nullptr;
  }
}

void on_signal(int signal) {
  const bool gentle = signal == SIGINT || name_of(signal) != nullptr;
  int none = 0;
  if (gentle && working > 0 && came.compare_exchange_strong(none, signal)) return;
  end_by_signal(signal);
}

}  // namespace

void catch_signals() noexcept { catch_ending_signals(on_signal); }

int end_interrupted() noexcept {
  constexpr int of_a_signal = 128;
  const int signal = came;
  if (const char* const name = name_of(signal)) {
    print_error("ulp: interrupted by ");
    print_error(name);
    print_error("\n");
    std::fflush(stdout);
    end_by_signal(signal);
  }
  print_error("ulp: interrupted\n");
  return of_a_signal + SIGINT;
}

interruptible::interruptible() noexcept { ++working; }

interruptible::~interruptible() { --working; }

progress::progress(std::string unit, std::uint64_t total)
    : unit_(std::move(unit)), total_(total), terminal_(isatty(STDERR_FILENO) == 1 && !is_quiet()) {}

progress::~progress() {
  if (shown_) print_error("\r\033[K");
}

bool progress::interrupted() noexcept { return came != 0; }

void progress::advance(std::uint64_t units) {
  if (interrupted()) throw interrupted_error{};
  finished_ += units;
  const auto now = clock::now();
  if (!terminal_ || now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  shown_ = true;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = static_cast<double>(finished_) / seconds;
  std::string line = fmt::format("\r\033[K{} {}", grouped(finished_), unit_);
  if (total_ > 0) line += fmt::format(" of {}", grouped(total_));
  line += fmt::format(", {:.3g}/s", rate);
  if (total_ > finished_) line += fmt::format(", {:.0f} s left", static_cast<double>(total_ - finished_) / rate);
  print_error(line);
}

}  // namespace ulp::cli
