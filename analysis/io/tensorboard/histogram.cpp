#include "histogram.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace ulp::io {
namespace {

constexpr double greatest = std::numeric_limits<double>::max();

std::uint64_t count_from(double x, const char* what) {
  if (!(x >= 0) || x > static_cast<double>(max_numel) || x != std::floor(x))
    throw histogram_error(std::string(what) + " that is not a whole number from 0 to 2^40");
  return static_cast<std::uint64_t>(x);
}

// Collects buckets; those that hold nothing but zero are zeros.
class bucket_list {
 public:
  explicit bucket_list(cell_table& of) : table_(of) {}

  void add(double low, double high, std::uint64_t count) {
    if (count == 0) return;
    table_.numel += count;
    if (table_.numel > max_numel) throw histogram_error("more than the 2^40 elements that a table may have");
    if (low == 0 && high == 0)
      table_.zeros += count;
    else
      table_.buckets.push_back({.low = low + 0.0, .high = high + 0.0, .count = count});  // -0 becomes 0
  }

  // Puts them in order, equal ones as one.
  void finish() {
    std::vector<bucket>& all = table_.buckets;
    std::ranges::sort(all, {}, [](const bucket& b) { return std::pair{b.low, b.high}; });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (kept > 0 && all[kept - 1].low == all[i].low && all[kept - 1].high == all[i].high)
        all[kept - 1].count += all[i].count;
      else
        all[kept++] = all[i];
    }
    all.resize(kept);
    for (const bucket& b : all) table_.maybe_zeros += b.may_hold_zero() ? b.count : 0;
    if (!all.empty()) table_.min_abs = not_known;
  }

 private:
  cell_table& table_;
};

// The sum of squares as it was reported (by numpy in float32), where the buckets allow for it.
double believed_squares(double reported, const cell_table& table) {
  if (table.nonfinite() > 0 || !(reported > 0) || !std::isfinite(reported)) return not_known;
  double least = 0;
  double most = 0;
  for (const bucket& b : table.buckets) {
    const double near = b.may_hold_zero() ? 0 : std::min(std::fabs(b.low), std::fabs(b.high));
    const double far = std::max(std::fabs(b.low), std::fabs(b.high));
    least += static_cast<double>(b.count) * near * near;
    most += static_cast<double>(b.count) * far * far;
  }
  return reported >= 0.99 * least && reported <= 1.01 * most ? reported : not_known;
}

std::uint64_t sum_of(const std::vector<std::uint64_t>& counts) {
  std::uint64_t sum = 0;
  for (const std::uint64_t n : counts) {
    sum += n;
    if (sum > max_numel) throw histogram_error("buckets that hold more than 2^40 values");
  }
  return sum;
}

// The values that are in no bucket.
void add_missing(cell_table& table, bucket_list& buckets, const tf_histogram& h, std::uint64_t missing) {
  if (std::isnan(h.min) || std::isnan(h.max)) {
    table.nans = missing;
  } else if (std::isinf(h.min) || std::isinf(h.max)) {
    const bool negative = h.min < -greatest;
    const bool positive = h.max > greatest;
    (negative && positive ? table.unsigned_infinities
     : negative           ? table.negative_infinities
                          : table.positive_infinities) = missing;
  } else {
    const bool above = h.limits.empty() || h.max > h.limits.back();
    const bool below = h.limits.empty() || h.min < h.limits.front();
    if (!above && !below) throw histogram_error("num is " + std::to_string(missing) + " more than its buckets hold");
    buckets.add(below ? h.min : h.limits.back(), above ? h.max : h.limits.front(), missing);
    return;
  }
  table.numel += missing;
}

}  // namespace

cell_table table_of(const tf_histogram& h) {
  if (h.limits.size() != h.counts.size())
    throw histogram_error(std::to_string(h.limits.size()) + " bucket limits, but " + std::to_string(h.counts.size()) +
                          " buckets");
  const std::uint64_t num = count_from(h.num, "a num");
  std::vector<std::uint64_t> counts;
  counts.reserve(h.counts.size());
  for (const double n : h.counts) counts.push_back(count_from(n, "a bucket with a count"));
  for (std::size_t i = 0; i < h.limits.size(); ++i)
    if (std::isnan(h.limits[i]) || (i > 0 && h.limits[i] < h.limits[i - 1]))
      throw histogram_error("bucket limits that do not ascend");
  const std::uint64_t held = sum_of(counts);
  if (held > num)
    throw histogram_error("num is " + std::to_string(num) + ", but its buckets hold " + std::to_string(held) +
                          " values");
  if (h.min > h.max) throw histogram_error("a smallest value above the largest");
  const bool finite = std::isfinite(h.min) && std::isfinite(h.max);
  if (num > 0 && held == num && !finite)
    throw histogram_error("a smallest or largest value that is not a number, but no value outside its buckets");

  cell_table table;
  bucket_list buckets(table);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    double low = i == 0 ? -greatest : std::max(h.limits[i - 1], -greatest);
    double high = std::min(h.limits[i], greatest);
    if (finite) {
      low = std::max(low, h.min);
      high = std::min(high, h.max);
    }
    if (low > high) throw histogram_error("a smallest or largest value that does not lie in its buckets");
    // The upper limit 0 is no value of the bucket.
    if (h.limits[i] == 0 && low < 0 && i + 1 < counts.size()) high = -std::numeric_limits<double>::denorm_min();
    buckets.add(low, high, counts[i]);
  }
  if (num > held) add_missing(table, buckets, h, num - held);
  buckets.finish();
  if (table.nonzero_finite() > 0) table.max_abs = finite ? std::max(std::fabs(h.min), std::fabs(h.max)) : not_known;
  table.reported_square_sum = believed_squares(h.sum_squares, table);
  return table;
}

std::optional<cell_table> table_of(const tf_tensor& t) {
  constexpr std::uint64_t most_rows = std::uint64_t{1} << 20;
  if (t.shape.size() != 2 || t.shape[1] != 3) throw histogram_error("a tensor of another shape than [k, 3]");
  const std::uint64_t rows = t.shape[0];
  if (rows > most_rows) throw histogram_error("more than 2^20 buckets");
  if (t.values.size() > rows * 3) throw histogram_error("more values than its shape has");
  if (rows > 0 && t.values.empty()) throw histogram_error("a tensor that is not of float32 or float64 values");
  const auto value = [&](std::uint64_t i) { return t.values[std::min<std::uint64_t>(i, t.values.size() - 1)]; };

  struct row {
    double left, right;
    std::uint64_t count;
  };
  std::vector<row> held;
  for (std::uint64_t i = 0; i < rows; ++i) {
    const row r{value(3 * i), value(3 * i + 1), count_from(value(3 * i + 2), "a bucket with a count")};
    if (r.count == 0) continue;
    if (!std::isfinite(r.left) || !std::isfinite(r.right)) return std::nullopt;
    if (r.left > r.right || (!held.empty() && r.left < held.back().left))
      throw histogram_error("bucket edges that do not ascend");
    held.push_back(r);
  }

  cell_table table;
  if (held.empty()) return table;
  const double least = held.front().left;
  const double most = held.back().right;
  const double largest = std::max(std::fabs(least), std::fabs(most));
  // Edges come from sums of a few terms of the size of the largest. The outermost are smallest and largest value
  // themselves, but in float32 and, of a single bucket, in the form that puts 0.5 on either side of an only value.
  const double rounded_by = std::ldexp(largest, t.is_double ? -50 : -21);
  const bool extremes = t.is_double && (rows > 1 || least == most);
  bucket_list buckets(table);
  for (const row& r : held) {
    const double by = r.left == r.right && extremes ? 0 : rounded_by;
    double low = std::max(r.left - by, -greatest);
    double high = std::min(r.right + by, greatest);
    if (extremes) {
      low = std::max(low, least);
      high = std::min(high, most);
    }
    buckets.add(low, high, r.count);
  }
  buckets.finish();
  if (table.nonzero_finite() > 0) table.max_abs = extremes ? largest : not_known;
  return table;
}

}  // namespace ulp::io
