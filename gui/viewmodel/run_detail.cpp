#include "run_detail.hpp"

#include <algorithm>
#include <limits>

#include <ulp/io/recording/recording.hpp>
#include <ulp/model/recipe/scaling.hpp>

namespace ulp::gui {
namespace {

static_assert(block_of_steps == level_widths[0]);

class detail_reader {
 public:
  detail_reader(const loaded_run& run, listener& to) : run_(run), to_(to) {}

  [[nodiscard]] columns_of<tensor_tables> in_steps(step_range range, std::size_t width) {
    columns_of<tensor_tables> columns(std::numeric_limits<std::size_t>::max(), width);
    if (range.last < range.first) return columns;
    read_steps(run_, {range.first, range.last}, to_, [&](const step& now, const std::vector<tensor_info>& tensors) {
      tensor_tables& column = columns.at_step(now.key.step);
      for (const tensor_row& row : now.tensors) column.add(row, is_scaled(tensors[row.tensor]));
      return true;
    });
    return columns;
  }

  // Of the whole blocks within the range.
  [[nodiscard]] columns_of<tensor_tables> in_blocks(step_range range, std::size_t width) {
    columns_of<tensor_tables> columns(std::numeric_limits<std::size_t>::max(), width / block_of_steps);
    read_blocks(run_, {range.first, range.last}, to_,
                [&](const level_block& block, const std::vector<tensor_info>& tensors) {
                  tensor_tables& column = columns.at_block(block.first_step, block.last_step);
                  for (const tensor_row& row : block.tensors) column.add(row, is_scaled(tensors[row.tensor]));
                });
    return columns;
  }

 private:
  const loaded_run& run_;
  listener& to_;
};

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
  detail_reader read(run, to);
  if (width < block_of_steps || !can_seek(run)) {
    append(*detail, read.in_steps(range, width));
    return detail;
  }
  const columns_of<tensor_tables> blocks = read.in_blocks(range, width);
  if (blocks.spans().empty()) {
    append(*detail, read.in_steps(range, width));
    return detail;
  }
  append(*detail, read.in_steps({range.first, blocks.spans().front().first_step - 1}, width));
  append(*detail, blocks);
  append(*detail, read.in_steps({blocks.spans().back().last_step + 1, range.last}, width));
  return detail;
}

}  // namespace ulp::gui
