// What the scale of a framework is made of: how it is stored, and how often a product is rounded. Only factors that are
// no powers of two, and the ends of the range, tell them apart.
#ifndef ULP_MODEL_MACHINES_LOSS_SCALE_NUMBERS_HPP
#define ULP_MODEL_MACHINES_LOSS_SCALE_NUMBERS_HPP

#include <cmath>
#include <cstdint>

namespace ulp::scalers {

// Each has `times` for growth, `over` for a backoff that divides and `lowered` for one that multiplies.

// A float32 tensor and float32 factors.
struct float32_arithmetic {
  using value = float;
  using factor = float;
  [[nodiscard]] static float times(float s, float k) noexcept { return s * k; }
  [[nodiscard]] static float lowered(float s, float k) noexcept { return s * k; }
  [[nodiscard]] static float over(float s, float k) noexcept { return s / k; }
  static constexpr bool raises_dividing_by_zero = false;
};

// A float32 tensor and double factors; the exact product is rounded to double, then to float32, as in torch's kernels.
struct float32_by_double {
  using value = float;
  using factor = double;
  [[nodiscard]] static float times(float s, double k) noexcept {
    return static_cast<float>(static_cast<double>(s) * k);
  }
  [[nodiscard]] static float lowered(float s, double k) noexcept { return times(s, k); }
  [[nodiscard]] static float over(float s, double k) noexcept { return static_cast<float>(static_cast<double>(s) / k); }
  static constexpr bool raises_dividing_by_zero = false;
};

// A Python float.
struct float64 {
  using value = double;
  using factor = double;
  [[nodiscard]] static double times(double s, double k) noexcept { return s * k; }
  [[nodiscard]] static double lowered(double s, double k) noexcept { return s * k; }
  [[nodiscard]] static double over(double s, double k) noexcept { return s / k; }
  static constexpr bool raises_dividing_by_zero = true;
};

// A Python number: an int, of any size, for as long as only ints have made it; else a float. A whole number that is
// given is taken for an int. In products of ints the factor is always the same one.
class python_number {
 public:
  python_number() = default;
  explicit python_number(double x) noexcept
      : nearest_(x), base_(x), power_(std::isfinite(x) && x == std::floor(x) ? 0 : not_whole) {}

  // The nearest double; infinity where Python would refuse the conversion.
  [[nodiscard]] explicit operator double() const noexcept { return nearest_; }
  [[nodiscard]] bool too_large() const noexcept { return power_ != not_whole && std::isinf(nearest_); }

  [[nodiscard]] python_number times(double k) const;
  [[nodiscard]] python_number over(double k) const noexcept { return real(nearest_ / k); }
  // By a Python float, whole or not.
  [[nodiscard]] python_number times_float(double k) const noexcept { return real(nearest_ * k); }

  friend bool operator<(const python_number& a, const python_number& b) noexcept { return a.nearest_ < b.nearest_; }

 private:
  static constexpr std::int64_t not_whole = -1;
  [[nodiscard]] static python_number real(double x) noexcept;

  double nearest_ = 0;
  double base_ = 0;  // an int is base_ * factor^power_
  std::int64_t power_ = 0;
};

struct python {
  using value = python_number;
  using factor = double;
  [[nodiscard]] static python_number times(const python_number& s, double k) { return s.times(k); }
  [[nodiscard]] static python_number lowered(const python_number& s, double k) noexcept { return s.times_float(k); }
  [[nodiscard]] static python_number over(const python_number& s, double k) noexcept { return s.over(k); }
  static constexpr bool raises_dividing_by_zero = true;
};

}  // namespace ulp::scalers

#endif
