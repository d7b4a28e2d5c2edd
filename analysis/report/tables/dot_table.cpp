#include <ulp/report/tables/dot_table.hpp>

#include <fmt/format.h>

#include <cmath>

#include <ulp/formats/names.hpp>

namespace ulp {
namespace {

const char* text_of(dot_basis basis) {
  return basis == dot_basis::defined ? "" : basis == dot_basis::measured ? "measured" : "assumed";
}

std::string text_of(double x) { return std::isnan(x) ? "-" : fmt::format("{:.2e}", x); }

}  // namespace

table dot_table(const std::vector<dot_row>& rows) {
  using row = dot_row;
  const std::vector<column<row>> columns = {
      {"operands", "operands", [](const row& r) { return r.operands; }},
      {"order", "order", [](const row& r) { return r.order.name; }},
      {"basis", "basis", [](const row& r) { return std::string(text_of(r.order.basis)); }},
      {"largest_relative_error", "", [](const row& r) { return table_value{r.errors.largest_relative}; }},
      {"", "largest error", [](const row& r) { return text_of(r.errors.largest_relative); }, range_keys::none,
       alignment::right},
      {"rms_relative_error", "", [](const row& r) { return table_value{r.errors.rms_relative()}; }},
      {"", "rms error", [](const row& r) { return text_of(r.errors.rms_relative()); }, range_keys::none,
       alignment::right},
      {"bias", "", [](const row& r) { return table_value{r.errors.mean_outward()}; }},
      {"", "bias",
       [](const row& r) {
         const double x = r.errors.mean_outward();
         return std::isnan(x) ? std::string("-") : fmt::format("{:+.1e}", x);
       },
       range_keys::none, alignment::right},
      {"largest_error_ulps", "", [](const row& r) { return table_value{r.errors.largest_ulps}; }},
      {"", "largest in ulp",
       [](const row& r) {
         return std::isnan(r.errors.largest_ulps) ? "-" : fmt::format("{:.4g}", r.errors.largest_ulps);
       },
       range_keys::none, alignment::right},
      {"result", "of", [](const row& r) { return to_string(r.order.result()); }},
      {"overflowed", "overflowed", [](const row& r) { return integer(r.errors.overflowed); }},
      {"nonfinite", "nonfinite", [](const row& r) { return integer(r.errors.nonfinite); }},
      {"source", "", [](const row& r) { return value_if(!r.order.source.empty(), r.order.source); }},
      {"note", "", [](const row& r) { return value_if(!r.order.note.empty(), r.order.note); }},
  };
  return table_of(columns, rows);
}

}  // namespace ulp
