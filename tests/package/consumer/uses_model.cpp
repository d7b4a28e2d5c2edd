#include <array>
#include <ulp/formats/catalog.hpp>
#include <ulp/model/cells/cell_counter.hpp>
#include <ulp/model/cells/cell_table.hpp>
#include <ulp/model/outcomes/outcome.hpp>

int main() {
  const std::array<float, 3> gradients{0.0F, 1e-9F, 1.0F};
  const ulp::outcome_counts counts = ulp::outcomes_of(ulp::count_cells(gradients), {ulp::float16}, {});
  return counts.zero == 1 && counts.underflow == ulp::count_range{1, 1} && counts.normal == ulp::count_range{1, 1} ? 0
                                                                                                                   : 1;
}
