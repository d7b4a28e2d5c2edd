// Arithmetic of one tile of an array at a time, by loops.
#ifndef ULP_FORMATS_BULK_ARITHMETIC_TILES_HPP
#define ULP_FORMATS_BULK_ARITHMETIC_TILES_HPP

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>

#include <ulp/formats/catalog.hpp>

#include "arithmetic_plan.hpp"
#include "arithmetic_single.hpp"

namespace ulp::detail {

// What is done under daz to operands; as integers, whatever the processor's state.
template <class Number>
void zero_below(std::span<Number> numbers, bits_of<Number> smallest) {
  constexpr auto sign = ~(~bits_of<Number>{0} >> 1);
  for (Number& x : numbers) {
    const auto bits = std::bit_cast<bits_of<Number>>(x);
    x = std::bit_cast<Number>((bits & ~sign) < smallest ? bits & sign : bits);
  }
}

// Tiles by loops of floats or doubles, where there are some for the operation.
template <class Number>
class lane_results {
 public:
  // Of a size that keeps three operands and the result in the first-level cache.
  static constexpr std::size_t step = tile_size * sizeof(float) / sizeof(Number);

  lane_results(operation op, const format& to, const tile_operands& places, const array_rounding& how,
               const kernels* loops)
      : places_(places),
        encode_(plan_encoder<Number>(of_result(to, how), 0, lanes, exact_factor{}, loops, false), how.random),
        daz_(how.rounding.daz) {
    if (loops == nullptr || loops->arithmetic == nullptr) return;
    std::array<format, 3> formats;
    for (std::size_t j = 0; j < places.size(); ++j) {
      formats[j] = places.format_of(j);
      decode_[j].emplace(formats[j], loops);
      if (!decode_[j]->usable()) return;
      smallest_normal_[j] =
          static_cast<bits_of<Number>>(encode(lanes, decode(formats[j], formats[j].min_normal_code())).code);
    }
    call_.negate_second = op == operation::sub;
    call_.minus_zero = how.rounding.direction == direction::toward_negative;
    call_.way = how.rounding.direction;
    const arithmetic_loops& all = *loops->arithmetic;
    if constexpr (sizeof(Number) == sizeof(float)) {
      if (const auto native = plan_native_operation(op, to, how.rounding)) {
        is_native_ = true;
        loop_ = all.native[static_cast<std::size_t>(*native)];
        return;
      }
    }
    const auto planned = plan_operation(lanes, op, to, std::span{formats}.first(places.size()), how.rounding);
    if (!planned || !encode_.plan().usable()) return;
    // What is beyond the largest number may be rounded down to that: with what probability, the largest does not tell.
    if (how.rounding.direction == direction::stochastic && to.emax() == lanes.emax()) --first_single_;
    const auto way = static_cast<std::size_t>(*planned);
    if constexpr (sizeof(Number) == sizeof(float)) {
      loop_ = all.floats[way];
      if (all_codes_are(float16)) loop_of_codes_ = all.float16s[way];
      if (all_codes_are(bfloat16)) loop_of_codes_ = all.halves[way];
    } else {
      loop_ = all.doubles[way];
    }
  }

  [[nodiscard]] bool usable() const { return loop_ != nullptr; }

  void operator()(std::size_t begin, std::size_t n, const codes_out& to, const single_results& single) const {
    alignas(64) std::array<Number, step> results;
    std::array<std::uint32_t, step> codes;
    std::array<std::uint16_t, step> places;
    std::size_t singles = 0;
    if (compute(begin, n, results.data()) || reaches_end({results.data(), n}))
      for (std::size_t i = 0; i < n; ++i) {
        if (magnitude_of(results[i]) < first_single_) continue;
        results[i] = 0;
        places[singles] = static_cast<std::uint16_t>(i);
        codes[singles++] = single(begin, i);  // before codes are written, maybe over operands
      }
    put({results.data(), n}, begin, to);
    for (std::size_t k = 0; k < singles; ++k) put_code(to, places[k], codes[k]);
  }

 private:
  static constexpr format lanes = sizeof(Number) == sizeof(float) ? binary32 : binary64;

  // daz has asked the operands.
  static treatment of_result(const format& to, const array_rounding& how) {
    treatment of{to, how.rounding};
    of.rounding.daz = false;
    return of;
  }

  [[nodiscard]] bool all_codes_are(const format& f) const {
    for (std::size_t j = 0; j < places_.size(); ++j)
      if (places_.format_of(j) != f || places_.at(j, 0).bytes != 2) return false;
    return !daz_;
  }

  void put(std::span<const Number> results, std::size_t begin, const codes_out& to) const {
    if constexpr (sizeof(Number) == sizeof(float))
      if (is_native_) return static_cast<void>(std::memcpy(to.data, results.data(), results.size_bytes()));
    conversion_counts none;
    encode_(results, begin, to, false, none);
  }

  static bits_of<Number> magnitude_of(Number x) {
    return std::bit_cast<bits_of<Number>>(x) & (~bits_of<Number>{0} >> 1);
  }
  bool reaches_end(std::span<const Number> results) const {
    if (first_single_ == infinity) return false;
    bits_of<Number> largest = 0;
    for (const Number x : results) largest = std::max(largest, magnitude_of(x));
    return largest >= first_single_;
  }

  // Whether results are infinite or NaN, which are single ones' business.
  bool compute(std::size_t begin, std::size_t n, Number* results) const {
    arithmetic_call call = call_;
    call.results = results;
    call.size = n;
    if (loop_of_codes_ != nullptr) {
      for (std::size_t j = 0; j < places_.size(); ++j) call.operands[j] = places_.at(j, begin).data;
      return loop_of_codes_(call);
    }
    std::array<std::array<Number, step>, 3> buffers;
    for (std::size_t j = 0; j < places_.size(); ++j) {
      const std::span<Number> numbers{buffers[j].data(), n};
      (*decode_[j])(places_.at(j, begin), numbers, false);
      if (daz_) zero_below(numbers, smallest_normal_[j]);
      call.operands[j] = numbers.data();
    }
    return loop_(call);
  }

  static constexpr auto infinity = std::bit_cast<bits_of<Number>>(std::numeric_limits<Number>::infinity());

  const tile_operands& places_;
  tile_encoder<Number> encode_;
  bits_of<Number> first_single_ = infinity;  // magnitude of results that are computed singly, and all above
  bool daz_;
  std::array<std::optional<tile_decoder<Number>>, 3> decode_;
  std::array<bits_of<Number>, 3> smallest_normal_{};
  arithmetic_call call_;
  bool is_native_ = false;
  arithmetic_loop loop_ = nullptr;
  arithmetic_loop loop_of_codes_ = nullptr;
};

// Tiles of codes of one format by loops that go from them to codes at once, where there are some.
class code_results {
 public:
  code_results(operation op, const format& to, const tile_operands& places, code_span out, const array_rounding& how,
               const kernels* loops)
      : places_(places) {
    const auto grid = plan_grid(to, how.rounding);
    if (loops == nullptr || loops->arithmetic == nullptr || !grid || out.bytes() != 2) return;
    for (std::size_t j = 0; j < places.size(); ++j) {
      if (places.format_of(j) != to || places.at(j, 0).bytes != 2) return;
      over_operands_ = over_operands_ || places.at(j, 0).data == out.data();
    }
    const auto planned = plan_operation(binary32, op, to, std::array{to, to, to}, how.rounding);
    if (!planned) return;
    call_.grid = *grid;
    call_.negate_second = op == operation::sub;
    const code_loops& codes = loops->arithmetic->codes;
    const auto loop_of = [&](const code_loops_of& all) {
      return all[static_cast<std::size_t>(how.rounding.direction)][static_cast<std::size_t>(*planned)];
    };
    const bool has_instruction = to == float16 && how.rounding.overflow == overflow_mode::ieee;
    if (to == bfloat16) loop_ = loop_of(codes.bfloat16s);
    if (has_instruction) loop_ = loop_of(codes.float16s);
    if (loop_ == nullptr && to != bfloat16) loop_ = loop_of(codes.others);
  }

  // Whether they are done. If not, operands are what they were.
  bool operator()(std::size_t begin, std::size_t n, const codes_out& to) const {
    if (loop_ == nullptr) return false;
    arithmetic_call call = call_;
    call.size = n;
    for (std::size_t j = 0; j < places_.size(); ++j) call.operands[j] = places_.at(j, begin).data;
    if (!over_operands_) {
      call.results = to.data;
      return !loop_(call);
    }
    std::array<std::uint16_t, tile_size> codes;
    call.results = codes.data();
    if (loop_(call)) return false;
    std::copy_n(codes.begin(), n, to.as16());
    return true;
  }

 private:
  const tile_operands& places_;
  bool over_operands_ = false;
  arithmetic_call call_;
  arithmetic_loop loop_ = nullptr;
};

}  // namespace ulp::detail

#endif
