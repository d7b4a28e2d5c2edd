#include <ulp/ask/runs/pictured_run.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <ulp/ask/precision/weights_answer.hpp>
#include <ulp/ask/reading/run_notes.hpp>
#include <ulp/io/inputs/open.hpp>
#include <ulp/io/merge/ranks.hpp>
#include <ulp/io/recording/block_tables.hpp>
#include <ulp/io/recording/check.hpp>
#include <ulp/io/recording/live_scales.hpp>
#include <utility>

#include "fp8_reading.hpp"

namespace ulp {
namespace {

// Whether nothing is said of what the inputs hold: then parts of a recording can be had without the rest.
bool is_read_as_it_is(const run_text& text) {
  return text ==
         run_text{
             .inputs = text.inputs, .attempts = text.attempts, .allow_empty = text.allow_empty, .limits = text.limits};
}

// From so many steps on columns are made of the blocks that a recording keeps merged.
constexpr std::uint64_t long_run = 2048;
// So many tables of blocks take a good part of a second.
constexpr std::uint64_t slow_tables = 10'000;

void add_blocks(level_reader& levels, std::uint64_t blocks, run_picture& picture, listener& to) {
  work reading(to, "blocks", blocks);
  level_block block;
  while (levels.next(block)) {
    reading.advance();
    picture.add_block(block.first_step, block.last_step, block.tensors, levels.tensors());
  }
}

// Scalars and extremes of the steps of a long recording, read in a thread of their own: the other half of its picture.
class steps_beside {
 public:
  // Begins at once.
  steps_beside(std::string path, which_attempts attempts, run_picture& to)
      : done_(std::async(std::launch::async, [this, path = std::move(path), attempts, &to] {
          const auto totals = open_totals(path, totals_with::summaries, attempts);
          ranks_.emplace(totals->header());
          to.expect(totals->step_count());
          step now;
          while (!unwanted_ && totals->next(now)) {
            ranks_->see(now.key, now.ranks);
            to.add_step(now, totals->tensors());
          }
        })) {}
  ~steps_beside() { unwanted_ = true; }
  steps_beside(const steps_beside&) = delete;
  steps_beside& operator=(const steps_beside&) = delete;

  // Throws what reading threw.
  const rank_coverage& wait(listener& to) {
    work waiting(to, "steps", 0);
    while (done_.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) waiting.advance();
    done_.get();
    return *ranks_;
  }

 private:
  std::atomic<bool> unwanted_ = false;
  std::optional<rank_coverage> ranks_;
  std::future<void> done_;  // ends first
};

// Whether an input may be a recording that is long enough to be read so; only what it is tells.
bool may_be_long(const run_text& text) {
  constexpr std::uintmax_t large = std::uintmax_t{1} << 22;
  std::error_code unknown;
  return is_read_as_it_is(text) && text.inputs.size() == 1 &&
         std::filesystem::is_regular_file(text.inputs.front(), unknown) &&
         std::filesystem::file_size(text.inputs.front(), unknown) >= large && !unknown;
}

void read_picture_blocks(const std::string& path, which_attempts attempts, std::uint64_t steps, pictured_run& run,
                         listener& to) {
  // Wide blocks where narrow ones would take long: what is looked at is read once more, see read_blocks.
  level_reader wide(path, level_widths[1], level_parts::totals_and_tensors, attempts);
  run.tensors = wide.tensors();
  if (steps / static_cast<std::uint64_t>(level_widths[0]) * run.tensors.size() > slow_tables)
    return add_blocks(wide, steps / static_cast<std::uint64_t>(level_widths[1]) + 1, run.picture, to);
  level_reader narrow(path, level_widths[0], level_parts::totals_and_tensors, attempts);
  add_blocks(narrow, steps / static_cast<std::uint64_t>(level_widths[0]) + 1, run.picture, to);
}

// What is known of it once all was read.
void conclude(pictured_run& run, const rank_coverage& ranks) {
  if (std::string text = ranks.warning(run.text.inputs.front()); !text.empty()) run.warnings.push_back(std::move(text));
  if (std::string text = ranks.note(run.text.inputs.front()); !text.empty()) run.notes.push_back(std::move(text));
  if (run.picture.steps().empty())
    run.notes.push_back(run.text.inputs.front() + ": holds no steps (microbatches alone are not steps)");
  run.as_recorded = run.picture.as_recorded();
  if (run.as_recorded) run.notes.emplace_back(factor_note);
  run.no_updates = why_no_updates(run.text, run.kind);
}

void refuse_damage(const pictured_run& run, listener& to) {
  work checking(to, "tables", 0);
  refuse_damaged(run.text.inputs.front(), [&] { checking.advance(); });
}

// A long recording: its tables by the blocks that it keeps merged, its steps by themselves.
void picture_by_blocks(pictured_run& run, std::uint64_t steps, which_attempts attempts, steps_beside& beside,
                       bool is_checked, listener& to) {
  read_picture_blocks(run.text.inputs.front(), attempts, steps, run, to);
  if (is_checked) refuse_damage(run, to);
  conclude(run, beside.wait(to));
}

void picture_by_steps(pictured_run& run, source& from, bool is_checked, listener& to) {
  rank_coverage ranks(run.header);
  if (is_checked) refuse_damage(run, to);
  const selection counted = run.text.selected();
  run.picture.expect(from.step_count());
  work reading(to, "steps", from.step_count());
  step now;
  while (from.next(now)) {
    reading.advance();
    if (!counted.takes(now.key.step)) continue;
    ranks.see(now.key, now.ranks);
    run.picture.add(now, from.tensors());
  }
  run.tensors = from.tensors();
  run.notes = from.notes();
  conclude(run, ranks);
}

// Its steps, where the input has amaxes alone; false where it is something else.
bool picture_amaxes(pictured_run& run, listener& to) {
  if (run.text.inputs.front() == "-") return false;  // it was read already
  const selection counted = run.text.selected();
  std::set<std::int64_t> steps;
  const bool is_it = for_each_amax(run.text, to, [&](const amax_row& now) {
    if (counted.takes(now.step)) steps.insert(now.step);
  });
  if (!is_it) return false;
  run.amaxes_only = true;
  run.kind = source_kind::step_log;
  run.description = "table of amaxes";
  for (const std::int64_t number : steps) {
    step now;
    now.key.step = number;
    run.picture.add(now, {});
  }
  run.no_updates = why_no_updates(run.text, run.kind);
  return true;
}

// What sources are made of, or amaxes, which are none; nullptr where these were taken.
std::unique_ptr<source> open_or_take_amaxes(pictured_run& run, const source_options& how, listener& to) {
  try {
    return open_source(run.text.inputs, how);
  } catch (const input_error&) {
    if (!picture_amaxes(run, to)) throw;
    return nullptr;
  }
}

}  // namespace

void picture(pictured_run& run, listener& to, first_look look) {
  const source_options how = run.text.how_to_read();
  const selection counted = run.text.selected();
  run.picture = run_picture(counted);
  std::optional<steps_beside> beside;
  if (may_be_long(run.text)) beside.emplace(run.text.inputs.front(), how.attempts, run.picture);
  std::unique_ptr<source> from = open_or_take_amaxes(run, how, to);
  if (from == nullptr) return;
  run.kind = from->kind();
  run.description = from->description();
  run.header = from->header();
  run.has_live_scales = run.kind == source_kind::recording && run.text.inputs.size() == 1 &&
                        ::ulp::has_live_scales(run.text.inputs.front());
  const std::uint64_t steps = from->step_count();
  const bool is_checked = look == first_look::yes && from->kind() == source_kind::recording;
  if (from->kind() == source_kind::recording && steps >= long_run && is_read_as_it_is(run.text)) {
    run.notes = from->notes();
    from.reset();
    if (!beside) beside.emplace(run.text.inputs.front(), how.attempts, run.picture);
    return picture_by_blocks(run, steps, how.attempts, *beside, is_checked, to);
  }
  if (beside) {
    beside.reset();
    run.picture = run_picture(counted);
  }
  picture_by_steps(run, *from, is_checked, to);
}

bool can_seek(const pictured_run& run) { return run.kind == source_kind::recording && is_read_as_it_is(run.text); }

void read_steps(const pictured_run& run, const step_bounds& within, listener& to,
                const std::function<bool(const step&, const std::vector<tensor_info>&)>& see,
                const std::vector<block_extent>& blocks) {
  source_options how = run.text.how_to_read();
  how.blocks = blocks;
  how.with_blocks = !blocks.empty();
  const selection counted = run.text.selected();
  const std::unique_ptr<source> from =
      !can_seek(run)    ? open_source(run.text.inputs, how)
      : how.with_blocks ? open_with_blocks(run.text.inputs.front(), within, how.attempts)
                        : open_recording(run.text.inputs.front(), within.first, within.last, how.attempts);
  work reading(to, "steps", from->step_count());
  step now;
  while (from->next(now) && now.key.step <= within.last) {
    reading.advance();
    if (now.key.step < within.first || !counted.takes(now.key.step) || now.key.microbatch != -1) continue;
    if (!see(now, from->tensors())) return;
  }
}

void read_blocks(const pictured_run& run, const step_bounds& within, listener& to,
                 const std::function<void(const level_block&, const std::vector<tensor_info>&)>& see) {
  level_reader levels(run.text.inputs.front(), level_widths[0], level_parts::totals_and_tensors,
                      run.text.how_to_read().attempts, within);
  work reading(to, "blocks", 0);
  level_block block;
  while (levels.next(block)) {
    reading.advance();
    see(block, levels.tensors());
  }
}

}  // namespace ulp
