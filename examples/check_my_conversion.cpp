// Checks a float to bfloat16 conversion as it is written by hand: a right one, and one with two mistakes that are easy
// to miss. Build it against ulp::formats; --all compares all 2^32 floats instead of the test vectors. Of the second it
// says, among other things:
//
//   input 92
//     operands  00808000 ~ 1.1800861256301870e-38
//     exactly   ~ 1.1800861256301870e-38
//     expected  0080 ~ 1.1754943508222875e-38
//     got       0081 ~ 1.1846779004380866e-38
#include <cstdint>
#include <iostream>
#include <string_view>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/check.hpp>

namespace {

// To the nearest, ties to even: 0x7FFF carries where more than half is cut off, and where half is and the last bit that
// stays is set.
std::uint16_t to_bfloat16(std::uint32_t x) {
  if ((x & 0x7FFFFFFF) > 0x7F800000) return static_cast<std::uint16_t>(x >> 16 | 0x0040);  // NaN, quiet
  return static_cast<std::uint16_t>((x + 0x7FFF + (x >> 16 & 1)) >> 16);
}

// Half goes up, and a carry out of the fraction makes other numbers of NaNs: 7FFFFFFF becomes 8000, -0.
std::uint16_t to_bfloat16_hasty(std::uint32_t x) { return static_cast<std::uint16_t>((x + 0x8000) >> 16); }

}  // namespace

int main(int argc, char** argv) {
  const bool all = argc > 1 && std::string_view{argv[1]} == "--all";
  const auto inputs = all ? ulp::check_inputs::all : ulp::check_inputs::level_2;
  const auto check = [&](auto mine) {
    return ulp::check(ulp::operation::convert, ulp::bfloat16, ulp::binary32, inputs, mine, {.keep = 3});
  };

  const ulp::check_report right = check(to_bfloat16);
  const ulp::check_report hasty = check(to_bfloat16_hasty);
  std::cout << "to_bfloat16\n" << right << "\nto_bfloat16_hasty\n" << hasty;
  return right.agrees() && !hasty.agrees() ? 0 : 1;
}
