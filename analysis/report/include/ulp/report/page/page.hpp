// The page about a run, made while its steps come in.
#ifndef ULP_REPORT_PAGE_PAGE_HPP
#define ULP_REPORT_PAGE_PAGE_HPP

#include <optional>
#include <string>
#include <vector>

#include <ulp/ask/questions/run_text.hpp>
#include <ulp/ask/questions/scenario_text.hpp>
#include <ulp/model/replay/replay.hpp>
#include <ulp/model/replay/survey.hpp>
#include <ulp/model/replay/trajectory_watch.hpp>
#include <ulp/report/findings/advice.hpp>
#include <ulp/report/page/html.hpp>
#include <ulp/report/tables/run_notes.hpp>

namespace ulp {

struct page_question {
  run_text run;                                 // groups are looked at beside single tensors
  std::vector<scenario_text> policies;          // at least one; alike except for scaler, parameters and start
  std::string epsilon = "1e-5";                 // the share of the magnitude of gradients that underflow may take
  std::optional<own_configuration> configured;  // nullopt: of the first policy
};

class page_maker {
 public:
  // Throws std::invalid_argument where the texts mean nothing, or round by chance.
  explicit page_maker(page_question asked);

  // The next step, as for replayer::advance. Throws std::invalid_argument where a policy needs what the input lacks.
  void add(const step& now, const std::vector<tensor_info>& tensors);

  // After the last step: what is to be read again, as of adviser.
  [[nodiscard]] std::optional<selection> again(const std::vector<tensor_info>& tensors) {
    return advice_.again(tensors);
  }
  void add_again(const step& now, const std::vector<tensor_info>& tensors) { advice_.add_again(now, tensors); }

  [[nodiscard]] const survey& seen() const noexcept { return advice_.whole(); }
  [[nodiscard]] const selection& counted() const noexcept { return replays_.front().what.counted; }

  // After the last step; nothing comes after it. The notes are those of policies, steps and groups.
  [[nodiscard]] report_page page(const std::vector<tensor_info>& tensors);

 private:
  // A policy, while the steps come in.
  struct replayed {
    scenario_text text;
    scenario what;
    replayer replay;
    trajectory_watch watch;
    report_replay page;
    bool over = false;
  };
  [[nodiscard]] static std::vector<replayed> replays_of(const page_question& asked);
  [[nodiscard]] advice_options options_of_advice() const;
  void add_commands(report_page& to) const;

  page_question asked_;
  std::vector<replayed> replays_;
  adviser advice_;
  run_notes notes_;
  report_page page_;
  std::vector<tensor_outcome> outcomes_;  // of a step
};

}  // namespace ulp

#endif
