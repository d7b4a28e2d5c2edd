// The table of `ulp precision accumulate`.
#ifndef ULP_REPORT_TABLES_ACCUMULATION_TABLE_HPP
#define ULP_REPORT_TABLES_ACCUMULATION_TABLE_HPP

#include <vector>

#include <ulp/ask/precision/accumulate_answer.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

[[nodiscard]] table accumulation_table(const std::vector<accumulation_row>& rows);

}  // namespace ulp

#endif
