#include <ulp/report/pictures/block_window.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ulp/ask/questions/number_text.hpp>
#include <ulp/report/pictures/exponent_fit.hpp>
#include <ulp/report/tables/block_words.hpp>
#include <ulp/report/tables/table.hpp>
#include <vector>

namespace ulp {
namespace {

format_limits limits_of(const block_format& row) {
  const outcome_thresholds t = thresholds_of(row, false);
  const auto log2_of = [](const threshold& at) { return std::log2(double_from(at.at)); };
  return {log2_of(t.nonzero), log2_of(t.normal), log2_of(t.overflow)};
}

std::string unit_of(block_basis basis, const block_format& row) {
  switch (basis) {
    case block_basis::scale:
      return row.block.columns == 0 && row.block.rows == 0 ? "the tensor's scale" : "the block's scale";
    case block_basis::amax: return "2^k of the block's largest value";
    case block_basis::tensor_scale: return "the scale of the tensor's largest value";
    case block_basis::none: break;
  }
  return "";
}

std::string share_text(const block_outcomes& of, const count_range& n) {
  const auto all = static_cast<double>(of.nonzero());
  return all > 0 ? percent_text({static_cast<double>(n.low) / all, static_cast<double>(n.high) / all}) : "none";
}

std::string denominator_text(const block_outcomes& of) {
  return fmt::format("{} nonzero values; {} zeros, {} not finite", grouped(of.nonzero()), grouped(of.zero),
                     grouped(of.nonfinite));
}

std::string left_out_text(const compared_blocks& of) {
  if (of.left_out == 0) return "";
  return fmt::format(". Tensors without such blocks are left out: {} of {}", grouped(of.left_out),
                     grouped(of.counted + of.left_out));
}

}  // namespace

block_window block_window_of(const compared_blocks& of) {
  const block_format& row = *of.of.row;
  block_window made{.bars = of.exponents.by_exponent, .unit = unit_of(of.basis, row)};
  if (made.bars.empty()) return made;
  made.is_bound = of.basis == block_basis::tensor_scale;
  if (of.basis == block_basis::scale || made.is_bound) made.limits = limits_of(row);
  std::map<int, double> counts;
  for (const auto& [exponent, n] : made.bars) counts[exponent] = static_cast<double>(n.high);
  std::vector<std::vector<limit_stretch>> limits;
  if (made.limits)
    for (const double at : {made.limits->nonzero, made.limits->normal, made.limits->overflow})
      limits.push_back({{.at = {at, at}, .steps = 1}});
  const exponent_fit fit = fitted_exponents(counts, limits).value_or(exponent_fit{});
  made.low = fit.low;
  made.high = fit.high;
  for (const auto& [exponent, n] : made.bars) made.beyond += exponent < made.low ? n.high : 0;
  return made;
}

std::string title_of(const compared_blocks& of) {
  const block_format& row = *of.of.row;
  const std::string name = of.of.name == row.name ? of.of.name : fmt::format("{} ({})", of.of.name, row.name);
  return fmt::format("{}: {}, a {} scale for {}{}, {}", name, row.element.name, text_of(row.scale), text_of(row.block),
                     of.along_other ? " down the columns" : "", rule_name(row));
}

std::string outcomes_text(const compared_blocks& of) {
  const block_outcomes& o = of.outcomes;
  const std::string convert = fmt::format("ulp convert --to {} counts one dump exactly", of.of.name);
  switch (of.basis) {
    case block_basis::scale: {
      const std::string lost =
          o.lost.high > 0 ? fmt::format(", {} in blocks whose scale is NaN", share_text(o, o.lost)) : "";
      return fmt::format("lost {}, subnormal {}, normal {}, {} {}{} of {}{}", share_text(o, o.underflow),
                         share_text(o, o.subnormal), share_text(o, o.normal),
                         of.of.row->saturates ? "saturated" : "overflow", share_text(o, o.overflow), lost,
                         denominator_text(o), left_out_text(of));
    }
    case block_basis::amax:
      return fmt::format("what becomes of the values is not counted, since {}; {}{}", of.why_open, convert,
                         left_out_text(of));
    case block_basis::tensor_scale:
      return fmt::format(
          "what becomes of the values is not known, since {}. Certain all the same: no scale is above the one that the "
          "tensor's largest value asks for, so at most {} become zero, of {}",
          of.why_open, share_text(o, {o.underflow.high, o.underflow.high}), denominator_text(o));
    case block_basis::none: break;
  }
  return fmt::format("nothing is known, since {}; {}", of.why_open, convert);
}

std::string fate_text(const block_window& window, int exponent) {
  if (!window.limits) return "";
  const format_limits& at = *window.limits;
  const double low = exponent;
  const double high = exponent + 1.0;
  if (window.is_bound)
    return low >= at.nonzero   ? "becomes zero in no block"
           : high > at.nonzero ? "partly may become zero"
                               : "may become zero";
  std::vector<std::string> fates;
  if (low < at.nonzero) fates.emplace_back("becomes zero");
  if (high > at.nonzero && low < at.normal && at.nonzero < at.normal) fates.emplace_back("subnormal");
  if (high > at.normal && low < at.overflow) fates.emplace_back("normal");
  if (high > at.overflow) fates.emplace_back("beyond the largest number");
  return fates.size() < 2 ? fmt::format("{}", fmt::join(fates, ""))
                          : fmt::format("partly {}", fmt::join(fates, ", partly "));
}

}  // namespace ulp
