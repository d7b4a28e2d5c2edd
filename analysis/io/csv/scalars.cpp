#include "scalars.hpp"

#include <algorithm>
#include <cmath>

#include <ulp/io/bytes/error.hpp>

#include "source/scalar_table.hpp"

namespace ulp::io {
namespace {

double number_in(const csv_reader& rows, const std::optional<csv_reader::column>& at) {
  return at && !rows.is_blank(*at) ? rows.number(*at) : not_known;
}

bool is_nan_in(const csv_reader& rows, const std::optional<csv_reader::column>& at) {
  return at && !rows.is_blank(*at) && std::isnan(rows.number(*at));
}

// A norm as norm_told reads it.
double norm_in(const csv_reader& rows, const std::optional<csv_reader::column>& at) {
  return norm_told(number_in(rows, at)).value_or(not_known);
}

bool norm_is_nan_in(const csv_reader& rows, const std::optional<csv_reader::column>& at) {
  const auto told = at && !rows.is_blank(*at) ? norm_told(rows.number(*at)) : std::nullopt;
  return told && std::isnan(*told);
}

std::optional<bool> flag_in(const csv_reader& rows, const std::optional<csv_reader::column>& at) {
  if (!at || rows.is_blank(*at)) return std::nullopt;
  return rows.flag(*at);
}

}  // namespace

scalar_columns::scalar_columns(const csv_reader& rows)
    : loss_(rows.find("loss")),
      grad_norm_(rows.find("grad_norm")),
      learning_rate_(rows.find_any({"lr", "learning_rate"})),
      loss_scale_(rows.find_any({"scale", "loss_scale"})),
      found_inf_(rows.find("found_inf")),
      applied_(rows.find("applied")) {}

bool scalar_columns::any() const noexcept {
  return loss_ || grad_norm_ || learning_rate_ || loss_scale_ || found_inf_ || applied_;
}

step_scalars scalar_columns::read(const csv_reader& rows) const {
  return {.loss = number_in(rows, loss_),
          .grad_norm = norm_in(rows, grad_norm_),
          .learning_rate = number_in(rows, learning_rate_),
          .loss_scale = number_in(rows, loss_scale_),
          .found_inf = flag_in(rows, found_inf_),
          .applied = flag_in(rows, applied_),
          .loss_is_nan = is_nan_in(rows, loss_),
          .grad_norm_is_nan = norm_is_nan_in(rows, grad_norm_)};
}

scalar_table read_scalar_csv(csv_reader rows) {
  const csv_reader::column step = rows.require("step");
  const scalar_columns columns(rows);
  if (!columns.any())
    throw input_error(rows.path(), "line 1",
                      "none of the columns loss, grad_norm, lr, scale, found_inf, applied is here");
  scalar_table table;
  std::optional<std::int64_t> previous;
  while (rows.next()) {
    previous = rows.step(step, previous);
    table.emplace_back(*previous, columns.read(rows));
  }
  if (table.empty()) throw input_error(rows.path(), "", "holds no rows below its header");
  return table;
}

}  // namespace ulp::io
