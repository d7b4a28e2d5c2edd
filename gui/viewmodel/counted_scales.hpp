// What an FP8 recipe does to tensors, as Layers shows it: each step is replayed, so that nothing is left to be read.
#ifndef ULP_GUI_VIEWMODEL_COUNTED_SCALES_HPP
#define ULP_GUI_VIEWMODEL_COUNTED_SCALES_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ulp/ask/progress/listener.hpp>
#include <ulp/report/pictures/layer_scales.hpp>

#include "fp8_spec.hpp"
#include "layer_rows.hpp"

namespace ulp::gui {

// The rows of a run under a recipe; does not change any more.
struct replayed_scales {
  // Of a run that has more, none are kept: it is replayed each time. 48 bytes each.
  static constexpr std::size_t most_rows = 1'000'000;

  std::uint64_t run = 0;  // its id
  fp8_spec spec;
  std::vector<layer_scale> rows;  // tensors are the run's
  bool complete = true;
  std::vector<std::string> notes;  // as `ulp replay` tells them, but those of the run
};

// `known`: what was replayed before, or null; it is used where it is of this run and recipe. Throws input_error,
// std::invalid_argument.
[[nodiscard]] counted_layers counted_scales(std::shared_ptr<const drawn_columns> drawn, const layer_question& question,
                                            const fp8_spec& spec, std::shared_ptr<const replayed_scales> known,
                                            listener& to, std::size_t most_rows = replayed_scales::most_rows);

}  // namespace ulp::gui

#endif
