// Which static loss scales will do: from below by what underflows, from above by what overflows.
#ifndef ULP_REPORT_FINDINGS_STATIC_SCALES_HPP
#define ULP_REPORT_FINDINGS_STATIC_SCALES_HPP

#include <cstddef>
#include <functional>
#include <optional>

namespace ulp {

// Exponents of the scales that are tried.
inline constexpr int least_tried = -100;
inline constexpr int greatest_tried = 100;

struct static_scales {
  std::optional<int> least;  // nullopt: even the greatest loses too much
  std::optional<int> most;   // nullopt: no scale overflows

  [[nodiscard]] bool any() const { return least && (!most || *least <= *most); }
  [[nodiscard]] bool needs_none() const { return least && *least <= 0 && (!most || *most >= 0); }
};

// The smallest power of two from which on a scale is fine; nullopt where none that is tried is.
[[nodiscard]] std::optional<int> least_scale(const std::function<bool(double scale)>& fine);

// Of several kinds of tensors the one that asks for the highest scale, and that scale; the first of equal ones.
struct demanding_kind {
  std::size_t index = 0;
  std::optional<int> least;
};
[[nodiscard]] demanding_kind most_demanding(std::size_t kinds,
                                            const std::function<std::optional<int>(std::size_t)>& least_of);

}  // namespace ulp

#endif
