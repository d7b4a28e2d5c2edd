// How many values underflow at each power-of-two scale, of whole tables.
#ifndef ULP_MODEL_SWEEP_UNDERFLOW_COUNTS_HPP
#define ULP_MODEL_SWEEP_UNDERFLOW_COUNTS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ulp/formats/treatment.hpp>
#include <ulp/model/cells/cell_table.hpp>
#include <ulp/model/outcomes/outcome.hpp>

namespace ulp {

// Underflow counts at the scales 2^j: entry i at j = first - i, of ascending counts; beyond the ends nothing more
// changes.
struct underflow_counts {
  int first = 0;
  std::vector<count_range> at;

  [[nodiscard]] const count_range& of(int j) const {
    const int i = std::clamp(first - j, 0, static_cast<int>(at.size()) - 1);
    return at[static_cast<std::size_t>(i)];
  }
};

// Those of many steps, packed: nearly all are exact and fit 32 bits, which is a quarter.
class stored_underflow {
 public:
  void add(const underflow_counts& counts);
  void clear();
  [[nodiscard]] bool empty(std::size_t step) const { return steps_[step].size == 0; }
  // Precondition: not empty.
  [[nodiscard]] count_range of(std::size_t step, int j) const;

 private:
  struct one_step {
    std::size_t begin = 0;  // in exact_, or in ranges_
    std::int32_t first = 0;
    std::uint32_t size : 31 = 0;
    std::uint32_t is_exact : 1 = 0;
  };
  std::vector<one_step> steps_;
  std::vector<std::uint32_t> exact_;
  std::vector<count_range> ranges_;
};

// Adds the counts of a table recorded times any factor: between two powers of two the effective scale is between, and
// so is the count.
void add_underflow(underflow_counts& counts, const cell_table& table, const treatment& how, double factor);

}  // namespace ulp

#endif
