// The end of a run that was lost before it: steps that say nothing of a policy or a format, and count all the same.
#ifndef ULP_ASK_READING_LOST_END_HPP
#define ULP_ASK_READING_LOST_END_HPP

#include <cstdint>
#include <string>
#include <vector>

#include <ulp/model/cells/step.hpp>

namespace ulp {

class lost_end {
 public:
  // Steps of ascending keys.
  void see(const step& now);

  // After the last step; empty where the last steps are finite, are few, or are all there are.
  [[nodiscard]] std::vector<std::string> lines() const;

 private:
  bool any_finite_ = false;
  bool by_loss_ = false;  // all of the end
  std::uint64_t steps_ = 0;
  std::int64_t first_ = 0;
  std::int64_t last_ = 0;
};

}  // namespace ulp

#endif
