#include "tiles.hpp"

#include <bit>
#include <limits>

#include <ulp/formats/random_bits.hpp>

namespace ulp::detail {

void store(std::span<const std::uint32_t> codes, const kernels* loops, const codes_out& to) noexcept {
  if (loops == nullptr) loops = &baseline_kernels;
  switch (to.bytes) {
    case 1: loops->narrow8(codes.data(), to.as8(), codes.size()); break;
    case 2: loops->narrow16(codes.data(), to.as16(), codes.size()); break;
    case 4: std::copy(codes.begin(), codes.end(), to.as32()); break;
    default:
      for (std::size_t i = 0; i + 1 < codes.size(); i += 2)
        to.as8()[i / 2] = static_cast<std::uint8_t>(codes[i] | codes[i + 1] << 4);
      if (codes.size() % 2 != 0) to.as8()[codes.size() / 2] = static_cast<std::uint8_t>(codes.back());
  }
}

const std::uint32_t* load(const codes_in& from, std::size_t size, std::uint32_t* buffer) noexcept {
  switch (from.bytes) {
    case 1: std::copy_n(from.as8(), size, buffer); break;
    case 2: std::copy_n(from.as16(), size, buffer); break;
    case 4: return from.as32();
    default:
      for (std::size_t i = 0; i < size; ++i) buffer[i] = from.as8()[i / 2] >> (4 * (i % 2)) & 15;
  }
  return buffer;
}

std::uint32_t code_at(const const_code_span& codes, std::size_t i) noexcept {
  std::array<std::uint32_t, 2> buffer;
  return load({codes, codes.bytes() == 0 ? i & ~std::size_t{1} : i}, codes.bytes() == 0 ? i % 2 + 1 : 1,
              buffer.data())[codes.bytes() == 0 ? i % 2 : 0];
}

void fill_random(const kernels* loops, const random_stream& random, std::uint64_t index, int bits, std::uint32_t* out,
                 std::size_t size) noexcept {
  const std::uint64_t first = random.first + index;
  const auto fill_singly = [&](std::uint64_t begin, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) *out++ = random_bits(random.seed, random.stream, begin + i, bits);
  };
  if (loops == nullptr) return fill_singly(first, size);
  // Groups of 16 blocks, whole ones at once and parts by way of a buffer.
  const std::size_t group = elements_of_group(bits);
  const auto fill_part = [&](std::uint64_t begin, std::size_t n) {
    std::array<std::uint32_t, 256> buffer;
    loops->random(random, begin / group * 16, bits, buffer.data(), 1);
    out = std::copy_n(buffer.begin() + begin % group, n, out);
  };
  const std::size_t before = std::min<std::size_t>(size, (group - first % group) % group);
  if (before != 0) fill_part(first, before);
  std::size_t groups = (size - before) / group;
  const std::size_t after = size - before - groups * group;
  // Indices wrap around, and blocks of the generator with them.
  for (std::uint64_t at = first + before; groups != 0; at = 0) {
    const std::uint64_t here = at == 0 ? groups : std::min<std::uint64_t>(groups, (0 - at) / group);
    loops->random(random, at / group * 16, bits, out, here);
    out += here * group;
    groups -= here;
  }
  if (after != 0) fill_part(first + (size - after), after);
}

void multiply(std::span<const float> x, const exact_factor& factor, double* products) noexcept {
  constexpr std::uint32_t implicit = 0x800000;
  const std::uint64_t by = factor.significand >> 40;
  // Of the unit of the product of both significands, where float's exponent field is 0.
  const int exponent = factor.exponent - 23 - binary32.bias - 23;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(x[i]);
    const std::uint32_t magnitude = bits & 0x7FFFFFFF;
    const std::uint32_t field_in_place = std::max(magnitude, implicit) & 0x7F800000;
    const std::uint64_t significand = magnitude - field_in_place + implicit;
    const auto integer = std::bit_cast<std::uint64_t>(static_cast<double>(static_cast<std::int64_t>(significand * by)));
    const auto field = static_cast<std::int64_t>(field_in_place >> 23);
    const std::uint64_t product = integer + (static_cast<std::uint64_t>(field + exponent) << 52);
    const std::uint64_t special = 0x7FF0000000000000 | static_cast<std::uint64_t>(magnitude & 0x7FFFFF) << 29;
    const std::uint64_t value = magnitude >= 0x7F800000 ? special : magnitude == 0 ? 0 : product;
    products[i] = std::bit_cast<double>(value | static_cast<std::uint64_t>(bits >> 31) << 63);
  }
}

template <class Number>
bool tile_encoder<Number>::directly(std::span<const Number> numbers, const codes_out& to, bool streams,
                                    conversion_counts& counts) const noexcept {
  const std::size_t way = way_of(plan_.how.rounding);
  const auto run = [&](const auto& loops, auto* codes) {
    return (plan_.counting ? loops.count : loops.encode)[way](*plan_.quick, numbers.data(), codes, numbers.size(),
                                                              streams, &counts);
  };
  if constexpr (sizeof(Number) == 4) {
    switch (to.bytes) {
      case 1: return run(plan_.loops->quick->to8, to.as8());
      case 2: return run(plan_.loops->quick->to16, to.as16());
      case 4: return run(plan_.loops->quick->to32, to.as32());
      default: {
        std::array<std::uint32_t, tile_size> codes;
        const bool left_out = run(plan_.loops->quick->to32, codes.data());
        store(std::span{codes}.first(numbers.size()), plan_.loops, to);
        return left_out;
      }
    }
  }
  return false;
}

template <class Number>
std::size_t tile_encoder<Number>::by_groups(std::span<const Number> numbers, std::uint64_t first, const codes_out& to,
                                            bool streams, bool& left_out) const noexcept {
  const std::size_t group = elements_of_group(plan_.how.rounding.random_bits);
  const std::uint64_t index = random_.first + first;
  const std::size_t groups = std::min<std::uint64_t>(numbers.size() / group, index == 0 ? ~index : (0 - index) / group);
  const auto run = [&](const auto& loops, auto* codes) {
    return loops.groups[way_of(plan_.how.rounding) - first_stochastic_way](*plan_.narrow, random_, index / group * 16,
                                                                           numbers.data(), codes, groups, streams);
  };
  if constexpr (sizeof(Number) == 4) {
    switch (to.bytes) {
      case 1: left_out = run(plan_.loops->stochastic->to8, to.as8()); break;
      case 2: left_out = run(plan_.loops->stochastic->to16, to.as16()); break;
      default: left_out = run(plan_.loops->stochastic->to32, to.as32()); break;
    }
  }
  return groups * group;
}

template <class Number>
bool tile_encoder<Number>::by_buffers(std::span<const Number> numbers, std::uint64_t first, const codes_out& to,
                                      conversion_counts& counts) const noexcept {
  std::array<std::uint32_t, tile_size + spare_random> random;
  std::array<std::uint32_t, tile_size> codes;
  const Number* const x = numbers.data();
  const std::size_t size = numbers.size();
  const std::size_t way = way_of(plan_.how.rounding);
  if (plan_.how.rounding.direction == direction::stochastic)
    fill_random(plan_.loops, random_, first, plan_.how.rounding.random_bits, random.data(), size);
  bool left_out = false;
  if constexpr (sizeof(Number) == 8) {
    left_out = plan_.loops->encode_double[way](*plan_.wide, x, random.data(), codes.data(), size, counts);
  } else if (plan_.plain) {
    const auto plainly = [&](const auto& loops, const auto* stochastic, auto* into) {
      const auto loop = stochastic != nullptr && way >= first_stochastic_way
                            ? stochastic->plain[way - first_stochastic_way]
                            : loops[way];
      return loop(*plan_.narrow, x, random.data(), into, size);
    };
    const all_stochastic_loops* const s = plan_.loops->stochastic;
    switch (to.bytes) {
      case 1: return plainly(plan_.loops->encode8, s == nullptr ? nullptr : &s->to8, to.as8());
      case 2: return plainly(plan_.loops->encode16, s == nullptr ? nullptr : &s->to16, to.as16());
      case 4: return plainly(plan_.loops->encode32, s == nullptr ? nullptr : &s->to32, to.as32());
      default: left_out = plainly(plan_.loops->encode32, s == nullptr ? nullptr : &s->to32, codes.data());
    }
  } else if (plan_.narrow) {
    left_out = plan_.loops->encode_float[way](*plan_.narrow, x, random.data(), codes.data(), size, counts);
  } else {
    left_out = plan_.loops->encode_float_wide[way](*plan_.wide, x, random.data(), codes.data(), size, counts);
  }
  store(std::span{codes}.first(size), plan_.loops, to);
  return left_out;
}

template <class Number>
void tile_encoder<Number>::put_left_out(std::span<const Number> numbers, std::uint64_t first, const codes_out& to,
                                        conversion_counts& counts) const noexcept {
  using bits = bits_of<Number>;
  constexpr bits magnitude_mask = static_cast<bits>(~bits{0}) >> 1;
  constexpr bits infinity = std::bit_cast<bits>(std::numeric_limits<Number>::infinity());
  const bits below = static_cast<bits>(plan_.wide ? plan_.wide->left_out_below : plan_.narrow->left_out_below);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const bits magnitude = std::bit_cast<bits>(numbers[i]) & magnitude_mask;
    if (magnitude < infinity && !(magnitude - 1 < below)) continue;
    unpacked x = decode(numbers[i]);
    x.subnormal = magnitude < plan_.daz_below;
    const std::uint32_t code = left_out_(x, first + i, counts);
    switch (to.bytes) {
      case 1: to.as8()[i] = static_cast<std::uint8_t>(code); break;
      case 2: to.as16()[i] = static_cast<std::uint16_t>(code); break;
      case 4: to.as32()[i] = code; break;
      default: {
        std::uint8_t& byte = to.as8()[i / 2];
        byte = static_cast<std::uint8_t>(i % 2 == 0 ? (byte & 0xF0) | code : (byte & 0x0F) | code << 4);
      }
    }
  }
}

template <class Number>
void tile_encoder<Number>::operator()(std::span<const Number> numbers, std::uint64_t first, const codes_out& to,
                                      bool streams, conversion_counts& counts) const noexcept {
  // Codes written over the numbers would leave nothing of what is left out.
  std::array<Number, tile_size> kept;
  if (to.data == static_cast<const void*>(numbers.data())) {
    std::copy(numbers.begin(), numbers.end(), kept.begin());
    numbers = std::span{kept}.first(numbers.size());
  }
  if (plan_.quick) {
    if (!directly(numbers, to, streams, counts)) return;
    if (!plan_.counting) return put_left_out(numbers, first, to, counts);
  }
  for (std::size_t at = 0; at < numbers.size();) {
    const auto rest = numbers.subspan(at);
    std::size_t n = std::min(tile_size, rest.size());
    bool left_out = false;
    const std::size_t group = plan_.groups ? elements_of_group(plan_.how.rounding.random_bits) : 0;
    const std::size_t to_group = plan_.groups ? (group - (random_.first + first + at) % group) % group : 0;
    if (plan_.groups && to.bytes != 0 && to_group == 0 && rest.size() >= group) {
      n = by_groups(rest, first + at, to.after(at), streams, left_out);
    } else {
      if (to_group != 0) n = std::min(n, to_group);
      // Two codes to a byte end with a whole one.
      if (to.bytes == 0 && n != rest.size() && n % 2 != 0) n = std::min(tile_size, rest.size());
      left_out = by_buffers(rest.first(n), first + at, to.after(at), counts);
    }
    if (left_out) put_left_out(rest.first(n), first + at, to.after(at), counts);
    at += n;
  }
}

template class tile_encoder<float>;
template class tile_encoder<double>;

template <class Number>
void tile_decoder<Number>::operator()(const codes_in& from, std::span<Number> to, bool streams) const noexcept {
  std::array<std::uint32_t, tile_size> buffer;
  const auto run = [&](const auto& loop8, const auto& loop16, const auto& loop32, auto... more) {
    switch (from.bytes) {
      case 1: return loop8(*plan_, from.as8(), to.data(), to.size(), more...);
      case 2: return loop16(*plan_, from.as16(), to.data(), to.size(), more...);
      case 4: return loop32(*plan_, from.as32(), to.data(), to.size(), more...);
      default: return loop32(*plan_, load(from, to.size(), buffer.data()), to.data(), to.size(), more...);
    }
  };
  if constexpr (sizeof(Number) == 8) {
    run(loops_->to_double.from8, loops_->to_double.from16, loops_->to_double.from32);
  } else if (loops_->decode != nullptr) {
    run(loops_->decode->from8, loops_->decode->from16, loops_->decode->from32, streams);
  } else {
    run(loops_->to_float.from8, loops_->to_float.from16, loops_->to_float.from32);
  }
}

template class tile_decoder<float>;
template class tile_decoder<double>;

void tile_rounder::by_codes(std::span<const float> numbers, std::uint64_t first,
                            std::span<float> rounded) const noexcept {
  std::array<std::uint32_t, tile_size> codes;
  conversion_counts none;
  encode_(numbers, first, codes_out{code_span{codes}, 0}, false, none);
  decode_(codes_in{const_code_span{codes}, 0}, rounded, false);
}

bool tile_rounder::by_groups(std::span<const float> numbers, std::uint64_t first, std::span<float> rounded,
                             bool streams) const noexcept {
  const std::size_t group = elements_of_group(plan_.how.rounding.random_bits);
  bool left_out = false;
  for (std::size_t at = 0; at < numbers.size();) {
    const std::uint64_t index = random_.first + first + at;
    const std::size_t rest = numbers.size() - at;
    const std::size_t to_group = (group - index % group) % group;
    // Indices wrap around, and blocks of the generator with them.
    const std::size_t groups =
        to_group != 0 ? 0 : std::min<std::uint64_t>(rest / group, index == 0 ? ~index : (0 - index) / group);
    if (groups == 0) {
      const std::size_t n = std::min(rest, to_group == 0 ? group : to_group);
      by_codes(numbers.subspan(at, n), first + at, rounded.subspan(at, n));
      at += n;
      continue;
    }
    left_out = plan_.loops->stochastic->round(*plan_.narrow, *plan_.results, random_, index / group * 16,
                                              numbers.data() + at, rounded.data() + at, groups, streams) ||
               left_out;
    at += groups * group;
  }
  return left_out;
}

void tile_rounder::operator()(std::span<const float> numbers, std::uint64_t first, std::span<float> rounded,
                              bool streams) const noexcept {
  const bool left_out =
      plan_.groups ? by_groups(numbers, first, rounded, streams)
                   : (*plan_.loops->round)[way_of(plan_.how.rounding)](*plan_.quick, *plan_.results, numbers.data(),
                                                                       rounded.data(), numbers.size(), streams);
  if (!left_out) return;
  // In place, infinity and NaN may be results by now, which are their own results.
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if ((std::bit_cast<std::uint32_t>(numbers[i]) & 0x7FFFFFFF) >= 0x7F800000)
      by_codes(numbers.subspan(i, 1), first + i, rounded.subspan(i, 1));
}

}  // namespace ulp::detail
