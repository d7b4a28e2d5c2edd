// Keeps the levels of a recording that is being written.
#ifndef ULP_IO_RECORDING_LEVEL_WRITER_HPP
#define ULP_IO_RECORDING_LEVEL_WRITER_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "levels.hpp"
#include "transactions.hpp"

namespace ulp::io {

// Merges the block of the finest level that is being written in memory, as long as all of its rows pass by, and stores it
// when a step of another block comes. Every other block that changed - of the wide level, appended to, written out of
// order - is merged from the file, once steps are in order again or at the end. As readers merge what is not stored or
// no longer fits, failing is not an error, and a kill does no harm.
class level_writer {
 public:
  level_writer(database& db, transactions& by);

  // A row that was committed, with what its tensors are called in the file, how many tensors are there, and its totals.
  void add(const step& row, const std::vector<std::uint32_t>& ids, std::size_t tensors,
           const std::vector<group_total>& totals) noexcept;
  // Stores what is left. Nothing comes after.
  void finish() noexcept;

 private:
  struct merged_rows {
    block_rows rows;
    level_merger merger;
  };
  struct current_block {
    std::int64_t number = 0;
    bool whole = true;  // all of its rows in the file are merged here
    std::map<std::string, merged_rows> by_ranks;
  };

  [[nodiscard]] bool in_order() const { return entered_in_order_ >= 16; }
  void enter(std::int64_t number);
  bool leave();
  void refresh(std::int64_t width, std::int64_t number, bool left);
  void refresh_changed();
  void store(std::int64_t width, std::int64_t number, const block_rows& rows, level_merger& merger);
  [[nodiscard]] std::size_t most_tables() const { return 8 * tensors_; }

  transactions* by_;
  std::optional<level_table> levels_;
  std::unique_ptr<statement> step_before_;
  std::unique_ptr<statement> insert_block_;
  std::unique_ptr<statement> delete_totals_;
  std::unique_ptr<statement> insert_total_;
  std::size_t tensors_ = 0;
  std::optional<current_block> current_;
  int entered_in_order_ = 0;                                         // blocks, one after the other
  std::array<std::set<std::int64_t>, level_widths.size()> changed_;  // blocks left that memory does not hold
};

}  // namespace ulp::io

#endif
