// The histogram of one tensor at one step, fine enough that outcome counts in 16-bit formats are exact.
//
// A finite nonzero value x = (-1)^s * 2^k * (1 + f), normalised first, falls into binade k and, inside it, into one of
// 26 slots in the order of magnitude: the points f = 1 - 2^-c for c = 0..10 and 13/16, and the open intervals between
// them; above f = 1 - 2^-10 the half-open intervals [1 - 2^-11, 1 - 2^-12) and [1 - 2^-12, 1). Every threshold of every
// IEEE-style format with up to 10 fraction bits, in every deterministic rounding and at every power-of-two scale, is
// the edge of a slot, with the edge's own values told apart; 13/16 is the overflow edge of float8_e4m3fn. The argument
// and its checks: docs/numerics.md.
//
// Sources that know binades only (histogram CSV) use the slot `whole_binade`; where they do not tell signs apart, the
// sign `unknown`. Sources that count between edges of their own (TensorBoard) have buckets instead, which the exact
// machinery never looks at. Counts and exact sums are integers: merging is exact, associative and commutative; sums as reported by
// a source are doubles and are not. No table has more than max_numel values, so that sums over a million fit 64 bits.
#ifndef ULP_MODEL_CELLS_CELL_TABLE_HPP
#define ULP_MODEL_CELLS_CELL_TABLE_HPP

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace ulp {

__extension__ using uint128 = unsigned __int128;
__extension__ using int128 = __int128;

// 2^exponent * (1 + fraction / 2^64), exactly; ordered by value.
struct magnitude {
  int exponent = 0;
  std::uint64_t fraction = 0;
  friend constexpr auto operator<=>(const magnitude&, const magnitude&) = default;
};

// |x| of a finite nonzero x.
[[nodiscard]] magnitude magnitude_of(double x) noexcept;
// The least double that is not below it; infinity above the largest.
[[nodiscard]] double double_from(const magnitude& m) noexcept;

enum class cell_sign : std::uint8_t { positive, negative, unknown };

inline constexpr int slots_per_binade = 26;
inline constexpr std::uint8_t whole_binade = 31;

// The slot of a normalised fraction f = fraction / 2^64.
[[nodiscard]] std::uint8_t slot_of(std::uint64_t fraction) noexcept;

struct cell {
  cell_sign sign = cell_sign::positive;
  std::uint8_t slot = 0;      // 0..25, or whole_binade
  std::int16_t exponent = 0;  // k, -1074..1023
  std::uint64_t count = 0;

  // By sign, exponent, slot: the order of cell_table::cells.
  [[nodiscard]] constexpr int key() const noexcept {
    return (static_cast<int>(sign) * 4096 + exponent + 2048) * 32 + slot;
  }
  friend constexpr bool operator==(const cell&, const cell&) = default;
};

// The magnitudes that a cell may hold: from `low` (itself included when `low_closed`) up to `high`, excluded; a point
// when low_closed and high == low.
struct cell_range {
  magnitude low;
  bool low_closed = true;
  magnitude high;
};
[[nodiscard]] cell_range range_of(const cell& c) noexcept;

// Exact sums over the values of one sign and binade k: of their 24-bit significands, in units of 2^(k-23), and of the
// significands' squares, in units of 4^(k-23). Values with more than 24 significant bits are cut toward zero.
struct binade_sums {
  cell_sign sign = cell_sign::positive;
  std::int16_t exponent = 0;
  uint128 significands = 0;
  uint128 squares = 0;
  friend constexpr bool operator==(const binade_sums&, const binade_sums&) = default;
};

// The error ladder of binade k: exact sums over its values, both signs together, of what rounding to nearest-even with m
// fraction bits changes, e = x - (the multiple of 2^(k-m) nearest to x), for m = -1..11. As rounding to a format does
// just that with min(fraction bits, k - exponent of the smallest number) bits, the ladder has the squared error of every
// format with up to 11 fraction bits at every power-of-two scale. Units 4^(k-23); significands are cut as for binade_sums.
struct binade_errors {
  static constexpr int least_bits = -1;
  static constexpr int most_bits = 11;
  static constexpr std::size_t levels = most_bits - least_bits + 1;

  std::int16_t exponent = 0;
  std::array<uint128, levels> squares{};  // sum of e^2
  std::array<int128, levels> products{};  // sum of e * x

  [[nodiscard]] static constexpr std::size_t level_of(int fraction_bits) noexcept {
    return static_cast<std::size_t>(fraction_bits - least_bits);
  }
  friend constexpr bool operator==(const binade_errors&, const binade_errors&) = default;
};

// What lies above a magnitude that was asked for when values were counted: of the finite ones how many and, for those in
// the same binade as `at`, the sum of the squares of their significands as in binade_sums.
struct edge_counts {
  double at = 0;  // above zero, finite
  std::uint64_t above = 0;
  uint128 squares_above = 0;
  friend constexpr bool operator==(const edge_counts&, const edge_counts&) = default;
};

// How often a code of the recorded type occurs.
struct code_count {
  std::uint32_t code = 0;
  std::uint64_t count = 0;
  friend constexpr bool operator==(const code_count&, const code_count&) = default;
};

// `count` finite values of [low, high]: signed, of any magnitude in between, zeros among them where the interval holds 0.
struct bucket {
  double low = 0;  // finite, not above `high`; not -0
  double high = 0;
  std::uint64_t count = 0;

  [[nodiscard]] constexpr bool may_hold_zero() const noexcept { return low <= 0 && high >= 0; }
  friend constexpr bool operator==(const bucket&, const bucket&) = default;
};

inline constexpr double not_known = std::numeric_limits<double>::quiet_NaN();

inline constexpr std::uint64_t max_numel = std::uint64_t{1} << 40;

struct cell_table {
  std::uint64_t numel = 0;        // all values, of every class
  std::uint64_t zeros = 0;        // known to be zero
  std::uint64_t maybe_zeros = 0;  // in buckets that may hold zeros
  std::uint64_t positive_infinities = 0;
  std::uint64_t negative_infinities = 0;
  std::uint64_t unsigned_infinities = 0;  // of sources that do not tell the sign
  std::uint64_t nans = 0;
  // The largest finite magnitude, 0 where there is no nonzero finite value; `not_known` only where there are buckets.
  double max_abs = 0;
  double min_abs = 0;  // smallest nonzero one; `not_known` where the source does not tell

  std::vector<cell> cells;  // ascending by key, counts above zero

  std::vector<bucket> buckets;  // ascending by (low, high), counts above zero; of values that are in no cell

  bool has_sums = false;
  std::vector<binade_sums> sums;       // one for each (sign, exponent) present in cells, in their order
  std::uint64_t cut_significands = 0;  // values whose significand was cut for the sums
  bool has_errors = false;
  std::vector<binade_errors> errors;  // one for each exponent present in cells, ascending
  std::vector<edge_counts> edges;     // ascending by `at`

  double reported_abs_sum = not_known;     // sum |x| as the source printed it, where there are no exact sums
  double reported_square_sum = not_known;  // sum x^2 likewise

  [[nodiscard]] std::uint64_t infinities() const noexcept {
    return positive_infinities + negative_infinities + unsigned_infinities;
  }
  [[nodiscard]] std::uint64_t nonfinite() const noexcept { return infinities() + nans; }
  // Those that are not known to be zero.
  [[nodiscard]] std::uint64_t nonzero_finite() const noexcept { return numel - zeros - nonfinite(); }
  // max_abs, or what it can at most be.
  [[nodiscard]] double largest_possible() const noexcept;

  // Adds the values of `other`. Sums, errors and each edge stay only where both sides have them or one side has no finite
  // nonzero values. The largest magnitude is known where those of both sides are, or where the one that is known is as
  // large as the other can be.
  void merge(const cell_table& other);

  // Two sums or extremes that are not known are equal.
  friend bool operator==(const cell_table& a, const cell_table& b);
};

// Sum of |x| or of x^2 over the finite values: from the exact sums where the table has them (each binade's rounded once,
// added in ascending order; `exact` unless significands were cut), else as the source reported it, else estimated from
// the cells and buckets as if values were spread evenly through each. 0 for a table without nonzero finite values, NaN where
// values are in neither and no sum is known.
enum class sum_quality : std::uint8_t { exact, reported, estimated };
struct value_sum {
  double value = 0;
  sum_quality quality = sum_quality::exact;
};
[[nodiscard]] value_sum magnitudes_sum(const cell_table& table);
[[nodiscard]] value_sum squares_sum(const cell_table& table);

}  // namespace ulp

#endif
