// What `ulp compare` asks: two runs, step by step, and where they part.
#ifndef ULP_ASK_RUNS_COMPARE_ANSWER_HPP
#define ULP_ASK_RUNS_COMPARE_ANSWER_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ulp/ask/progress/listener.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/model/comparison/loss_alignment.hpp>
#include <ulp/model/comparison/run_comparison.hpp>

namespace ulp {

struct compare_question {
  run_text run;                      // the first, with what is selected of all
  std::string other;                 // the second
  std::vector<std::string> repeats;  // more runs of what the first is
  bool is_smooth = false;            // the networks have no kinks, such as ReLU
  run_alignment by = run_alignment::step;
  std::uint64_t loss_window = usual_loss_window;  // losses that are smoothed together; odd
};

// Losses that are infinite or NaN.
struct lost_losses {
  std::uint64_t steps = 0;
  std::optional<std::int64_t> first;
  std::optional<std::int64_t> to_the_end_from;  // no finite one comes behind it
  std::uint64_t steps_to_the_end = 0;           // from there on
};

struct compared_run {
  std::string name;
  std::string description;  // "recording"
  bool has_tensors = false;
  std::uint64_t steps = 0;  // that are selected
  std::uint64_t alone = 0;  // of them those that another run lacks: of a repeat, A; of A and B the other
  std::optional<std::int64_t> first_step;
  std::int64_t last_step = 0;
  std::vector<step_loss> losses;  // the finite ones
  lost_losses lost;
  std::optional<lasting_rise> rise;  // by loss
};

struct other_size {
  std::string name;
  std::uint64_t a = 0;
  std::uint64_t b = 0;
};

struct compare_answer {
  run_differences found;
  run_alignment by = run_alignment::step;
  std::uint64_t loss_window = usual_loss_window;
  std::vector<loss_pair> pairs;  // by loss
  compared_run a;
  compared_run b;
  std::vector<compared_run> repeats;
  std::vector<std::string> only_a;  // tensors
  std::vector<std::string> only_b;
  std::vector<other_size> other_sizes;  // tensors of one name that are not the same
  std::size_t renamed = 0;              // tensors whose names differ by what wraps a module
  std::size_t unknown_factors = 0;      // tensors of which one run alone tells the factor

  // B's step, of a pair; the same by step.
  [[nodiscard]] std::int64_t step_of_b(std::int64_t step_of_a) const;
};

// Steps are paired by their number or, by loss, as loss_alignment.hpp has it, of each step its last try; tensors
// by name, where none is the same by their name less what wraps modules
// ("module.", "_orig_mod.", "_fsdp_wrapped_module.", "_forward_module.", "_checkpoint_wrapped_module."). Throws
// input_error; std::invalid_argument where they have no step in common, or nothing in it, and by loss where one has none
// or they have no level in common.
[[nodiscard]] compare_answer compare_runs(const compare_question& asked, listener& to);

}  // namespace ulp

#endif
