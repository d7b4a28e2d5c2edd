#include "accumulation.hpp"

#include <fmt/format.h>

#include <cmath>
#include <ulp/report/typed_values.hpp>

namespace ulp {
namespace {

// Micro-batches added one after the other in that format, as frameworks do: all tensors together, else the worst; nullptr
// where the format was not asked for.
const accumulation_row* row_in(const std::vector<accumulation_row>& rows, const format& in) {
  const accumulation_row* found = nullptr;
  for (const accumulation_row& row : rows) {
    if (row.way->how.order.kind != sum_order::sequential || row.way->how.accumulator != in) continue;
    if (found == nullptr || row.tensor.empty() || row.relative_error > found->relative_error) found = &row;
  }
  return found;
}

std::string error_text(const accumulation_row& row) {
  if (std::isnan(row.relative_error)) return "all sums are zero";
  const double lost = row.measured ? row.measured->bits_lost() : std::nan("");
  return fmt::format("the sums of {} micro-batches have an rms error of {}{:.1e}{}", row.microbatches,
                     row.measured ? "" : "about ", row.relative_error,
                     lost > 0 ? fmt::format(", {:.1f} bits beyond one rounding", lost) : "");
}

}  // namespace

std::vector<std::string> conclusions_of(const std::vector<accumulation_row>& rows, const imported_config& said) {
  if (!said.accumulates_in)
    return {
        fmt::format("your configuration does not say what {} accumulates gradients in: the table is of formats that "
                    "it may be",
                    said.framework)};
  const auto& [name, assumed] = *said.accumulates_in;
  const std::string start = assumed.empty()
                                ? fmt::format("your configuration accumulates in {}", name)
                                : fmt::format("your configuration is assumed to accumulate in {} ({})", name, assumed);
  const format in = format_named(name);
  if (in.width() > 32) return {start + ": the table says what 16 bits would lose"};
  const accumulation_row* const row = row_in(rows, in);
  if (row == nullptr) return {start + ", which --format leaves out"};
  return {start + ": " + error_text(*row) + (in.width() == 32 ? "; the table says what 16 bits would lose" : "")};
}

}  // namespace ulp
