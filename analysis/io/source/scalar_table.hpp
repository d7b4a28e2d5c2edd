// What a training loop logged of the steps of a run.
#ifndef ULP_IO_SOURCE_SCALAR_TABLE_HPP
#define ULP_IO_SOURCE_SCALAR_TABLE_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ulp/model/cells/step.hpp>

namespace ulp::io {

// Ascending by step.
using scalar_table = std::vector<std::pair<std::int64_t, step_scalars>>;
// What was logged of one step; nullptr where nothing was.
[[nodiscard]] const step_scalars* logged_at(const scalar_table& scalars, std::int64_t step);

// What a printed norm says. DeepSpeed's is -1 where it is not finite (runtime/utils.py get_global_norm, for
// one): NaN. Any other that is negative is no norm, and says nothing. Nor does -1 where no norm is anything else: none is
// computed then.
[[nodiscard]] std::optional<double> norm_told(double printed) noexcept;
[[nodiscard]] bool is_negative_norm(double printed) noexcept;
[[nodiscard]] std::string negative_norms_text(const std::string& where, bool has_others);

}  // namespace ulp::io

#endif
