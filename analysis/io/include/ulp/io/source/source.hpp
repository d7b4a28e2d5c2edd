// One interface over everything that holds gradients: dumps, histograms, step logs, recordings.
#ifndef ULP_IO_SOURCE_SOURCE_HPP
#define ULP_IO_SOURCE_SOURCE_HPP

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ulp/formats/block_formats.hpp>
#include <ulp/io/bytes/limits.hpp>
#include <ulp/io/bytes/regex.hpp>
#include <ulp/model/cells/step.hpp>
#include <ulp/model/outcomes/quantized_outcomes.hpp>

namespace ulp {

// Where the rows of a recording come from; see docs/recording-format.md.
struct run_header {
  std::string run_id;
  std::uint32_t rank = 0;
  std::uint32_t world = 1;
  std::string reduction = "reduced";  // "local" gradients of one rank, or "reduced" over all of them
  std::string layout = "replica";     // a "replica" holds whole tensors, a "shard" parts of them
  std::uint32_t format = 0;           // of the recording that was read; 1 has no checksums
  bool incomplete = false;            // steps may be missing, or come: it is not closed
  bool being_written = false;         // its writer is at work
  bool closed = false;                // its writer closed it; of format 1, which has no sign of that, is not at work
};

// What is known of the values behind the counts of an input, and where.
enum class source_kind : std::uint8_t {
  recording,      // exact cell tables, or what was recorded
  dump,           // single values
  histogram_csv,  // counts by binade
  event_files,    // counts between TensorBoard's edges
  step_log,       // overflow or the largest gradient of each step
  training_log    // loss scale and skipped steps; also a table of them
};

struct earlier_attempt;

// Reads steps one after the other, in ascending order of their keys. Throws input_error; a step that was returned is
// whole. Not thread-safe.
class source {
 public:
  source() = default;
  source(const source&) = delete;
  source& operator=(const source&) = delete;
  virtual ~source() = default;

  [[nodiscard]] virtual source_kind kind() const = 0;

  // The kind as people read it: "safetensors dump", "recording".
  [[nodiscard]] virtual std::string description() const = 0;

  // Of a training log, whose it is: "DeepSpeed", "DeepSpeed and Megatron-LM"; else empty.
  [[nodiscard]] virtual std::string framework() const { return {}; }

  // Of a table of a run, which of its columns were taken: "step from '_step', loss from 'train/loss'; not used: ..."; else
  // empty.
  [[nodiscard]] virtual std::string columns() const { return {}; }

  // What the numbers of its steps count: "step"; "epoch" where each row or line is of one; "line" where lines have no number and may be of
  // several steps.
  [[nodiscard]] virtual std::string row_unit() const { return "step"; }

  // The tensors seen so far; indices never change, the list may grow with each step.
  [[nodiscard]] virtual const std::vector<tensor_info>& tensors() const = 0;

  // The next step; false at the end.
  [[nodiscard]] virtual bool next(step& into) = 0;

  // What a user should know about what was opened: what is not read, how much is not known, one line each.
  [[nodiscard]] virtual std::vector<std::string> notes() const { return {}; }

  // Of a training log: how many lines, or parts of lines, look like a record of a step and were not read. Where there are
  // any, nothing that is said of the whole run is certain. A note says so, too.
  [[nodiscard]] virtual std::uint64_t unread_records() const { return 0; }

  // Of a training log whose run ended as a step overflowed at the least loss scale that was allowed: that scale, NaN where it is
  // not told. A note says so, too.
  [[nodiscard]] virtual std::optional<double> ended_at_scale() const { return std::nullopt; }

  // Of a training log: what it tells of values that were not finite, but not in the steps that it gives, a sentence for each kind:
  // lines of another rank, words without a step. Notes say so, too.
  [[nodiscard]] virtual std::vector<std::string> lost_elsewhere() const { return {}; }

  // Why nothing that is said of the whole run is certain, though all of it was read: "the loss is a running mean". Notes say so, too.
  [[nodiscard]] virtual std::vector<std::string> doubts() const { return {}; }

  // Of a training log: what was replaced when the run was started again from an earlier step.
  [[nodiscard]] virtual std::vector<earlier_attempt> earlier_attempts() const;

  // Steps in total where known in advance, else 0.
  [[nodiscard]] virtual std::uint64_t step_count() const { return 0; }

  [[nodiscard]] virtual run_header header() const { return {}; }

  // Whether every step logs the loss scale 1, as far as that is known in advance.
  [[nodiscard]] virtual bool logs_unit_scale() const { return false; }
};

// A run up to where it was started again from an earlier step.
struct earlier_attempt {
  std::int64_t from = 0;          // the step that it went on from: those after it are none of the run any more
  std::unique_ptr<source> steps;  // these, and some before them
};

inline std::vector<earlier_attempt> source::earlier_attempts() const { return {}; }

// What the inner source says, for those that change some of it.
class forwarding_source : public source {
 public:
  explicit forwarding_source(std::unique_ptr<source> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] source_kind kind() const override { return inner_->kind(); }
  [[nodiscard]] std::string description() const override { return inner_->description(); }
  [[nodiscard]] std::string framework() const override { return inner_->framework(); }
  [[nodiscard]] std::string columns() const override { return inner_->columns(); }
  [[nodiscard]] std::string row_unit() const override { return inner_->row_unit(); }
  [[nodiscard]] const std::vector<tensor_info>& tensors() const override { return inner_->tensors(); }
  [[nodiscard]] bool next(step& into) override { return inner_->next(into); }
  [[nodiscard]] std::vector<std::string> notes() const override { return inner_->notes(); }
  [[nodiscard]] std::uint64_t unread_records() const override { return inner_->unread_records(); }
  [[nodiscard]] std::optional<double> ended_at_scale() const override { return inner_->ended_at_scale(); }
  [[nodiscard]] std::vector<std::string> lost_elsewhere() const override { return inner_->lost_elsewhere(); }
  [[nodiscard]] std::vector<std::string> doubts() const override { return inner_->doubts(); }
  [[nodiscard]] std::vector<earlier_attempt> earlier_attempts() const override { return inner_->earlier_attempts(); }
  [[nodiscard]] std::uint64_t step_count() const override { return inner_->step_count(); }
  [[nodiscard]] run_header header() const override { return inner_->header(); }
  [[nodiscard]] bool logs_unit_scale() const override { return inner_->logs_unit_scale(); }

 protected:
  [[nodiscard]] source& inner() const { return *inner_; }

 private:
  std::unique_ptr<source> inner_;
};

// Of the steps that a resumed run recorded again. A run that ended and went on from a checkpoint is what the last of each says.
enum class which_attempts : std::uint8_t { all, last, first };

// What the user says about inputs that do not say it themselves. The first expression that is found in a name counts.
struct source_options {
  // Searched in the file's name, then in the whole path, see regex::last_group.
  regex steps_from{R"((?:step|iter)[_=-]?(\d+))"};
  std::vector<std::pair<regex, tensor_kind>> kinds;
  std::vector<std::pair<regex, tensor_role>> roles;
  double factor = not_known;          // of every tensor; an input that knows another one is an error
  bool factor_is_loss_scale = false;  // likewise: each step's loss scale; a step without one is an error
  std::string scalars;                // a table: step, loss, grad_norm, lr, scale, found_inf, applied
  // Of a table of a run, which column has which meaning: see parse_columns. An empty name: none.
  std::vector<std::pair<std::string, std::string>> columns;
  bool with_sums = true;
  bool with_errors = false;   // dumps: the error ladder, see binade_errors
  std::vector<double> edges;  // dumps: magnitudes of the true gradient above which values are counted apart, ascending
  // What nobody says is taken from where the input tells it: roles from the values of the first steps, of files only; the
  // factor 1 from a loss scale that is logged as 1 in every step. A note says so.
  bool infer = false;
  std::vector<block_extent> blocks;           // dumps: the block tables to count; see tensor_row::blocks
  std::vector<block_quantization> quantized;  // dumps: by which values are quantized; see tensor_row::quantized
  bool with_blocks = false;                   // of a recording: its block tables are read
  bool merged = false;  // tensors need not be distinguished: a recording gives its totals, see open_totals
  which_attempts attempts = which_attempts::all;  // of a recording
  bool allow_empty = false;                       // dumps without any tensor that is read are empty steps, not an error
  read_limits limits;                             // of what it may cost
};

}  // namespace ulp

#endif
