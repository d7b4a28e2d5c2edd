#include <ulp/report/tables/block_outcome_table.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace ulp {
namespace {

struct block_row_of {
  const outcome_key& key;
  const block_outcome_group& sums;
  const block_case& asked;
  const block_outcomes& given;
  const quantized_outcomes& all;
};

table_value percent_of_nonzero(const block_outcomes& of, const count_range& part) {
  if (of.nonzero() == 0) return {};
  const auto percent = [&](std::uint64_t n) {
    return fmt::format("{:.4g}", 100 * static_cast<double>(n) / static_cast<double>(of.nonzero()));
  };
  return ends_text(percent(part.low), percent(part.high));
}

using error_figure = double (error_energies::*)() const noexcept;

double figure(const block_row_of& r, error_figure of) { return r.all.errors ? ((*r.all.errors).*of)() : not_known; }

table_value error(const block_row_of& r, error_figure of) { return value_if(r.all.errors.has_value(), figure(r, of)); }

std::string brief(const block_row_of& r, error_figure of, const char* as) {
  const double x = figure(r, of);
  return std::isnan(x) ? "-" : std::isinf(x) ? "exact" : fmt::format(fmt::runtime(as), x);
}

}  // namespace

table block_outcome_table(const block_outcome_answer& all) {
  using row = block_row_of;
  const auto title_by = [&](const char* what) { return all.is_by(what) ? what : ""; };
  const auto part = [](const char* key, const char* title, count_range block_outcomes::*of) {
    return column<row>{key, title, [=](const row& r) { return table_value{r.given.*of}; }, range_keys::both};
  };
  const auto number = [](const char* key, const char* title, std::uint64_t block_outcomes::*of) {
    return column<row>{key, title, [=](const row& r) { return table_value{count_range{r.given.*of, r.given.*of}}; }};
  };
  const bool has_errors = std::ranges::any_of(all.groups, [](const auto& group) {
    return std::ranges::any_of(group.second.of, [](const quantized_outcomes& o) { return o.errors.has_value(); });
  });
  const std::vector<column<row>> columns = {
      {"group", title_by("group"),
       [&](const row& r) { return r.key.named ? table_value{all.named[*r.key.named].name} : table_value{}; }},
      {"tensor", title_by("tensor"),
       [&](const row& r) { return r.key.tensor ? table_value{all.tensors[*r.key.tensor].name} : table_value{}; }},
      {"kind", title_by("kind"),
       [](const row& r) { return value_if(!r.sums.mixed_kinds, std::string{to_string(r.sums.kind)}); }},
      {"step", title_by("step"),
       [](const row& r) { return value_if(r.sums.steps.size() == 1, *r.sums.steps.begin()); }},
      {"format", all.formats.size() > 1 ? "format" : "", [](const row& r) { return r.asked.format_name; }},
      {"row", "", [](const row& r) { return std::string{r.asked.row.name}; }},
      {"rounding", "", [](const row& r) { return r.asked.rounding_name; }},
      number("numel", "elements", &block_outcomes::numel),
      number("zero", "zero", &block_outcomes::zero),
      number("nonfinite", "non-finite", &block_outcomes::nonfinite),
      part("underflow", "underflow", &block_outcomes::underflow),
      {"",
       "% of nonzero",
       [](const row& r) { return percent_of_nonzero(r.given, r.given.underflow); },
       {},
       alignment::right},
      part("subnormal", "subnormal", &block_outcomes::subnormal),
      part("overflow", "overflow", &block_outcomes::overflow),
      part("lost_to_nan", "lost to NaN", &block_outcomes::lost),
      number("blocks", "blocks", &block_outcomes::blocks),
      number("zero_blocks", "", &block_outcomes::zero_blocks),
      number("nonfinite_blocks", "", &block_outcomes::nonfinite_blocks),
      {"clamped_blocks", "clamped", [](const row& r) { return value_if(r.all.knows_clamped, r.given.clamped_blocks); },
       range_keys::both},
      part("nan_blocks", "", &block_outcomes::nan_blocks),
      {"relative_squared_error", "", [](const row& r) { return error(r, &error_energies::relative); }},
      {"sqnr_db", "", [](const row& r) { return error(r, &error_energies::sqnr); }},
      {"", has_errors ? "rel. error^2" : "", [](const row& r) { return brief(r, &error_energies::relative, "{:.3g}"); },
       range_keys::none, alignment::right},
      {"", has_errors ? "SQNR dB" : "", [](const row& r) { return brief(r, &error_energies::sqnr, "{:.2f}"); },
       range_keys::none, alignment::right},
  };
  std::vector<row> rows;
  for (const auto& [key, sums] : all.groups)
    for (std::size_t f = 0; f < all.formats.size(); ++f)
      rows.push_back({key, sums, all.formats[f], sums.of[f].counts, sums.of[f]});
  return table_of(columns, rows);
}

}  // namespace ulp
