// What is not finite in columns and rows that are not used.
#ifndef ULP_IO_TABLE_LOST_COLUMNS_HPP
#define ULP_IO_TABLE_LOST_COLUMNS_HPP

#include <string>
#include <vector>

#include "column_choice.hpp"
#include "run_table.hpp"

namespace ulp::io {

// As source::lost_elsewhere: losses of other columns and ranks where what is used is finite, and those of validation unless the training is
// lost in the end, too. Not NaN that stands for fields that are empty.
[[nodiscard]] std::vector<std::string> lost_in_others(const run_table& table, const chosen_columns& chosen);

}  // namespace ulp::io

#endif
