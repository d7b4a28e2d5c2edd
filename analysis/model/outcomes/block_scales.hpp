// The scales that a row gives to blocks of each class, found by the row's own code at both ends of what amax may be.
#ifndef ULP_MODEL_OUTCOMES_BLOCK_SCALES_HPP
#define ULP_MODEL_OUTCOMES_BLOCK_SCALES_HPP

#include <array>
#include <cstddef>
#include <vector>

#include <ulp/formats/block_formats.hpp>
#include <ulp/model/cells/block_table.hpp>

namespace ulp::detail {

// A scale is 2^k; NaN, which only the greatest amax of a row give, is above all of them.
inline constexpr int nan_scale = 1 << 20;

// From low to high.
struct scale_range {
  int low = 0;
  int high = 0;
  [[nodiscard]] constexpr bool exact() const noexcept { return low == high; }
};

// Of a block of each of these and zeros: the numbers that the code of 1 stands for.
[[nodiscard]] std::vector<float> scales_of(const block_format& row, const std::vector<float>& amax);

class block_scales {
 public:
  explicit block_scales(const block_format& row);

  // Of a block whose amax has that exponent and place.
  [[nodiscard]] scale_range of(int exponent, std::size_t place) const noexcept;
  // Relative to the exponent, over exponents from least to greatest.
  [[nodiscard]] scale_range relative(int least, int greatest, std::size_t place) const noexcept;
  // Whether the scale of a block with an infinity, or with a NaN, is NaN.
  [[nodiscard]] bool infinity_gives_nan() const noexcept { return infinity_gives_nan_; }
  [[nodiscard]] bool nan_gives_nan() const noexcept { return nan_gives_nan_; }

 private:
  std::vector<std::array<scale_range, amax_places.size()>> ranges_;  // by exponent + 149
  bool infinity_gives_nan_ = false;
  bool nan_gives_nan_ = false;
};

}  // namespace ulp::detail

#endif
