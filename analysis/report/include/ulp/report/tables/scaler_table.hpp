// The catalogues of policies, as `ulp scalers` writes them.
#ifndef ULP_REPORT_TABLES_SCALER_TABLE_HPP
#define ULP_REPORT_TABLES_SCALER_TABLE_HPP

#include <string_view>
#include <vector>

#include <ulp/model/machines/fp8_scaler.hpp>
#include <ulp/model/machines/scaler.hpp>
#include <ulp/model/recipe/fp8_recipe.hpp>
#include <ulp/report/tables/table.hpp>

namespace ulp {

// Loss scalers, a row each.
[[nodiscard]] table loss_scaler_table();
// Policies that scale each tensor, and the recipes of them.
[[nodiscard]] table fp8_scaler_table();
[[nodiscard]] table fp8_recipe_table();

// For machines: the policies of both kinds, with a column `scope`, run or tensor.
[[nodiscard]] table scaler_table();

// A row for each parameter of one.
[[nodiscard]] table parameter_table(std::string_view policy, const std::vector<scaler_parameter>& parameters);

}  // namespace ulp

#endif
