// The open runs and their replays.
#ifndef ULP_GUI_VIEWMODEL_DOCUMENT_HPP
#define ULP_GUI_VIEWMODEL_DOCUMENT_HPP

#include <QObject>
#include <QString>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "background.hpp"
#include "drawn_columns.hpp"
#include "drawn_replay.hpp"
#include "loaded_run.hpp"

namespace ulp::gui {

struct replay_entry {
  scenario_text spec = usual_scenario();  // before its run is open it may be without a scaler: the run's own
  std::size_t run = 0;                    // which of the open runs
  std::shared_ptr<const drawn_replay> result = nullptr;  // of the spec, or null while it is computed or where it failed
  QString failure = {};
};

class document : public QObject {
  Q_OBJECT
 public:
  static constexpr std::size_t most_replays = 6;

  explicit document(QObject* parent = nullptr);

  using inputs_of_run = std::vector<std::string>;
  // What the user says of all that is opened from now on, whatever its inputs.
  void read_with(run_text how) { how_ = std::move(how); }
  [[nodiscard]] const run_text& how() const noexcept { return how_; }
  // Everything that is open is read again with it; where that fails all stays as it was.
  void read_again(run_text how);
  // In place of what is open, once it is read; the scenarios are kept, and replayed with it.
  void open(const inputs_of_run& inputs);
  // In place of what is open and of all replays; at least one run and one replay. `then` is called when they are open.
  void open(const std::vector<inputs_of_run>& runs, std::vector<replay_entry> replays, std::function<void()> then);
  // One more run, beside what is open: the scenario of the first replay is replayed with it, too.
  void compare(const inputs_of_run& inputs);
  void reload();
  void cancel();
  // What was computed elsewhere, for pictures without event loop.
  void set(std::vector<std::shared_ptr<const loaded_run>> runs, std::vector<replay_entry> replays);

  // In the order in which they were opened; one that no replay is of is closed.
  [[nodiscard]] const std::vector<std::shared_ptr<const loaded_run>>& runs() const noexcept { return runs_; }
  [[nodiscard]] std::shared_ptr<const loaded_run> run() const { return run_of(replays_.front()); }
  // Null while nothing is open.
  [[nodiscard]] std::shared_ptr<const loaded_run> run_of(const replay_entry& r) const;
  [[nodiscard]] const std::vector<replay_entry>& replays() const noexcept { return replays_; }
  // What somebody chose of a replay: without a scaler where it is the run's own.
  [[nodiscard]] scenario_text chosen_of(const replay_entry& r) const;
  // What tells a replay from the others, the file included where there are several runs.
  [[nodiscard]] QString title_of(const replay_entry& r) const;
  [[nodiscard]] bool busy() const noexcept { return loader_.running() || replay_work_.running(); }

  // Replays are computed one after the other. The first is the one that others are compared with; there always is one.
  void add_replay(const scenario_text& spec, std::size_t run = 0);
  void change_replay(std::size_t index, const scenario_text& spec);
  void remove_replay(std::size_t index);
  // In place of all replays; every open run has one. What is known of them already is kept.
  void restore_replays(std::vector<replay_entry> replays);
  // The one that others are compared with.
  void make_first(std::size_t index);

 signals:
  void run_changed();
  void replays_changed();
  void progressed(const QString& what, double share);
  void idle();
  void failed(const QString& reason);

 private:
  void load(std::vector<inputs_of_run> inputs, const run_text& how,
            std::function<void(std::vector<std::shared_ptr<const loaded_run>>)> then,
            first_look look = first_look::yes);
  void load_again(const run_text& how);
  void close_unused();
  void replay_next();

  run_text how_;
  std::vector<std::shared_ptr<const loaded_run>> runs_;
  std::vector<replay_entry> replays_{1};
  bool is_own_ = true;  // nobody has chosen a scaler: each run has its own
  background loader_;
  background replay_work_;
  std::pair<scenario_text, std::uint64_t> replaying_;  // and the id of its run
};

}  // namespace ulp::gui

#endif
