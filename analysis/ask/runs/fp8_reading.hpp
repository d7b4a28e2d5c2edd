// A run as several replays with a scale for each tensor read it, once.
#ifndef ULP_ASK_RUNS_FP8_READING_HPP
#define ULP_ASK_RUNS_FP8_READING_HPP

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <ulp/ask/runs/fp8_answer.hpp>
#include <ulp/io/amax/amax_row.hpp>

namespace ulp {

struct fp8_reading {
  std::vector<tensor_info> tensors;
  std::uint64_t steps = 0;
  bool is_of_amaxes = false;
  std::optional<live_comparison> live = {};  // of the first replay
  std::uint64_t own_overflows = 0;           // steps with infinities that the run's own low format or loss scale made
};

// Of "key=value" the last counts.
void set_parameter(std::vector<std::string>& parameters, const std::string& text);

// Each amax of an input that has them alone, in its order; false, and none, where it is something else. Throws
// input_error, std::invalid_argument.
bool for_each_amax(const run_text& run, listener& to, const std::function<void(const amax_row&)>& act);

// All of them see the selected steps; `hears` the rows of the first. Throws input_error, std::invalid_argument.
[[nodiscard]] fp8_reading read_into(std::span<fp8_replayer> replays, const run_text& run, listener& to,
                                    const fp8_hearer& hears = {});

}  // namespace ulp

#endif
