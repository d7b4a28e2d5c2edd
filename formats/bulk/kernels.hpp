// The loops over arrays, one set of them for each level of processors, and what they are told.
#ifndef ULP_FORMATS_BULK_KERNELS_HPP
#define ULP_FORMATS_BULK_KERNELS_HPP

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include <ulp/formats/convert.hpp>

namespace ulp::detail {

// The ways a significand is rounded: the deterministic directions in their order, then the stochastic definitions.
inline constexpr std::size_t way_count = 9;
inline constexpr std::size_t first_stochastic_way = 6;

template <class Bits>
using number_of = std::conditional_t<sizeof(Bits) == 4, float, double>;
template <class Number>
using bits_of = std::conditional_t<sizeof(Number) == 4, std::uint32_t, std::uint64_t>;

// From numbers of float or double to codes, computed in lanes of `Bits`. The magnitude of a number is its bits without
// the sign. Its field is its exponent field, but 1 for subnormal numbers: so the value is the significand, an integer,
// times 2^field times a constant, for all numbers.
template <class Bits>
struct encode_plan {
  int fraction_bits = 0;  // of the format
  int dropped = 0;        // fraction bits that a normal result loses, at least 1
  int sign_position = 0;  // in the code
  // The field of numbers in the lowest binade of the format. Results of smaller numbers are on its grid.
  std::int32_t lowest_field = 0;
  Bits largest = 0;           // finite code
  std::array<Bits, 2> limit;  // what larger codes become, by sign: the largest, infinity or NaN
  int random_bits = 0;        // N of stochastic ways
  int widening = 0;           // zeros put behind a significand, so that
  bool carries = false;       // N bits do not fit: only for stochastic loops of definition a that take any N
  int dropped_to_random = 0;  // as many bits, at least 1, lead to N bits behind the last one kept of a normal result

  // What only full loops read.
  Bits below_lowest = 0;             // code of the lowest binade, of a format without subnormals: it begins at 0
  std::array<Bits, 2> zero_below{};  // magnitudes below become zero, inexactly, by sign
  Bits zero_below_code = 0;          // so do codes below
  Bits daz_below = 0;                // magnitudes below are read as zero
  Bits min_normal_code = 0;
  Bits zero_sign = 1;       // 0 where zero has no sign
  Bits left_out_below = 0;  // magnitudes from 1 to below this are left out, like infinity and NaN

  // Whether a code is the upper part of a float.
  [[nodiscard]] constexpr bool is_part_of_float() const noexcept {
    return lowest_field == 1 && sign_position == 31 - dropped;
  }
};

// From codes to numbers of float or double, of `Bits`. A code up to lowest_normal is an integer times a constant.
template <class Bits>
struct decode_plan {
  int dropped = 0;        // fraction bits that numbers have more than the format
  int sign_position = 0;  // in the code
  Bits magnitude_mask = 0;
  Bits min_normal_code = 0;
  Bits normal_offset = 0;     // what is added to the bits of a normal number
  Bits subnormal_offset = 0;  // and to those of the integer that a subnormal code is
  Bits largest = 0;           // finite code
  Bits payload_mask = 0;      // of NaN, as bits of a number
  Bits plain_nan = 0;         // what codes above the largest are, or 0: infinity, or NaN where they have a payload
  Bits negative_zero = 0;     // what is added to -0 to make it NaN
};

// Whether elements were left out, whose codes are undefined: infinity and NaN.
template <class Code>
using encode_loop = bool (*)(const encode_plan<std::uint32_t>&, const float* numbers, const std::uint32_t* random,
                             Code* codes, std::size_t size);
// Also of what encode_plan says, and all is counted but NaN.
template <class Bits, class Number>
using full_encode_loop = bool (*)(const encode_plan<Bits>&, const Number* numbers, const std::uint32_t* random,
                                  std::uint32_t* codes, std::size_t size, conversion_counts&);
template <class Bits, class Code>
using decode_loop = void (*)(const decode_plan<Bits>&, const Code* codes, number_of<Bits>* numbers, std::size_t size);

template <class Bits>
struct decode_loops {
  decode_loop<Bits, std::uint8_t> from8;
  decode_loop<Bits, std::uint16_t> from16;
  decode_loop<Bits, std::uint32_t> from32;
};

// From float to codes by a deterministic way, without what full loops do but with counts: what the other plan says, as
// magnitudes of numbers.
struct quick_plan {
  bool same_grid = false;     // the format's exponents are float's: a code is the upper part of a float
  std::uint32_t dropped = 0;  // as in encode_plan
  std::uint32_t sign = 0;     // of a code
  std::uint32_t lowest_field = 0;
  std::uint32_t min_normal_code = 0;
  std::array<std::uint32_t, 2> limit{};     // larger numbers are taken for this one, by sign
  std::array<std::uint32_t, 2> overflow{};  // the first number that overflows
};
// `streams`: writes past the caches. Returns whether it left out infinity or NaN, and then has counted nothing.
template <class Code>
using quick_loop = bool (*)(const quick_plan&, const float* numbers, Code* codes, std::size_t size, bool streams,
                            conversion_counts*);

template <class Code>
struct quick_loops {
  std::array<quick_loop<Code>, first_stochastic_way> encode;
  std::array<quick_loop<Code>, first_stochastic_way> count;
};
struct all_quick_loops {
  quick_loops<std::uint8_t> to8;
  quick_loops<std::uint16_t> to16;
  quick_loops<std::uint32_t> to32;
};

// Of results that are wanted as floats.
struct float_results {
  int power = 0;              // they are 2^power times what numbers are rounded to
  std::uint32_t largest = 0;  // finite one
  std::uint32_t beyond = 0;   // in place of larger ones
};
// In place or beside. Infinity and NaN stay as they are. Returns whether there were some.
using round_loop = bool (*)(const quick_plan&, const float_results&, const float* numbers, float* rounded,
                            std::size_t size, bool streams);
using round_loops = std::array<round_loop, first_stochastic_way>;

// The stochastic ways: of plain loops; and those that make the random bits themselves, for whole groups of 16 blocks of the
// generator, of which the first element's is `block`.
template <class Code>
using stochastic_group_loop = bool (*)(const encode_plan<std::uint32_t>&, const random_stream&, std::uint64_t block,
                                       const float* numbers, Code* codes, std::size_t groups, bool streams);
template <class Code>
using stochastic_group_loops = std::array<stochastic_group_loop<Code>, way_count - first_stochastic_way>;
template <class Code>
struct stochastic_loops {
  std::array<encode_loop<Code>, way_count - first_stochastic_way> plain;
  stochastic_group_loops<Code> groups;
};
struct all_stochastic_loops {
  stochastic_loops<std::uint8_t> to8;
  stochastic_loops<std::uint16_t> to16;
  stochastic_loops<std::uint32_t> to32;
  // By definition a, in groups, to floats as a round_loop does: of plans for which it has_rounds.
  bool (*has_rounds)(const encode_plan<std::uint32_t>&);
  bool (*round)(const encode_plan<std::uint32_t>&, const float_results&, const random_stream&, std::uint64_t block,
                const float* numbers, float* rounded, std::size_t groups, bool streams);
};

template <class Code>
using quick_decode_loop = void (*)(const decode_plan<std::uint32_t>&, const Code* codes, float* numbers,
                                   std::size_t size, bool streams);
struct quick_decode_loops {
  quick_decode_loop<std::uint8_t> from8;
  quick_decode_loop<std::uint16_t> from16;
  quick_decode_loop<std::uint32_t> from32;
};

// How elements of blocks that were scaled become integers: "by sum" as floor(a + 0.5) does, the sum rounded to float.
enum class integer_way : std::uint8_t { even, away, toward_zero, even_by_sum, away_by_sum };
inline constexpr std::size_t integer_way_count = 5;
inline constexpr std::uint32_t nan_of_integers = 0x80;
// To codes in two's complement. least and largest are at most 128.
struct integer_plan {
  float one = 1;  // what the number 1 becomes
  float least = 0;
  float largest = 0;
  std::uint32_t mask = 0;  // of a code
};
// `counts`: nullptr where nothing is counted.
using integer_loop = void (*)(const integer_plan&, const float* numbers, std::uint8_t* codes, std::size_t size,
                              conversion_counts* counts);
// To numbers of a format, in place: to multiples of 2^(binade - fraction_bits), the binade that of a log2 in float32, but at
// least the lowest one. Infinity and NaN stay.
struct grid_plan {
  std::int32_t lowest_field = 1;
  std::int32_t fraction_bits = 0;
};
using grid_loop = void (*)(const grid_plan&, float* numbers, std::size_t size);
// What four_over_six.hpp compares.
struct e2m1_error_plan {
  bool squares = false;
  bool unscaled = false;
  float encode = 1;
  float amax = 0;
  float divisor = 1;
};

struct arithmetic_loops;

struct kernels {
  std::string_view name;
  bool (*runs_here)();
  std::array<encode_loop<std::uint8_t>, way_count> encode8;
  std::array<encode_loop<std::uint16_t>, way_count> encode16;
  std::array<encode_loop<std::uint32_t>, way_count> encode32;
  std::array<full_encode_loop<std::uint32_t, float>, way_count> encode_float;
  std::array<full_encode_loop<std::uint64_t, float>, way_count> encode_float_wide;  // in wider lanes
  std::array<full_encode_loop<std::uint64_t, double>, way_count> encode_double;
  bool (*to_odd)(const double* numbers, float* odd, std::size_t size);  // to_odd_all of loops.hpp
  decode_loops<std::uint32_t> to_float;
  decode_loops<std::uint64_t> to_double;
  void (*narrow8)(const std::uint32_t* codes, std::uint8_t* narrow, std::size_t size);
  void (*narrow16)(const std::uint32_t* codes, std::uint16_t* narrow, std::size_t size);
  // Groups of 16 blocks of the generator, the first of which is `block`: each the random bits of 64 elements of 32 bits, of
  // 128 of 16, or of 256 of 8.
  void (*random)(const random_stream&, std::uint64_t block, int bits, std::uint32_t* out, std::size_t groups);
  // Of blocks of `width` numbers that follow each other.
  void (*block_magnitudes)(const float* numbers, std::size_t width, std::size_t blocks, float* greatest);
  void (*multiply_blocks)(const float* numbers, std::size_t width, std::size_t blocks, const float* by,
                          float* products);
  void (*divide_blocks)(const float* numbers, std::size_t width, std::size_t blocks, const float* by, float* quotients);
  std::array<integer_loop, integer_way_count> to_integers;
  std::array<grid_loop, integer_way_count> to_grid;
  // Sums, in the order of the elements, of the errors that rounding numbers times the block's factor to float4_e2m1 makes.
  void (*e2m1_errors)(const float* numbers, std::size_t width, std::size_t blocks, const e2m1_error_plan&,
                      const float* factors, const float* scales, float* sums);
  // Where there are some that are quicker.
  const all_quick_loops* quick = nullptr;
  const round_loops* round = nullptr;
  const all_stochastic_loops* stochastic = nullptr;
  const quick_decode_loops* decode = nullptr;
  const arithmetic_loops* arithmetic = nullptr;
};

extern const kernels baseline_kernels;
#if defined(__x86_64__)
extern const all_quick_loops avx2_loops;
extern const round_loops avx2_round_loops;
void avx2_random(const random_stream&, std::uint64_t block, int bits, std::uint32_t* out, std::size_t groups);
extern const all_stochastic_loops avx2_stochastic_loops;
extern const quick_decode_loops avx2_decode_loops;
extern const all_quick_loops avx512_loops;
extern const round_loops avx512_round_loops;
void avx512_random(const random_stream&, std::uint64_t block, int bits, std::uint32_t* out, std::size_t groups);
extern const all_stochastic_loops avx512_stochastic_loops;
extern const quick_decode_loops avx512_decode_loops;
extern const kernels v3_kernels;
extern const kernels v4_kernels;
#endif

// Those that this processor runs, the slowest first.
[[nodiscard]] std::span<const kernels* const> kernels_here();
// Whether what is read once is best asked for past the caches: on AMD's processors, while on Intel's (server ones with caches
// that do not include each other) it then comes at half the speed. docs/performance.md has the measurements.
[[nodiscard]] bool reads_past_caches() noexcept;
// nullptr: the codec.
[[nodiscard]] std::atomic<const kernels*>& loops_in_use();

}  // namespace ulp::detail

#endif
