// Blocks of steps merged, and where a recording keeps them: docs/recording-format.md, "Levels".
#ifndef ULP_IO_RECORDING_LEVELS_HPP
#define ULP_IO_RECORDING_LEVELS_HPP

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <ulp/io/recording/recording.hpp>

#include "attempts.hpp"
#include "database/sqlite.hpp"
#include "encoding/tables.hpp"
#include "totals.hpp"

namespace ulp::io {

// floor(step / width)
[[nodiscard]] std::int64_t block_of(std::int64_t step, std::int64_t width);

// The rows of the step table that a block merges.
struct block_rows {
  std::string ranks;  // as the column has them
  std::int64_t steps = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t left_out = 0;  // of the block, since they do not count; no stored block is of a part of its rows
  friend bool operator==(const block_rows&, const block_rows&) = default;
};

class level_merger {
 public:
  // Of more than `most` tables nothing is kept.
  explicit level_merger(std::size_t most = std::numeric_limits<std::size_t>::max()) : most_(most) {}

  // `row` under another index.
  void add(const tensor_row& row, std::uint32_t tensor);
  void add(const group_total& total) {
    if (!gave_up_) totals_.add(total);
  }
  void add(const level_block& part);

  // Whether the tables are so many fewer than those merged that keeping them pays. Where factors change often, it does not.
  [[nodiscard]] bool pays() const { return !gave_up_ && !tensors_.empty() && merged_ >= 16 * tensors_.size(); }

  // The merged tables; nothing stays.
  void take(level_block& into);

 private:
  using key = std::tuple<std::uint32_t, dtype, bool, double>;
  std::size_t most_;
  bool gave_up_ = false;
  std::uint64_t merged_ = 0;
  std::map<key, tensor_row> tensors_;
  total_merger totals_;
};

// Blocks with fewer rows never pay.
inline constexpr std::int64_t least_rows = 16;

// The levels of an open recording. Throws input_error that names the block or the step.
class level_table {
 public:
  explicit level_table(const database& db, counted_attempts counted = {});

  // What the step table has of a block, by ranks.
  [[nodiscard]] std::vector<block_rows> rows_of(std::int64_t width, std::int64_t number);
  // Whether there are rows of a block that do not count.
  [[nodiscard]] bool leaves_out(std::int64_t width, std::int64_t number) const;
  // The rows that the stored block merges; none where it is not stored.
  [[nodiscard]] block_rows stored(std::int64_t width, std::int64_t number, const std::string& ranks);
  // The block as stored where that merges just these rows, else merged from the blocks below or the steps. `tensors`: how
  // many the recording has.
  [[nodiscard]] level_block read(std::int64_t width, std::int64_t number, const block_rows& rows, level_parts parts,
                                 std::size_t tensors);
  // Merges what lies below a block.
  void merge(std::int64_t width, const block_rows& rows, level_parts parts, std::size_t tensors, level_merger& into);

 private:
  [[nodiscard]] level_block load(std::int64_t width, std::int64_t number, const block_rows& rows, level_parts parts,
                                 std::size_t tensors);
  void merge_steps(std::int64_t first, std::int64_t last, const std::string& ranks, level_parts parts,
                   std::size_t tensors, level_merger& into);

  [[nodiscard]] std::vector<block_rows> counted_rows(std::int64_t first, std::int64_t last);

  const database* db_;
  counted_attempts counted_;
  statement rows_;
  std::unique_ptr<statement> single_rows_;  // where some do not count
  statement step_keys_;
  statement step_tables_;
  statement step_totals_;
  // Absent with the table.
  std::unique_ptr<statement> block_;
  std::unique_ptr<statement> block_totals_;
  table_reader tables_;
  std::vector<tensor_row> step_;
};

}  // namespace ulp::io

#endif
