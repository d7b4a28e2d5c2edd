// The metric of single steps, read from the run: what columns of many steps leave open.
#ifndef ULP_GUI_VIEWMODEL_LAYER_STEPS_HPP
#define ULP_GUI_VIEWMODEL_LAYER_STEPS_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include <ulp/report/pictures/layer_metrics.hpp>

#include "background.hpp"
#include "document.hpp"
#include "drawn_columns.hpp"

namespace ulp::gui {

// What reading takes. The scale is the one that is tried out, or the replay's of each step.
struct layer_reading {
  std::shared_ptr<const drawn_columns> drawn;
  tensor_mask wanted;
  std::optional<int> tried_scale;
  std::shared_ptr<const drawn_replay> replay;
  std::uint64_t most_tables = std::numeric_limits<std::uint64_t>::max();  // that are read
};

class layer_steps {
 public:
  using cells_of_step = std::map<std::uint32_t, layer_cell>;  // by tensor

  // Both are kept, and not copied.
  layer_steps(const layer_reading& reading, const layer_question& question, listener& to)
      : reading_(reading), question_(question), to_(to) {}

  // More tables than wanted were read: nothing is read any more.
  [[nodiscard]] bool is_over() const noexcept { return tables_ > reading_.most_tables; }
  [[nodiscard]] bool wants(std::uint32_t tensor) const {
    return tensor < reading_.wanted.size() && reading_.wanted[tensor];
  }
  // Each step of the range, in order, until `see` does not want more. Of the wanted tensors those that `asks` says.
  void read(step_range range, const std::function<bool(std::int64_t step, std::uint32_t tensor)>& asks,
            const std::function<bool(std::int64_t step, const cells_of_step& cells)>& see);

 private:
  const layer_reading& reading_;
  const layer_question& question_;
  listener& to_;
  std::uint64_t tables_ = 0;
};

// The steps of a column that are shown.
[[nodiscard]] step_range seen_of(const drawn_columns& drawn, const column_span& span);

// Whether steps are read of it: a range, of several steps that are all shown.
[[nodiscard]] bool is_open(const drawn_columns& drawn, const layer_answer& answer, std::size_t column,
                           std::uint32_t tensor);

// The answer, in columns of several steps that leave something open counted step by step, each at its own scale. Columns that
// reach beyond the steps shown stay as they are, and what is not read for want of tables.
struct counted_steps {
  layer_answer answer;
  bool complete = true;
};
[[nodiscard]] counted_steps counted_by_step(const layer_reading& reading, const layer_answer& answer, listener& to);

}  // namespace ulp::gui

#endif
