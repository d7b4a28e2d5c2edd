// The block tables that a recording holds: docs/recording-format.md, "Block tables".
#ifndef ULP_IO_RECORDING_BLOCK_TABLES_HPP
#define ULP_IO_RECORDING_BLOCK_TABLES_HPP

#include <memory>
#include <string>

#include <ulp/io/recording/recording.hpp>

namespace ulp {

// As open_recording, of the steps within the bounds; rows have their tensor_row::blocks. Throws input_error.
[[nodiscard]] std::unique_ptr<source> open_with_blocks(const std::string& path, step_bounds within = {},
                                                       which_attempts attempts = which_attempts::all);

// Whether it holds any. Throws input_error.
[[nodiscard]] bool has_block_tables(const std::string& path);

}  // namespace ulp

#endif
