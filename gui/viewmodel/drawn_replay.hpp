// A replay as it is drawn.
#ifndef ULP_GUI_VIEWMODEL_DRAWN_REPLAY_HPP
#define ULP_GUI_VIEWMODEL_DRAWN_REPLAY_HPP

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ulp/ask/columns/run_picture.hpp>
#include <ulp/ask/progress/listener.hpp>
#include <ulp/ask/questions/scenario_text.hpp>
#include <ulp/model/replay/trajectory.hpp>
#include <ulp/report/pictures/clip_rates.hpp>
#include <ulp/report/pictures/series_extremes.hpp>
#include <ulp/report/tables/replay_summary.hpp>

#include "loaded_run.hpp"

namespace ulp::gui {

// What a replay gave; does not change any more.
struct drawn_replay {
  std::vector<replay_step> steps;
  trajectory_summary summary;
  std::vector<std::string> notes;  // as `ulp replay` tells them, but those of the run; and its warnings
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

// The scale that is tried out, as its log2, or the replay's at the step, the one before where it has none of that number; 1 where
// there is neither.
[[nodiscard]] double scale_at(std::int64_t step, std::optional<int> tried, const drawn_replay* replay);

// What is replayed where nothing is said.
[[nodiscard]] scenario_text usual_scenario();

// Where no scaler was chosen, the run's own: the policy and settings that give the loss scales that it logged; where no policy
// does, the usual one from the first of these scales on. Without a scale in every step, the usual one.
[[nodiscard]] scenario_text with_own_scaler(scenario_text chosen, const loaded_run& run);

// What `ulp replay` says of it, in whatever thread calls. Throw input_error, std::invalid_argument.
[[nodiscard]] std::shared_ptr<const drawn_replay> replay_run(const loaded_run& run, const scenario_text& spec,
                                                             listener& to);
// All its rows, as `ulp replay` writes them.
[[nodiscard]] table replayed_table(const loaded_run& run, const scenario_text& spec, listener& to);

}  // namespace ulp::gui

#endif
