// How the processor rounds, of x86-64.
#ifndef ULP_FORMATS_BULK_CONTROL_REGISTER_HPP
#define ULP_FORMATS_BULK_CONTROL_REGISTER_HPP

#include <ulp/formats/rounding.hpp>

#if defined(__x86_64__)
#include <xmmintrin.h>

namespace ulp::detail {

// Rounding as a direction needs it, no exception unmasked, no flush to zero, no denormals as zero; and then as it was,
// flags and all.
class control_register {
 public:
  explicit control_register(direction way) noexcept : before_(_mm_getcsr()) {
    constexpr unsigned masked = 0x1F80;
    const unsigned rounding = way == direction::nearest_even      ? 0
                              : way == direction::toward_negative ? 1
                              : way == direction::toward_positive ? 2
                                                                  : 3;
    _mm_setcsr(masked | rounding << 13);
  }
  ~control_register() { _mm_setcsr(before_); }
  control_register(const control_register&) = delete;
  control_register& operator=(const control_register&) = delete;

 private:
  unsigned before_;
};

}  // namespace ulp::detail

#endif
#endif
