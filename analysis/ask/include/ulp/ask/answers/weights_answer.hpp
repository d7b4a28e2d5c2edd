// What `ulp precision weights` says: how many updates are lost where weights are kept in a format without a master copy.
#ifndef ULP_ASK_ANSWERS_WEIGHTS_ANSWER_HPP
#define ULP_ASK_ANSWERS_WEIGHTS_ANSWER_HPP

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <ulp/ask/answers/listener.hpp>
#include <ulp/ask/questions/rounding_text.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/io/inputs/update_pairs.hpp>
#include <ulp/model/updates/lost_update.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

// What rows are kept apart by; see weights_question::by.
inline const std::vector<std::string> weight_groups{"tensor", "step", "group"};

// Where nothing says what weights are kept in.
inline const std::vector<std::string> usual_weight_formats{"bfloat16", "float16", "cbfloat16"};

struct weights_question {
  run_text run;
  std::vector<std::string> formats;  // empty: what the configuration says, else the 16-bit formats
  rounding_text rounding;
  std::vector<std::string> by{"tensor"};  // some of weight_groups
  std::string learning_rate;              // of dumps with gradients; empty: as logged
  std::string curvature;                  // L, for the stall radius; empty: none
  std::string config;                     // a framework's own configuration; empty: none
  std::string sort;                       // a key of the table, largest first; empty: by group
  std::uint64_t top = 0;                  // rows; 0: all
};

struct weights_case {
  std::string format_name;
  ulp::format format;
  ulp::rounding rounding;
  std::string rounding_name;

  [[nodiscard]] bool is_drawn() const { return rounding.direction == direction::stochastic; }
};

// The answer to one case, of one tensor in one step or of several.
struct weights_counts {
  lost_updates lost;
  // Weights that the format does not hold, which a resume from weights in it changes; nullopt where only joint tables are known.
  std::optional<std::uint64_t> changed = 0;
  bool beyond = false;  // some weight is certainly no number of the format

  weights_counts& operator+=(const weights_counts& other);
};

// One tensor in one step.
struct weights_item {
  std::string tensor;
  std::string weight;  // the same as the input calls it: with its prefix
  std::int64_t step = 0;
  dtype weight_type = dtype::unknown;
  update_origin origin = update_origin::recorded;
  double learning_rate = not_known;
  // The updates are differences of weights that are in 16 bits, or may be: none is lost in these. Not where the learning rate
  // was 0.
  bool rounded_updates = false;
  std::vector<weights_counts> of;  // each case
};

// All of a run, in the order of steps: `of` each in the order of `cases`.
struct counted_weights {
  std::vector<weights_case> cases;
  std::vector<weights_item> items;
};

// Counts the inputs' pairs. Dumps are counted element by element, recordings by their joint tables; zero updates that
// are rounded_updates are open, with a note. Throws input_error,
// std::invalid_argument.
[[nodiscard]] counted_weights count_weights(const run_text& run, const std::vector<weights_case>& cases,
                                            double learning_rate, listener& to);

struct weights_answer {
  counted_weights counted;
  std::vector<std::string> conclusions;  // what the configuration means for these weights; without one none
  std::vector<std::string> losses;       // of each case how many updates are lost, and where most are
  table rows;
  table told;  // the same for people, with the sum of all
};

// Throws input_error, std::invalid_argument.
[[nodiscard]] weights_answer weights_over(const weights_question& asked, listener& to);

}  // namespace ulp

#endif
