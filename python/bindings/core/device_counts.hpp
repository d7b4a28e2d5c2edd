// What the kernels of python/device/count.hpp write, as tables.
#ifndef ULP_PYTHON_DEVICE_COUNTS_HPP
#define ULP_PYTHON_DEVICE_COUNTS_HPP

#include <cstdint>

#include <ulp/model/cells/step.hpp>
#include <ulp/model/cells/tensor_counter.hpp>

#include "device/count.hpp"

namespace ulp::python {

// Of a tensor of numel values of that type: its header, and the words of which that tells. What count_arrays gives of the values.
[[nodiscard]] counted_values values_of_counts(const device::header& its, const std::uint64_t* words, dtype type,
                                              std::uint64_t numel, bool with_sums);

}  // namespace ulp::python

#endif
