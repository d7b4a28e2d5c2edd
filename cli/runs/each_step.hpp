// The loop that most commands are: the selected steps of a run, under a progress bar.
#ifndef ULP_CLI_EACH_STEP_HPP
#define ULP_CLI_EACH_STEP_HPP

#include <type_traits>
#include <ulp/io/source.hpp>
#include <ulp/model/scenario.hpp>

#include "interrupt.hpp"

namespace ulp::cli {

// Accumulated steps only, no microbatches. Ends early where `work` returns false.
template <typename Work>
void for_each_step(source& from, const selection& selected, Work work) {
  progress shown("steps", from.step_count());
  step now;
  while (from.next(now)) {
    shown.advance();
    if (!selected.takes(now.key.step) || now.key.microbatch != -1) continue;
    if constexpr (std::is_void_v<std::invoke_result_t<Work, const step&>>)
      work(now);
    else if (!work(now))
      return;
  }
}

}  // namespace ulp::cli

#endif
