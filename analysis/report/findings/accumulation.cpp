#include <ulp/report/findings/accumulation.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <ulp/ask/questions/number_text.hpp>
#include <ulp/ask/questions/typed_values.hpp>

namespace ulp {
namespace {

// The rows of one format, of which the first is of sums one after the other.
using ways_in_format = std::vector<const accumulation_row*>;

std::vector<ways_in_format> by_format(const std::vector<accumulation_row>& rows) {
  // Those of all tensors stand last.
  const auto of_most = std::ranges::max_element(rows, {}, &accumulation_row::microbatches);
  const std::string& shown = of_most->measured ? rows.back().tensor : of_most->tensor;
  std::vector<ways_in_format> all;
  for (const accumulation_row& r : rows) {
    if (r.tensor != shown) continue;
    // Sequential begins the rows of a format, the same one twice too.
    if (r.way.how.order.kind == sum_order::sequential) all.emplace_back();
    all.back().push_back(&r);
  }
  return all;
}

std::string error_text(const accumulation_row& row) {
  return fmt::format("{}{:.2e}", row.measured ? "" : "about ", row.relative_error);
}

// What is in no error.
std::vector<std::string> left_out(const accumulation_errors& e) {
  std::vector<std::string> parts;
  if (e.overflowed > 0)
    parts.push_back(fmt::format("{} of {} overflow{}", grouped(e.overflowed), count_text(e.numel, "sum"),
                                e.overflowed == 1 ? "s" : ""));
  if (e.nonfinite > 0)
    parts.push_back(fmt::format("{} of {} ha{} infinite or NaN gradients", grouped(e.nonfinite),
                                count_text(e.numel, "sum"), e.nonfinite == 1 ? "s" : "ve"));
  return parts;
}

std::string text_of(const accumulation_row& row, const std::string& sums) {
  const bool is_known = !std::isnan(row.relative_error);
  if (!row.measured)
    return is_known ? fmt::format("{} have an rms error of {}", sums, error_text(row))
                    : fmt::format("one after the other {} micro-batches are too many for the model",
                                  grouped(row.microbatches));
  const accumulation_errors& e = *row.measured;
  std::vector<std::string> parts = left_out(e);
  if (!is_known) {
    if (e.overflowed + e.nonfinite < e.numel)
      parts.push_back(fmt::format("the {}exact sums are zero{}", parts.empty() ? "" : "other ",
                                  e.squared_error.is_zero() ? "" : " and the results are not"));
    return fmt::format("{} have no relative error: {}", sums, fmt::join(parts, ", "));
  }
  const double lost = e.bits_lost();
  std::string text = row.relative_error == 0 ? fmt::format("{} are exact", sums)
                                             : fmt::format("{} have an rms error of {}", sums, error_text(row));
  if (lost >= 0.05) text += fmt::format(", {:.1f} bits beyond one rounding", lost);
  for (const std::string& part : parts) text += "; " + part;
  return text;
}

double error_or_infinity(const accumulation_row* row) {
  return std::isnan(row->relative_error) ? std::numeric_limits<double>::infinity() : row->relative_error;
}

std::vector<std::string> conclusions_of_formats(const std::vector<accumulation_row>& rows) {
  std::vector<std::string> all;
  for (const ways_in_format& ways : by_format(rows)) {
    if (ways.size() < 2) continue;
    const accumulation_row* const plain = ways.front();
    const accumulation_row* const least = *std::ranges::min_element(ways, {}, error_or_infinity);
    all.push_back(plain->way.format_name + ": " + text_of(*plain, "sums one after the other"));
    if (error_or_infinity(least) < error_or_infinity(plain))
      all.back() += fmt::format("; least has {}: {}", least->way.order, error_text(*least));
  }
  return all;
}

std::string conclusion_of(const std::vector<accumulation_row>& rows, const imported_config& said) {
  if (!said.accumulates_in)
    return fmt::format(
        "your configuration does not say what {} accumulates gradients in: the table is of formats that "
        "it may be",
        said.framework);
  const auto& [name, assumed] = *said.accumulates_in;
  const std::string start = assumed.empty()
                                ? fmt::format("your configuration accumulates in {}", name)
                                : fmt::format("your configuration is assumed to accumulate in {} ({})", name, assumed);
  const format in = format_named(name);
  if (in.width() > 32) return start + ": the table says what 16 bits would lose";
  const auto all = by_format(rows);
  const auto found =
      std::ranges::find_if(all, [&](const ways_in_format& ways) { return ways.front()->way.how.accumulator == in; });
  if (found == all.end()) return start + ", which --format leaves out";
  const accumulation_row& row = *found->front();
  const std::string sums = row.microbatches == 1
                               ? std::string{"the sums of 1 micro-batch"}
                               : fmt::format("the sums of {} micro-batches", grouped(row.microbatches));
  return start + ": " + text_of(row, sums) + (in.width() == 32 ? "; the table says what 16 bits would lose" : "");
}

}  // namespace

std::vector<std::string> conclusions_of(const accumulate_answer& answer) {
  std::vector<std::string> all;
  if (answer.said) all.push_back(conclusion_of(answer.rows, *answer.said));
  for (std::string& line : conclusions_of_formats(answer.rows)) all.push_back(std::move(line));
  return all;
}

}  // namespace ulp
