#include "patience.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <ulp/io/printable.hpp>
#include <ulp/io/program.hpp>
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
  if (std::exchange(told_, state) == state) return;
  // On stderr alone: nothing that is known of the run.
  const auto say = [&](const char* what) { print_error(fmt::format("ulp: {}: {}\n", printable(recording_), what)); };
  if (state == recording_writer_state::awaited) say("waiting for its first step");
  if (state == recording_writer_state::gone)
    say("its writer is gone without having closed it; waiting for one that goes on (Ctrl-C ends this)");
}

}  // namespace ulp::cli
