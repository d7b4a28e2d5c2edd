// What a training loop logged of each step, in a table of its own: --scalars.
#ifndef ULP_IO_TABLE_READ_SCALARS_HPP
#define ULP_IO_TABLE_READ_SCALARS_HPP

#include <string>
#include <vector>

#include <ulp/io/bytes/limits.hpp>

#include "run_table.hpp"
#include "source/scalar_table.hpp"

namespace ulp::io {

// A CSV with the names of scalar_columns, or any other table of a run: of that, which columns were taken goes into the notes.
// Throws input_error.
[[nodiscard]] scalar_table read_scalars(const std::string& path, const read_limits& limits, const told_columns& told,
                                        std::vector<std::string>& notes);

}  // namespace ulp::io

#endif
