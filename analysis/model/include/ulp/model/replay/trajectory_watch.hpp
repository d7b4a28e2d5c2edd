// What is wrong with a trajectory, in words, each with the next step to take.
#ifndef ULP_MODEL_REPLAY_TRAJECTORY_WATCH_HPP
#define ULP_MODEL_REPLAY_TRAJECTORY_WATCH_HPP

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <ulp/model/machines/scaler.hpp>
#include <ulp/model/replay/trajectory.hpp>

namespace ulp {

// So many overflows in a row, while the scale falls deep, are no search for the right scale: the largest start in use,
// 2^32, is 17 powers of two above the usual one.
inline constexpr std::uint64_t longest_search = 30;

// Fed row by row; constant space. The policy's floor and ceiling are found by running a copy of it.
class trajectory_watch {
 public:
  // The scaler as it is before the first row.
  explicit trajectory_watch(scaler start);

  void add(const trajectory_row& row);

  // Of the rows so far, the gravest first:
  // - the scale is 0 or infinite and never comes back, NaN, or so small that unscaling is infinite;
  // - NaN, or overflow at every scale: scaling cannot help;
  // - a start so high that the first steps are lost to a search for the scale;
  // - overflowed steps that were applied;
  // - overflow at scales below one;
  // - pinned at the policy's floor;
  // - a scale that does not grow back within a million steps;
  // - riding at its ceiling;
  // - a run too short for the scale to grow back after an overflow.
  [[nodiscard]] std::vector<std::string> warnings() const;

 private:
  struct streak {
    std::int64_t first_step = 0;
    std::int64_t last_step = 0;
    std::uint64_t rows = 0;
    double first_scale = 0;
    double last_scale = 0;
    double least_critical = std::numeric_limits<double>::infinity();  // above 0
    bool all_nan = true;
    bool all_certain = true;  // that they overflow
    bool has_fitting = true;  // every step has a scale at which it does not overflow, as far as is known
    void extend(const trajectory_row& row);
    [[nodiscard]] bool beyond_scaling() const;
  };
  struct tally {
    std::uint64_t rows = 0;
    std::int64_t first_step = 0;
    void add(const trajectory_row& row);
  };

  [[nodiscard]] bool can_grow_within_run() const;
  [[nodiscard]] std::optional<std::string> start_warning() const;
  [[nodiscard]] std::string factor_warning() const;

  scaler start_;
  double floor_;  // 0 where there is none
  std::uint64_t rows_ = 0;
  std::optional<std::int64_t> first_skip_;
  bool raised_ = false;
  double greatest_ = 0;
  tally at_greatest_;
  double last_scale_ = 1;
  tally zero_;
  tally infinite_;
  tally nan_;
  tally poisoned_;
  tally tiny_;
  double least_tiny_ = 0;
  tally below_one_;  // overflows that are not NaN as recorded
  bool as_recorded_ = false;
  std::uint64_t overflowing_ = 0;
  double first_scale_ = 0;
  double least_critical_ = std::numeric_limits<double>::infinity();  // of all rows, above 0
  tally at_floor_;
  tally overflows_at_floor_;  // likewise
  streak overflows_;          // the present one
  streak nans_;
  std::optional<streak> first_;     // with the first row
  std::optional<streak> hopeless_;  // the longest that counts
  std::optional<streak> longest_nans_;
};

}  // namespace ulp

#endif
