// What `ulp replay` says of a run whose tensors have a scale each: under a policy for all of them, or a recipe.
#ifndef ULP_ASK_RUNS_FP8_ANSWER_HPP
#define ULP_ASK_RUNS_FP8_ANSWER_HPP

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ulp/ask/columns/run_columns.hpp>
#include <ulp/ask/progress/listener.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/ask/questions/scenario_text.hpp>
#include <ulp/model/replay/fp8_replay.hpp>

namespace ulp {

struct fp8_question {
  run_text run;
  std::string recipe;                   // "te_delayed:hybrid"; empty: `scaler` and `format` hold for all tensors
  std::string scaler;                   // a policy of fp8_scaler_catalog()
  std::vector<std::string> parameters;  // "key=value" of the policy
  std::string format;
  std::vector<std::string> kept_out = {};  // parts of the names of tensors that are not cast
  std::optional<configuration> own = {};   // a framework's, that this was completed from
};

// The question that a framework's configuration asks, if it trains in FP8 and does not scale the loss; nullopt where it does
// not. `given` are parameters as --set has them, which count before it. Throws std::invalid_argument where both say too little.
[[nodiscard]] std::optional<fp8_question> fp8_question_of(const configuration& own, const run_text& run,
                                                          const std::vector<std::string>& given = {});

// Whether these name a replay with a scale for each tensor, rather than one of loss scaling.
[[nodiscard]] bool asks_for_fp8(const std::string& recipe, const std::string& scaler);

// The policy that it names, or its recipe does. Throws std::invalid_argument.
[[nodiscard]] const fp8_scaler_entry& policy_of(const fp8_question& asked);

// "te_delayed:hybrid margin=1": the recipe, or the policy and the format, with the parameters that were given.
[[nodiscard]] std::string name_of(const fp8_question& asked);

// Those of `given`, "key=value", that its policy has are taken out, and become the question's.
void take_parameters(fp8_question& asked, std::vector<std::string>& given);

// Throws std::invalid_argument, whose text names the option.
[[nodiscard]] fp8_recipe recipe_of(const fp8_question& asked);

// What hears of each step's rows, as they come; of a table of amaxes one at a time.
using fp8_hearer = std::function<void(const std::vector<fp8_row>&, const std::vector<tensor_info>&)>;

// How the scales that an 8-bit run itself had compare with those of a replay, which has its amaxes.
struct live_comparison {
  struct difference {
    std::int64_t step = 0;
    std::uint32_t tensor = 0;
    double live = 0;
    double replayed = 0;
  };
  std::uint64_t steps = 0;        // in which a tensor was compared
  std::uint64_t equal_steps = 0;  // of these, in which all are equal
  std::uint64_t tensor_steps = 0;
  std::uint64_t equal_tensor_steps = 0;
  std::optional<difference> first;
};

struct fp8_answer {
  fp8_replayer by;
  std::vector<tensor_info> tensors;
  std::uint64_t steps = 0;              // of the input
  bool is_of_amaxes = false;            // the input has amaxes alone: nothing is counted
  std::optional<live_comparison> live;  // where it has scales of its own
};

// The whole run: a recording, dumps or a histogram, or a table of amaxes (amax_table.hpp). Of a recording with scales of an
// 8-bit run (live_scales.hpp) the amaxes that these came from. Throws input_error,
// std::invalid_argument.
[[nodiscard]] fp8_answer fp8_replay_over(const fp8_question& asked, listener& to, const fp8_hearer& hears = {},
                                         with_noise noise = with_noise::yes);

// The tensors that were cast, those first that a person looks at first: amaxes that are not finite, then steps that saturate,
// then values that vanish.
[[nodiscard]] std::vector<std::uint32_t> worst_first(const fp8_answer& answer);

// What a picture of one tensor's scales shows of a column of steps.
struct fp8_column {
  double least = not_known;  // of log2 of the multipliers that were used
  double greatest = not_known;
  double ideal = not_known;      // the least log2 of the ideal ones
  std::uint64_t saturating = 0;  // steps
  std::uint64_t held = 0;
  std::uint64_t stale = 0;
  std::uint64_t steps = 0;       // all
  std::uint64_t with_ideal = 0;  // that can be stale
  double saturated = 0;          // values, of a range its upper end
  double nonzero = 0;            // likewise; 0 where amaxes alone are known
  void merge(const fp8_column& other);
  void add(const fp8_row& row);
};

struct drawn_fp8 {
  fp8_question asked;
  fp8_answer answer;
  struct scales {
    std::uint32_t tensor = 0;
    columns_of<fp8_column> columns;
  };
  std::vector<scales> worst;  // none where the input cannot be read twice
};

// Reads the run once more for the scales of the `most` worst tensors. Throws input_error, std::invalid_argument.
[[nodiscard]] drawn_fp8 drawn_fp8_over(const fp8_question& asked, std::size_t most, listener& to);

// Many recipes and policies over one run, which is read once.
struct fp8_grid {
  std::vector<std::string> recipes;
  std::vector<std::string> scalers;  // each with each of `formats`
  std::vector<std::string> formats;
  std::vector<std::string> parameters;   // "key=v1,v2": values in turn, for the policies that have it
  std::optional<fp8_question> own = {};  // of a configuration, beside the others
};

struct swept_fp8 {
  fp8_question asked;
  std::pair<format, format> formats;  // forward, and of gradients
  fp8_tensor_summary sum;             // over the tensors
  // No other of the same formats saturates in as few steps and underflows as little, and less of one of them. What a format
  // has more of range, another has of fraction: these two do not rank them.
  bool on_front = false;
};

struct fp8_sweep_answer {
  std::vector<swept_fp8> recipes;  // ranked: the front first, then by steps that saturate, then by underflow
  std::uint64_t steps = 0;
  std::uint64_t tensors = 0;
  bool is_of_amaxes = false;
};

// The questions of a grid, each of one recipe or policy. Throws std::invalid_argument.
[[nodiscard]] std::vector<fp8_question> questions_of(const fp8_grid& grid, const run_text& run);

// Throws input_error, std::invalid_argument.
[[nodiscard]] fp8_sweep_answer fp8_sweep_over(const fp8_grid& grid, const run_text& run, listener& to);

}  // namespace ulp

#endif
