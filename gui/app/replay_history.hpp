// Undo and redo of what the user does to the replays, wherever it was done.
#ifndef ULP_GUI_APP_REPLAY_HISTORY_HPP
#define ULP_GUI_APP_REPLAY_HISTORY_HPP

#include <QObject>
#include <QUndoStack>
#include <string>
#include <vector>

#include "session.hpp"
#include "viewmodel/view_state.hpp"

namespace ulp::gui {

// It listens to the document: another list of replays of the same runs is one step. What is typed into one field without a
// pause is one step, too. When other runs are opened it begins anew.
class replay_history final : public QObject {
  Q_OBJECT
 public:
  explicit replay_history(view_state& state, QObject* parent = nullptr);

  using replay_list = std::vector<session::replay>;
  [[nodiscard]] QUndoStack& steps() noexcept { return steps_; }
  // What undo and redo do: the replay that differs comes to the front.
  void restore(const replay_list& replays);

 private:
  void see();

  view_state& state_;
  QUndoStack steps_;
  std::vector<document::inputs_of_run> runs_;
  replay_list known_;
};

}  // namespace ulp::gui

#endif
