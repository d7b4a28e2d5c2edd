// Conversions that have no fast kernel, element by element by codec.hpp's decode and encode, which nvcc compiles as they are.
#ifndef ULP_DEVICE_BY_CODEC_HPP
#define ULP_DEVICE_BY_CODEC_HPP

#include <cstddef>
#include <cstdint>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/random_bits.hpp>

#include "both.hpp"

namespace ulp::device {

// Elements are codes of a format, as those of every floating-point type are; results are numbers of `to`, as codes of `out`, which
// holds them. In memory codes take 1, 2, 4 or 8 bytes.
struct codec_plan {
  format elements, to, out;
  ulp::rounding rounding;
  std::uint64_t scale;  // scale / 2^63 * 2^scale_exponent, its top bit set
  int scale_exponent;
  int element_bytes, result_bytes;
  std::uint64_t seed, stream, first;  // of random bits
};

ULP_BOTH inline std::uint64_t code_at(const void* codes, int bytes, std::uint64_t i) {
  switch (bytes) {
    case 1: return static_cast<const std::uint8_t*>(codes)[i];
    case 2: return static_cast<const std::uint16_t*>(codes)[i];
    case 4: return static_cast<const std::uint32_t*>(codes)[i];
    default: return static_cast<const std::uint64_t*>(codes)[i];
  }
}
ULP_BOTH inline void put_code(std::uint64_t code, void* codes, int bytes, std::uint64_t i) {
  switch (bytes) {
    case 1: static_cast<std::uint8_t*>(codes)[i] = static_cast<std::uint8_t>(code); break;
    case 2: static_cast<std::uint16_t*>(codes)[i] = static_cast<std::uint16_t>(code); break;
    case 4: static_cast<std::uint32_t*>(codes)[i] = static_cast<std::uint32_t>(code); break;
    default: static_cast<std::uint64_t*>(codes)[i] = code; break;
  }
}

__extension__ using wide_integer = unsigned __int128;

// The exact product of an element and the scale: of 53 bits each at most.
ULP_BOTH inline unpacked scaled_element(const codec_plan& plan, std::uint64_t code) {
  unpacked x = decode(plan.elements, code);
  if (x.kind != number_class::finite) return x;
  auto wide = static_cast<wide_integer>(x.significand) * plan.scale;
  x.exponent += plan.scale_exponent + 1;
  if (wide >> 127 == 0) {
    wide <<= 1;
    --x.exponent;
  }
  x.significand = static_cast<std::uint64_t>(wide >> 64);
  x.low = static_cast<std::uint64_t>(wide);
  return x;
}

ULP_BOTH inline encoded rounded_by_codec(const codec_plan& plan, const unpacked& x, std::uint64_t i) {
  const rounding& how = plan.rounding;
  if (how.direction != direction::stochastic) return encode(plan.to, x, how);
  const std::uint64_t index = plan.first + i;
  if (how.random_bits != exact_probability)
    return encode(plan.to, x, how, random_bits(plan.seed, plan.stream, index, how.random_bits));
  // From float64's largest number down to the last bit of a product of two of its smallest.
  std::uint32_t words[(1024 + 2 * 1074) / 32 + 1];
  const int needed = (discarded_bits(plan.to, x) + 31) / 32;
  for (int w = 0; w < needed; ++w) words[w] = random_word(plan.seed, plan.stream, index, static_cast<std::uint64_t>(w));
  return encode(plan.to, x, how, random_input{words, static_cast<std::size_t>(needed)});
}

// What thread `thread` of `threads` does of `size` elements; in place where element and result are of one size.
ULP_BOTH inline void convert_by_codec(std::uint64_t thread, std::uint64_t threads, const codec_plan& plan,
                                      const void* elements, void* results, std::uint64_t size) {
  for (std::uint64_t i = thread; i < size; i += threads) {
    const unpacked x = scaled_element(plan, code_at(elements, plan.element_bytes, i));
    const std::uint64_t code = rounded_by_codec(plan, x, i).code;
    put_code(plan.out == plan.to ? code : encode(plan.out, decode(plan.to, code)).code, results, plan.result_bytes, i);
  }
}

// In the order of conversion_counts of convert.hpp, whose meaning they have.
struct outcome_counts {
  std::uint64_t zeros, newly_zero, subnormal, inexact, overflowed, nan;
};

// Of the elements of one thread.
ULP_BOTH inline outcome_counts count_by_codec(std::uint64_t thread, std::uint64_t threads, const codec_plan& plan,
                                              const void* elements, std::uint64_t size) {
  outcome_counts counts{};
  for (std::uint64_t i = thread; i < size; i += threads) {
    const unpacked x = scaled_element(plan, code_at(elements, plan.element_bytes, i));
    const encoded result = rounded_by_codec(plan, x, i);
    counts.zeros += x.kind == number_class::zero ? 1 : 0;
    counts.nan += x.kind == number_class::nan ? 1 : 0;
    if (x.kind == number_class::nan || x.kind == number_class::infinity) continue;
    counts.inexact += any(result.flags, status::inexact) ? 1 : 0;
    if (x.kind == number_class::zero) continue;
    counts.overflowed += any(result.flags, status::overflow) ? 1 : 0;
    const std::uint64_t magnitude = result.code & plan.to.magnitude_mask();
    if (magnitude >= plan.to.min_normal_code() || any(result.flags, status::invalid | status::overflow)) continue;
    ++(magnitude == 0 ? counts.newly_zero : counts.subnormal);
  }
  return counts;
}

// The first of one thread's elements that has bits beside those of `mask`, or `size`.
ULP_BOTH inline std::uint64_t first_beyond(std::uint64_t thread, std::uint64_t threads, const void* codes, int bytes,
                                           std::uint64_t mask, std::uint64_t size) {
  for (std::uint64_t i = thread; i < size; i += threads)
    if ((code_at(codes, bytes, i) & ~mask) != 0) return i;
  return size;
}

}  // namespace ulp::device

#endif
