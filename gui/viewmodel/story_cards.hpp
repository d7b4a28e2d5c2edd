// The findings of a story as cards: what each says, what is drawn on it, and where it leads.
#ifndef ULP_GUI_VIEWMODEL_STORY_CARDS_HPP
#define ULP_GUI_VIEWMODEL_STORY_CARDS_HPP

#include <QString>
#include <cstdint>
#include <optional>
#include <vector>

#include <ulp/report/pictures/series_extremes.hpp>

#include "story.hpp"

namespace ulp::gui {

// Along the whole run, in at most some hundred pieces of equal numbers of steps.
struct card_line {
  std::vector<extremes> pieces;  // log2
  std::vector<double> marks;     // places of single steps, 0 to 1
  QString name;                  // what it is of
};

struct story_card {
  QString question;
  QString conclusion;
  QString evidence;  // lines, with the limits
  finding_grade grade = finding_grade::fine;
  std::vector<finding_bar> bars;
  std::optional<card_line> line;
  // Where a click leads: a view, and what it looks at.
  QString view;  // empty: nowhere
  std::optional<std::int64_t> step;
  std::string tensor;
  std::optional<int> scale_log2;  // to be tried out
  std::string weights_format;     // in which the updates that weights lose are shown
};

// Worst first; where they are alike what is told of the replay, if that is known, then the order of the story.
[[nodiscard]] std::vector<story_card> cards_of(const told_story& story, const told_replay* of_replay,
                                               const loaded_run& run, const replay_entry& replay);
// The cards with those that tell of an FP8 recipe, which come first where they are alike.
[[nodiscard]] std::vector<story_card> with_recipe(std::vector<story_card> cards, const told_recipe& recipe,
                                                  const loaded_run& run, const replay_entry& replay);

// What is looked at in the card's view.
void look_at(const story_card& card, view_state& state);

}  // namespace ulp::gui

#endif
