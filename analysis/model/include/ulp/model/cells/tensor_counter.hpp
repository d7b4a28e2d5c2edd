// Raw values of many tensors into cell tables, in several threads.
#ifndef ULP_MODEL_CELLS_TENSOR_COUNTER_HPP
#define ULP_MODEL_CELLS_TENSOR_COUNTER_HPP

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <ulp/model/cells/cell_counter.hpp>
#include <ulp/model/cells/cell_table.hpp>
#include <ulp/model/cells/step.hpp>

namespace ulp {

// Values that follow one another in a tensor.
struct value_chunk {
  std::size_t tensor = 0;
  dtype type = dtype::float32;  // not unknown
  std::endian order = std::endian::little;
  std::vector<std::uint8_t> bytes;  // of whole values
};

struct counted_values {
  cell_table table;
  std::vector<code_count> codes;  // of types that have few, see format_of_codes
};

class tensor_counter {
 public:
  explicit tensor_counter(cell_counter::with what = cell_counter::with::sums);
  ~tensor_counter();
  tensor_counter(const tensor_counter&) = delete;
  tensor_counter& operator=(const tensor_counter&) = delete;

  // What a chunk holds at most, by which memory is bounded: about twenty of them.
  static constexpr std::size_t chunk_bytes = std::size_t{1} << 20;

  // Counts all chunks that `next` fills, until it returns false, into a table for each of so many tensors; one without
  // chunks is empty. The chunks of a tensor follow one another. `next` is called by one thread at a time, in whichever; what it throws comes out here. Counts and sums
  // are integers, so the result does not depend on threads and chunks. `edges`: see cell_counter::set_edges.
  [[nodiscard]] std::vector<counted_values> count(std::size_t tensors, std::span<const double> edges,
                                                  const std::function<bool(value_chunk&)>& next);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace ulp

#endif
