#include "level_writer.hpp"

#include <algorithm>
#include <exception>

#include "checksum.hpp"
#include "encoding/payload.hpp"
#include "schema.hpp"

namespace ulp::io {
namespace {

constexpr std::int64_t finest = level_widths[0];
constexpr std::int64_t widest = level_widths[1];

std::int64_t wide_of(std::int64_t number) { return block_of(number, widest / finest); }

}  // namespace

level_writer::level_writer(database& db, transactions& by) : by_(&by) {
  levels_.emplace(db);
  step_before_ = std::make_unique<statement>(
      db, "SELECT step FROM step WHERE step<? AND microbatch=-1 ORDER BY step DESC LIMIT 1");
  insert_block_ = std::make_unique<statement>(db, "INSERT OR REPLACE INTO level VALUES(?,?,?,?,?,?,?,?,?)");
  delete_totals_ = std::make_unique<statement>(db, "DELETE FROM level_total WHERE width=? AND block=? AND ranks=?");
  insert_total_ = std::make_unique<statement>(db, "INSERT INTO level_total VALUES(?,?,?,?,?,?,?,?,?)");
}

void level_writer::add(const step& row, const std::vector<std::uint32_t>& ids, std::size_t tensors,
                       const std::vector<group_total>& totals) noexcept {
  if (row.key.microbatch != -1) return;
  try {
    tensors_ = tensors;
    const std::int64_t number = block_of(row.key.step, finest);
    if (!current_ || current_->number != number) {
      const bool stored = current_ && leave();
      enter(number);
      if (stored || in_order()) refresh_changed();
    }
    if (!current_->whole) return;
    const std::string ranks = join(row.ranks);
    const auto [at, is_new] = current_->by_ranks.try_emplace(
        ranks, merged_rows{.rows = {ranks, 0, row.key.step, row.key.step}, .merger = level_merger(most_tables())});
    auto& [rows, merger] = at->second;
    ++rows.steps;
    rows.first = std::min(rows.first, row.key.step);
    rows.last = std::max(rows.last, row.key.step);
    for (std::size_t i = 0; i < row.tensors.size(); ++i) merger.add(row.tensors[i], ids[i]);
    for (const group_total& total : totals) merger.add(total);
  } catch (const std::exception&) {
    current_.reset();  // what is left of the block is merged from the file
  }
}

// The row that enters is in the file already.
void level_writer::enter(std::int64_t number) {
  const bool ahead = !current_ || current_->number < number;
  current_ = current_block{};
  current_->number = number;
  std::int64_t rows = 0;
  for (const block_rows& r : levels_->rows_of(finest, number)) rows += r.steps;
  current_->whole = rows == 1;
  entered_in_order_ = ahead && current_->whole ? std::min(entered_in_order_ + 1, 16) : 0;
  // The block before may have been left by a writer that was killed, or that had a single step to append.
  if (!step_before_->bind(number * finest).row()) return;
  const std::int64_t before = block_of(step_before_->integer(0), finest);
  step_before_->reset();
  changed_[0].insert(before);
  if (wide_of(before) != wide_of(number)) changed_[1].insert(wide_of(before));
}

// Whether the block was merged in memory and stored.
bool level_writer::leave() {
  const std::int64_t number = current_->number;
  changed_[1].insert(wide_of(number));
  if (!current_->whole) {
    changed_[0].insert(number);
    return false;
  }
  bool stored = false;
  for (auto& [ranks, merged] : current_->by_ranks) {
    if (!merged.merger.pays()) continue;
    store(finest, number, merged.rows, merged.merger);
    stored = true;
  }
  return stored;
}

void level_writer::store(std::int64_t width, std::int64_t number, const block_rows& rows, level_merger& merger) {
  level_block block;
  merger.take(block);
  table_blobs tables;
  for (const tensor_row& row : block.tensors) tables.append(row, row.tensor);
  if (tables.payload.size() > payload_limit) return;
  const std::string_view ranks = rows.ranks;
  by_->run([&] {
    insert_row(*insert_block_, level_row, width, number, ranks, rows.steps, rows.first, rows.last,
               statement::blob{tables.summary}, statement::blob{compress(tables.payload)});
    delete_totals_->bind(width, number, ranks).row();
    for (const group_total& total : block.totals) {
      const total_blobs blobs(total);
      insert_row(*insert_total_, level_total_row, width, number, ranks, to_string(total.kind), to_string(total.role),
                 static_cast<std::int64_t>(total.tensors), statement::blob{blobs.summary},
                 statement::blob{blobs.cells});
    }
  });
}

// A block that is still being written is stored again when it is twice as long: many appends in a row cost no more than
// a few merges.
void level_writer::refresh(std::int64_t width, std::int64_t number, bool left) {
  for (const block_rows& rows : levels_->rows_of(width, number)) {
    if (rows.steps < least_rows) continue;
    const block_rows stored = levels_->stored(width, number, rows.ranks);
    if (stored == rows || (!left && rows.steps < 2 * stored.steps)) continue;
    level_merger merger(most_tables());
    levels_->merge(width, rows, level_parts::totals_and_tensors, tensors_, merger);
    if (merger.pays()) store(width, number, rows, merger);
  }
}

// Ascending by width, as wide blocks are merged from narrow ones.
void level_writer::refresh_changed() {
  for (std::size_t i = 0; i < changed_.size(); ++i)
    for (; !changed_[i].empty(); changed_[i].erase(changed_[i].begin())) {
      const std::int64_t number = *changed_[i].begin();
      const bool written = i == 0 ? number == current_->number : number == wide_of(current_->number);
      if (!written) refresh(level_widths[i], number, true);
    }
}

void level_writer::finish() noexcept {
  try {
    if (!current_) return;
    const bool in_memory = current_->whole;
    if (in_memory) static_cast<void>(leave());
    refresh_changed();
    if (!in_memory) refresh(finest, current_->number, false);
    refresh(widest, wide_of(current_->number), false);
  } catch (const std::exception&) {  // the recording is valid all the same
  }
}

}  // namespace ulp::io
