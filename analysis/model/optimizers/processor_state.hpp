// Rounding to nearest and subnormal numbers, whatever the caller's thread has set.
#ifndef ULP_MODEL_OPTIMIZERS_PROCESSOR_STATE_HPP
#define ULP_MODEL_OPTIMIZERS_PROCESSOR_STATE_HPP

#include <cfenv>

namespace ulp::optimizers {

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

}  // namespace ulp::optimizers

#endif
