// Records of the loss scale in the text of a training log: found by their words anywhere in a line, read without regard
// to blanks, so that a record that a terminal or a logger wrapped reads as one.
#ifndef ULP_IO_TRAINING_LOG_DIALECTS_RECORD_HPP
#define ULP_IO_TRAINING_LOG_DIALECTS_RECORD_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/model/cells/cell_table.hpp>

#include "line_places.hpp"

namespace ulp::io {

struct line_layout;
struct record_start;

// How a framework, or a script, tells of its steps, and what its numbers mean.
struct log_dialect {
  std::string_view name{};  // of the framework; empty for step numbers that scripts print themselves
  std::span<const record_start> starts{};
  std::span<const line_layout> layouts{};  // after the starts
  double window = 0;                 // applied steps in a row after which the scale grows, where nobody can set it
  bool counts_updates = false;       // its steps are those that were applied
  bool counts_in_epochs = false;     // steps begin again in each epoch, which is scale_record::part
  bool has_scalers = false;          // scale_record::part is the scaler
  bool skipped_in_all = false;       // scale_record::skipped are those since the run began, not since the record before
  bool scale_is_mean = false;        // the printed scale may be the mean of those since the line before
  bool means_are_of_all = false;     // a mean that is finite says that each step since the line before was
  bool norm_is_of_update = false;    // a step that is skipped has no norm
  bool replaces_loss = false;        // 0 may stand for a loss that is not finite
  bool may_count_from_zero = false;  // the first step may be 0, printed when it is done
  bool is_bar = false;               // scale_record::part is the length of a progress bar
  bool in_sections = false;          // metrics are those of the section before them
  bool section_is_last = false;      // or of the one behind them
  int step_digits = 0;               // of a step so many are printed at most; 0 for all
  bool is_by_epoch = false;          // a step is an epoch
  bool restarts = false;             // a progress bar's numbers may begin again without a word
  bool is_own = false;               // lines of a script, which belong to the framework that skips the steps
  bool scale_may_stay = false;       // the scale after an overflow may be that before it
  bool scale_is_open = false;        // the scale of a line may be that before its step or after it: see scale_place.hpp
  bool resets_scale = false;         // the script sets the scale itself, too: one that did not fall proves nothing

  [[nodiscard]] constexpr bool is_framework() const noexcept { return !name.empty() && !is_own; }
  // Nothing but the numbers of steps.
  [[nodiscard]] constexpr bool is_bare() const noexcept { return name.empty(); }
};
inline constexpr log_dialect no_dialect{};

struct scale_record {
  enum class kind : std::uint8_t {
    overflow,  // a step was skipped: the scale was `before` and is `after`
    fatal,     // one more, at the least scale that is allowed, ended the run
    grown,     // the scale went from `before` to `after`
    position,  // the next overflow is in `step`
    reached,   // the steps up to `step` are done; the scale is `after` where printed
    metrics,   // what was logged of the last step that was done, without its number
    section,   // the metrics that follow are of `step`
    fresh,     // what the configuration says: a run that starts at step 0 starts with the scale `after`
    restored,  // a checkpoint of `step` was loaded
    window,    // what the configuration says: the scale grows after `after` applied steps in a row
    bfloat16,  // the configuration says that the run is in bfloat16
  };
  kind what = kind::overflow;
  const log_dialect* from = &no_dialect;  // whoever finds it sets this
  std::uint32_t label = 0;                // of the rank that printed it; see scanner.hpp
  std::uint32_t part = 0;                 // which of several scalers, the length of a progress bar, or the epoch
  std::uint64_t line = 0;                 // where it begins
  std::int64_t second = -1;               // of the day, where its line begins with a time stamp
  std::uint32_t lines = 1;                // that it stands for: those of steps that follow one another are kept as one
  double before = not_known;
  double after = not_known;
  std::int64_t step = -1;
  std::int64_t skipped = -1;   // since the record before, or in all: log_dialect::skipped_in_all
  std::int64_t nans = 0;       // of the skipped ones, those whose loss was not finite
  std::int64_t steps = -1;     // that it tells of, where it says so itself
  std::int64_t step_unit = 1;  // to which the step is rounded: 100 of "1.2k"
  double loss = not_known;
  double learning_rate = not_known;
  double grad_norm = not_known;
  double overflow = not_known;   // what a script says: 1 where its step overflowed, 0 where it did not;
  double skips = not_known;      // and how many were skipped, since the line before or in all: see choice.cpp
  bool skips_are_vague = false;  // a number by a name that may be that of tokens or samples
  // The loss is a mean of the last so many steps, of which earlier lines told: since_the_start, of all; 0 where it is none.
  static constexpr std::int64_t since_the_start = std::int64_t{1} << 53;
  std::int64_t mean_of = 0;
  bool loss_is_nan = false;  // NaN was printed
  bool grad_norm_is_nan = false;
  bool norm_is_negative = false;
  bool norm_is_repeated = false;  // it is that of the line before, as where a step that is skipped has none of its own
  bool loss_is_of_several = false;  // steps, or may be: the norm may be of another of them
  bool is_mean = false;             // loss and norm are means of the steps since the line before, or medians
  bool is_hidden_by_mean = false;   // its loss is left out, since the one before made that mean NaN
  bool mean_is_nonfinite = false;   // a mean that stands beside them is not finite: nor was the norm of an earlier step
  bool is_overflow = false;         // its step overflowed, whatever loss and norm are
  bool step_is_rounded = false;     // it is not known to the last digit
  bool step_is_of_line = false;     // it has none: lines are counted
  bool scale_is_vague = false;      // its name says "scale" alone, which may be that of anything
  bool scale_is_rounded = false;    // so much that it says no more than by how much it fell
  bool stands_for_nan = false;      // a loss of 0 that is taken for one that is not finite
  bool may_stand_for_nan = false;   // one beside gradients as large as before
  bool is_applied = false;          // its step was applied, since it was printed or its norm is finite, or all the same
  bool order_is_open = false;       // which of the steps about it overflowed is not known
  bool is_validation = false;       // the loss is that of a validation after `step`
  bool ends_run = false;            // an overflow with which the run ended
  bool lacks_loss = false;          // a loss that is not above 0 is left out, as NaN is
  double epoch = not_known;
  std::int64_t of_epoch = -1;  // where the line counts in epochs: the epoch as printed,
  std::int64_t in_epoch = -1;  // and the number of the step in it
  std::int64_t per_epoch = -1;

  // Sets a number, which may be NaN.
  void put(double scale_record::*field, double value) noexcept;
  // A loss or a norm that is not finite was logged.
  [[nodiscard]] bool has_nonfinite_value() const noexcept;
  // The loss of a step is not finite, and its own norm is: what its gradients were is open.
  [[nodiscard]] bool contradicts_itself() const noexcept;
  // What was logged says that gradients were not finite.
  [[nodiscard]] bool is_nonfinite() const noexcept;
  // A loss or a norm, NaN too.
  [[nodiscard]] bool has_values() const noexcept;
  // By their time stamps, not printed at the same time, as by several ranks.
  [[nodiscard]] bool is_later_than(const scale_record& other) const noexcept;
};

// Lines of one rank without blanks, one after the other. A blank stays between two digits.
class record_text {
 public:
  struct number {
    double value = not_known;
    std::string_view digits;
    std::size_t end = 0;
    bool open = false;  // it ends where the text does: the next line may go on with it
  };

  // `blanks` are the offsets in the line in front of which there were some.
  void append(std::string_view line, std::uint64_t line_number, std::span<const std::size_t> blanks = {});
  // Forgets what stands before the offset, which becomes 0.
  void drop(std::size_t offset);

  [[nodiscard]] std::string_view view() const noexcept { return text_; }
  [[nodiscard]] std::size_t size() const noexcept { return text_.size(); }
  [[nodiscard]] std::uint64_t line_at(std::size_t offset) const noexcept;
  [[nodiscard]] std::size_t line_begin(std::size_t offset) const noexcept;
  [[nodiscard]] std::size_t line_end(std::size_t offset) const noexcept;
  [[nodiscard]] std::size_t lines_from(std::size_t offset) const noexcept;

  // Whether a blank, or a line's beginning, was in front of it.
  [[nodiscard]] bool blank_before(std::size_t offset) const noexcept;
  // Where the last record ended, in its line or before it.
  [[nodiscard]] std::size_t taken() const noexcept { return taken_; }
  void take(std::size_t end) noexcept { taken_ = end; }

  // The number at an offset, NaN and infinity too; nullopt where there is none. A number is read past the end of its line
  // where the next line continues it with one of `enders`, or holds nothing but the rest of its characters.
  [[nodiscard]] std::optional<number> number_at(std::size_t offset, std::string_view enders) const;

  // The first place at or behind `from`, in its line, of what a key stands for; npos where there is none. See line_places.
  template <typename Next>
  [[nodiscard]] std::size_t first_place(const place_key& key, std::size_t from, const Next& next) const {
    return places_.first(key, line_begin(from), line_end(from), from, next);
  }

 private:
  struct line_start {
    std::size_t offset;
    std::uint64_t number;
  };
  [[nodiscard]] std::vector<line_start>::const_iterator line_behind(std::size_t offset) const noexcept;

  std::string text_;
  std::vector<line_start> lines_;    // ascending
  std::vector<std::size_t> blanks_;  // ascending
  std::size_t taken_ = 0;
  mutable line_places places_;  // of the text as it is
};

// Without blanks.
inline constexpr std::size_t longest_record = 4096;

// What was found at a start.
struct record_match {
  enum class state : std::uint8_t { none, complete, unfinished };
  state found = state::none;
  std::size_t end = 0;  // the first offset after it
  scale_record record{};
  std::size_t begin = std::string_view::npos;  // where it begins, if that is not where its words are
};

// How a record begins, and what reads it from there; `last` says that the text does not go on.
struct record_start {
  std::string_view words;  // without blanks
  record_match (*read)(const record_text& text, std::size_t at, bool last);
  bool breaks_line = false;  // nothing in front of them is of the record, even where a line break was lost
};

// What readers of records share.
[[nodiscard]] inline record_match no_record() noexcept { return {}; }
[[nodiscard]] inline record_match unfinished_record() noexcept { return {record_match::state::unfinished, 0, {}}; }
[[nodiscard]] record_match whole_record(const scale_record& record, std::size_t end);
// A record that ends with a number after its words, between which `separators` may stand.
[[nodiscard]] record_match read_trailing(const record_text& text, std::size_t at, bool last,
                                         std::string_view separators, const scale_record& record,
                                         double scale_record::*into);
// A whole number that is a step; -1 where it is none.
[[nodiscard]] std::int64_t step_of(const record_text::number& n) noexcept;
[[nodiscard]] bool is_power_of_two(double x) noexcept;
// Whether a power of two may be printed so: 0.062 and 0.1 for 0.0625 and 0.125, not 0.993.
[[nodiscard]] bool prints_power_of_two(double printed);
// What a loss scaler begins with at least: a number that stays below may be a factor of anything else.
inline constexpr double least_first_scale = 64;
// Whether it rises so often as no loss scale does, which waits for some hundred steps: in more than one of eight numbers that follow
// one another, as the size of images that is drawn anew; or several times to four times as much and more. NaN is no number here.
[[nodiscard]] bool rises_too_often(std::span<const double> scales) noexcept;
// The power of two that a scale with 3 to 6 digits stands for, as "1.04858e+06", "2.10e+06" and "0.0004883" do; else the scale as it is, NaN
// where it is none.
[[nodiscard]] double exact_scale(double printed) noexcept;

}  // namespace ulp::io

#endif
