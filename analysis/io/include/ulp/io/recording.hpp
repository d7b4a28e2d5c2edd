// The recording: one SQLite file with the cell tables of a run. The layout is in docs/recording-format.md.
#ifndef ULP_IO_RECORDING_HPP
#define ULP_IO_RECORDING_HPP

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ulp/io/error.hpp>
#include <ulp/io/source.hpp>
#include <ulp/model/step.hpp>

namespace ulp {

// Writes steps in place, each in a transaction of its own: after a kill the file is a valid recording that lacks at
// most the step in flight. Throws input_error. Not thread-safe.
class recording_writer {
 public:
  enum class mode : std::uint8_t { create, append };

  // create: the file must not exist, or be empty. append: it must be a recording; `header` is not used.
  recording_writer(const std::string& path, mode how, const run_header& header = {});
  // Closes; what was written stays.
  ~recording_writer();
  recording_writer(const recording_writer&) = delete;
  recording_writer& operator=(const recording_writer&) = delete;

  // `tensors` is the source's list; those that occur in a row come into the file. A key that is already there, or a
  // tensor whose kind, role or shape differs from the file's, is an error, and nothing of the step is written.
  void write(const step& row, const std::vector<tensor_info>& tensors);

  // Leaves a single file without journal beside it. Called by the destructor, which swallows its errors.
  void close();

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

// Those of one step.
struct step_total : group_total {
  step_key key;
};

// Opens a recording for reading, also while it is being written. A database that is not a recording, has views or
// triggers, or is newer than this program, is refused before anything in it is used; blobs are checked before use.
[[nodiscard]] std::unique_ptr<source> open_recording(const std::string& path);

// What is read of totals. Summaries are counts, extremes, factors and, where not estimated, sums: the tables have no cells,
// and their sums count as reported.
enum class totals_with : std::uint8_t { cells, summaries };

// The same, with its totals in place of its tensors: one for each kind and role, named after these, several rows in a step
// where factors differ. The types of values are not known. Several times faster where tensors need not be told apart; with
// summaries only, a million steps take seconds.
[[nodiscard]] std::unique_ptr<source> open_totals(const std::string& path, totals_with with = totals_with::cells);

// Whether the totals say as much as the tensors' own tables: not where these know octaves only, which a tensor's extremes
// narrow and those of a total do not, nor where they keep codes. Looks at the first step.
[[nodiscard]] bool totals_are_as_good(const std::string& path);

// All totals, in the order of their keys.
[[nodiscard]] std::vector<step_total> read_totals(const std::string& path);

// 128 bits (XXH3) over the tables, in hexadecimal: equal for equal contents, whatever the order of tensors and the file
// they came through. Covers step keys, tensor names, kinds, roles, types, factors and tables; not run id, ranks, scalars.
// Reads the source to its end.
[[nodiscard]] std::string digest_of(source& from);

}  // namespace ulp

#endif
