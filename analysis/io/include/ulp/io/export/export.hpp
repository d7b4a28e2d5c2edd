// Steps as text that other programs read: docs/inputs.md, "Exports". Lines end in a line feed.
#ifndef ULP_IO_EXPORT_EXPORT_HPP
#define ULP_IO_EXPORT_EXPORT_HPP

#include <string>
#include <vector>

#include <ulp/model/cells/step.hpp>

namespace ulp {

// The columns of a histogram CSV.
[[nodiscard]] std::string histogram_csv_header();

// A line for each tensor of the step, with the counts of its binades; none where the step has no tensors. `tensors` is the
// source's list. The key's attempt and microbatch, factors, scalars and the cells inside binades are not in it. Throws
// std::invalid_argument that names the tensor where values are in no cell: in buckets, or of an encoding that was
// skipped.
[[nodiscard]] std::string histogram_csv_lines(const step& row, const std::vector<tensor_info>& tensors);

// An object for each tensor of the step, one without a tensor where it has none, with all that is known; exact sums as
// decimal text.
[[nodiscard]] std::string json_lines(const step& row, const std::vector<tensor_info>& tensors);

}  // namespace ulp

#endif
