// Matrices of many kinds, for block tables.
#ifndef ULP_TESTS_MODEL_CELLS_BLOCK_SAMPLES_HPP
#define ULP_TESTS_MODEL_CELLS_BLOCK_SAMPLES_HPP

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <ulp/formats/block_formats.hpp>

namespace ulp::test {

struct sample {
  std::string name;
  matrix_extent of;
  std::vector<float> x;
};

// The same in every standard library.
class random_numbers {
 public:
  explicit random_numbers(std::uint32_t seed) : engine_(seed) {}
  std::uint32_t bits() { return static_cast<std::uint32_t>(engine_()); }
  std::uint32_t below(std::uint32_t n) { return bits() % n; }
  float sign() { return (bits() & 1) != 0 ? -1.0F : 1.0F; }
  // Of 1 + f: any, one with few bits, an edge, or beside one.
  float significand() {
    const std::uint32_t fraction = bits() & 0x7FFFFF;
    const auto edge = [&] { return below(3) == 0 ? 0x1.D0p0F : 2 - std::ldexp(1.0F, -static_cast<int>(below(9))); };
    switch (below(5)) {
      case 0: return std::bit_cast<float>(0x3F800000 | (fraction & 0x7F0000));
      case 1: return std::max(1.0F, edge());
      case 2:
        return std::bit_cast<float>(std::bit_cast<std::uint32_t>(std::max(1.0F, edge())) + below(3) - (below(2) + 0));
      default: return std::bit_cast<float>(0x3F800000 | fraction);
    }
  }
  // Magnitudes from 2^low to 2^high.
  float of_binades(int low, int high) {
    return sign() *
           std::ldexp(significand(), low + static_cast<int>(below(static_cast<std::uint32_t>(high - low + 1))));
  }

 private:
  std::mt19937 engine_;
};

template <class Make>
sample filled(std::string name, matrix_extent of, Make make) {
  sample made{std::move(name), of, std::vector<float>(of.rows * of.columns)};
  for (float& x : made.x) x = make();
  return made;
}

inline std::vector<sample> samples(std::uint32_t seed) {
  random_numbers random(seed);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
  constexpr matrix_extent ragged{37, 83};
  std::vector<sample> all;
  const auto ordinary = [&] { return random.of_binades(-20, 3); };
  all.push_back(filled("near", {64, 96}, [&] { return random.of_binades(-4, 0); }));
  all.push_back(filled("wide", ragged, [&] { return random.of_binades(-45, 8); }));
  all.push_back(filled("ragged", ragged, ordinary));
  all.push_back(filled("one row", {1, 100}, ordinary));
  all.push_back(filled("one column", {100, 1}, ordinary));
  all.push_back(filled("with zeros", ragged, [&] { return random.below(4) != 0 ? 0.0F * random.sign() : ordinary(); }));
  all.push_back(filled("any bits", ragged, [&] { return std::bit_cast<float>(random.bits()); }));
  all.push_back(filled("rarely infinite", ragged, [&] { return random.below(60) == 0 ? infinity : ordinary(); }));
  all.push_back(filled("rarely NaN", ragged, [&] {
    return random.below(60) == 0 ? not_a_number : random.below(90) == 0 ? -infinity : ordinary();
  }));
  all.push_back(filled("subnormal", ragged, [&] {
    return random.sign() * std::bit_cast<float>(random.below(1U << (1 + random.below(23))));
  }));
  all.push_back(filled("partly subnormal", ragged, [&] { return random.of_binades(-149, -90); }));
  for (const int at : {-127, -121, -115, -111, -109})
    all.push_back(filled("low end", {29, 64}, [&] { return random.of_binades(at - 5, at); }));
  all.push_back(filled("high end", ragged, [&] { return random.of_binades(110, 127); }));
  all.push_back(filled("the whole range", ragged, [&] { return random.of_binades(-149, 127); }));
  sample equal{"equal", {40, 64}, {}};
  for (std::size_t r = 0; r < equal.of.rows; ++r) {
    const float value = random.of_binades(-120, 120);
    for (std::size_t c = 0; c < equal.of.columns; ++c) equal.x.push_back(value * random.sign());
  }
  all.push_back(equal);
  // Blocks of zeros among others, and blocks of magnitudes of their own.
  sample mixed{"mixed", {48, 128}, {}};
  for (std::size_t b = 0; b < 48 * 4; ++b) {
    const bool is_zero = random.below(4) == 0;
    const int top = -140 + static_cast<int>(random.below(268));
    for (int i = 0; i < 32; ++i)
      mixed.x.push_back(
          is_zero ? 0
                  : random.of_binades(std::max(top - static_cast<int>(random.below(40)), -149), std::max(top, -149)));
  }
  all.push_back(mixed);
  return all;
}

}  // namespace ulp::test

#endif
