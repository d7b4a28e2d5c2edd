// The buckets of a table as magnitudes: what its values may be, distinguished as far as the table tells.
#ifndef ULP_MODEL_CELLS_BUCKETS_HPP
#define ULP_MODEL_CELLS_BUCKETS_HPP

#include <algorithm>
#include <cmath>
#include <limits>

#include <ulp/model/cells/cell_table.hpp>
#include <ulp/model/cells/ranges.hpp>

namespace ulp {

// The values of one bucket that are not zero.
struct bucket_values {
  value_range magnitudes;  // above zero
  cell_sign sign = cell_sign::unknown;
  double count = 0;         // of all values of the bucket
  bool maybe_zero = false;  // then any of them may be zero instead
};

// `largest`: what no magnitude of the table exceeds.
inline bucket_values values_of(const bucket& b, double largest) {
  bucket_values v{.count = static_cast<double>(b.count), .maybe_zero = b.may_hold_zero()};
  v.sign = b.low >= 0 ? cell_sign::positive : b.high <= 0 ? cell_sign::negative : cell_sign::unknown;
  const double a = std::fabs(b.low);
  const double c = std::fabs(b.high);
  const double high = std::min(std::max(a, c), largest);
  const double low = v.maybe_zero ? std::numeric_limits<double>::denorm_min() : std::min(a, c);
  v.magnitudes = {std::min(low, high), high};
  return v;
}

template <typename F>
void for_each_bucket(const cell_table& table, F&& f) {
  if (table.buckets.empty()) return;
  const double largest = table.largest_possible();
  for (const bucket& b : table.buckets) f(values_of(b, largest));
}

// How many nonzero finite values are in neither cells nor buckets: of a payload that its reader did not know. Zeros may
// be among them, as maybe_zeros says.
inline std::uint64_t in_no_cell(const cell_table& table) {
  std::uint64_t n = table.nonzero_finite();
  for (const cell& c : table.cells) n -= c.count;
  for (const bucket& b : table.buckets) n -= b.count;
  return n;
}

}  // namespace ulp

#endif
