// How a real number becomes a number of a format: direction, overflow delivery, flushing, tininess, random bits.
//
// What was lost by cutting a significand is separated from which way to go, so that every operation rounds by the one
// function rounds_up. constexpr, no exceptions, no allocation. Their names: names.hpp.
#ifndef ULP_FORMATS_ROUNDING_HPP
#define ULP_FORMATS_ROUNDING_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace ulp {

// IEEE 754-2019, 4.3, and the two that hardware and error analysis add. stochastic stays last: is_valid counts on it.
enum class direction : std::uint8_t {
  nearest_even,
  nearest_away,  // ties away from zero (roundTiesToAway)
  toward_zero,
  toward_positive,
  toward_negative,
  to_odd,      // inexact results take the neighbour with an odd last bit (von Neumann rounding, "jamming")
  stochastic,  // up in magnitude with a probability that grows with the discarded part
};

// How stochastic rounding uses N random bits R, 0 <= R < 2^N; v in [0,1) is the discarded part in units in the last
// place of the result (of the subnormal grid where the result is subnormal). The magnitude is rounded up when
//   a: floor(v 2^N) + R >= 2^N,   b: floor(v 2^(N+1)) + (2R + 1) >= 2^(N+1),   c: nearest_even(v 2^N) + R >= 2^N
// Source: IEEE P3109 interim report 4.0, 4.7.4 (StochasticA, StochasticB, StochasticC). a is what adders that add
// random bits to the discarded ones do (NVIDIA PTX cvt.rs; Cerebras, patent US 11,449,574).
enum class stochastic_definition : std::uint8_t { a, b, c };

// What is delivered for a result beyond the largest finite number.
enum class overflow_mode : std::uint8_t {
  // 7.4: infinity, or the largest finite number in directions that point back to zero; to_odd and toward_zero always
  // deliver the largest finite number. A format without infinity delivers NaN where infinity is due.
  ieee,
  // The largest finite number, in every direction, for infinite operands too (OCP OFP8 1.0, "saturating mode").
  saturate,
  // The largest finite number, in every direction, for finite operands only; infinite ones are delivered as with ieee.
  saturate_finite,
};

// Flush to zero (sign kept) of results that are, or would be, subnormal.
enum class flush : std::uint8_t {
  never,
  before_rounding,  // |exact| < 2^emin
  after_rounding,   // rounded to the format's precision with unbounded exponent, below 2^emin
  result,           // the delivered result is subnormal
};

// When a nonzero result counts as tiny for the underflow flag (7.5).
enum class tininess : std::uint8_t { after_rounding, before_rounding };

// As many random bits as the discarded part has (detail in codec.hpp, discarded_bits): the probability of rounding up
// is the discarded part itself, and the three definitions are one. For results with finitely many bits only, those of
// conversion, addition, multiplication and fma; division and square root then use 32.
inline constexpr int exact_probability = 0;

// Every function that takes a rounding has the precondition is_valid(). A call with another rounding is not a constant
// expression; at run time it ends the program (std::abort) as soon as a number is rounded in a direction that there is
// not, or stochastically with a number of random bits that there is not. What is handed in from outside is asked before:
// check() throws std::invalid_argument, parse_rounding makes valid ones only.
struct rounding {
  ulp::direction direction = direction::nearest_even;
  ulp::overflow_mode overflow = overflow_mode::ieee;
  ulp::flush flush = flush::never;
  bool daz = false;  // subnormal operands, in the operand's own format, are read as zeros of their sign
  ulp::tininess tininess = tininess::after_rounding;
  stochastic_definition definition = stochastic_definition::a;
  int random_bits = 32;  // N, 1..32, or exact_probability; used by direction::stochastic only

  // Whether every field has one of its values, random_bits in every direction.
  [[nodiscard]] constexpr bool is_valid() const noexcept {
    return direction <= ulp::direction::stochastic && overflow <= overflow_mode::saturate_finite &&
           flush <= ulp::flush::result && tininess <= ulp::tininess::before_rounding &&
           definition <= stochastic_definition::c && random_bits >= 0 && random_bits <= 32;
  }

  friend constexpr bool operator==(const rounding&, const rounding&) = default;
};

// For whoever takes a rounding and does not pass it on. Costs nothing at run time, where rounds_up asks what it must.
[[gnu::always_inline]] constexpr void expect_valid(const rounding& mode) noexcept {
  if (__builtin_is_constant_evaluated() && !mode.is_valid()) __builtin_abort();
}

// The random bits R of one stochastic rounding.
class random_input {
 public:
  // N bits, a value below 2^N; for exact_probability the first 32, the others being zero.
  constexpr random_input(std::uint32_t bits = 0) noexcept : first_(bits) {}
  // For exact_probability: the binary digits of R after the point, 32 in a word, the first in the top bit of the first
  // word. Those not given are zero. The words are referred to, not copied.
  constexpr random_input(const std::uint32_t* words, std::size_t size) noexcept
      : words_(words), size_(static_cast<std::uint32_t>(size)), first_(size == 0 ? 0 : words[0]) {}
  // Of a std::span, array or vector of them.
  template <class Words>
  requires requires(const Words& words) {
    { words.data() } -> std::convertible_to<const std::uint32_t*>;
    { words.size() } -> std::convertible_to<std::size_t>;
  }
  explicit constexpr random_input(const Words& words) noexcept : random_input(words.data(), words.size()) {}

  [[nodiscard]] constexpr std::uint32_t value() const noexcept { return first_; }
  [[nodiscard]] constexpr std::uint32_t word(std::uint32_t i) const noexcept {
    return i == 0 ? first_ : i < size_ ? words_[i] : 0;
  }

 private:
  const std::uint32_t* words_ = nullptr;
  std::uint32_t size_ = 0;
  std::uint32_t first_ = 0;
};

// Whether a result beyond the largest finite number is delivered as that, not as infinity (7.4).
[[nodiscard]] constexpr bool points_to_zero(direction way, bool negative) noexcept {
  switch (way) {
    case direction::toward_zero:
    case direction::to_odd: return true;
    case direction::toward_positive: return negative;
    case direction::toward_negative: return !negative;
    case direction::nearest_even:
    case direction::nearest_away:
    case direction::stochastic: break;
  }
  return false;
}

// The part of a magnitude below the last kept bit, in units of that bit.
struct discarded {
  bool round_bit = false;       // the first discarded bit
  bool sticky = false;          // any bit after it
  std::uint64_t leading = 0;    // the first 33 discarded bits: floor(v 2^33)
  bool beyond_leading = false;  // any bit after those 33
};

// Whether the magnitude is rounded up to the next kept value. `odd` is the last kept bit, `random` holds
// mode.random_bits bits, not exact_probability, and is read by direction::stochastic only.
[[nodiscard, gnu::always_inline]] constexpr bool rounds_up(const discarded& lost, bool odd, bool negative,
                                                           const rounding& mode, std::uint32_t random) noexcept {
  // No branches on the operands: they are unpredictable.
  const unsigned round_bit = lost.round_bit ? 1 : 0;
  const unsigned sticky = lost.sticky ? 1 : 0;
  switch (mode.direction) {
    case direction::nearest_even: return (round_bit & (sticky | (odd ? 1 : 0))) != 0;
    case direction::nearest_away: return lost.round_bit;
    case direction::toward_zero: return false;
    case direction::toward_positive: return ((round_bit | sticky) & (negative ? 0 : 1)) != 0;
    case direction::toward_negative: return ((round_bit | sticky) & (negative ? 1 : 0)) != 0;
    case direction::to_odd: return ((round_bit | sticky) & (odd ? 0 : 1)) != 0;
    case direction::stochastic: break;
  }
  const int n = mode.random_bits;
  if (mode.direction != direction::stochastic || n < 0 || n > 32) [[unlikely]]
    __builtin_abort();
  // Where nothing is lost, none of the three goes up.
  const std::uint64_t one = std::uint64_t{1} << n;
  const std::uint64_t top = lost.leading >> (33 - n);  // floor(v 2^N)
  if (mode.definition == stochastic_definition::a) return top + random >= one;
  const std::uint64_t top_and_next = lost.leading >> (32 - n);  // floor(v 2^(N+1))
  if (mode.definition == stochastic_definition::b) return top_and_next + 2 * std::uint64_t{random} + 1 >= 2 * one;
  const bool next = (top_and_next & 1) != 0;
  const bool below = lost.beyond_leading || (lost.leading & ((std::uint64_t{1} << (32 - n)) - 1)) != 0;
  const std::uint64_t nearest = top + ((next && (below || (top & 1) != 0)) ? 1 : 0);
  return nearest + random >= one;
}

}  // namespace ulp

#endif
