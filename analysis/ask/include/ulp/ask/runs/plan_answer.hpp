// What `ulp plan` says of a run: for each tensor the cheapest treatment that some hardware has and that loses no more
// than a share of its energy in any recorded step, saturating in none.
#ifndef ULP_ASK_RUNS_PLAN_ANSWER_HPP
#define ULP_ASK_RUNS_PLAN_ANSWER_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ulp/ask/progress/listener.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/ask/runs/judged_treatment.hpp>
#include <ulp/model/cells/ranges.hpp>
#include <ulp/model/cells/step.hpp>
#include <ulp/model/plan/hardware.hpp>

namespace ulp {

struct plan_question {
  run_text run;
  std::string hardware = "any";
  std::string lose;    // a share of the energy; empty: usual_lost_share, where there is no budget
  std::string budget;  // bits of all tensors, or of an element in the mean as "8.5/element"
};

// Whether a weight in few bits has to be kept in float32 too.
enum class master_copy : std::uint8_t {
  not_asked,  // it is no weight, or is in float32 itself
  assumed,    // the input does not tell what its updates would lose
  needed,     // they would lose more
  not_needed
};

struct planned_tensor {
  std::uint32_t tensor = 0;
  std::uint64_t numel = 0;           // in a step, at most
  std::uint64_t left_out = 0;        // steps with an infinity or a NaN
  bool nothing_seen = false;         // no step has a finite value other than zero
  std::vector<judged_treatment> of;  // each treatment of the hardware, in the setting that was chosen
  std::size_t chosen = 0;
  std::vector<std::size_t> ties;  // that hold, too, and take as many bits
  std::optional<std::size_t>
      near_miss;  // of those that take fewer, what comes closest: what may hold before what does not
  master_copy master = master_copy::not_asked;
  value_range lost_updates{0, 0};  // the share in the worst step, where it was counted
};

// The loss scale that gradients in the run's 16-bit format are multiplied by.
struct plan_loss_scale {
  int log2 = 0;
  int lowest_log2 = 0;        // the same plan holds from here,
  int highest_log2 = 0;       // to there
  bool may_be_lower = false;  // what lies below lowest_log2 was not tried
};

// The run's 16-bit format, of one plan.
struct plan_setting {
  std::optional<std::size_t> half;  // a treatment; none where no tensor is in 16 bits
  std::optional<plan_loss_scale> scale;
};

// As Cerebras' precision_opt_level has them.
struct plan_level {
  int level = 0;
  double most = 0;  // the share that may be lost
  plan_setting setting;
  std::uint64_t bits = 0;
  std::uint64_t in_float32 = 0;  // tensors
};

struct plan_answer {
  const plan_hardware* hardware = nullptr;
  std::vector<plan_treatment> treatments;
  double most = usual_lost_share;       // the share that may be lost: that of the plan where a budget was given
  std::optional<std::uint64_t> budget;  // bits
  plan_setting setting;
  std::vector<plan_setting> other_settings;  // 16-bit formats whose plans take as many bits
  std::vector<planned_tensor> tensors;
  std::vector<tensor_info> info;  // all of the input; planned_tensor::tensor is an index
  std::uint64_t bits = 0;
  std::uint64_t numel = 0;
  std::uint64_t steps = 0;
  double share = 0;                // of the tensor that loses most, at most; infinite where float32 itself saturates
  std::vector<plan_level> levels;  // of hardware that has them
  bool from_values = false;        // of dumps

  [[nodiscard]] const plan_treatment& treatment(std::size_t i) const { return treatments[i]; }
};

// Throws input_error, std::invalid_argument.
[[nodiscard]] plan_answer plan_over(const plan_question& asked, listener& to);

// Bits of a text such as "2^30" or "8.5/element". Throws std::invalid_argument.
[[nodiscard]] std::uint64_t plan_budget(const std::string& text, std::uint64_t numel);

}  // namespace ulp

#endif
