// A CSV with a row for each tensor and step: the counts of its values by binade.
#ifndef ULP_IO_CSV_HISTOGRAM_CSV_HPP
#define ULP_IO_CSV_HISTOGRAM_CSV_HPP

#include <memory>
#include <vector>

#include <ulp/io/source/source.hpp>

#include "csv.hpp"

namespace ulp::io {

// By its columns.
[[nodiscard]] bool is_histogram_csv(const csv_reader& rows);
// Kinds are those of the kind column and the prefixes of names. `known`: the tensors of a first reading, so that all of them
// are there from the first step on; or none.
[[nodiscard]] std::unique_ptr<source> open_histogram_csv(csv_reader rows, std::vector<tensor_info> known = {},
                                                         const read_limits& limits = {});

}  // namespace ulp::io

#endif
