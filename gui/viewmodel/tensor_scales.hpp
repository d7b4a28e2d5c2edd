// A run replayed under an FP8 recipe, as it is drawn: each tensor's scale beside the ideal one, step by step.
#ifndef ULP_GUI_VIEWMODEL_TENSOR_SCALES_HPP
#define ULP_GUI_VIEWMODEL_TENSOR_SCALES_HPP

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ulp/ask/progress/listener.hpp>
#include <ulp/model/replay/fp8_replay.hpp>
#include <ulp/report/tables/table.hpp>

#include "fp8_spec.hpp"
#include "loaded_run.hpp"

namespace ulp::gui {

// What is drawn of an fp8_row.
struct scaled_step {
  std::int64_t step = 0;
  double amax = 0;
  double multiplied_by = 0;
  double ideal = not_known;
  double live = not_known;  // what the run itself multiplied by
  count_range saturated;
  count_range underflow;
  bool saturates = false;
  bool stale = false;
  bool held = false;

  [[nodiscard]] double binades_off() const noexcept { return std::log2(multiplied_by / ideal); }
};

// Does not change any more.
struct tensor_scales {
  // More of them are kept of one tensor alone: 80 bytes each.
  static constexpr std::size_t most_rows = 1'000'000;

  std::string recipe;
  std::string policy;
  bool is_of_amaxes = false;                     // nothing is counted
  std::optional<live_comparison> live;           // where the run's own scales are known
  std::map<std::uint32_t, std::string> formats;  // of those that are cast, by index
  std::vector<tensor_info> tensors;
  std::map<std::uint32_t, fp8_tensor_summary> summaries;  // likewise
  std::map<std::uint32_t, fp8_choice> choices;            // why others are not
  std::vector<std::uint32_t> worst_first;                 // of those that are cast
  std::map<std::uint32_t, std::vector<scaled_step>> rows;
  std::vector<std::string> notes;  // as `ulp replay` tells them, but those of the run; and its warnings
  std::vector<std::string> warnings;
};

// What `ulp replay --recipe` says of the run, in whatever thread calls; `of`: the name of the tensor whose rows are
// kept where not all can be, the worst where it is none that is cast. Throws input_error, std::invalid_argument.
[[nodiscard]] std::shared_ptr<const tensor_scales> scales_under(const loaded_run& run, const fp8_spec& spec,
                                                                const std::string& of, listener& to,
                                                                std::size_t most_rows = tensor_scales::most_rows);

// The rows of one tensor, under the keys of `ulp replay --recipe`.
[[nodiscard]] table table_of(const tensor_scales& all, std::uint32_t tensor);

}  // namespace ulp::gui

#endif
