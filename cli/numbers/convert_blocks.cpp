#include "convert_blocks.hpp"

#include <fmt/format.h>

#include <cmath>

#include <ulp/formats/names.hpp>
#include <ulp/io/bytes/error.hpp>

#include "block_words.hpp"
#include "command.hpp"
#include "interrupt.hpp"
#include "options.hpp"
#include "output.hpp"
#include "tables/summary.hpp"

namespace ulp::cli {
namespace {

block_array_conversion total_of(const std::vector<block_array_conversion>& arrays) {
  block_array_conversion total{.name = "all", .from = {}, .shape = {}, .counts = {}};
  for (const block_array_conversion& a : arrays) {
    total.numel += a.numel;
    total.counts += a.counts;
  }
  return total;
}

table counts_table(const std::vector<block_array_conversion>& arrays) {
  using row = block_array_conversion;
  const auto count = [](const char* key, const char* title, std::uint64_t block_counts::*of) {
    return column<row>{key, title, [of](const row& a) { return exactly(a.counts.*of); }};
  };
  const std::vector<column<row>> columns{
      {"tensor", "tensor", [](const row& a) { return a.name; }},
      {"from", "from", [](const row& a) { return a.from; }},
      {"numel", "elements", [](const row& a) { return exactly(a.numel); }},
      count("blocks", "scales", &block_counts::blocks),
      count("zero", "zero", &block_counts::zeros),
      count("underflow", "underflow", &block_counts::newly_zero),
      count("overflow", "overflow", &block_counts::clipped),
      count("infinite", "infinite", &block_counts::infinite),
      count("nan", "NaN", &block_counts::nan),
      {"sqnr_db", "", [](const row& a) { return value_if(std::isfinite(a.counts.sqnr()), a.counts.sqnr()); }},
      {"", "SQNR dB",
       [](const row& a) {
         return std::isnan(a.counts.sqnr()) ? "-"
                : a.counts.error_energy > 0 ? fmt::format("{:.1f}", a.counts.sqnr())
                                            : "exact";
       },
       range_keys::none, alignment::right}};
  return table_of(columns, arrays);
}

}  // namespace

int convert_to_blocks(const block_request& asked) {
  if (!asked.output.ends_with(".npz"))
    throw usage_error(
        fmt::format("{}: scales and codes of {} are several arrays: name a .npz", asked.output, asked.to));
  const block_format& row = *asked.how.row;
  block_file_conversion conversion(asked.input, asked.how);
  for (const std::string& line : conversion.notes()) note(fmt::format("{}: {}", asked.input, line));
  {
    progress shown("elements", conversion.elements());
    conversion.write(asked.output, [&](std::uint64_t elements) { shown.advance(elements); });
  }
  const auto& arrays = conversion.arrays();
  const block_array_conversion total = total_of(arrays);
  const std::string rounding =
      asked.rounding.empty() ? to_string(ulp::rounding{.direction = row.rounding}) : asked.rounding;
  const bool is_alias = asked.to != row.name;
  const summary lines{
      {"input", asked.input, {{"input", asked.input}}},
      {"output", asked.output, {{"output", asked.output}}},
      {"format",
       fmt::format("{}{}: {}", asked.to, is_alias ? fmt::format(", here {}", row.name) : "", row.summary),
       {{"format", asked.to}, {"dialect", std::string{row.name}}}},
      {"blocks",
       fmt::format("{} elements, {}; a scale in {} for {}", row.element.name, rounding, text_of(row.scale),
                   text_of(row.block)),
       {{"element", std::string{row.element.name}},
        {"rounding", rounding},
        {"seed", value_if(asked.rounding.find("stochastic") != std::string::npos, integer(asked.how.seed))},
        {"scale_type", std::string{text_of(row.scale)}},
        {"block", text_of(row.block)}}},
      {"",
       "",
       {{"converted", integer(arrays.size())},
        {"numel", integer(total.numel)},
        {"zero", integer(total.counts.zeros)},
        {"underflow", integer(total.counts.newly_zero)},
        {"overflow", integer(total.counts.clipped)},
        {"infinite", integer(total.counts.infinite)},
        {"nan", integer(total.counts.nan)}}}};
  if (asked.json) {
    print_json("convert", lines, "tensors", counts_table(arrays));
    return done;
  }
  print_text(lines);
  std::vector<block_array_conversion> rows = arrays;
  if (arrays.size() > 1) rows.push_back(total);
  fmt::print("\n{}", to_text(counts_table(rows)));
  return done;
}

}  // namespace ulp::cli
