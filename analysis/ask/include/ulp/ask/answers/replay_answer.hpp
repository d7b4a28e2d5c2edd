// What `ulp replay` says of a run: its steps under another policy and format.
#ifndef ULP_ASK_ANSWERS_REPLAY_ANSWER_HPP
#define ULP_ASK_ANSWERS_REPLAY_ANSWER_HPP

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ulp/ask/answers/listener.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/ask/questions/scenario_text.hpp>
#include <ulp/io/source/source.hpp>
#include <ulp/model/replay/replay.hpp>
#include <ulp/model/replay/trajectory_watch.hpp>
#include <ulp/report/tables/replay_summary.hpp>
#include <ulp/report/tables/run_notes.hpp>

namespace ulp {

struct replay_question {
  run_text run;
  scenario_text what;
  std::optional<configuration> own;  // a framework's, that `what` was completed from
};

// With what the file says, if one is named, and nothing missing. Throws input_error, std::invalid_argument.
[[nodiscard]] replay_question completed(replay_question asked, const std::string& config_file);

// Steps that count more than once where all attempts do. Tries of one update are none (see counted_attempts).
class repeated_steps {
 public:
  void see(const step_key& key, const step_scalars& logged);
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

 private:
  std::optional<step_key> last_;
  double scale_ = not_known;
  bool was_skipped_ = false;
  bool is_repeated_ = false;
  std::uint64_t count_ = 0;
};

// The run so far.
class replayed_run {
 public:
  explicit replayed_run(const scenario& s) : by_(s), watch_(s.recipe.machine()) {}

  // False where the policy ends the run. Throws std::invalid_argument where it needs what the input lacks.
  bool add(const step& now, const std::vector<tensor_info>& tensors, const scenario& s,
           std::vector<tensor_outcome>* of_tensors = nullptr);

  [[nodiscard]] const std::vector<trajectory_row>& rows() const noexcept { return rows_; }
  [[nodiscard]] const trajectory_summary& sum() const noexcept { return sum_; }

  // After the last step. Throws std::invalid_argument where nothing was counted, or no overflow could be seen.
  void check(const source& from, const replay_question& asked) const;
  // What a user should know. `late` are notes of an input that is known only now that it was read.
  void tell(const source& from, const replay_question& asked, const scenario& s, bool all_attempts, listener& to,
            const std::vector<std::string>& late = {}) const;
  [[nodiscard]] std::vector<summary_line> lines(const replay_question& asked, const scenario& s) const;

 private:
  replayer by_;
  trajectory_watch watch_;
  trajectory_summary sum_;
  run_notes notes_;
  repeated_steps repeated_;
  std::vector<trajectory_row> rows_;
  std::vector<double> learning_rates_;
};

// The counted tensors of a step.
using hear_of_tensors = std::function<void(const std::vector<tensor_outcome>&, const std::vector<tensor_info>&)>;

// The whole run. `of_tensors` is called with each step where it is given; an input without tensors is an error then. Throws input_error, std::invalid_argument.
[[nodiscard]] replayed_run replay_over(const replay_question& asked, const scenario& s, listener& to,
                                       const hear_of_tensors& of_tensors = {});

}  // namespace ulp

#endif
