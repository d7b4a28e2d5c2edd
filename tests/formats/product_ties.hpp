// Products that are all but halfway between two numbers.
#ifndef ULP_TESTS_FORMATS_PRODUCT_TIES_HPP
#define ULP_TESTS_FORMATS_PRODUCT_TIES_HPP

#include <cmath>
#include <cstdint>

namespace ulp::test {

// A float64 and a float16 whose product, in [1, 2), is a tie between numbers of the precision and `units` times 2^-63 more:
// all of 64 bits where `units` is odd. Precondition: precision is 8 to 24, and units not 0.
struct product_near_tie {
  double x = 0;
  double y = 0;

  // `random` gives 64 random bits.
  template <class Random>
  product_near_tie(Random&& random, int precision, std::int64_t units) {
    const std::uint64_t half = std::uint64_t{1} << (63 - precision);
    for (;;) {
      const std::uint64_t factor = 1025 + 2 * (random() % 511);
      const std::uint64_t end = factor << 53;  // of its products with 53 bits
      std::uint64_t tie = (std::uint64_t{1} << 63) | ((random() >> 1) & ~(2 * half - 1)) | half;
      for (std::uint64_t i = 0; i < factor && tie < end - 2 * half; ++i, tie += 2 * half) {
        const std::uint64_t product = tie + static_cast<std::uint64_t>(units);
        if (product % factor != 0) continue;
        x = std::ldexp(static_cast<double>(product / factor), -52);
        y = std::ldexp(static_cast<double>(factor), -11);
        return;
      }
    }
  }
};

}  // namespace ulp::test

#endif
