// What `ulp advise` says of the run in front, told in the background: the findings of the first page.
#ifndef ULP_GUI_VIEWMODEL_STORY_HPP
#define ULP_GUI_VIEWMODEL_STORY_HPP

#include <QObject>
#include <QString>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ulp/report/findings/advice.hpp>
#include <ulp/report/findings/fp8_told.hpp>

#include "background.hpp"
#include "view_state.hpp"

namespace ulp::gui {

// Does not change any more.
struct told_story {
  std::uint64_t run = 0;  // its id
  scenario_text spec;     // of the replay that it was told for
  advice given;
  std::vector<std::string> notes;  // beside it
};

// In whatever thread calls. Throws input_error, and std::invalid_argument where the scenario cannot be judged.
[[nodiscard]] std::shared_ptr<const told_story> tell_story(const loaded_run& run, const scenario_text& spec,
                                                           listener& to);

// The state's lost_from(), where no story has told it, without waiting for the event loop: in the time of one reading.
void find_loss_now(view_state& state);

// What is told of a replay beside its result.
struct told_replay {
  std::uint64_t run = 0;
  scenario_text spec;
  std::string regret;      // how far it is from the best trajectory in hindsight; "-" where there is no such distance
  finding underflow = {};  // by tensor; without topic where the run has no tensors
};
[[nodiscard]] told_replay tell_replay(const loaded_run& run, const scenario_text& spec, listener& to);

// What is told of a run under an FP8 recipe.
struct told_recipe {
  std::uint64_t run = 0;
  fp8_spec spec;
  fp8_told told;
  QString why_not;                 // for the user; empty where it is told
  std::vector<std::string> notes;  // as `ulp replay` tells them, but those of the run; and its warnings
  std::vector<std::string> warnings;
};
[[nodiscard]] told_recipe tell_recipe(const loaded_run& run, const fp8_spec& spec, listener& to);

class story : public QObject {
  Q_OBJECT
 public:
  explicit story(view_state& state, QObject* parent = nullptr);

  // Null while it is being told, or cannot be.
  [[nodiscard]] const std::shared_ptr<const told_story>& told() const noexcept { return told_; }
  // Why it is not told, for the user; empty while it is being told, and once it is.
  [[nodiscard]] const QString& why_not() const noexcept { return why_not_; }
  // Null while it is not known.
  [[nodiscard]] const told_replay* told_of(const replay_entry& r) const;
  // Whether it is told under the state's FP8 recipe: one was chosen, or the input tells of nothing else.
  [[nodiscard]] bool is_of_recipe() const;
  // Null while it is not known, or not asked for.
  [[nodiscard]] const told_recipe* under_recipe() const;
  // Told without waiting for the event loop.
  void tell_now();

 signals:
  void changed();

 private:
  void look();
  void look_at_replays();
  void look_at_recipe();
  void keep(told_replay one);
  void take(std::shared_ptr<const told_story> told, const QString& why_not);
  [[nodiscard]] bool is_told() const;

  view_state& state_;
  std::shared_ptr<const told_story> told_;
  QString why_not_;
  std::uint64_t asked_run_ = 0;  // of what is being told, or was
  run_text asked_text_;
  scenario_text asked_;
  std::list<told_replay> replays_;
  std::optional<told_recipe> recipe_;
  background teller_;
  background replay_teller_;
  background recipe_teller_;
};

}  // namespace ulp::gui

#endif
