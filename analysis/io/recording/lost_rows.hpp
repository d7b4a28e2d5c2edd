// Rows that a damaged index hides.
#ifndef ULP_IO_RECORDING_LOST_ROWS_HPP
#define ULP_IO_RECORDING_LOST_ROWS_HPP

#include <cstdint>

#include "database/sqlite.hpp"

namespace ulp::io {

// Longer recordings are not checked wholly before anything of them is believed, which would take long: only for lost rows.
inline constexpr std::uintmax_t checked_wholly = std::uintmax_t{1} << 24;

// Steps and totals are found by indices: each must have as many rows as its table. Reads the indices, and the tables only
// where rows were removed from them. Throws input_error.
void refuse_lost_rows(const database& db);

}  // namespace ulp::io

#endif
