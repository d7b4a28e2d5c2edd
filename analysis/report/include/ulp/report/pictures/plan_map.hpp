// A plan as a map: tensors in the order of the network, kind by kind, as long as they have elements, in the colour of
// their treatment.
#ifndef ULP_REPORT_PICTURES_PLAN_MAP_HPP
#define ULP_REPORT_PICTURES_PLAN_MAP_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/ask/runs/plan_answer.hpp>

namespace ulp {

// Treatments of one colour, from the most bits on.
enum class plan_group : std::uint8_t {
  wide,          // float32, tf32
  half,          // 16 bits
  narrow,        // 8 bits, a scale for the tensor
  blocks,        // 8 bits, a scale for blocks or rows
  narrow_blocks  // fewer
};
[[nodiscard]] plan_group group_of(const plan_treatment& t);
// "#e69f00", on light and on dark paper alike, for dark letters: after Okabe and Ito, "Color Universal Design" (2008).
[[nodiscard]] std::string_view colour_of(plan_group g);

struct plan_cell {
  // A part that lies in one line, in shares of its length.
  struct piece {
    std::size_t line = 0;
    double from = 0;
    double to = 0;
  };

  std::uint32_t tensor = 0;  // index into plan_answer::info
  std::string name;
  std::string treatment;
  plan_group group = plan_group::wide;
  std::string why;            // what it gets, and why nothing cheaper, in sentences
  std::vector<piece> pieces;  // where a line ends it goes on in the next one
};

struct plan_band {
  std::string title;  // "weights: 11 tensors, 2,410 elements in 9.3 bits each"
  std::size_t lines = 0;
  std::vector<plan_cell> cells;
};

struct plan_legend_entry {
  plan_group group = plan_group::wide;
  std::string text;  // "FP8: fp8_e4m3 (12 tensors)"
};

struct plan_map {
  std::vector<plan_band> bands;
  std::vector<plan_legend_entry> legend;
};

// No cell is shorter than `least`, a share of a line, so that it is seen; what is left of the lines is shared by elements.
[[nodiscard]] plan_map plan_map_of(const plan_answer& plan, double least);

}  // namespace ulp

#endif
