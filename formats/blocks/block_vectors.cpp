#include <ulp/formats/block_vectors.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include <ulp/formats/random_bits.hpp>

#include "block_elements.hpp"

namespace ulp {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float largest_float = std::numeric_limits<float>::max();

class generator {
 public:
  explicit generator(std::uint64_t seed) : seed_(seed) {}
  std::uint32_t operator()(std::uint32_t below) {
    return static_cast<std::uint32_t>(std::uint64_t{random_bits(seed_, 0, index_++, 32)} * below >> 32U);
  }
  // From 1 to 2, of 24 significant bits.
  float significand() { return 1 + std::ldexp(static_cast<float>(random_bits(seed_, 0, index_++, 23)), -23); }

 private:
  std::uint64_t seed_;
  std::uint64_t index_ = 0;
};

// Where rules part, each with its neighbours.
std::vector<float> edges(const block_element& e, generator& draw) {
  std::vector<float> all{0,
                         infinity,
                         std::numeric_limits<float>::quiet_NaN(),
                         largest_float,
                         0x1p-149F,
                         0x1.5p-130F,
                         0x1p-127F,
                         1e-40F,
                         0x1.FFFFFEp-127F};
  const auto add = [&](float x) {
    for (const float near : {std::nextafter(x, 0.0F), x, std::nextafter(x, infinity)})
      if (near > 0 && near <= largest_float) all.push_back(near);
  };
  const float top = std::ldexp(1.0F, std::ilogb(e.largest));
  // Half a unit of the element above the largest: there the element rounds up, and EVEN carries.
  const float carries = e.numbers != nullptr ? top * 2 - std::ldexp(top, -e.numbers->fraction_bits - 1) : top * 2;
  for (const int k : {0, -1, 1, -20, 20, -100, 100, 118, -118, -126}) {
    const float by = std::ldexp(1.0F, k);
    add(by);
    add(e.largest * by);
    add(top * by);
    add(carries * by);
    add(by * (1 - 0x1p-21F));  // a log2 in float32 takes it for the power where k is large
    add(by * (1 - 0x1p-18F));
    add(by * (1 + 0x1p-20F));
  }
  for (int i = 0; i < 64; ++i)
    all.push_back(std::ldexp(draw.significand(), static_cast<int>(draw(i < 48 ? 24 : 250)) - (i < 48 ? 16 : 125)));
  return all;
}

// One of the elements of a block with that amax.
float element(const std::vector<float>& numbers, float unit, float amax, generator& draw) {
  const float sign = draw(2) == 0 ? 1.0F : -1.0F;
  const float number = std::fabs(numbers[draw(static_cast<std::uint32_t>(numbers.size()))]);
  const float other = std::fabs(numbers[draw(static_cast<std::uint32_t>(numbers.size()))]);
  float x = 0;
  switch (draw(8)) {
    case 0: return sign * 0.0F;
    case 1: x = number * unit; break;
    case 2: x = std::nextafter(number * unit, infinity); break;
    case 3: x = (number / 2 + other / 2) * unit; break;
    case 4: x = std::ldexp(amax, -static_cast<int>(draw(30))); break;
    case 5: x = amax; break;
    default: x = amax * (draw.significand() - 1); break;
  }
  return sign * (x <= amax ? x : amax);
}

}  // namespace

block_vectors block_vectors_of(const block_format& row, std::uint64_t seed) {
  generator draw(seed);
  std::vector<float> amaxes = edges(row.element, draw);
  block_extent block = row.block;
  if (block.rows == 0) block.rows = 1;
  if (block.columns == 0) block.columns = 32;
  if (row.transposed_hadamard) block = {16, 16};
  // Large blocks are fewer.
  const std::size_t every = std::max<std::size_t>(1, block.rows * block.columns / 2048);
  const bool has_level = !tensor_amax(row, std::vector<float>(1), {1, 1}).empty();
  const std::size_t across = has_level && !row.transposed_hadamard ? 4 : 1;
  const std::vector<float> numbers = [&] {
    std::vector<float> finite = detail::numbers_of_codes(row.element);
    std::erase_if(finite, [](float n) { return !std::isfinite(n); });
    return finite;
  }();

  block_vectors made{.of = {0, across * block.columns}, .x = {}, .tensor = {}, .amax = {}};
  std::vector<float> chosen;
  for (std::size_t i = 0; i < amaxes.size(); i += every) chosen.push_back(amaxes[i]);
  std::int32_t tensor = 0;
  for (const float special : chosen) {
    const std::size_t begin = made.x.size();
    made.x.resize(begin + block.rows * made.of.columns);
    for (std::size_t b = 0; b < across; ++b) {
      // Beside a block of that amax those of others, near it.
      const float amax = b == 0 || !std::isfinite(special)
                             ? special
                             : special * std::ldexp(draw.significand(), -static_cast<int>(draw(12)));
      const float finite = std::isfinite(amax) ? amax : 1.0F;
      const float unit = finite > 0 ? std::ldexp(1.0F, std::ilogb(finite) - std::ilogb(row.element.largest)) : 0;
      const auto at = [&](std::size_t i) -> float& {
        return made.x[begin + i / block.columns * made.of.columns + b * block.columns + i % block.columns];
      };
      for (std::size_t i = 0; i < block.rows * block.columns; ++i) at(i) = element(numbers, unit, finite, draw);
      const bool has_it = b == 0 || std::isfinite(special);
      if (has_it) at(draw(static_cast<std::uint32_t>(block.rows * block.columns))) = amax;
    }
    made.tensor.insert(made.tensor.end(), block.rows, tensor++);
    made.of.rows += block.rows;
  }
  if (!has_level) return made;
  if (row.scales_rows) {
    made.amax = tensor_amax(row, made.x, made.of);
    return made;
  }
  const std::size_t size = block.rows * made.of.columns;
  for (std::size_t begin = 0; begin < made.x.size(); begin += size) {
    const auto amax = tensor_amax(row, std::span{made.x}.subspan(begin, size), {block.rows, made.of.columns});
    made.amax.insert(made.amax.end(), amax.begin(), amax.end());
  }
  return made;
}

}  // namespace ulp
