// NaN that stands for nothing, as pandas and W&B write it where a metric was not logged.
#ifndef ULP_IO_TABLE_MISSING_VALUES_HPP
#define ULP_IO_TABLE_MISSING_VALUES_HPP

#include <string>
#include <vector>

#include "column_choice.hpp"
#include "raw_row.hpp"
#include "run_table.hpp"

namespace ulp::io {

// The rows forget such values. Returns notes. norms_may_be_absent: negative norms were left out, beside others.
[[nodiscard]] std::vector<std::string> drop_missing(const run_table& table, const chosen_columns& chosen,
                                                    std::vector<raw_row>& rows, bool norms_may_be_absent);

}  // namespace ulp::io

#endif
