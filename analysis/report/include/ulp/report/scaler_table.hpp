// The catalogue of loss-scale policies, as `ulp scalers` writes it.
#ifndef ULP_REPORT_SCALER_TABLE_HPP
#define ULP_REPORT_SCALER_TABLE_HPP

#include <ulp/model/scaler.hpp>
#include <ulp/report/table.hpp>

namespace ulp {

// A row for each policy.
[[nodiscard]] table scaler_table();

// A row for each parameter of one.
[[nodiscard]] table parameter_table(const scaler_entry& entry);

}  // namespace ulp

#endif
