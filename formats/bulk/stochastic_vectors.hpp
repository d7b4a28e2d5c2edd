// Random bits, and rounding by them. Included after avx2.hpp or avx512.hpp.
#ifndef ULP_FORMATS_BULK_STOCHASTIC_VECTORS_HPP
#define ULP_FORMATS_BULK_STOCHASTIC_VECTORS_HPP

#include "generator_vectors.hpp"
#include "put_vectors.hpp"

#if defined(ULP_VECTORS)
#include <algorithm>
#include <optional>

namespace ulp::detail::ULP_VECTORS {
namespace {

// Larger numbers are taken for this one, whose code is the limit, and which is exact.
std::uint32_t limit_of(const encode_plan<std::uint32_t>& plan) {
  constexpr std::uint32_t largest_finite = 0x7F7FFFFF;
  const std::uint32_t limit = plan.limit[0];
  const std::uint32_t field = (limit >> plan.fraction_bits) + static_cast<std::uint32_t>(plan.lowest_field) - 1;
  const std::uint32_t fraction = limit & ((std::uint32_t{1} << plan.fraction_bits) - 1);
  return field > 254 ? largest_finite : field << 23 | fraction << plan.dropped;
}

// As rounded() of loops.hpp, but that shifts by more than the width leave zero.
struct stochastic_vectors {
  vector magnitude, implicit, infinity, limit, lowest, offset, offset_and_sign, one, width, half;
  // Shifts.
  vector dropped, widening, dropped_to_random, random_bits, unused_random_bits;
  vector used_random_bits;  // a mask, at the top
};

ULP_VECTOR_INLINE stochastic_vectors vectors_of(const encode_plan<std::uint32_t>& plan) {
  const std::uint32_t lowest = static_cast<std::uint32_t>(plan.lowest_field) << 23;
  const std::uint32_t offset = 0 - (lowest >> plan.dropped);
  return {.magnitude = all_of(0x7FFFFFFF),
          .implicit = all_of(0x800000),
          .infinity = all_of(0x7F800000),
          .limit = all_of(limit_of(plan)),
          .lowest = all_of(lowest),
          .offset = all_of(offset),
          .offset_and_sign = all_of(offset + (std::uint32_t{1} << plan.sign_position)),
          .one = all_of(1),
          .width = all_of(32),
          .half = all_of(0x7FFFFFFF),
          .dropped = all_of(plan.dropped),
          .widening = all_of(plan.widening),
          .dropped_to_random = all_of(plan.carries ? plan.dropped : plan.dropped_to_random),
          .random_bits = all_of(plan.random_bits),
          .unused_random_bits = all_of(32 - plan.random_bits),
          .used_random_bits = all_of(~std::uint32_t{0} << (32 - plan.random_bits))};
}

// What is added to a number's lowest code: floor(v 2^N) + R, without the last N bits. Carries: the discarded bits are at the
// top of a lane of their own, whose carry is added. That is for any N, of definition a.
template <stochastic_definition Definition, bool Carries>
ULP_VECTOR_INLINE vector kept_of(const stochastic_vectors& v, vector significand, vector shift, vector random) {
  if constexpr (Carries) {
    const vector high = shifted_left(significand, sub(v.width, shift));
    const vector low = shifted_right(significand, sub(shift, v.width));
    const vector discarded = both(either(high, low), v.used_random_bits);
    const vector sum = add(discarded, shifted_left(random, v.unused_random_bits));
    const mask no_carry = equal(larger(sum, discarded), sum);
    return one_less(add(shifted_right(significand, shift), v.one), no_carry);
  }
  const vector wide = shifted_left(significand, v.widening);
  vector cut;
  if constexpr (Definition == stochastic_definition::a) {
    cut = shifted_right(wide, shift);
  } else if constexpr (Definition == stochastic_definition::b) {
    const vector twice = shifted_right(wide, sub(shift, v.one));
    cut = shifted_right<1>(add(twice, v.one));
  } else {
    const vector odd = both(shifted_right(wide, shift), v.one);
    const vector below_half = shifted_right(v.half, sub(v.width, shift));
    cut = shifted_right(add(add(wide, below_half), odd), shift);
  }
  return shifted_right(add(cut, random), v.random_bits);
}

template <stochastic_definition Definition, bool Carries>
struct any_lane {
  stochastic_vectors v;
  vector largest{};

  ULP_VECTOR_INLINE explicit any_lane(const encode_plan<std::uint32_t>& plan) : v(vectors_of(plan)) {}
  ULP_VECTOR_INLINE vector code_of(vector x, vector bits) {
    const vector magnitude = both(x, v.magnitude);
    largest = larger(largest, magnitude);
    const vector limited = smaller(magnitude, v.limit);
    const vector field = both(larger(limited, v.implicit), v.infinity);
    const vector significand = add(sub(limited, field), v.implicit);
    const vector binade = larger(field, v.lowest);
    const vector below = shifted_right<23>(sub(binade, field));
    const vector kept = kept_of<Definition, Carries>(v, significand, add(below, v.dropped_to_random), bits);
    const vector base = shifted_right(binade, v.dropped);
    return add(add(kept, base), by_sign(v.offset, v.offset_and_sign, x));
  }
};

// Definition a in fewer steps. Fractions are brought to N bits: of normal results by a shift of float's own bits, of smaller
// ones by a multiplication and a conversion to integers, toward zero. On float's own grid all are normal.
struct quick_vectors {
  vector magnitude, limit, before_lowest, lowest, sign;
  floats multiplier;
  vector random_bits, shift;
};
std::optional<std::uint32_t> multiplier_of(const encode_plan<std::uint32_t>& plan) {
  const int field = 254 + plan.random_bits + plan.fraction_bits - plan.lowest_field;
  if (field < 1 || field > 254) return {};
  return static_cast<std::uint32_t>(field) << 23;
}
// Whether lanes are wide enough.
bool is_quick(const encode_plan<std::uint32_t>& plan) {
  if (!plan.is_part_of_float() && !multiplier_of(plan)) return false;  // none below the normal floats
  const std::uint64_t largest = limit_of(plan) - (static_cast<std::uint64_t>(plan.lowest_field - 1) << 23);
  const int more = plan.random_bits - plan.dropped;
  return plan.random_bits < 32 && more < 32 &&
         (more > 0 ? largest << more : largest >> -more) + (std::uint64_t{1} << plan.random_bits) <= 0xFFFFFFFF;
}

template <bool OfFloat, bool Left>
struct quick_lane {
  quick_vectors v;
  vector largest{};

  ULP_VECTOR_INLINE explicit quick_lane(const encode_plan<std::uint32_t>& plan) {
    const auto lowest = static_cast<std::uint32_t>(plan.lowest_field) << 23;
    v.magnitude = all_of(0x7FFFFFFF);
    v.limit = all_of(limit_of(plan));
    v.before_lowest = all_of(lowest - (1 << 23));
    v.lowest = all_of(lowest);
    v.sign = all_of(std::uint32_t{1} << plan.sign_position);
    v.multiplier = as_float(all_of(OfFloat ? 0 : *multiplier_of(plan)));
    v.random_bits = all_of(plan.random_bits);
    v.shift = all_of(Left ? plan.random_bits - plan.dropped : plan.dropped - plan.random_bits);
  }
  ULP_VECTOR_INLINE vector code_of(vector x, vector bits) {
    const vector magnitude = both(x, v.magnitude);
    largest = larger(largest, magnitude);
    const vector limited = smaller(magnitude, v.limit);
    vector fraction = OfFloat ? limited : sub(limited, v.before_lowest);
    fraction = Left ? shifted_left(fraction, v.shift) : shifted_right(fraction, v.shift);
    if constexpr (!OfFloat) {
      const vector below = truncated(mul(as_float(limited), v.multiplier));
      fraction = chosen(fraction, below, above(v.lowest, limited));
    }
    const vector code = shifted_right(add(fraction, bits), v.random_bits);
    return add(code, by_sign(all_of(0), v.sign, x));
  }
};

// The same to floats: a code of normal results is moved to where it is in a float, and one of smaller results multiplied by the
// format's last place. Infinity and NaN are left as they are.
template <bool OfFloat, bool Left>
struct quick_float_lane {
  quick_lane<OfFloat, Left> to_code;
  vector offset, largest_result, beyond, largest_finite;
  floats last_place;
  shift_count dropped;
  vector largest{};

  ULP_VECTOR_INLINE quick_float_lane(const encode_plan<std::uint32_t>& plan, const float_results& results)
      : to_code(plan) {
    const auto in_place = [](int field) { return static_cast<std::uint32_t>(field) << 23; };
    offset = all_of(in_place(plan.lowest_field - 1 + results.power));
    last_place = as_float(all_of(in_place(OfFloat ? 0 : plan.lowest_field + results.power - plan.fraction_bits)));
    largest_result = all_of(results.largest);
    beyond = all_of(results.beyond);
    largest_finite = all_of(0x7F7FFFFF);
    dropped = shift_by(plan.dropped);
    to_code.v.sign = all_of(0);
  }
  ULP_VECTOR_INLINE vector code_of(vector x, vector bits) {
    const vector magnitude = both(x, to_code.v.magnitude);
    const vector code = to_code.code_of(x, bits);
    largest = to_code.largest;
    vector result = shifted_left(code, dropped);
    if constexpr (!OfFloat) {
      const vector small = as_bits(mul(converted(code), last_place));
      result = chosen(add(result, offset), small, above(to_code.v.lowest, magnitude));
      result = chosen(result, beyond, above(result, largest_result));
    }
    return chosen(either(result, without(x, to_code.v.magnitude)), x, above(magnitude, largest_finite));
  }
};

// A lane whose random bits are in memory.
template <class Lane>
struct lane_of_bits {
  const std::uint32_t* random;
  Lane lane;

  ULP_VECTOR_INLINE vector operator()(vector x, std::size_t i) { return lane.code_of(x, load(random + i)); }
  [[nodiscard]] ULP_VECTOR_INLINE shift_count finer() const { return shift_by(0); }
};

template <class Lane>
ULP_VECTOR_INLINE bool left_out(const Lane& lane) {
  return any(above(lane.largest, all_of(0x7F7FFFFF)));
}

template <class Lane, class Code>
ULP_VECTOR [[gnu::noinline]] bool encode_some(const encode_plan<std::uint32_t>& plan, const float* numbers,
                                              const std::uint32_t* random, Code* codes, std::size_t size) {
  lane_of_bits<Lane> lane{random, Lane{plan}};
  put_all(numbers, codes, size, false, lane);
  return left_out(lane.lane);
}

// Codes of a group of elements, whose random bits stay in registers or the nearest cache.
template <int Width, class Lane, class Code>
ULP_VECTOR_INLINE void encode_group(Lane& lane, group_generator& generator, const lane_bits& bits, std::uint64_t block,
                                    const float* numbers, Code* codes, bool streams, bool past_caches) {
  constexpr std::size_t in_vector = codes_of_vector<Code> / lane_count;
  constexpr std::size_t lanes_of_word = 32 / Width;
  // Lanes of 16 elements that are unrolled: those of whole words and whole vectors of codes.
  constexpr std::size_t turn = std::max(lanes_of_word, in_vector / sides);
  group_words words;
  generator(block, words);
  vector vectors[in_vector];
#pragma GCC unroll 1
  for (std::size_t first = 0; first < 128 / Width; first += turn) {
#pragma GCC unroll 4
    for (std::size_t n = 0; n < turn; ++n, numbers += 16) {
      if (streams) ask_for(numbers + 16 * 128 / Width, past_caches);
#pragma GCC unroll 2
      for (std::size_t side = 0; side < sides; ++side) {
        const vector random = bits_of_lane<Width>(bits, words[(first + n) / lanes_of_word][side], n);
        const std::size_t at = sides * n + side;
        vectors[at % in_vector] = lane.code_of(load(numbers + lane_count * side), random);
        if (at % in_vector != in_vector - 1) continue;
        const vector full = packed(vectors, shift_by(0), static_cast<Code*>(nullptr));
        streams ? stream(codes, full) : store(codes, full);
        codes += codes_of_vector<Code>;
      }
    }
  }
}

// The lane is made of the plan, and of what else it is told. Groups that are written past the caches are so in turns.
template <class Lane, int Width, class Code, class... Told>
ULP_VECTOR [[gnu::noinline]] bool encode_groups(const encode_plan<std::uint32_t>& plan, const random_stream& random,
                                                std::uint64_t block, const float* numbers, Code* codes,
                                                std::size_t groups, bool streams, const Told&... told) {
  constexpr std::size_t size = 16 * 128 / Width;
  Lane lane{plan, told...};
  group_generator generator{random, block};
  const lane_bits bits = lanes_of<Width>(plan.random_bits);
  const bool past_caches = streams && reads_past_caches();
  const std::size_t part = streams ? groups / turns : groups;
  const std::size_t in_turns = streams ? turns * part : groups;
  std::size_t g = 0;
  for (std::size_t n = 0; n != groups; ++n) {
    encode_group<Width>(lane, generator, bits, block + 16 * g, numbers + size * g, codes + size * g, streams,
                        past_caches);
    g += part;
    if (g >= in_turns) g = n + 1 < in_turns ? g - in_turns + 1 : n + 1;
  }
  return left_out(lane);
}

// Calls run(lane's type) for what the plan needs, with the control register as conversions toward zero need it.
template <stochastic_definition Definition, class Run>
bool with_lane(const encode_plan<std::uint32_t>& plan, Run run) {
  if constexpr (Definition == stochastic_definition::a) {
    if (is_quick(plan)) {
      const control_register rounds{direction::toward_zero};
      const bool left = plan.random_bits > plan.dropped;
      if (plan.is_part_of_float())
        return left ? run.template operator()<quick_lane<true, true>>()
                    : run.template operator()<quick_lane<true, false>>();
      return left ? run.template operator()<quick_lane<false, true>>()
                  : run.template operator()<quick_lane<false, false>>();
    }
    if (plan.carries) return run.template operator()<any_lane<Definition, true>>();
  }
  return run.template operator()<any_lane<Definition, false>>();
}

template <stochastic_definition Definition, class Code>
bool encode(const encode_plan<std::uint32_t>& plan, const float* numbers, const std::uint32_t* random, Code* codes,
            std::size_t size) {
  return with_lane<Definition>(plan,
                               [&]<class Lane>() { return encode_some<Lane>(plan, numbers, random, codes, size); });
}

template <class Code>
constexpr std::array<encode_loop<Code>, 3> loops{encode<stochastic_definition::a, Code>,
                                                 encode<stochastic_definition::b, Code>,
                                                 encode<stochastic_definition::c, Code>};

template <stochastic_definition Definition, class Code>
bool encode_all_groups(const encode_plan<std::uint32_t>& plan, const random_stream& random, std::uint64_t block,
                       const float* numbers, Code* codes, std::size_t groups, bool streams) {
  const bool past = streams && reinterpret_cast<std::uintptr_t>(codes) % sizeof(vector) == 0;
  return with_lane<Definition>(plan, [&]<class Lane>() {
    const auto loop = plan.random_bits <= 8    ? encode_groups<Lane, 8, Code>
                      : plan.random_bits <= 16 ? encode_groups<Lane, 16, Code>
                                               : encode_groups<Lane, 32, Code>;
    return loop(plan, random, block, numbers, codes, groups, past);
  });
}

template <class Code>
constexpr stochastic_group_loops<Code> group_loops{encode_all_groups<stochastic_definition::a, Code>,
                                                   encode_all_groups<stochastic_definition::b, Code>,
                                                   encode_all_groups<stochastic_definition::c, Code>};

template <int Width>
ULP_VECTOR void put_groups(const random_stream& random, std::uint64_t block, int bits, std::uint32_t* out,
                           std::size_t groups) {
  group_generator generator{random, block};
  const lane_bits lanes = lanes_of<Width>(bits);
  for (; groups != 0; --groups, block += 16) {
    group_words words;
    generator(block, words);
#pragma GCC unroll 16
    for (std::size_t n = 0; n < 128 / Width; ++n)
#pragma GCC unroll 2
      for (std::size_t side = 0; side < sides; ++side, out += lane_count)
        store(out, bits_of_lane<Width>(lanes, words[n * Width / 32][side], n));
  }
}

void random_groups_of(const random_stream& random, std::uint64_t block, int bits, std::uint32_t* out,
                      std::size_t groups) {
  const auto put = bits <= 8 ? put_groups<8> : bits <= 16 ? put_groups<16> : put_groups<32>;
  put(random, block, bits, out, groups);
}

bool round_all_groups(const encode_plan<std::uint32_t>& plan, const float_results& results, const random_stream& random,
                      std::uint64_t block, const float* numbers, float* rounded, std::size_t groups, bool streams) {
  auto* const out = reinterpret_cast<std::uint32_t*>(rounded);
  const bool past = streams && reinterpret_cast<std::uintptr_t>(out) % sizeof(vector) == 0;
  const control_register rounds{direction::toward_zero};
  const auto run = [&]<class Lane>() {
    const int bits = plan.random_bits;
    const auto loop = bits <= 8    ? encode_groups<Lane, 8, std::uint32_t, float_results>
                      : bits <= 16 ? encode_groups<Lane, 16, std::uint32_t, float_results>
                                   : encode_groups<Lane, 32, std::uint32_t, float_results>;
    return loop(plan, random, block, numbers, out, groups, past, results);
  };
  const bool left = plan.random_bits > plan.dropped;
  if (plan.is_part_of_float())
    return left ? run.template operator()<quick_float_lane<true, true>>()
                : run.template operator()<quick_float_lane<true, false>>();
  return left ? run.template operator()<quick_float_lane<false, true>>()
              : run.template operator()<quick_float_lane<false, false>>();
}

constexpr all_stochastic_loops all_loops{{loops<std::uint8_t>, group_loops<std::uint8_t>},
                                         {loops<std::uint16_t>, group_loops<std::uint16_t>},
                                         {loops<std::uint32_t>, group_loops<std::uint32_t>},
                                         is_quick,
                                         round_all_groups};

}  // namespace
}  // namespace ulp::detail::ULP_VECTORS

#endif
#endif
