// A step on its way through the stages of a replay.
#ifndef ULP_MODEL_REPLAY_RUNNING_STEP_HPP
#define ULP_MODEL_REPLAY_RUNNING_STEP_HPP

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/model/outcomes/clamping.hpp>
#include <ulp/model/replay/recorded_run.hpp>
#include <ulp/model/replay/replay.hpp>

#include "reachable_states.hpp"
#include "step_accumulator.hpp"
#include "step_overflow.hpp"

namespace ulp {

// What one machine sees of a step.
struct seen_by_machine {
  scaler* by = nullptr;
  step_overflow overflow;
  largest_gradient largest;
  count_range above_edge;
  std::uint64_t elements = 0;

  // Where the machine counts by an edge and the count is a range, nothing is decided.
  [[nodiscard]] overflow_answer with_edge(overflow_answer answer) const {
    if (elements > 0 && !above_edge.exact()) answer.possible = !(answer.certain = false);
    return answer;
  }
};

struct replayer::running_step {
  replayer& of;
  const step& recorded;
  const std::vector<tensor_info>& tensors;
  std::vector<tensor_outcome>* per_tensor;
  trajectory_row row;
  std::map<std::string_view, seen_by_machine>
      seen;               // by tensor or layer; one, without a name, where the run has one machine
  step_accumulator sums;  // of the tensors
  // Of the tensors in the norm, which are clipped.
  double largest = not_known;
  double scaled_largest = not_known;
  double scaled_squares = 0;
  clamping clamped;

  // `start` is what a tensor that was not seen before gets.
  [[nodiscard]] seen_by_machine& seen_by(const std::string& layer, const scaler& start);
  [[nodiscard]] seen_by_machine& seen_by(const std::string& layer) {
    return seen_by(layer, of.scenario_.recipe.machine());
  }
  // What a machine is told at a scale, with what clipping and counting by an edge change.
  [[nodiscard]] scaler_input input_of(const seen_by_machine& it, double scale, bool found) const;
  // Into the row: what a machine did, and then whether an overflow was found.
  void take(scaler_verdict verdict);
  void find(const overflow_answer& overflow, bool found_certain);
};

// What is known of the run before the next step.
struct replayer::history {
  recorded_run run;
  reachable_states states;            // of the run's machine
  bounds_of_run each{.known = true};  // of machines of tensors
};

}  // namespace ulp

#endif
