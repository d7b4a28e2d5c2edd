#include <ulp/ask/runs/compared_blocks.hpp>

#include <memory>
#include <ulp/ask/reading/reading.hpp>
#include <ulp/io/inputs/open.hpp>
#include <ulp/io/recording/block_tables.hpp>
#include <ulp/model/recipe/scaling.hpp>

namespace ulp {

std::vector<compared_blocks> compare_blocks(const pictured_run& run, const step_bounds& within,
                                            const tensor_mask& shown, const std::vector<named_block_format>& rows,
                                            listener& to) {
  block_comparison all(rows);
  const auto see = [&](const step& now, const std::vector<tensor_info>&) {
    for (const tensor_row& row : now.tensors)
      if (row.tensor < shown.size() && shown[row.tensor]) all.add(row);
    return true;
  };
  read_steps(run, within, to, see, all.extents());
  return all.result();
}

std::vector<compared_blocks> blocks_over(const run_text& run, const std::vector<named_block_format>& rows,
                                         listener& to) {
  block_comparison all(rows);
  source_options how = run.how_to_read();
  how.with_sums = false;
  how.blocks = all.extents();
  how.with_blocks = true;
  const selection selected = run.selected();
  const std::unique_ptr<source> from = open_source(run.inputs, how);
  for_each_step(*from, selected, to, [&](const step& now) {
    for (const tensor_row& row : now.tensors) {
      const tensor_info& info = from->tensors()[row.tensor];
      if (selected.takes(info) && (!selected.kinds.empty() || is_scaled(info))) all.add(row);
    }
  });
  return all.result();
}

bool keeps_block_tables(const run_text& run) {
  if (run.inputs.size() != 1 || run.inputs.front() == "-") return false;
  const std::unique_ptr<source> from = open_source(run.inputs, run.how_to_read());
  return from->kind() == source_kind::recording && has_block_tables(run.inputs.front());
}

}  // namespace ulp
