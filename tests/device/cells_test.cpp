// Pins python/device/cells.hpp: every fraction and binade of float32, and the edges of float64, are counted where the table of the
// library has them.
#include <ulp/model/cells/cell_table.hpp>

#include "device/cells.hpp"
#include "support/catch.hpp"

using namespace ulp;
using device::float32_cells;
using device::float64_cells;
using device::slot_of_counter;

TEST_CASE("The slot of each of 2^23 fractions is the library's", "[device]") {
  std::uint64_t wrong = 0;
  for (std::uint32_t f = 0; f < 1U << 23; ++f)
    wrong += slot_of_counter(float32_cells::counter(f)) != slot_of(std::uint64_t{f} << 41) ? 1 : 0;
  CHECK(wrong == 0);
}

TEST_CASE("The slot of a float64's fraction is the library's near each edge", "[device]") {
  constexpr std::uint64_t all = std::uint64_t{1} << 52;
  for (int c = 0; c <= 52; ++c)
    for (const int off : {-2, -1, 0, 1, 2})
      for (const std::uint64_t edge : {all - (all >> c), all / 16 * 13}) {
        const std::uint64_t f = (edge + static_cast<std::uint64_t>(off)) % all;
        INFO(f);
        CHECK(slot_of_counter(float64_cells::counter(f)) == slot_of(f << 12));
      }
}

TEST_CASE("Every subnormal float32 has its binade and fraction", "[device]") {
  std::uint64_t wrong = 0;
  for (std::uint32_t bits = 1; bits < 1U << 23; ++bits) {
    const std::uint32_t binade = float32_cells::binade_of(bits);
    const magnitude m = magnitude_of(static_cast<double>(bits) * 0x1p-149);
    const std::uint64_t fraction = std::uint64_t{float32_cells::fraction_of(bits, binade)} << 41;
    wrong += static_cast<int>(binade) - 149 != m.exponent || fraction != m.fraction ? 1 : 0;
  }
  CHECK(wrong == 0);
}

TEST_CASE("Subnormal float64 values have their binade and fraction", "[device]") {
  for (std::uint32_t binade = 0; binade < 52; ++binade)
    for (const std::uint64_t below : {0ULL, 1ULL, 0x5A5A5A5A5A5A5ULL}) {
      const std::uint64_t top = std::uint64_t{1} << binade, bits = top | (below & (top - 1));
      CHECK(float64_cells::binade_of(bits) == binade);
      CHECK(float64_cells::fraction_of(bits, binade) == (bits - top) << (52 - binade));
    }
}
