#include "loaded_run.hpp"

#include <algorithm>
#include <atomic>
#include <ulp/ask/runs/compared_blocks.hpp>

namespace ulp::gui {

std::uint64_t new_run_id() noexcept {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

std::shared_ptr<const loaded_run> load_run(const run_text& text, listener& to, first_look look) {
  const auto run = std::make_shared<loaded_run>();
  run->text = text;
  picture(*run, to, look);
  return run;
}

std::vector<std::string> without(std::vector<std::string> lines, const std::vector<std::string>& known) {
  std::erase_if(lines, [&](const std::string& line) { return std::ranges::find(known, line) != known.end(); });
  return lines;
}

tensor_tables tables_of_step(const loaded_run& run, std::int64_t number, listener& to) {
  tensor_tables all;
  read_steps(run, {number, number}, to, [&](const step& now, const std::vector<tensor_info>& tensors) {
    all.add(now.tensors, tensors);
    return true;
  });
  return all;
}

std::vector<compared_blocks> blocks_of_steps(const loaded_run& run, std::int64_t first, std::int64_t last,
                                             const tensor_mask& shown, const std::vector<named_block_format>& rows,
                                             listener& to) {
  return compare_blocks(run, {first, last}, shown, rows, to);
}

sweep_answer swept_over(const loaded_run& run, const grid_text& grid, listener& to) {
  sweep_answer answer = sweep_over(run.text, grid, "1", to, first_look::no);
  answer.all.reset();
  return answer;
}

}  // namespace ulp::gui
