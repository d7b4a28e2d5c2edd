#include "patience.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <thread>
#include <ulp/io/bytes/printable.hpp>
#include <ulp/io/output/program.hpp>
#include <utility>

#include "interrupt.hpp"

namespace ulp::cli {

bool patience::wait() {
  constexpr clock::duration a_while = std::chrono::milliseconds(50);
  constexpr clock::duration most = std::chrono::seconds(5);
  constexpr int times_longer = 10;
  const clock::time_point begun = clock::now();
  const clock::time_point end = begun + std::max(interval_, std::min(most, times_longer * (begun - last_)));
  while (!progress::interrupted() && clock::now() < end)
    std::this_thread::sleep_for(std::min(a_while, end - clock::now()));
  last_ = clock::now();
  return !progress::interrupted();
}

void patience::tell_of(recording_writer_state state) {
  std::error_code ignored;
  if (state == recording_writer_state::awaited && std::filesystem::exists(recording_, ignored))
    return say(recording_ + ": waiting for its first step");
  if (state == recording_writer_state::awaited) return tell_of_absence();
  if (state == recording_writer_state::gone)
    return say(recording_ + ": its writer is gone without having closed it; waiting for a resumed run; Ctrl-C ends");
  told_.clear();
}

void patience::tell_of_absence() {
  std::error_code ignored;
  if (!std::filesystem::exists(recording_, ignored)) say("waiting for " + recording_ + " to be created; Ctrl-C ends");
}

// On stderr alone: nothing that is known of the run.
void patience::say(const std::string& what) {
  if (std::exchange(told_, what) != what) print_error(fmt::format("ulp: {}\n", printable(what)));
}

}  // namespace ulp::cli
