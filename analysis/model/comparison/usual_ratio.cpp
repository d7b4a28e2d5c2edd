#include <ulp/model/comparison/usual_ratio.hpp>

#include <algorithm>
#include <cmath>

namespace ulp {

void usual_ratio::see(double log_a, double log_b) {
  const double ratio = log_b - log_a;
  ratios_.insert(std::ranges::upper_bound(ratios_, ratio), ratio);
  if (last_) farthest_way_ = std::max({farthest_way_, std::abs(log_a - last_->first), std::abs(log_b - last_->second)});
  last_ = {log_a, log_b};
}

double usual_ratio::median() const noexcept {
  const std::size_t n = ratios_.size();
  return (ratios_[(n - 1) / 2] + ratios_[n / 2]) / 2;
}

double usual_ratio::bound() const noexcept {
  const double spread = std::max(ratios_.back() - median(), median() - ratios_.front());
  return std::max(4 * spread, 3 * farthest_way_);
}

}  // namespace ulp
