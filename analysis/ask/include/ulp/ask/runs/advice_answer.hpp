// What `ulp advise` asks of a run, and what advice is given on: the steps of the run, gathered once. Where the run died, once more
// up to there, so that nothing but the first question is answered by what came after; and where some batches were far larger than all
// others, once more without them.
#ifndef ULP_ASK_RUNS_ADVICE_ANSWER_HPP
#define ULP_ASK_RUNS_ADVICE_ANSWER_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <ulp/ask/progress/listener.hpp>
#include <ulp/ask/questions/rounding_text.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/ask/reading/reading.hpp>
#include <ulp/ask/runs/block_trial.hpp>
#include <ulp/ask/runs/kept_weights.hpp>
#include <ulp/formats/treatment.hpp>
#include <ulp/model/causes/diagnosis.hpp>
#include <ulp/model/cells/step.hpp>
#include <ulp/model/replay/fp8_replay.hpp>
#include <ulp/model/replay/scenario.hpp>
#include <ulp/model/replay/survey.hpp>
#include <ulp/model/sweep/sweep.hpp>

namespace ulp {

struct advice_question {
  run_text run;  // groups are looked at beside single tensors
  std::string
      format;  // or a format of blocks; empty: float16, and float8_e4m3fn where the configuration trains in 8-bit floats
  std::string check;
  std::string epsilon = "1e-5";
  config_file config;  // a framework's file, whose words say what to change
  rounding_text rounding;
  std::string framework;  // whose words these are where neither a file is named nor a framework's log is the input
  first_look look = first_look::yes;
};

// What training in a format multiplies by.
enum class scaling_kind : std::uint8_t {
  run,     // a loss scale
  none,    // nothing: its exponents reach as far as those of float32
  tensor,  // a scale for each tensor: formats of 8 bits
  block    // scales of blocks: formats of fewer
};
[[nodiscard]] scaling_kind scaling_in(const format& f) noexcept;

struct advice_options {
  std::string format_name = "float16";        // the format that is scaled
  treatment how;                              // to it
  rounding_text typed;                        // each format that is compared may round in another way
  double epsilon = 1e-5;                      // the share of the magnitude of gradients that underflow may take
  std::size_t worst = 5;                      // tensors that are named
  std::vector<tensor_group> groups;           // looked at beside single tensors
  bool ends_early = false;                    // --steps leaves out what comes after
  std::uint64_t unread = 0;                   // see source::unread_records
  std::optional<double> ended_at_scale{};     // see source::ended_at_scale
  std::string row_unit = "step";              // see source::row_unit
  std::vector<std::string> lost_elsewhere{};  // these two as of the source
  std::vector<std::string> doubts{};
  std::uint64_t bad_batches = 0;  // judged steps that no share counts
  own_configuration configured;
  bool in_blocks = false;  // the format is that of the elements of blocks

  [[nodiscard]] scaling_kind scaling() const noexcept {
    return in_blocks ? scaling_kind::block : scaling_in(how.format);
  }
};

// What they are as texts: `groups` are the run's. Throws std::invalid_argument, also where the rounding is drawn.
[[nodiscard]] advice_options advice_options_of(const std::string& format, const rounding_text& rounding,
                                               const std::string& epsilon, const run_text& run);

// Whose words say what to change where no configuration is named: those of the framework whose log the run is, else `otherwise`.
[[nodiscard]] std::string whose_words(const source& from, const std::string& otherwise);

// A policy that scales each tensor, for one format, over the finite steps of a run.
struct fp8_trial {
  std::string_view policy;
  std::string_view format_name;
  std::int64_t history = 0;  // steps; 0: the step's own amax
  fp8_replayer by;
};

struct fp8_trials {
  std::vector<fp8_trial> all;    // empty where the input does not tell the largest magnitudes
  std::uint64_t not_finite = 0;  // steps that were left out
  [[nodiscard]] const fp8_trial* find(std::string_view format_name, std::int64_t history) const noexcept;
};

// What a run was before it was started again from an earlier step.
struct examined_attempt {
  std::int64_t from = 0;        // the step that it went on from
  std::int64_t last_step = 0;   // that it had reached
  std::uint64_t all_steps = 0;  // that are judged
  diagnosis found;
};

// What a format of blocks would have made of the judged steps.
struct block_advice {
  block_family of;
  bool lost_at_once = false;         // the run was lost in its first step
  std::optional<block_trial> tried;  // nullopt where there are no values to try, or the input cannot be read twice
};

struct examined_run {
  advice_options options;
  std::vector<tensor_info> tensors;
  survey whole;
  std::optional<survey> less;     // the steps before the run's death, where there are some
  std::optional<survey> typical;  // of the judged steps those that are no bad batches, where there are such
  diagnosis found;
  std::vector<scenario> trials;     // of PyTorch's GradScaler
  std::vector<sweep_result> tried;  // their results on what is judged; empty where nothing follows from them
  fp8_trials fp8;                   // where the format has a scale for each tensor
  std::optional<kept_weights> weights;
  std::optional<block_advice> blocks;      // where they were asked for, or the recording has tables of MX blocks
  std::vector<examined_attempt> attempts;  // in the order of the input, of which something is left

  [[nodiscard]] const survey& judged() const noexcept { return less ? *less : whole; }
  // What shares of magnitudes are taken of: a single batch that is far larger than all others would decide them alone.
  [[nodiscard]] const survey& shared() const noexcept { return typical ? *typical : judged(); }
  // The run died in its first step.
  [[nodiscard]] bool died_at_once() const;
  // Some counted tensor holds values, some step says how large they were.
  [[nodiscard]] bool has_values() const;
  [[nodiscard]] bool has_maxima() const;
};

// Fed with the steps of a run.
class run_examination {
 public:
  run_examination(advice_options options, selection counted, name_predicate checked);

  // See whose_words().
  void take_words_of(const std::string& framework) { options_.configured.framework = framework; }
  // What the source says of itself.
  void take_facts_of(const source& from);
  // As survey::expect.
  void expect(std::size_t steps) { whole_.expect(steps); }
  void add(const step& now, const std::vector<tensor_info>& tensors);
  // After the last step: what is to be read again; nullopt where that is not needed. A source that cannot be read again is
  // judged with all its steps.
  [[nodiscard]] std::optional<selection> again(const std::vector<tensor_info>& tensors);
  void add_again(const step& now, const std::vector<tensor_info>& tensors);

  [[nodiscard]] const survey& whole() const noexcept { return whole_; }
  [[nodiscard]] const advice_options& options() const noexcept { return options_; }

  // Nothing comes after it. `weights`: those of the same run.
  [[nodiscard]] examined_run result(const std::vector<tensor_info>& tensors, std::optional<kept_weights> weights = {});

 private:
  advice_options options_;
  selection counted_;
  name_predicate checked_;
  std::vector<scenario> scenarios_;
  survey whole_;
  std::optional<survey> less_;
  std::optional<survey> typical_;
  std::set<std::int64_t> bad_batches_;  // steps
  std::optional<sweep> trials_;
  fp8_trials fp8_;
  std::optional<diagnosis> found_;
  std::vector<examined_attempt> attempts_;
};

// What was asked of blocks; of MXFP8 where nothing was and the recording has its block tables. Of the steps before the run died.
// Throws input_error, std::invalid_argument.
[[nodiscard]] std::optional<block_advice> advice_on_blocks(const run_text& text, std::optional<block_family> asked,
                                                           const examined_run& run);

// Throws input_error, std::invalid_argument.
[[nodiscard]] examined_run advice_over(const advice_question& asked, listener& to);

// The step from which on advice leaves the run out; nullopt where it is judged whole. Throws input_error,
// std::invalid_argument.
[[nodiscard]] std::optional<std::int64_t> left_out_from(const advice_question& asked, listener& to);

}  // namespace ulp

#endif
