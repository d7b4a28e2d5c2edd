#include "bucket_widths.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace ulp::io {

namespace {

// Three digits.
std::string rounded(double x) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), x, std::chars_format::general, 3).ptr;
  return {text.data(), end};
}

}  // namespace

void bucket_widths::add(const cell_table& table) {
  values_ += static_cast<double>(table.zeros);
  const double largest = table.largest_possible();
  for (const bucket& b : table.buckets) {
    const auto n = static_cast<double>(b.count);
    const double low = std::max(b.low, -largest);
    const double high = std::min(b.high, largest);
    const double reach = std::max(std::fabs(low), std::fabs(high));
    values_ += n;
    if (reach == 0) continue;
    relative_ += n * (high / reach - low / reach);
    const bool one_sign = low > 0 || high < 0;
    if (!one_sign || std::ilogb(low) != std::ilogb(high)) binade_unknown_ += n;
    if (!b.may_hold_zero()) continue;
    maybe_zero_ += n;
    least_reach_ = least_reach_ == 0 ? reach : std::min(least_reach_, reach);
    greatest_reach_ = std::max(greatest_reach_, reach);
  }
  if (table.nonfinite() > 0) {
    not_in_buckets_ += table.nonfinite();
    ++tables_with_those_;
  }
}

std::string bucket_widths::text() const {
  if (values_ == 0) return "TensorBoard histograms without a finite value";
  const auto percent = [&](double part) { return rounded(100 * part / values_) + " %"; };
  std::string all = "TensorBoard histograms: counts are ranges; buckets are " + percent(relative_) +
                    " wide on average, " + percent(binade_unknown_) + " of the values have an uncertain binade";
  if (maybe_zero_ > 0)
    all += ", " + percent(maybe_zero_) + " may be zero or as large as " +
           (least_reach_ == greatest_reach_ ? "" : rounded(least_reach_) + " to ") + rounded(greatest_reach_);
  if (not_in_buckets_ > 0)
    all += "; " + std::to_string(not_in_buckets_) + " values, of " + std::to_string(tables_with_those_) +
           " histograms, are in no bucket and count as NaN or infinite";
  return all;
}

}  // namespace ulp::io
