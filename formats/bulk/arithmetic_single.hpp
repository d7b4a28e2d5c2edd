// Operands of arithmetic where they are, and one element at a time by arithmetic.hpp.
#ifndef ULP_FORMATS_BULK_ARITHMETIC_SINGLE_HPP
#define ULP_FORMATS_BULK_ARITHMETIC_SINGLE_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <ulp/formats/arithmetic.hpp>
#include <ulp/formats/array_arithmetic.hpp>
#include <ulp/formats/operation.hpp>
#include <ulp/formats/random_bits.hpp>

#include "tiles.hpp"

namespace ulp::detail {

using operand_list = std::span<const array_operand* const>;

// The most words of random bits that exact_probability takes: from the result's highest bit to its last one.
inline std::size_t random_words(operation op, operand_list of) {
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
    see(a.last_exponent(), a.min_quantum_exponent());
    see(b.last_exponent(), b.min_quantum_exponent());
  } else {
    see(a.last_exponent() + b.last_exponent() + 1, a.min_quantum_exponent() + b.min_quantum_exponent());
    if (op == operation::fma) see(of[2]->format.last_exponent(), of[2]->format.min_quantum_exponent());
  }
  return std::min(most_random_words, static_cast<std::size_t>(highest + 1 - lowest) / 32 + 1);
}

inline std::uint32_t code_of(const codes_in& place, std::size_t i) {
  switch (place.bytes) {
    case 1: return place.as8()[i];
    case 2: return place.as16()[i];
    case 4: return place.as32()[i];
    default: return place.as8()[i / 2] >> (4 * (i % 2)) & 15;
  }
}

inline void put_code(const codes_out& place, std::size_t i, std::uint32_t code) {
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

// Where the operand_list of a tile are: in their arrays, or copies of the one code that there is.
class tile_operands {
 public:
  tile_operands(operand_list of, std::size_t size) : of_(of) {
    for (std::size_t j = 0; j < of.size(); ++j) {
      const const_code_span& codes = of[j]->codes;
      repeated_[j] = codes.size() == 1 && size != 1;
      if (!repeated_[j]) continue;
      const std::uint32_t code = code_at(codes, 0);
      std::array<std::uint32_t, tile_size> copies;
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
  operand_list of_;
  std::array<bool, 3> repeated_{};
  std::array<std::array<std::uint32_t, tile_size>, 3> copies_;
};

// One element at a time by arithmetic.hpp: what every loop equals, and what is done where none is for it.
class single_results {
 public:
  single_results(operation op, const format& to, operand_list of, const tile_operands& places,
                 const array_rounding& how)
      : op_(op), to_(to), places_(places), how_(how), words_(random_words(op, of)) {}

  // Element `i` of the tile that begins there. A function of its own, for the state of the processor that it is called in.
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
  const tile_operands& places_;
  array_rounding how_;
  std::size_t words_;
};

}  // namespace ulp::detail

#endif
