// The picture of a format of blocks: elements by how far they lie from their scale, with the window of its numbers, and what is
// said of it.
#ifndef ULP_REPORT_PICTURES_BLOCK_WINDOW_HPP
#define ULP_REPORT_PICTURES_BLOCK_WINDOW_HPP

#include <map>
#include <optional>
#include <string>

#include <ulp/ask/columns/block_comparison.hpp>
#include <ulp/ask/columns/run_columns.hpp>

namespace ulp {

struct block_window {
  std::map<int, count_range> bars;  // elements of [2^k, 2^(k+1)) times the unit, by k
  // Where elements become nonzero, normal and overflow, as log2 over the unit; none where the unit is no scale.
  std::optional<format_limits> limits;
  bool is_bound = false;  // what is below limits->nonzero may become zero, and of the rest no more is known
  int low = 0;            // binades shown, up to `high`
  int high = 0;
  std::uint64_t beyond = 0;  // elements below those, at most
  std::string unit;          // "the block's scale"

  [[nodiscard]] bool empty() const noexcept { return bars.empty(); }
};
[[nodiscard]] block_window block_window_of(const compared_blocks& of);

// "mxfp4 (torchao_mxe2m1_floor): float4_e2m1, a float8_e8m0 scale for 1 x 32 by FLOOR"
[[nodiscard]] std::string title_of(const compared_blocks& of);
// What becomes of the elements, or what is certain and why no more is, in a sentence or two.
[[nodiscard]] std::string outcomes_text(const compared_blocks& of);
// Of elements of [2^exponent, 2^(exponent + 1)) times the unit: "becomes zero", "partly subnormal, partly normal"; empty
// where the window has no limits.
[[nodiscard]] std::string fate_text(const block_window& window, int exponent);

}  // namespace ulp

#endif
