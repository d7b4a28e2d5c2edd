// What `ulp precision weights` says: how many updates are lost where weights are kept in a format without a master copy.
#ifndef ULP_ASK_PRECISION_WEIGHTS_ANSWER_HPP
#define ULP_ASK_PRECISION_WEIGHTS_ANSWER_HPP

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ulp/ask/progress/listener.hpp>
#include <ulp/ask/questions/rounding_text.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/io/config/config_import.hpp>
#include <ulp/io/inputs/update_pairs.hpp>
#include <ulp/io/source/source.hpp>
#include <ulp/model/replay/scenario.hpp>
#include <ulp/model/updates/lost_update.hpp>

namespace ulp {

// What rows are kept apart by; see weights_question::by.
inline const std::vector<std::string> weight_groups{"tensor", "step", "group"};

// Where nothing says what weights are kept in.
inline const std::vector<std::string> usual_weight_formats{"bfloat16", "float16", "cbfloat16"};

struct weights_question {
  run_text run;
  std::vector<std::string> formats;  // empty: what the configuration says, else the 16-bit formats
  rounding_text rounding;
  std::string learning_rate;              // of dumps with gradients; empty: as logged
  std::vector<std::string> by{"tensor"};  // some of weight_groups
  std::string curvature;                  // L, for the stall radius; empty: none
  config_file config;                     // a framework's own configuration; empty: none
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
  std::vector<typed_treatment> cases;
  std::vector<weights_item> items;
};

// Counts the inputs' pairs. Dumps are counted element by element, recordings by their joint tables; zero updates that
// are rounded_updates are open, with a note. Throws input_error,
// std::invalid_argument.
[[nodiscard]] counted_weights count_weights(const run_text& run, const std::vector<typed_treatment>& cases,
                                            double learning_rate, listener& to);

// Of all items: the share of updates of which it is decided whether they are lost; 1 without updates.
[[nodiscard]] double decided_share(const counted_weights& all);

// Why no update counts: parts of `sum`, each "all 4 weights are beyond float16".
[[nodiscard]] std::vector<std::string> not_counted(const lost_updates& sum, const std::string& format_name);

// Why a run of this kind tells nothing of its updates, in one sentence; empty where it does. Reads no values.
[[nodiscard]] std::string why_no_updates(const run_text& run, source_kind kind);

// What is to be told apart in the counts.
struct weights_layout {
  std::vector<std::string> by;  // some of weight_groups
  std::vector<tensor_group> named;
  std::optional<double> curvature;

  [[nodiscard]] bool is_by(const std::string& what) const;
};

struct weights_answer {
  weights_layout layout;
  counted_weights counted;
  std::optional<imported_config> said;
};

// `look` is called before anything is counted, with the layout and the cases: what it throws ends the work. Throws input_error,
// std::invalid_argument.
[[nodiscard]] weights_answer weights_over(const weights_question& asked, listener& to,
                                          const std::function<void(const weights_answer&)>& look = {});

}  // namespace ulp

#endif
