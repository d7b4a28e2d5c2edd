// Values under names as JSON in one line, as they stand in a cell.
#ifndef ULP_REPORT_TABLES_TABLE_JSON_HPP
#define ULP_REPORT_TABLES_TABLE_JSON_HPP

#include <string>

#include <ulp/report/tables/table.hpp>

namespace ulp {

[[nodiscard]] std::string to_json(const named_values& values);

}  // namespace ulp

#endif
