// What the page about a run asks.
#ifndef ULP_ASK_RUNS_PAGE_ANSWER_HPP
#define ULP_ASK_RUNS_PAGE_ANSWER_HPP

#include <optional>
#include <string>
#include <vector>

#include <ulp/ask/columns/run_columns.hpp>
#include <ulp/ask/progress/listener.hpp>
#include <ulp/ask/questions/run_text.hpp>
#include <ulp/ask/questions/scenario_text.hpp>
#include <ulp/ask/reading/run_notes.hpp>
#include <ulp/ask/runs/advice_answer.hpp>
#include <ulp/model/replay/replay.hpp>
#include <ulp/model/replay/trajectory_watch.hpp>

namespace ulp {

struct page_question {
  run_text run;                                 // groups are looked at beside single tensors
  std::vector<scenario_text> policies;          // at least one; alike except for scaler, parameters and start
  std::string epsilon = "1e-5";                 // the share of the magnitude of gradients that underflow may take
  std::optional<own_configuration> configured;  // nullopt: of the first policy
};

// The scenario under each of the policies, that of the configuration first; pytorch_gradscaler where there is none, float16
// where no format is said. Throws std::invalid_argument.
[[nodiscard]] page_question page_about(const run_text& run, const scenario_text& what,
                                       const std::vector<std::string>& scalers, const std::optional<configuration>& own,
                                       const std::string& epsilon);

// A policy of the page.
struct page_replay {
  scenario_text text;
  scenario what;
  trajectory_summary sum;
  columns_of<scale_extremes> scales;
  std::vector<std::string> warnings;
};

struct page_answer {
  page_question asked;
  examined_run examined;
  std::vector<page_replay> replays;
  columns_of<logged_values> logged;
  columns_of<binade_counts> binades;  // of the counted tensors
  columns_of<tensor_losses> losses;   // under the first replay
  std::vector<tensor_set> sets;       // the groups, or kinds where there are none
  std::vector<std::string> notes;     // those of policies, steps and groups
};

// Gathers it while the steps come in.
class page_reading {
 public:
  // Throws std::invalid_argument where the texts mean nothing, or round by chance.
  explicit page_reading(page_question asked);

  // Before the first step: whose words the advice takes, as whose_words() has it.
  void take_words_of(const source& from) {
    examination_.take_facts_of(from);
    if (!asked_.configured) examination_.take_words_of(whose_words(from, configured().framework));
  }

  // The next step, as for replayer::advance. Throws std::invalid_argument where a policy needs what the input lacks.
  void add(const step& now, const std::vector<tensor_info>& tensors);

  // After the last step: what is to be read again, as of run_examination.
  [[nodiscard]] std::optional<selection> again(const std::vector<tensor_info>& tensors) {
    return examination_.again(tensors);
  }
  void add_again(const step& now, const std::vector<tensor_info>& tensors) { examination_.add_again(now, tensors); }

  [[nodiscard]] const survey& seen() const noexcept { return examination_.whole(); }
  [[nodiscard]] const selection& counted() const noexcept { return replays_.front().page.what.counted; }
  [[nodiscard]] const own_configuration& configured() const noexcept { return examination_.options().configured; }

  // After the last step; nothing comes after it.
  [[nodiscard]] page_answer result(const std::vector<tensor_info>& tensors, std::optional<kept_weights> weights = {});

 private:
  // A policy, while the steps come in.
  struct replayed {
    page_replay page;
    replayer replay;
    trajectory_watch watch;
    bool over = false;
  };
  [[nodiscard]] static std::vector<replayed> replays_of(const page_question& asked);
  [[nodiscard]] advice_options options_of_advice() const;
  void add_logged(const step& now);
  void advance(replayed& one, const step& now, const std::vector<tensor_info>& tensors, tensor_losses* losses);
  [[nodiscard]] std::vector<std::string> lines(const examined_run& run, const std::vector<tensor_set>& sets) const;

  page_question asked_;
  std::vector<replayed> replays_;
  run_examination examination_;
  run_notes notes_;
  columns_of<logged_values> logged_;
  columns_of<binade_counts> binades_;
  columns_of<tensor_losses> losses_;
  std::vector<tensor_outcome> outcomes_;  // of a step
};

// Throws input_error, std::invalid_argument.
[[nodiscard]] page_answer page_over(const page_question& asked, listener& to);

}  // namespace ulp

#endif
