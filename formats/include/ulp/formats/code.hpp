// The parameter type of functions that take a code: an integer, never a value.
#ifndef ULP_FORMATS_CODE_HPP
#define ULP_FORMATS_CODE_HPP

#include <concepts>
#include <cstdint>

namespace ulp {

// The bit pattern of a number, right-aligned. From every integer without a word, a signed one as its bits extended by
// its sign; from floating point not at all: to_double(float16, 1.0f) would be the value of the code 1. constexpr, does
// not throw or allocate, costs nothing.
class code {
 public:
  template <std::integral Int>
  requires(!std::same_as<Int, bool>) [[gnu::always_inline]] constexpr code(Int bits) noexcept
      : bits_(static_cast<std::uint64_t>(bits)) {}
  template <std::floating_point Float>
  code(Float) = delete;  // a value: encode it first

  [[gnu::always_inline]] constexpr operator std::uint64_t() const noexcept { return bits_; }

 private:
  std::uint64_t bits_;
};

}  // namespace ulp

#endif
