// Sweeps of millions of comparisons that end in one assertion.
#ifndef ULP_TESTS_FORMATS_SWEEP_HPP
#define ULP_TESTS_FORMATS_SWEEP_HPP

#include <array>
#include <cstdint>
#include <sstream>
#include <string>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/formats/rounding.hpp>

namespace ulp::test {

struct named_format {
  const char* name;
  ulp::format format;
};

inline constexpr std::array small_formats{
    named_format{"float16", float16}, named_format{"bfloat16", bfloat16}, named_format{"cbfloat16", cbfloat16},
    named_format{"float8_e4m3fn", float8_e4m3fn}, named_format{"float8_e5m2", float8_e5m2}};

constexpr format ending_below(format f, std::uint64_t withheld) {
  f.withheld = withheld;
  return f;
}

// What is not IEEE-style or not signed, or ends at a largest number of its own.
inline constexpr std::array formats_of_other_kinds{named_format{"float8_e4m3fnuz", float8_e4m3fnuz},
                                                   named_format{"float8_e5m2fnuz", float8_e5m2fnuz},
                                                   named_format{"float6_e3m2", float6_e3m2},
                                                   named_format{"float6_e2m3", float6_e2m3},
                                                   named_format{"float4_e2m1", float4_e2m1},
                                                   named_format{"float8_e8m0", float8_e8m0},
                                                   named_format{"dlfloat16", dlfloat16},
                                                   named_format{"binary8p3se", binary8p3se},
                                                   named_format{"binary8p4se", binary8p4se},
                                                   named_format{"e4m3fnuz to 224", ending_below(float8_e4m3fnuz, 1)},
                                                   named_format{"e4m3fn to 240", ending_below(float8_e4m3fn, 7)},
                                                   named_format{"e5m2 to 20480", ending_below(float8_e5m2, 6)},
                                                   named_format{"e2m1 to 3", ending_below(float4_e2m1, 2)},
                                                   named_format{"binary8p4se to 1", ending_below(binary8p4se, 62)}};

inline constexpr std::array deterministic{direction::nearest_even,    direction::nearest_away,
                                          direction::toward_zero,     direction::toward_positive,
                                          direction::toward_negative, direction::to_odd};

// Counts comparisons and disagreements and keeps the first: CHECK(sweep.failures() == "") is the assertion.
class sweep {
 public:
  // `describe` is called for the first disagreement only and returns its text.
  template <class Describe>
  void expect(bool agrees, Describe&& describe) {
    ++compared_;
    if (agrees) return;
    if (disagreed_++ == 0) first_ = describe();
  }

  [[nodiscard]] std::uint64_t compared() const { return compared_; }

  [[nodiscard]] std::string failures() const {
    if (disagreed_ == 0) return compared_ == 0 ? "nothing was compared" : "";
    return std::to_string(disagreed_) + " of " + std::to_string(compared_) + ", first: " + first_;
  }

 private:
  std::uint64_t compared_ = 0;
  std::uint64_t disagreed_ = 0;
  std::string first_;
};

constexpr bool same(const encoded& a, const encoded& b) { return a.code == b.code && a.flags == b.flags; }

inline std::string describe(const format& f) {
  std::ostringstream out;
  out << 'e' << f.exponent_bits << 'm' << f.fraction_bits << " bias " << f.bias;
  constexpr std::array tops{"", " fn", " fnuz", " all finite", " p3109"};
  constexpr std::array bottoms{"", " no subnormals", " no zero"};
  out << tops[static_cast<std::size_t>(f.top)] << bottoms[static_cast<std::size_t>(f.bottom)];
  if (f.withheld != 0) out << " less " << f.withheld;
  return out.str();
}

inline std::string describe(const encoded& e) {
  std::ostringstream out;
  out << "0x" << std::hex << e.code << " flags " << static_cast<unsigned>(e.flags);
  return out.str();
}

inline std::string describe(const rounding& m) {
  std::ostringstream out;
  out << to_string(m)
      << (m.overflow == overflow_mode::ieee       ? ""
          : m.overflow == overflow_mode::saturate ? " saturate"
                                                  : " saturate-finite")
      << " flush " << static_cast<int>(m.flush) << (m.daz ? " daz" : "")
      << (m.tininess == tininess::before_rounding ? " tiny-before" : "");
  return out.str();
}

}  // namespace ulp::test

#endif
