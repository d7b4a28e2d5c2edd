#include <ulp/report/tables/accumulation_table.hpp>

#include <fmt/format.h>

#include <cmath>

namespace ulp {
namespace {

table_value number_if_known(double x) { return value_if(!std::isnan(x), x); }

table_value share(std::uint64_t part, std::uint64_t of) {
  return value_if(of > 0, static_cast<double>(part) / static_cast<double>(of));
}

std::string percent_or_dash(const table_value& share) {
  const double* const x = std::get_if<double>(&share);
  return x == nullptr ? "-" : percent_text({*x, *x});
}

}  // namespace

table accumulation_table(const std::vector<accumulation_row>& rows) {
  using row = accumulation_row;
  const auto of = [](auto get) {
    return [get](const row& r) { return r.measured ? table_value{get(*r.measured)} : table_value{}; };
  };
  const auto swamped = [](const row& r) {
    return r.measured && r.way.how.order.kind != sum_order::compensated
               ? share(r.measured->swamped, r.measured->addends)
               : table_value{};
  };
  const auto underflow = [](const row& r) {
    return r.measured ? share(r.measured->underflowed, r.measured->addends) : table_value{};
  };
  const std::vector<column<row>> columns = {
      {"tensor", "", [](const row& r) { return value_if(!r.tensor.empty(), r.tensor); }},
      {"", "tensor", [](const row& r) { return r.tensor.empty() ? "(all)" : r.tensor; }},
      {"format", "format", [](const row& r) { return r.way.format_name; }},
      {"order", "order", [](const row& r) { return r.way.order; }},
      {"microbatches", "", [](const row& r) { return integer(r.microbatches); }},
      {"numel", "", [](const row& r) { return integer(r.numel); }},
      {"relative_error", "", [](const row& r) { return number_if_known(r.relative_error); }},
      {"modelled", "", [](const row& r) { return !r.measured; }},
      {"", "rms error",
       [](const row& r) {
         return std::isnan(r.relative_error) ? "-" : fmt::format("{}{:.2e}", r.measured ? "" : "~ ", r.relative_error);
       },
       range_keys::none, alignment::right},
      {"bits_lost", "", of([](const accumulation_errors& e) { return number_if_known(e.bits_lost()); })},
      {"", "bits lost",
       [](const row& r) {
         return r.measured && !std::isnan(r.measured->bits_lost()) ? fmt::format("{:.1f}", r.measured->bits_lost())
                                                                   : std::string("-");
       },
       range_keys::none, alignment::right},
      {"largest_error_ulps", "", of([](const accumulation_errors& e) { return number_if_known(e.largest_ulps); })},
      {"", "largest error",
       [](const row& r) {
         return r.measured && !std::isnan(r.measured->largest_ulps)
                    ? fmt::format("{:.3g} ulp", r.measured->largest_ulps)
                    : "-";
       },
       range_keys::none, alignment::right},
      {"bias", "", of([](const accumulation_errors& e) { return number_if_known(e.bias()); })},
      {"", "bias",
       [](const row& r) {
         return r.measured && !std::isnan(r.measured->bias()) ? fmt::format("{:+.1e}", r.measured->bias())
                                                              : std::string("-");
       },
       range_keys::none, alignment::right},
      {"swamped_share", "", swamped},
      {"", "swamped", [=](const row& r) { return percent_or_dash(swamped(r)); }, range_keys::none, alignment::right},
      {"underflow_share", "", underflow},
      {"", "underflow", [=](const row& r) { return percent_or_dash(underflow(r)); }, range_keys::none,
       alignment::right},
      {"overflowed", "overflowed", of([](const accumulation_errors& e) { return integer(e.overflowed); })},
      {"nonfinite", "nonfinite", of([](const accumulation_errors& e) { return integer(e.nonfinite); })},
      {"not_normal_share", "",
       [](const row& r) { return r.beyond_normal ? table_value{*r.beyond_normal} : table_value{}; }, range_keys::both},
      {"", "not normal",
       [](const row& r) { return r.beyond_normal ? table_value{percent_text(*r.beyond_normal)} : table_value{}; },
       range_keys::none, alignment::right},
  };
  return table_of(columns, rows);
}

}  // namespace ulp
