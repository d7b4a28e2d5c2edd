// What `ulp replay` says of a run: its steps under another policy and format.
#ifndef ULP_ASK_RUNS_REPLAY_ANSWER_HPP
#define ULP_ASK_RUNS_REPLAY_ANSWER_HPP

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ulp/ask/progress/listener.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/ask/questions/scenario_text.hpp>
#include <ulp/ask/reading/lost_end.hpp>
#include <ulp/ask/reading/reading.hpp>
#include <ulp/ask/reading/run_notes.hpp>
#include <ulp/io/source/source.hpp>
#include <ulp/model/replay/replay.hpp>
#include <ulp/model/replay/trajectory_watch.hpp>

namespace ulp {

struct replay_question {
  run_text run;
  scenario_text what;
  std::optional<configuration> own;  // a framework's, that `what` was completed from
  first_look look = first_look::yes;
};

// With what the file says, if one is named, and nothing missing. Throws input_error, std::invalid_argument.
[[nodiscard]] replay_question completed(replay_question asked, const config_file& file);
[[nodiscard]] replay_question completed(replay_question asked, const std::optional<configuration>& own);

// The critical scale of a step (see trajectory_row); NaN where it is not known.
struct critical_step {
  std::int64_t step = 0;
  double scale = not_known;
};

// What of its rows a summary needs beside their sum; 16 bytes a row.
class replay_account {
 public:
  void add(const trajectory_row& row);

  [[nodiscard]] const std::vector<critical_step>& critical() const noexcept { return critical_; }
  // What clipping left: elements that were clamped, none where that is not known either; the largest norm after it, of the true
  // gradient, NaN where none is known; and whether that is exact.
  [[nodiscard]] const count_range& clamped() const noexcept { return clamped_; }
  [[nodiscard]] double largest_norm() const noexcept { return norm_; }
  [[nodiscard]] bool norm_is_exact() const noexcept { return norm_exact_; }

 private:
  std::vector<critical_step> critical_;
  count_range clamped_;
  double norm_ = not_known;
  bool norm_exact_ = true;
};

// The run so far: what is to be said of it beside its rows.
class replayed_run {
 public:
  explicit replayed_run(const scenario& s) : by_(s), watch_(s.recipe.machine()) {}

  // The row of the next step; where it has an error the policy ends the run. Throws std::invalid_argument where it needs what
  // the input lacks.
  trajectory_row add(const step& now, const std::vector<tensor_info>& tensors, const scenario& s,
                     std::vector<tensor_outcome>* of_tensors = nullptr);

  [[nodiscard]] const trajectory_summary& sum() const noexcept { return sum_; }
  [[nodiscard]] const replay_account& account() const noexcept { return account_; }
  [[nodiscard]] const tensor_choice& choice() const noexcept { return by_.choice(); }
  // As logged, NaN where not; one a row.
  [[nodiscard]] const std::vector<double>& learning_rates() const noexcept { return learning_rates_; }
  // Whether no step told of its gradients or of overflow: then nothing follows from the run.
  [[nodiscard]] bool told_nothing() const noexcept { return notes_.told_nothing(); }

  // After the last step. Throws std::invalid_argument where nothing was counted, or no overflow could be seen.
  void check(const source& from, const replay_question& asked) const;
  // What a user should know. `late` are notes of an input that is known only now that it was read.
  void tell(const source& from, const replay_question& asked, const scenario& s, listener& to,
            const std::vector<std::string>& late = {}) const;

 private:
  replayer by_;
  trajectory_watch watch_;
  trajectory_summary sum_;
  replay_account account_;
  run_notes notes_;
  lost_end end_;
  std::vector<double> learning_rates_;
};

// What hears of each step of a replay, where it is given.
struct replay_hearers {
  std::function<void(const trajectory_row&)> of_rows = {};
  // The counted tensors; an input without tensors is an error then.
  std::function<void(const std::vector<tensor_outcome>&, const std::vector<tensor_info>&)> of_tensors = {};
};

// The whole run. Throws input_error, std::invalid_argument.
[[nodiscard]] replayed_run replay_over(const replay_question& asked, const scenario& s, listener& to,
                                       const replay_hearers& hears = {});

}  // namespace ulp

#endif
