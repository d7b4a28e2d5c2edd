// Pins arrays of floats to float16, bfloat16 and cbfloat16 to the codec for all 2^32 floats, in every deterministic
// rounding, on every target that this processor runs, with counts and without, in arrays that go past the caches on all
// processors; the same as floats; and all codes of 16 bits back.
#include <bit>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/convert.hpp>

#include "formats/convert.hpp"
#include "support/catch.hpp"

namespace {

using namespace ulp;
using namespace ulp::test;

constexpr std::size_t piece = std::size_t{1} << 24;

// What the codec makes of all elements, on all processors.
conversion_counts by_codec_in_parallel(const format& to, const rounding& mode, const std::vector<float>& elements,
                                       std::vector<std::uint16_t>& codes) {
  const std::size_t threads = std::max(2u, std::thread::hardware_concurrency());
  const std::size_t part = (elements.size() + threads - 1) / threads;
  std::vector<conversion_counts> counts(threads);
  std::vector<std::thread> workers;
  for (std::size_t t = 0; t < threads; ++t)
    workers.emplace_back([&, t] {
      conversion_counts mine;
      for (std::size_t i = t * part; i < std::min(elements.size(), (t + 1) * part); ++i) {
        const unpacked x = decode(elements[i]);
        const encoded e = encode(to, x, mode);
        codes[i] = static_cast<std::uint16_t>(e.code);
        const std::uint64_t magnitude = e.code & to.magnitude_mask();
        const bool finite = x.kind == number_class::finite;
        mine.zeros += x.kind == number_class::zero ? 1 : 0;
        mine.nan += x.kind == number_class::nan ? 1 : 0;
        mine.newly_zero += finite && magnitude == 0 ? 1 : 0;
        mine.subnormal += finite && magnitude != 0 && magnitude < to.min_normal_code() ? 1 : 0;
        mine.inexact += finite && any(e.flags, status::inexact) ? 1 : 0;
        mine.overflowed += finite && any(e.flags, status::overflow) ? 1 : 0;
      }
      counts[t] = mine;
    });
  for (std::thread& worker : workers) worker.join();
  conversion_counts all;
  for (const conversion_counts& c : counts) all += c;
  return all;
}

std::string differences(const format& to) {
  std::vector<float> elements(piece);
  std::vector<std::uint16_t> expected(piece);
  std::vector<std::uint16_t> got(piece);
  std::vector<float> rounded(piece);
  std::vector<float> values(std::size_t{1} << 16);
  for (std::size_t code = 0; code < values.size(); ++code) values[code] = to_float(to, code);
  for (std::uint64_t first = 0; first < std::uint64_t{1} << 32; first += piece) {
    for (std::size_t i = 0; i < piece; ++i) elements[i] = std::bit_cast<float>(static_cast<std::uint32_t>(first + i));
    for (const direction way : deterministic) {
      const rounding mode{.direction = way};
      const conversion_counts counts = by_codec_in_parallel(to, mode, elements, expected);
      for (const std::string_view target : targets()) {
        if (target == "codec") continue;
        const forced_target forced{target};
        for (const bool counting : {false, true}) {
          conversion_counts mine;
          std::fill(got.begin(), got.end(), std::uint16_t{0xAAAA});
          encode_array(to, elements, got, {.rounding = mode}, counting ? &mine : nullptr);
          const std::string where = describe(mode) + ' ' + std::string{target} + (counting ? " counted" : "");
          for (std::size_t i = 0; i < piece; ++i)
            if (got[i] != expected[i])
              return where + ' ' + std::to_string(first + i) + ": " + describe(encoded{got[i]}) + ", expected " +
                     describe(encoded{expected[i]});
          if (counting && mine != counts) return where + ' ' + describe(mine) + ", expected " + describe(counts);
        }
        round_array(to, elements, rounded, {.rounding = mode});
        for (std::size_t i = 0; i < piece; ++i)
          if (std::bit_cast<std::uint32_t>(rounded[i]) != std::bit_cast<std::uint32_t>(values[expected[i]]))
            return describe(mode) + ' ' + std::string{target} + " as floats " + std::to_string(first + i);
      }
    }
  }
  return "";
}

}  // namespace

TEST_CASE("arrays of all floats to float16") { CHECK(differences(float16) == ""); }

TEST_CASE("arrays of all floats to bfloat16") { CHECK(differences(bfloat16) == ""); }

TEST_CASE("arrays of all floats to cbfloat16") { CHECK(differences(cbfloat16) == ""); }
