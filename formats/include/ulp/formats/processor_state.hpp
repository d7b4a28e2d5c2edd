// Rounding to nearest and subnormal numbers, whatever the calling thread has set: the default floating-point environment of
// <cfenv>, flush-to-zero and denormals-are-zero included. Of one thread; nothing is allocated and nothing fails.
#ifndef ULP_FORMATS_PROCESSOR_STATE_HPP
#define ULP_FORMATS_PROCESSOR_STATE_HPP

#include <cfenv>

namespace ulp {

// While one lives. The caller's state comes back at its end.
class default_processor_state {
 public:
  default_processor_state() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~default_processor_state() { std::fesetenv(&before_); }
  default_processor_state(const default_processor_state&) = delete;
  default_processor_state& operator=(const default_processor_state&) = delete;

 private:
  std::fenv_t before_{};
};

}  // namespace ulp

#endif
