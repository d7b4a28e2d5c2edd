#include "read_scalars.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "csv/scalars.hpp"
#include "read_table.hpp"
#include "table_source.hpp"

namespace ulp::io {
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

}  // namespace

scalar_table read_scalars(const std::string& path, const read_limits& limits, const told_columns& told,
                          std::vector<std::string>& notes) {
  line_reader lines = first_text_of(path, limits);
  const std::string_view header = lines.peek();
  if (begins_json(header)) return scalars_of(read_json_table(std::move(lines), told, limits), told, notes);
  if (begins_mlflow_metric(header)) return scalars_of(read_mlflow_metric(std::move(lines), told, limits), told, notes);
  const char separator = separator_of(header);
  const bool is_plain = told.empty() && (separator == ',' || separator == 0) && has_own_names(header);
  if (is_plain || (told.empty() && !is_header_of_run(header, separator)))
    return read_scalar_csv(csv_reader(std::move(lines)));
  const char parts = separator == 0 ? ',' : separator;
  return scalars_of(read_csv_table(csv_reader(std::move(lines), parts), parts, told, limits), told, notes);
}

}  // namespace ulp::io
