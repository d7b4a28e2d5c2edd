#include <ulp/report/tables/block_outcome_table.hpp>

#include <fmt/format.h>

#include <string>
#include <vector>

namespace ulp {
namespace {

struct block_row_of {
  const outcome_key& key;
  const block_outcome_group& sums;
  const block_case& asked;
  const block_outcomes& given;
};

table_value percent_of_nonzero(const block_outcomes& of, const count_range& part) {
  if (of.nonzero() == 0) return {};
  const auto percent = [&](std::uint64_t n) {
    return fmt::format("{:.4g}", 100 * static_cast<double>(n) / static_cast<double>(of.nonzero()));
  };
  return ends_text(percent(part.low), percent(part.high));
}

}  // namespace

table block_outcome_table(const block_outcome_answer& all) {
  using row = block_row_of;
  const auto title_by = [&](const char* what) { return all.is_by(what) ? what : ""; };
  const auto part = [](const char* key, const char* title, count_range block_outcomes::*of) {
    return column<row>{key, title, [=](const row& r) { return table_value{r.given.*of}; }, range_keys::both};
  };
  const auto number = [](const char* key, const char* title, std::uint64_t block_outcomes::*of) {
    return column<row>{key, title, [=](const row& r) { return integer(r.given.*of); }};
  };
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
      part("clamped_blocks", "clamped", &block_outcomes::clamped_blocks),
      part("nan_blocks", "", &block_outcomes::nan_blocks),
  };
  std::vector<row> rows;
  for (const auto& [key, sums] : all.groups)
    for (std::size_t f = 0; f < all.formats.size(); ++f) rows.push_back({key, sums, all.formats[f], sums.of[f]});
  return table_of(columns, rows);
}

}  // namespace ulp
