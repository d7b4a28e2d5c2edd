// The open runs and their replays.
#ifndef ULP_GUI_VIEWMODEL_DOCUMENT_HPP
#define ULP_GUI_VIEWMODEL_DOCUMENT_HPP

#include <QObject>
#include <QString>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ulp/ask/questions/scenario_text.hpp>
#include <ulp/io/source/source.hpp>
#include <ulp/model/replay/trajectory.hpp>
#include <ulp/report/pictures/clip_rates.hpp>
#include <ulp/report/pictures/run_picture.hpp>
#include <ulp/report/pictures/series_extremes.hpp>
#include <ulp/report/tables/replay_summary.hpp>

#include "background.hpp"
#include "drawn_columns.hpp"

namespace ulp::gui {

[[nodiscard]] std::uint64_t new_run_id() noexcept;

// What was read of a run; does not change any more.
struct loaded_run {
  std::uint64_t id = new_run_id();
  bool as_recorded = false;  // the factor of some of its values is not known
  run_text text;             // as it was read, and is read again
  source_kind kind = source_kind::recording;
  std::string description;
  std::vector<std::string> notes;  // as `ulp` tells them of the input
  std::vector<std::string> warnings;
  std::string no_updates;  // why lost updates cannot be shown; empty where they can
  run_header header;
  std::vector<tensor_info> tensors;
  run_picture picture;
};

// What a replay gave; likewise.
struct replayed_run {
  std::vector<replay_step> steps;
  trajectory_summary summary;
  std::vector<std::string> notes;  // as `ulp replay` tells them, and its warnings
  std::vector<std::string> warnings;
  std::vector<summary_line> lines;  // above its table
  bool per_layer = false;           // each layer has a scale of its own: those here are the least
  bool told_nothing = false;        // no step told of gradients or overflow
  std::string checked;              // whose overflow the scaler sees, in words
  // What drawing them fast takes.
  std::vector<std::int64_t> skipped;  // steps, ascending
  std::vector<std::int64_t> clipped;  // likewise
  series_extremes scales_used;        // used_scale of each step
  series_extremes scales;             // log2, as are those that follow: log2_scale,
  series_extremes critical;           // log2_critical
  series_extremes clip_measures;      // log2_clip_measure
  bool scale_is_open = false;         // other scales may have been used: then
  series_extremes least_scales;       // log2_least
  series_extremes greatest_scales;    // and log2_greatest
  double floor = 0;                   // of the policy: 0 where there is none
  std::optional<double> ceiling;
  std::uint64_t at_floor = 0;  // steps
  std::uint64_t at_ceiling = 0;
  std::optional<count_range>
      clamped;  // values beyond the bound, in all steps of which it is known; value clipping only
  // How often other bounds of clipping would trigger, and the steps, ascending, in which every bound does.
  clip_rates rates;
  std::vector<std::int64_t> unbounded;
};

[[nodiscard]] inline double used_scale(const replay_step& s) { return s.scale_used; }
// NaN, a gap, for what is not above zero and finite.
[[nodiscard]] double log2_or_gap(double x);
[[nodiscard]] inline double log2_scale(const replay_step& s) { return log2_or_gap(s.scale_used); }
[[nodiscard]] inline double log2_critical(const replay_step& s) { return log2_or_gap(s.critical_scale); }
[[nodiscard]] inline double log2_least(const replay_step& s) { return log2_or_gap(s.may_have_used.low); }
[[nodiscard]] inline double log2_greatest(const replay_step& s) { return log2_or_gap(s.may_have_used.high); }
[[nodiscard]] inline double log2_clip_measure(const replay_step& s) { return log2_or_gap(s.clip_measure); }

// What is replayed where nothing is said.
[[nodiscard]] scenario_text usual_scenario();

struct replay_entry {
  scenario_text spec = usual_scenario();
  std::size_t run = 0;                                   // which of the open runs
  std::shared_ptr<const replayed_run> result = nullptr;  // of the spec, or null while it is computed or where it failed
  QString failure = {};
};

// Whether a small recording is checked wholly, see refuse_damaged. That takes as long as reading it: one that is watched while it
// grows is not at every reload.
enum class first_look : bool { no, yes };

// Read and replay as the document does, in whatever thread calls. Throw input_error, std::invalid_argument.
[[nodiscard]] std::shared_ptr<const loaded_run> load_run(const run_text& text, const background::report& told,
                                                         first_look look = first_look::yes);
// Whether steps in the middle, and merged blocks, are read without those before them.
[[nodiscard]] bool can_seek(const loaded_run& run);
// The steps of a range that count, in order, until `see` does not want more.
void read_steps(const loaded_run& run, step_range range, const background::report& told,
                const std::function<bool(const step&, const std::vector<tensor_info>&)>& see);
// One step alone, where its column holds several: at once from a recording, else the inputs are read up to it. Empty where
// there is no such step.
[[nodiscard]] tensor_tables tables_of_step(const loaded_run& run, std::int64_t step, const background::report& told);
[[nodiscard]] std::shared_ptr<const replayed_run> replay_run(const loaded_run& run, const scenario_text& spec,
                                                             const background::report& told);

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
  // What tells a replay from the others, the file included where there are several runs.
  [[nodiscard]] QString title_of(const replay_entry& r) const;
  [[nodiscard]] bool busy() const noexcept { return loader_.running() || replayer_.running(); }

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
  background loader_;
  background replayer_;
  std::pair<scenario_text, std::uint64_t> replaying_;  // and the id of its run
};

}  // namespace ulp::gui

#endif
