// What `ulp replay` says of a run whose tensors have a scale each: under a policy for all of them, or a recipe.
#ifndef ULP_ASK_RUNS_FP8_ANSWER_HPP
#define ULP_ASK_RUNS_FP8_ANSWER_HPP

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ulp/ask/progress/listener.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/model/replay/fp8_replay.hpp>

namespace ulp {

struct fp8_question {
  run_text run;
  std::string recipe;                   // "te_delayed:hybrid"; empty: `scaler` and `format` hold for all tensors
  std::string scaler;                   // a policy of fp8_scaler_catalog()
  std::vector<std::string> parameters;  // "key=value" of the policy
  std::string format;
};

// Whether these name a replay with a scale for each tensor, rather than one of loss scaling.
[[nodiscard]] bool asks_for_fp8(const std::string& recipe, const std::string& scaler);

// The policy that it names, or its recipe does. Throws std::invalid_argument.
[[nodiscard]] const fp8_scaler_entry& policy_of(const fp8_question& asked);

// Throws std::invalid_argument, whose text names the option.
[[nodiscard]] fp8_recipe recipe_of(const fp8_question& asked);

// What hears of each step's rows, as they come; of a table of amaxes one at a time.
using fp8_hearer = std::function<void(const std::vector<fp8_row>&, const std::vector<tensor_info>&)>;

struct fp8_answer {
  fp8_replayer by;
  std::vector<tensor_info> tensors;
  std::uint64_t steps = 0;    // of the input
  bool is_of_amaxes = false;  // the input is a table of amaxes: nothing is counted
};

// The whole run: a recording, dumps or a histogram, or a table of amaxes (amax_table.hpp). Throws input_error,
// std::invalid_argument.
[[nodiscard]] fp8_answer fp8_replay_over(const fp8_question& asked, listener& to, const fp8_hearer& hears = {});

}  // namespace ulp

#endif
