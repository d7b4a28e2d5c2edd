// How often clipping triggers, for every bound at once.
#ifndef ULP_REPORT_PICTURES_CLIP_RATES_HPP
#define ULP_REPORT_PICTURES_CLIP_RATES_HPP

#include <cstddef>
#include <vector>

#include <ulp/model/cells/cell_table.hpp>

namespace ulp {

class clip_rates {
 public:
  enum class compares { norm, value };

  clip_rates() = default;
  // What clipping compares with its bound in each step. Infinite ones are counted apart, NaN is left out.
  clip_rates(compares what, const std::vector<double>& measures);

  [[nodiscard]] compares what() const noexcept { return what_; }
  [[nodiscard]] std::size_t finite() const noexcept { return sorted_.size(); }
  // Steps that trigger whatever the bound.
  [[nodiscard]] std::size_t infinite() const noexcept { return infinite_; }
  // Finite steps in which it triggers.
  [[nodiscard]] std::size_t triggers(double bound) const noexcept;
  // The same as a share of them.
  [[nodiscard]] double rate(double bound) const noexcept {
    return static_cast<double>(triggers(bound)) / static_cast<double>(finite());
  }
  // The least measure that the share q > 0 of the finite steps does not exceed. There is a finite step.
  [[nodiscard]] double quantile(double q) const noexcept;
  // The least bound of four significant digits that triggers in at most this share of the finite steps; NaN where there is none
  // above zero and finite.
  [[nodiscard]] double bound_for(double share) const noexcept;

 private:
  compares what_ = compares::norm;
  std::vector<double> sorted_;  // the finite ones
  std::size_t infinite_ = 0;
};

}  // namespace ulp

#endif
