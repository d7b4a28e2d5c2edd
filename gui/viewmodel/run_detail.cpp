#include "run_detail.hpp"

#include <algorithm>
#include <limits>

#include <ulp/io/recording/recording.hpp>

namespace ulp::gui {
namespace {

static_assert(block_of_steps == level_widths[0]);

columns_of<tensor_tables> in_steps(const loaded_run& run, step_range range, std::size_t width, listener& to) {
  columns_of<tensor_tables> columns(std::numeric_limits<std::size_t>::max(), width);
  if (range.last < range.first) return columns;
  read_steps(run, {range.first, range.last}, to, [&](const step& now, const std::vector<tensor_info>& tensors) {
    columns.at_step(now.key.step).add(now.tensors, tensors);
    return true;
  });
  return columns;
}

// Of the whole blocks within the range.
columns_of<tensor_tables> in_blocks(const loaded_run& run, step_range range, std::size_t width, listener& to) {
  columns_of<tensor_tables> columns(std::numeric_limits<std::size_t>::max(), width / block_of_steps);
  read_blocks(run, {range.first, range.last}, to,
              [&](const level_block& block, const std::vector<tensor_info>& tensors) {
                columns.at_block(block.first_step, block.last_step).add(block.tensors, tensors);
              });
  return columns;
}

void append(run_detail& to, const columns_of<tensor_tables>& more) {
  to.spans.insert(to.spans.end(), more.spans().begin(), more.spans().end());
  to.columns.insert(to.columns.end(), more.columns().begin(), more.columns().end());
}

}  // namespace

std::size_t steps_in(const loaded_run& run, step_range range) {
  const auto number = [](const pictured_step& s) { return s.key.step; };
  const auto& steps = run.picture.steps();
  return static_cast<std::size_t>(std::ranges::upper_bound(steps, range.last, {}, number) -
                                  std::ranges::lower_bound(steps, range.first, {}, number));
}

bool is_slow_in_steps(const loaded_run& run, step_range range) {
  constexpr std::size_t tables_at_once = 20'000;
  return can_seek(run) && steps_in(run, range) * run.tensors.size() > tables_at_once;
}

std::shared_ptr<const run_detail> detail_of(const loaded_run& run, step_range range, std::size_t width, listener& to) {
  const auto detail = std::make_shared<run_detail>();
  detail->run = run.id;
  detail->range = range;
  detail->width = width;
  columns_of<tensor_tables> blocks;
  if (width >= block_of_steps && can_seek(run)) blocks = in_blocks(run, range, width, to);
  if (blocks.spans().empty()) {
    append(*detail, in_steps(run, range, width, to));
    return detail;
  }
  append(*detail, in_steps(run, {range.first, blocks.spans().front().first_step - 1}, width, to));
  append(*detail, blocks);
  append(*detail, in_steps(run, {blocks.spans().back().last_step + 1, range.last}, width, to));
  return detail;
}

}  // namespace ulp::gui
