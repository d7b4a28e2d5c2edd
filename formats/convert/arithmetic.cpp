#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <string>

#include <ulp/formats/arithmetic.hpp>
#include <ulp/formats/array_arithmetic.hpp>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/operation.hpp>
#include <ulp/formats/random_bits.hpp>

#include "arithmetic_plan.hpp"
#include "avx2.hpp"
#include "blocks.hpp"
#include "threads.hpp"

namespace ulp {
namespace {

using namespace detail;

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument("ulp::array_arithmetic: " + what); }

void expect_format(const format& f, int bytes, const char* what) {
  if (!f.is_valid()) refuse(std::string{what} + " is not a valid format");
  const int bits = bytes == 0 ? 4 : 8 * bytes;
  if (f.width() > bits)
    refuse("codes of " + std::to_string(f.width()) + " bits in elements of " + std::to_string(bits));
}

using operands = std::span<const array_operand* const>;

// The most words of random bits that exact_probability takes: from the result's highest bit to its last one.
std::size_t random_words(operation op, operands of) {
  int highest = -10000;
  int lowest = 10000;
  const auto see = [&](int emax, int quantum) {
    highest = std::max(highest, emax);
    lowest = std::min(lowest, quantum);
  };
  const format& a = of[0]->format;
  if (op == operation::div || op == operation::sqrt) return 1;
  const format& b = of[1]->format;
  if (op == operation::add || op == operation::sub) {
    see(a.emax(), a.min_quantum_exponent());
    see(b.emax(), b.min_quantum_exponent());
  } else {
    see(a.emax() + b.emax() + 1, a.min_quantum_exponent() + b.min_quantum_exponent());
    if (op == operation::fma) see(of[2]->format.emax(), of[2]->format.min_quantum_exponent());
  }
  return std::min(most_random_words, static_cast<std::size_t>(highest + 1 - lowest) / 32 + 1);
}

std::uint32_t code_of(const codes_in& place, std::size_t i) {
  switch (place.bytes) {
    case 1: return place.as8()[i];
    case 2: return place.as16()[i];
    case 4: return place.as32()[i];
    default: return place.as8()[i / 2] >> (4 * (i % 2)) & 15;
  }
}

void put_code(const codes_out& place, std::size_t i, std::uint32_t code) {
  switch (place.bytes) {
    case 1: place.as8()[i] = static_cast<std::uint8_t>(code); break;
    case 2: place.as16()[i] = static_cast<std::uint16_t>(code); break;
    case 4: place.as32()[i] = code; break;
    default: {
      std::uint8_t& byte = place.as8()[i / 2];
      byte = static_cast<std::uint8_t>(i % 2 == 0 ? (byte & 0xF0) | code : (byte & 0x0F) | code << 4);
    }
  }
}

// Where the operands of a block are: in their arrays, or copies of the one code that there is.
class block_operands {
 public:
  block_operands(operands of, std::size_t size) : of_(of) {
    for (std::size_t j = 0; j < of.size(); ++j) {
      const const_code_span& codes = of[j]->codes;
      repeated_[j] = codes.size() == 1 && size != 1;
      if (!repeated_[j]) continue;
      const std::uint32_t code = code_at(codes, 0);
      std::array<std::uint32_t, block_size> copies;
      copies.fill(code);
      store(copies, nullptr, codes_out{copies_[j].data(), codes.bytes()});
    }
  }
  [[nodiscard]] std::size_t size() const { return of_.size(); }
  [[nodiscard]] const format& format_of(std::size_t j) const { return of_[j]->format; }
  [[nodiscard]] codes_in at(std::size_t j, std::size_t begin) const {
    if (repeated_[j]) return {copies_[j].data(), of_[j]->codes.bytes()};
    return {of_[j]->codes, begin};
  }

 private:
  operands of_;
  std::array<bool, 3> repeated_{};
  std::array<std::array<std::uint32_t, block_size>, 3> copies_;
};

// One element at a time by arithmetic.hpp: what every loop equals, and what is done where none is for it.
class single_results {
 public:
  single_results(operation op, const format& to, operands of, const block_operands& places, const array_rounding& how)
      : op_(op), to_(to), places_(places), how_(how), words_(random_words(op, of)) {}

  // Element `i` of the block that begins there. A function of its own, for the state of the processor that it is called in.
  [[gnu::noinline]] std::uint32_t operator()(std::size_t begin, std::size_t i) const {
    std::array<unpacked, 3> x;
    for (std::size_t j = 0; j < places_.size(); ++j)
      x[j] = decode(places_.format_of(j), code_of(places_.at(j, begin), i));
    const rounding& mode = how_.rounding;
    const std::uint64_t index = how_.random.first + begin + i;
    if (mode.direction != direction::stochastic) return compute(x, {});
    if (mode.random_bits != exact_probability)
      return compute(x, random_bits(how_.random.seed, how_.random.stream, index, mode.random_bits));
    std::array<std::uint32_t, most_random_words> words;
    for (std::size_t w = 0; w < words_; ++w) words[w] = random_word(how_.random.seed, how_.random.stream, index, w);
    return compute(x, random_input{words.data(), words_});
  }

 private:
  [[nodiscard]] std::uint32_t compute(const std::array<unpacked, 3>& x, random_input random) const {
    const auto result = [&]() -> encoded {
      switch (op_) {
        case operation::add: return add(to_, x[0], x[1], how_.rounding, random);
        case operation::sub: return sub(to_, x[0], x[1], how_.rounding, random);
        case operation::mul: return mul(to_, x[0], x[1], how_.rounding, random);
        case operation::div: return div(to_, x[0], x[1], how_.rounding, random);
        case operation::sqrt: return sqrt(to_, x[0], how_.rounding, random);
        default: return fma(to_, x[0], x[1], x[2], how_.rounding, random);
      }
    };
    return static_cast<std::uint32_t>(result().code);
  }

  operation op_;
  format to_;
  const block_operands& places_;
  array_rounding how_;
  std::size_t words_;
};

// What is done under daz to operands; as integers, whatever the processor's state.
template <class Number>
void zero_below(std::span<Number> numbers, bits_of<Number> smallest) {
  constexpr auto sign = ~(~bits_of<Number>{0} >> 1);
  for (Number& x : numbers) {
    const auto bits = std::bit_cast<bits_of<Number>>(x);
    x = std::bit_cast<Number>((bits & ~sign) < smallest ? bits & sign : bits);
  }
}

// Blocks by loops of floats or doubles, where there are some for the operation.
template <class Number>
class lane_results {
 public:
  // Of a size that keeps three operands and the result in the first-level cache.
  static constexpr std::size_t step = block_size * sizeof(float) / sizeof(Number);

  lane_results(operation op, const format& to, const block_operands& places, const array_rounding& how,
               const kernels* loops)
      : places_(places), encode_(to, of_result(how), 0, lanes, exact_factor{}, loops, false), daz_(how.rounding.daz) {
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
    if (!planned || !encode_.usable()) return;
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
  static conversion of_result(const array_rounding& how) {
    conversion of{.rounding = how.rounding, .random = how.random};
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

  const block_operands& places_;
  block_encoder<Number> encode_;
  bits_of<Number> first_single_ = infinity;  // magnitude of results that are computed singly, and all above
  bool daz_;
  std::array<std::optional<block_decoder<Number>>, 3> decode_;
  std::array<bits_of<Number>, 3> smallest_normal_{};
  arithmetic_call call_;
  bool is_native_ = false;
  arithmetic_loop loop_ = nullptr;
  arithmetic_loop loop_of_codes_ = nullptr;
};

// Blocks of codes of one format by loops that go from them to codes at once, where there are some.
class code_results {
 public:
  code_results(operation op, const format& to, const block_operands& places, code_span out, const array_rounding& how,
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
    std::array<std::uint16_t, block_size> codes;
    call.results = codes.data();
    if (loop_(call)) return false;
    std::copy_n(codes.begin(), n, to.as16());
    return true;
  }

 private:
  const block_operands& places_;
  bool over_operands_ = false;
  arithmetic_call call_;
  arithmetic_loop loop_ = nullptr;
};

void compute_array(operation op, const format& to, code_span out, operands of, const array_rounding& how) {
  expect_format(to, out.bytes(), "the result's");
  for (const array_operand* x : of) {
    expect_format(x->format, x->codes.bytes(), "an operand's");
    if (x->codes.size() != out.size() && x->codes.size() != 1)
      refuse(std::to_string(x->codes.size()) + " operands for " + std::to_string(out.size()) + " results");
  }
  if (!how.rounding.is_valid()) refuse("the rounding has a field out of range");
  if (out.size() == 0) return;

  const kernels* const loops = loops_in_use().load(std::memory_order_relaxed);
  const block_operands places{of, out.size()};
  const single_results single{op, to, of, places, how};
  const auto by_blocks = [&](std::size_t step, auto block) {
    for_parts(out.size(), step, how.threads, [&](std::size_t begin, std::size_t end) {
#if defined(__x86_64__)
      // Roots begin with a guess in floating point, which is not to leave a flag or raise an exception.
      const control_register rounds{direction::nearest_even};
#endif
      for (std::size_t at = begin; at < end; at += step) block(at, std::min(end - at, step), codes_out{out, at});
    });
  };
  const code_results by_codes{op, to, places, out, how, loops};
  const auto by_lanes = [&]<class Number>(const lane_results<Number>& lanes) {
    if (!lanes.usable()) return false;
    by_blocks(lane_results<Number>::step, [&](std::size_t begin, std::size_t n, const codes_out& place) {
      if (!by_codes(begin, n, place)) lanes(begin, n, place, single);
    });
    return true;
  };
  if (by_lanes(lane_results<float>{op, to, places, how, loops})) return;
  if (by_lanes(lane_results<double>{op, to, places, how, loops})) return;
  by_blocks(block_size, [&](std::size_t begin, std::size_t n, const codes_out& place) {
    std::array<std::uint32_t, block_size> codes;
    for (std::size_t i = 0; i < n; ++i) codes[i] = single(begin, i);
    store({codes.data(), n}, loops, place);
  });
}

}  // namespace

void add_array(const format& to, code_span out, const array_operand& a, const array_operand& b,
               const array_rounding& how) {
  compute_array(operation::add, to, out, std::array{&a, &b}, how);
}
void sub_array(const format& to, code_span out, const array_operand& a, const array_operand& b,
               const array_rounding& how) {
  compute_array(operation::sub, to, out, std::array{&a, &b}, how);
}
void mul_array(const format& to, code_span out, const array_operand& a, const array_operand& b,
               const array_rounding& how) {
  compute_array(operation::mul, to, out, std::array{&a, &b}, how);
}
void div_array(const format& to, code_span out, const array_operand& a, const array_operand& b,
               const array_rounding& how) {
  compute_array(operation::div, to, out, std::array{&a, &b}, how);
}
void sqrt_array(const format& to, code_span out, const array_operand& a, const array_rounding& how) {
  compute_array(operation::sqrt, to, out, std::array{&a}, how);
}
void fma_array(const format& to, code_span out, const array_operand& a, const array_operand& b, const array_operand& c,
               const array_rounding& how) {
  compute_array(operation::fma, to, out, std::array{&a, &b, &c}, how);
}

}  // namespace ulp
