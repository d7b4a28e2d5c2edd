// The recording: one SQLite file with the cell tables of a run. The layout is in docs/recording-format.md.
#ifndef ULP_IO_RECORDING_RECORDING_HPP
#define ULP_IO_RECORDING_RECORDING_HPP

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <ulp/io/bytes/error.hpp>
#include <ulp/io/source/source.hpp>
#include <ulp/model/cells/step.hpp>

namespace ulp {

struct joint_row;  // <ulp/model/updates/joint_row.hpp>

// Writes steps in place, each in a transaction of its own: after a kill the file is a valid recording that lacks at
// most the step in flight. Throws input_error. Not thread-safe.
class recording_writer {
 public:
  enum class mode : std::uint8_t { create, append };

  // create: the file must not exist, or be empty. append: it must be a recording with checksums, as this class writes them;
  // of `header` only `incomplete` is used. From here until the end of the object no other writer, of any process, gets the file.
  recording_writer(const std::string& path, mode how, const run_header& header = {});
  // Closes; what was written stays.
  ~recording_writer();
  recording_writer(const recording_writer&) = delete;
  recording_writer& operator=(const recording_writer&) = delete;

  // `tensors` is the source's list; those that occur in a row come into the file. A key that is already there, or a
  // tensor whose kind, role or shape differs from the file's, is an error, and nothing of the step is written.
  void write(const step& row, const std::vector<tensor_info>& tensors);
  // With the joint tables of some of its tensors, whose names are among `tensors` of the row; another is an error.
  void write(const step& row, const std::vector<tensor_info>& tensors, const std::vector<joint_row>& joints);

  // Leaves a single file without journal beside it: true; or, where somebody reads it for longer than some seconds, its
  // write-ahead log beside it, which belongs to it: false. Called by the destructor, which swallows its errors.
  bool close();

  // Closes and removes the file, if this writer made it, or empties it, if it was empty; a file that was appended to
  // keeps its whole steps.
  void discard() noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

// Tables merged over the tensors of equal kind, role and factor.
struct group_total {
  tensor_kind kind = tensor_kind::unknown;
  tensor_role role = tensor_role::unknown;
  std::uint64_t tensors = 0;  // tables merged
  double factor = not_known;
  cell_table table;
};

// A total of one step.
struct step_total : group_total {
  step_key key;
};

// Opens a recording for reading, also while it is being written. A database that is not a recording, has views or
// triggers, or is newer than this program, is refused before anything in it is used; blobs are checked before use.
[[nodiscard]] std::unique_ptr<source> open_recording(const std::string& path,
                                                     which_attempts attempts = which_attempts::all);
// Opens the steps from first to last alone, in the time that these take.
[[nodiscard]] std::unique_ptr<source> open_recording(const std::string& path, std::int64_t first, std::int64_t last,
                                                     which_attempts attempts = which_attempts::all);

// What a user should know of a recording of format 1, run_header::format.
[[nodiscard]] std::string without_checksums(const std::string& path);

// What is read of totals. Summaries are counts, extremes, factors and, where not estimated, sums: the tables have no cells,
// and their sums count as reported.
enum class totals_with : std::uint8_t { cells, summaries };

// Opens a recording with its totals in place of its tensors: one for each kind and role, named after these, several rows in a step
// where factors differ. The types of values are not known. Several times faster where tensors need not be told apart; with
// summaries only, a million steps take seconds.
[[nodiscard]] std::unique_ptr<source> open_totals(const std::string& path, totals_with with = totals_with::cells,
                                                  which_attempts attempts = which_attempts::all);

// Whether the totals say as much as the tensors' own tables: not where these know binades only, which a tensor's extremes
// narrow and those of a total do not, nor where they keep codes. Looks at the first step.
[[nodiscard]] bool totals_are_as_good(const std::string& path);

// All totals, in the order of their keys.
[[nodiscard]] std::vector<step_total> read_totals(const std::string& path);

// The widths of the blocks that recordings keep merged, in steps.
inline constexpr std::array<std::int64_t, 2> level_widths{64, 4096};

// The accumulated gradients (microbatch -1) of the steps from number * width on, below (number + 1) * width,
// merged. Rows that hold the data of other ranks are a block of their own.
struct level_block {
  std::int64_t number = 0;
  std::vector<std::uint32_t> ranks;
  std::uint64_t steps = 0;  // rows merged
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  std::vector<group_total> totals;  // by kind, role, factor; `tensors` counts each tensor in each step
  std::vector<tensor_row> tensors;  // by tensor, type, factor, a row for each; without codes
};

enum class level_parts : std::uint8_t { totals, totals_and_tensors };

// Both ends are included.
struct step_bounds {
  std::int64_t first = std::numeric_limits<std::int64_t>::min();
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
};

// Reads the blocks of one width, ascending by number, then ranks; every block that has steps, and complete. A block that
// the recording does not keep, or that is not of just the rows that count, is merged when it is read: from the blocks
// of the width below, else from the steps, as a recording without levels is. The counts and exact sums of a block do not
// depend on how it came about; sums that sources reported may in their last digit. What it reads is the recording at the
// time it was opened. Throws input_error; not thread-safe.
class level_reader {
 public:
  // `width` is one of level_widths, else std::invalid_argument. Totals alone are many times faster, and leave tensors
  // of blocks empty. Blocks that reach out of `within` are left out; the others take as long as they would alone.
  level_reader(const std::string& path, std::int64_t width, level_parts parts = level_parts::totals_and_tensors,
               which_attempts attempts = which_attempts::all, step_bounds within = {});
  ~level_reader();
  level_reader(const level_reader&) = delete;
  level_reader& operator=(const level_reader&) = delete;

  // What the rows of blocks index.
  [[nodiscard]] const std::vector<tensor_info>& tensors() const;
  // The next block; false at the end.
  [[nodiscard]] bool next(level_block& into);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

// SHA-256 in hexadecimal over the content: equal for equal content, whatever the order of tensors and the files it came
// through. Covers step keys, scalars, tensor names, kinds, roles, what they were rounded through, types, factors and tables;
// not run id, ranks, shapes. Byte for byte in docs/recording-format.md, "Digest". Reads the source to its end.
[[nodiscard]] std::string digest_of(source& from);

}  // namespace ulp

#endif
