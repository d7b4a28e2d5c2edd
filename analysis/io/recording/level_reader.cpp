#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include <ulp/io/recording/recording.hpp>

#include "levels.hpp"
#include "opening.hpp"
#include "schema.hpp"

namespace ulp {

using io::statement;

struct level_reader::state {
  state(const std::string& path, std::int64_t wide, level_parts what, step_bounds bounds)
      : db(io::open_for_reading(path)), width(wide), parts(what), within(bounds) {}

  io::database db;
  std::int64_t width;
  level_parts parts;
  step_bounds within;
  std::vector<tensor_info> tensors;
  std::optional<io::level_table> levels;
  std::unique_ptr<statement> step_from;
  // Of the block at hand, those that are left, the next one last.
  std::int64_t number = 0;
  std::vector<io::block_rows> left;
  bool over = false;

  // The first step of the first block that begins in `within`; none where that is beyond all steps.
  [[nodiscard]] std::optional<std::int64_t> first_wanted() const {
    constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
    if (within.first == least) return least;
    const std::int64_t block = io::block_of(within.first, width);
    if (block * width == within.first) return within.first;
    if (block == io::block_of(std::numeric_limits<std::int64_t>::max(), width)) return std::nullopt;
    return (block + 1) * width;
  }

  // The first block from `step` on that holds a step which counts.
  void find(std::int64_t step) {
    for (;; step = last_step() + 1) {
      over = !step_from->bind(step).row();
      if (over) return;
      const std::int64_t found = step_from->integer(0);
      number = io::block_of(found, width);
      step_from->reset();
      over = last_step() > within.last;
      if (over) return;
      left = levels->rows_of(width, number);
      const bool none_counts = left.empty() && levels->leaves_out(width, number);
      // An index may be damaged, and say something else than its table.
      if (found < step || (left.empty() && !none_counts))
        throw io::payload_error("steps are found in one way and not in another: the file is damaged");
      if (!none_counts) break;
      over = is_last();
      if (over) return;
    }
    std::ranges::reverse(left);
  }

  // Of the block at hand.
  [[nodiscard]] std::int64_t last_step() const { return number * width + (width - 1); }
  [[nodiscard]] bool is_last() const { return last_step() == std::numeric_limits<std::int64_t>::max(); }
};

level_reader::level_reader(const std::string& path, std::int64_t width, level_parts parts, which_attempts attempts,
                           step_bounds within) {
  if (std::ranges::find(level_widths, width) == level_widths.end())
    throw std::invalid_argument("levels have no width " + std::to_string(width));
  io::read_steadily([&] {
    state_ = std::make_unique<state>(path, width, parts, within);
    state& s = *state_;
    try {
      s.db.run("BEGIN");  // one state of the file for all reads
      s.tensors = io::read_tensors(s.db);
      s.levels.emplace(s.db, io::counted_attempts(s.db, attempts));
      s.step_from = std::make_unique<statement>(
          s.db, "SELECT step FROM step WHERE step>=? AND microbatch=-1 ORDER BY step LIMIT 1");
      const std::optional<std::int64_t> first = s.first_wanted();
      s.over = !first;
      if (first) s.find(*first);
    } catch (const io::payload_error& problem) {
      s.db.refuse("", problem.what());
    }
  });
}

level_reader::~level_reader() = default;

const std::vector<tensor_info>& level_reader::tensors() const { return state_->tensors; }

bool level_reader::next(level_block& into) {
  state& s = *state_;
  if (s.over) return false;
  const io::block_rows rows = std::move(s.left.back());
  s.left.pop_back();
  try {
    into = s.levels->read(s.width, s.number, rows, s.parts, s.tensors.size());
  } catch (const io::payload_error& problem) {
    s.db.refuse(io::describe({.step = rows.first}), problem.what());
  }
  s.db.refuse_change();
  if (!s.left.empty()) return true;
  const std::int64_t last = s.last_step();
  s.over = s.is_last();
  try {
    if (!s.over) s.find(last + 1);
  } catch (const io::payload_error& problem) {
    s.db.refuse("after " + io::describe({.step = last}), problem.what());
  }
  return true;
}

}  // namespace ulp
