#include "scalars.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <ulp/io/bytes/error.hpp>

#include "table/read_table.hpp"
#include "table/table_source.hpp"

namespace ulp::io {
namespace {

double number_in(const csv_reader& rows, const std::optional<csv_reader::column>& at) {
  return at && !rows.is_blank(*at) ? rows.number(*at) : not_known;
}

bool is_nan_in(const csv_reader& rows, const std::optional<csv_reader::column>& at) {
  return at && !rows.is_blank(*at) && std::isnan(rows.number(*at));
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
          .grad_norm = number_in(rows, grad_norm_),
          .learning_rate = number_in(rows, learning_rate_),
          .loss_scale = number_in(rows, loss_scale_),
          .found_inf = flag_in(rows, found_inf_),
          .applied = flag_in(rows, applied_),
          .loss_is_nan = is_nan_in(rows, loss_),
          .grad_norm_is_nan = is_nan_in(rows, grad_norm_)};
}

namespace {

// Whether a line names all that it tells by the names that scalar_columns takes.
bool has_own_names(std::string_view header) {
  constexpr std::array own{"loss", "grad_norm", "lr", "learning_rate", "scale", "loss_scale", "found_inf", "applied"};
  bool has_step = false;
  for (const std::string& name : names_in(header, ',')) {
    const auto reading = reading_of(name);
    has_step = has_step || name == "step";
    const bool tells = reading && reading->means != column_meaning::step && reading->means != column_meaning::epoch &&
                       reading->means <= column_meaning::applied && !reading->of_validation;
    if (tells && std::ranges::find(own, name) == own.end()) return false;
  }
  return has_step;
}

scalar_table read_csv(csv_reader rows) {
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

}  // namespace

scalar_table read_scalars(const std::string& path, const read_limits& limits, const told_columns& told,
                          std::vector<std::string>& notes) {
  line_reader lines(path, limits);
  const std::string_view header = lines.peek();
  if (begins_json(header)) return scalars_of(read_json_table(std::move(lines), told, limits), told, notes);
  if (begins_mlflow_metric(header)) return scalars_of(read_mlflow_metric(std::move(lines), told, limits), told, notes);
  const char separator = separator_of(header);
  const bool is_plain = told.empty() && (separator == ',' || separator == 0) && has_own_names(header);
  if (is_plain || (told.empty() && !is_header_of_run(header, separator))) return read_csv(csv_reader(std::move(lines)));
  const char parts = separator == 0 ? ',' : separator;
  return scalars_of(read_csv_table(csv_reader(std::move(lines), parts), parts, told, limits), told, notes);
}

}  // namespace ulp::io
