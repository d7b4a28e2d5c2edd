// What a sweep keeps of steps until its policies have followed them.
#ifndef ULP_MODEL_SWEEP_SWEPT_STEPS_HPP
#define ULP_MODEL_SWEEP_SWEPT_STEPS_HPP

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ulp/model/cells/step.hpp>
#include <ulp/model/hindsight/hindsight.hpp>

#include "cells/buckets.hpp"
#include "replay/step_accumulator.hpp"
#include "replay/step_overflow.hpp"
#include "underflow_counts.hpp"

namespace ulp {

// Where a step begins to overflow: the least scales above 0.
struct overflow_onset {
  double certain = 0;
  double likely = 0;
  double possible = 0;
  overflow_answer at_zero;
  overflow_answer at_infinity;
  overflow_answer at_nan;

  [[nodiscard]] overflow_answer at(double scale) const {
    if (scale == 0) return at_zero;
    if (std::isnan(scale)) return at_nan;
    if (std::isinf(scale)) return at_infinity;
    return {scale >= certain, scale >= likely, scale >= possible};
  }
};
[[nodiscard]] overflow_onset onset_of(const step_overflow& overflow, const scenario& s);

struct swept_step {
  step_key key;
  double norm = not_known;  // as the replay's scaler sees it
  largest_gradient largest;
  std::uint64_t nonzero = 0;
  std::uint64_t in_no_cell = 0;   // of those: may underflow or not
  std::uint64_t maybe_zeros = 0;  // of those
  bool has_counts = false;
  bool is_lost = false;  // holds infinities or NaN as recorded

  void add(const cell_table& counted) {
    has_counts = true;
    nonzero += counted.nonzero_finite();
    in_no_cell += ulp::in_no_cell(counted);
    maybe_zeros += counted.maybe_zeros;
  }
};

// The same of one treatment.
struct swept_delivery {
  treatment of;
  std::size_t scenario = 0;  // one that has it
  std::vector<overflow_onset> overflow;
  stored_underflow underflow;
  std::vector<count_range> unscaled;  // underflow of what no scale multiplies
  run_costs costs;                    // of all steps of the run

  void forget_steps() {
    overflow.clear();
    underflow.clear();
    unscaled.clear();
  }
};

}  // namespace ulp

#endif
