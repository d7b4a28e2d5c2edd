// Values into a cell table.
#ifndef ULP_MODEL_CELLS_CELL_COUNTER_HPP
#define ULP_MODEL_CELLS_CELL_COUNTER_HPP

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <ulp/formats/format.hpp>
#include <ulp/model/cells/cell_table.hpp>

namespace ulp {

// One object is reused for many tensors. Integer operations on the bits of the
// recorded type; independent of the processor's state. Allocates its dense tables once.
class cell_counter {
 public:
  enum class with : std::uint8_t { nothing, sums, sums_and_errors };
  explicit cell_counter(with what = with::sums);
  ~cell_counter();
  cell_counter(cell_counter&&) noexcept;
  cell_counter& operator=(cell_counter&&) noexcept;

  // The magnitudes above which the next table counts values apart, ascending, above zero and finite. Precondition: the
  // counter is empty.
  void set_edges(std::span<const double> edges);

  void add(std::span<const float> values);
  void add(std::span<const double> values);
  // Values of that type, each code as often as it was counted. The type's values are doubles.
  void add(const format& type, std::span<const code_count> codes);

  // The table of everything added since the last take; the counter is empty afterwards.
  [[nodiscard]] cell_table take();

 private:
  struct dense;
  std::unique_ptr<dense> dense_;
};

[[nodiscard]] cell_table count_cells(std::span<const float> values);
[[nodiscard]] cell_table count_cells(std::span<const double> values);

// How float32 values are counted where neither the error ladder nor edges are asked for: "reference", one after the other,
// and the faster ways that this processor has, slowest first ("baseline", "x86-64-v3", "x86-64-v4"). All give the same
// tables.
[[nodiscard]] std::vector<std::string_view> counting_kernels();
// The last of these counts unless another is forced, for tests and measurements; false where there is none of that name.
bool force_counting_kernel(std::string_view name);

}  // namespace ulp

#endif
