// What a training loop logged of each step, as columns of a CSV.
#ifndef ULP_IO_CSV_SCALARS_HPP
#define ULP_IO_CSV_SCALARS_HPP

#include <optional>
#include <string>

#include <ulp/model/cells/step.hpp>

#include "csv.hpp"
#include "source/scalar_table.hpp"

namespace ulp::io {

// Any of loss, grad_norm, lr, scale, found_inf, applied; an empty field means that the step has none.
class scalar_columns {
 public:
  explicit scalar_columns(const csv_reader& rows);
  [[nodiscard]] bool any() const noexcept;
  [[nodiscard]] step_scalars read(const csv_reader& rows) const;

 private:
  using column = std::optional<csv_reader::column>;
  column loss_;
  column grad_norm_;
  column learning_rate_;
  column loss_scale_;
  column found_inf_;
  column applied_;
};

// All rows of a CSV with a `step` column and at least one of these. Throws input_error.
[[nodiscard]] scalar_table read_scalar_csv(csv_reader rows);

}  // namespace ulp::io

#endif
