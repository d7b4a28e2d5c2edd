// The table of `ulp precision dot`.
#ifndef ULP_REPORT_TABLES_DOT_TABLE_HPP
#define ULP_REPORT_TABLES_DOT_TABLE_HPP

#include <vector>

#include <ulp/ask/precision/dot_answer.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

[[nodiscard]] table dot_table(const std::vector<dot_row>& rows);

}  // namespace ulp

#endif
