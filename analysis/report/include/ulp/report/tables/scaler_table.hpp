// The catalogue of loss-scale policies, as `ulp scalers` writes it.
#ifndef ULP_REPORT_TABLES_SCALER_TABLE_HPP
#define ULP_REPORT_TABLES_SCALER_TABLE_HPP

#include <ulp/model/machines/scaler.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

// A row for each policy.
[[nodiscard]] table scaler_table();

// A row for each parameter of one.
[[nodiscard]] table parameter_table(const scaler_entry& entry);

}  // namespace ulp

#endif
