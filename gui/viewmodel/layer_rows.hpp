// The rows that the view of layers lists: tensors, the worst first, or modules with what is below them.
#ifndef ULP_GUI_VIEWMODEL_LAYER_ROWS_HPP
#define ULP_GUI_VIEWMODEL_LAYER_ROWS_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ulp/report/pictures/layer_metrics.hpp>
#include <ulp/report/pictures/layer_names.hpp>
#include <ulp/report/pictures/layer_updates.hpp>

#include "drawn_columns.hpp"
#include "first_steps.hpp"

namespace ulp::gui {

struct replayed_scales;

// What was counted, and of what.
struct counted_layers {
  std::shared_ptr<const drawn_columns> drawn;
  layer_answer answer;
  std::vector<first_step> firsts;  // empty where the metric has no threshold
  // Tensors of which steps were read, and no more is known: of their first step, and of their cells.
  tensor_mask searched;
  tensor_mask by_step;
  std::shared_ptr<const layer_updates> updates = nullptr;   // step by step, where they are what was counted
  std::shared_ptr<const replayed_scales> scales = nullptr;  // likewise
};

struct layer_row {
  module_row of;
  bool is_open = false;                           // a module whose rows are shown
  std::vector<layer_cell> cells;                  // of each column
  layer_cell total;                               // of all columns
  std::optional<std::size_t> worst;               // column; nullopt where nothing is known of any
  value_range worst_value{not_known, not_known};  // over all columns
  first_step first;
};

// Tensors without any value are left out of the list.
[[nodiscard]] std::vector<layer_row> worst_first(const counted_layers& counted,
                                                 const std::vector<std::uint32_t>& shown);
[[nodiscard]] std::vector<layer_row> by_module(const counted_layers& counted, const std::vector<std::uint32_t>& shown,
                                               const std::function<bool(const module_row&)>& is_open);

// What orders rows: the upper end of a share, the lower end of what is bad when it is low; NaN where nothing is known.
[[nodiscard]] double badness(const layer_question& question, const layer_cell& cell);

}  // namespace ulp::gui

#endif
