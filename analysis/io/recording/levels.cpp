#include "levels.hpp"

#include <cmath>
#include <utility>

#include "checksum.hpp"
#include "schema.hpp"

namespace ulp::io {
namespace {

constexpr std::int64_t finest_level = level_widths.front();
// As many elements as a table may have, in each step of the widest block.
constexpr std::uint64_t most_merged = most_in_total * static_cast<std::uint64_t>(level_widths.back());

std::unique_ptr<statement> where_present(const database& db, const std::string& sql) {
  statement levels(db, "SELECT 1 FROM sqlite_schema WHERE type='table' AND name='level'");
  return levels.row() ? std::make_unique<statement>(db, sql.c_str()) : nullptr;
}

}  // namespace

std::int64_t block_of(std::int64_t step, std::int64_t width) { return step / width - (step % width < 0 ? 1 : 0); }

void level_merger::add(const tensor_row& row, std::uint32_t tensor) {
  if (gave_up_) return;
  ++merged_;
  const bool known = !std::isnan(row.factor);
  const auto [at, is_new] = tensors_.try_emplace(key{tensor, row.type, known, known ? row.factor : 0});
  tensor_row& merged = at->second;
  if (!is_new) return merge_table(merged.table, row.table);
  merged.tensor = tensor;
  merged.type = row.type;
  merged.factor = row.factor;
  merged.table = row.table;
  if (tensors_.size() <= most_) return;
  gave_up_ = true;
  tensors_.clear();
  totals_ = {};
}

void level_merger::add(const level_block& part) {
  for (const tensor_row& row : part.tensors) add(row, row.tensor);
  for (const group_total& total : part.totals) add(total);
}

void level_merger::take(level_block& into) {
  into.tensors.clear();
  into.tensors.reserve(tensors_.size());
  for (auto& [key, row] : tensors_) into.tensors.push_back(std::move(row));
  tensors_.clear();
  into.totals = totals_.take();
}

level_table::level_table(const database& db, counted_attempts counted)
    : db_(&db),
      counted_(std::move(counted)),
      rows_(db,
            "SELECT ranks, count(*), min(step), max(step) FROM step WHERE step BETWEEN ? AND ? AND microbatch=-1 "
            "GROUP BY ranks ORDER BY ranks"),
      step_keys_(db,
                 "SELECT step, attempt, microbatch FROM step WHERE step BETWEEN ? AND ? AND microbatch=-1 AND ranks=? "
                 "ORDER BY step, attempt"),
      step_tables_(db, ("SELECT " + std::string{step_columns} + ", summary, cells, " + crc_column(db) +
                        " FROM step WHERE step=? AND attempt=? AND microbatch=-1")
                           .c_str()),
      step_totals_(db, ("SELECT " + total_columns(db, totals_with::cells) +
                        " FROM total WHERE step=? AND attempt=? AND microbatch=-1")
                           .c_str()),
      block_(where_present(db, "SELECT width, block, ranks, steps, first_step, last_step, summary, cells, " +
                                   crc_column(db) + " FROM level WHERE width=? AND block=? AND ranks=?")),
      block_totals_(where_present(db, "SELECT width, block, ranks, kind, role, tensors, summary, cells, " +
                                          crc_column(db) + " FROM level_total WHERE width=? AND block=? AND ranks=?")) {
}

std::vector<block_rows> level_table::rows_of(std::int64_t width, std::int64_t number) {
  std::vector<block_rows> all;
  std::int64_t first = 0;
  if (__builtin_mul_overflow(number, width, &first)) return all;  // beyond every step
  const std::int64_t last = first + (width - 1);
  if (counted_.repeats_between(first, last)) return counted_rows(first, last);
  rows_.bind(first, last);
  while (rows_.row())
    all.push_back({std::string{rows_.text_at(0)}, rows_.integer(1), rows_.integer(2), rows_.integer(3)});
  return all;
}

bool level_table::leaves_out(std::int64_t width, std::int64_t number) const {
  std::int64_t first = 0;
  return !__builtin_mul_overflow(number, width, &first) && counted_.repeats_between(first, first + (width - 1));
}

std::vector<block_rows> level_table::counted_rows(std::int64_t first, std::int64_t last) {
  if (!single_rows_)
    single_rows_ = std::make_unique<statement>(
        *db_,
        "SELECT step, attempt, microbatch, ranks FROM step WHERE step BETWEEN ? AND ? AND microbatch=-1 ORDER BY "
        "ranks, step, attempt");
  std::vector<block_rows> all;
  single_rows_->bind(first, last);
  while (single_rows_->row()) {
    const step_key key = key_at(*single_rows_);
    const std::string_view ranks = single_rows_->text_at(3);
    if (all.empty() || all.back().ranks != ranks) all.push_back({.ranks = std::string{ranks}});
    block_rows& rows = all.back();
    if (!counted_.takes(key)) {
      ++rows.left_out;
      continue;
    }
    if (rows.steps++ == 0) rows.first = key.step;
    rows.last = key.step;
  }
  std::erase_if(all, [](const block_rows& rows) { return rows.steps == 0; });
  return all;
}

block_rows level_table::stored(std::int64_t width, std::int64_t number, const std::string& ranks) {
  if (!block_ || !block_->bind(width, number, std::string_view{ranks}).row()) return {.ranks = ranks};
  const block_rows rows{ranks, block_->integer(3), block_->integer(4), block_->integer(5)};
  block_->reset();
  return rows;
}

level_block level_table::load(std::int64_t width, std::int64_t number, const block_rows& rows, level_parts parts,
                              std::size_t tensors) {
  try {
    level_block block;
    block_->bind(width, number, std::string_view{rows.ranks});
    if (parts == level_parts::totals_and_tensors && block_->row()) {
      check_row(*db_, *block_, level_row, 2);
      tables_.read(block_->blob_at(6), block_->blob_at(7), {.tensors = tensors, .numel = most_merged, .merged = true},
                   block.tensors);
    }
    block_->reset();
    block_totals_->bind(width, number, std::string_view{rows.ranks});
    while (block_totals_->row()) {
      check_row(*db_, *block_totals_, level_total_row, 1);
      block.totals.push_back(total_at(*block_totals_, totals_with::cells, most_merged));
    }
    sort_totals(block.totals);
    return block;
  } catch (const payload_error& problem) {
    db_->refuse("level " + std::to_string(width) + " block " + std::to_string(number), problem.what());
  }
}

void level_table::merge_steps(std::int64_t first, std::int64_t last, const std::string& ranks, level_parts parts,
                              std::size_t tensors, level_merger& into) {
  step_key key;
  try {
    step_keys_.bind(first, last, std::string_view{ranks});
    while (step_keys_.row()) {
      key = key_at(step_keys_);
      if (!counted_.takes(key)) continue;
      if (parts == level_parts::totals_and_tensors && step_tables_.bind(key.step, std::int64_t{key.attempt}).row()) {
        check_row(*db_, step_tables_, step_row, 2);
        tables_.read(step_tables_.blob_at(step_row.ends[0]), step_tables_.blob_at(step_row.ends[0] + 1),
                     {.tensors = tensors}, step_);
        step_tables_.reset();
        for (const tensor_row& row : step_) into.add(row, row.tensor);
      }
      step_totals_.bind(key.step, std::int64_t{key.attempt});
      while (step_totals_.row()) into.add(checked_total(*db_, step_totals_));
    }
  } catch (const payload_error& problem) {
    db_->refuse(describe(key), problem.what());
  }
}

void level_table::merge(std::int64_t width, const block_rows& rows, level_parts parts, std::size_t tensors,
                        level_merger& into) {
  if (width == finest_level) return merge_steps(rows.first, rows.last, rows.ranks, parts, tensors, into);
  for (std::int64_t part = block_of(rows.first, finest_level); part <= block_of(rows.last, finest_level); ++part)
    for (const block_rows& below : rows_of(finest_level, part)) {
      if (below.ranks != rows.ranks) continue;
      if (stored(finest_level, part, below.ranks) == below)
        into.add(load(finest_level, part, below, parts, tensors));
      else
        merge_steps(below.first, below.last, below.ranks, parts, tensors, into);
    }
}

level_block level_table::read(std::int64_t width, std::int64_t number, const block_rows& rows, level_parts parts,
                              std::size_t tensors) {
  level_block block;
  if (stored(width, number, rows.ranks) == rows) {
    block = load(width, number, rows, parts, tensors);
  } else {
    level_merger merger;
    merge(width, rows, parts, tensors, merger);
    merger.take(block);
  }
  block.number = number;
  block.ranks = parse_ranks(rows.ranks);
  block.steps = static_cast<std::uint64_t>(rows.steps);
  block.first_step = rows.first;
  block.last_step = rows.last;
  return block;
}

}  // namespace ulp::io
