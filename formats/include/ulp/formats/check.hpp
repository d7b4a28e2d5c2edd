// Other people's conversions and arithmetic against this library's: hand over a callable, read the report.
//
//   const auto report = ulp::check(ulp::operation::add, ulp::float16, ulp::check_inputs::level_1, my_add);
//   if (!report.agrees()) std::cerr << report;
//
// The callable gets the codes of the operands as unsigned integers, which convert to the types of its parameters, and
// for stochastic rounding the random bits after them. It returns the code of the result, or ulp::encoded: the code and
// the flags, which are then compared too. It is called on several threads at once. Requires threads (std::thread).
#ifndef ULP_FORMATS_CHECK_HPP
#define ULP_FORMATS_CHECK_HPP

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <ulp/formats/codec.hpp>
#include <ulp/formats/format.hpp>
#include <ulp/formats/operation.hpp>
#include <ulp/formats/rounding.hpp>

namespace ulp {

enum class check_inputs : std::uint8_t {
  level_1,  // the vectors of vectors.hpp
  level_2,
  all  // every combination of operand codes, up to 2^32: one operand of 32 bits, two of 16, three of 10
};

struct check_options {
  ulp::rounding rounding{};
  bool flags = true;       // compared where the callable returns them
  bool nan_codes = false;  // a NaN, or the integer for what is none, must have the code that is expected
  bool exact = false;      // rounding to an integer raises inexact
  std::size_t keep = 10;   // disagreements that are kept, the first ones
  // Of the random vectors, and of the random bits: input i has random_bits(seed, 0, i, N), counted from 0 over all inputs.
  std::uint64_t seed = 0;
  // Instead of those: recorded ones, as of hardware, below 2^N. Input i has the one at i, from the first again where
  // they end. Not copied.
  std::span<const std::uint32_t> random{};
  unsigned threads = 0;                      // 0: one for each processor
  std::size_t block = std::size_t{1} << 11;  // inputs at a time, at least 1: these stay in the first caches
};

struct disagreement {
  std::uint64_t index = 0;  // of the input, from 0 on
  operand_codes operands{};
  std::uint32_t random = 0;  // what stochastic rounding was given
  encoded expected;
  encoded got;
};

// What was compared, and the result: the same for every number of threads.
struct check_report {
  ulp::operation operation = ulp::operation::convert;
  format to;
  format from;
  ulp::rounding rounding;
  bool flags = false;  // whether they were compared
  std::uint64_t compared = 0;
  std::uint64_t disagreeing = 0;
  std::vector<disagreement> first;  // in the order of the inputs

  [[nodiscard]] bool agrees() const noexcept { return compared > 0 && disagreeing == 0; }
  // The formats by the names that parse_format reads, all of the rounding, the counts, and of each disagreement kept the
  // operands, the exact result, what was expected and what came, codes with their values. Ends with a newline.
  [[nodiscard]] std::string text() const;
};

std::ostream& operator<<(std::ostream& out, const check_report& report);

// The lines of one disagreement, indented by two spaces, with flags if `flags` is set.
[[nodiscard]] std::string to_string(operation op, const format& to, const format& from, const rounding& mode,
                                    const disagreement& d, bool flags);

// Whether two codes are the same result: equal, or both NaN unless nan_codes is set.
[[nodiscard]] constexpr bool same_result(const format& to, code a, code b, bool nan_codes = false) noexcept {
  return a == b || (!nan_codes && decode(to, a).kind == number_class::nan && decode(to, b).kind == number_class::nan &&
                    ((a | b) & ~to.code_mask()) == 0);
}

// The same of an operation's results. Unless nan_codes is set, an integer result that raises invalid agrees with both
// ends of its range and with zero: what processors give there differs.
[[nodiscard]] bool same_result(operation op, const format& to, const encoded& expected, code got,
                               bool nan_codes = false) noexcept;

// Results of a block of inputs, for code that has its speed from many at a time: a kernel on another device, a
// simulator, vector instructions. `random` is as long as the others where rounding is stochastic, else empty.
using batch_function =
    std::function<void(std::span<const operand_codes>, std::span<const std::uint32_t> random, std::span<encoded>)>;

// check(), a block of check_options::block inputs at a time, the last one of fewer. It is called on several threads at
// once: where it cannot be, `threads` is 1. A result below 64 bits that is not written disagrees. Flags are compared unless
// check_options::flags is false: where it leaves them out. Throws what check() does, and where there is no function.
//
//   const auto report = ulp::check_batch(
//       ulp::operation::add, ulp::float16, ulp::float16, ulp::check_inputs::level_2,
//       [&](auto operands, auto, auto results) { my_kernel(operands.data(), results.data(), operands.size()); },
//       {.flags = false, .threads = 1, .block = 1 << 20});
[[nodiscard]] check_report check_batch(operation op, const format& to, const format& from, check_inputs inputs,
                                       const batch_function& mine, const check_options& options = {});

namespace detail {

check_report check_blocks(operation op, const format& to, const format& from, check_inputs inputs,
                          const check_options& options, bool returns_flags, const batch_function& mine);

// Throws what check() says.
[[noreturn]] void cannot_be_called(int arguments, bool stochastic);

// Codes are passed to parameters and come back in whatever integer types the callable has; a signed one is taken as its
// bits.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
template <class Callable, class... Code>
encoded call(Callable& mine, Code... codes) {
  using result = std::remove_cvref_t<decltype(mine(codes...))>;
  if constexpr (std::same_as<result, encoded>) {
    return mine(codes...);
  } else if constexpr (std::same_as<result, bool>) {
    return {mine(codes...) ? std::uint64_t{1} : 0, status::none};
  } else {
    static_assert(std::integral<result>, "the callable returns a code as an integer or bool, or ulp::encoded");
    return {static_cast<std::make_unsigned_t<result>>(mine(codes...)), status::none};
  }
}
#pragma GCC diagnostic pop

// Whether no parameter is of a floating-point type, into which a code would silently be converted as a number. Of
// callables with several or generic call operators nothing is known.
template <class>
struct takes_no_floats : std::true_type {};
template <class R, class... P>
struct takes_no_floats<R(P...)> : std::bool_constant<(!std::floating_point<std::remove_cvref_t<P>> && ...)> {};
template <class R, class... P>
struct takes_no_floats<R(P...) noexcept> : takes_no_floats<R(P...)> {};
template <class C, class R, class... P>
struct takes_no_floats<R (C::*)(P...)> : takes_no_floats<R(P...)> {};
template <class C, class R, class... P>
struct takes_no_floats<R (C::*)(P...) noexcept> : takes_no_floats<R(P...)> {};
template <class C, class R, class... P>
struct takes_no_floats<R (C::*)(P...) const> : takes_no_floats<R(P...)> {};
template <class C, class R, class... P>
struct takes_no_floats<R (C::*)(P...) const noexcept> : takes_no_floats<R(P...)> {};

template <class Callable>
constexpr bool takes_codes() {
  if constexpr (requires { &Callable::operator(); })
    return takes_no_floats<decltype(&Callable::operator())>::value;
  else
    return takes_no_floats<std::remove_pointer_t<Callable>>::value;
}

template <class Callable, std::size_t... I>
constexpr bool returns_encoded(std::index_sequence<I...>) {
  if constexpr (std::is_invocable_v<Callable&, decltype(std::uint64_t{I})...>)
    return std::same_as<std::remove_cvref_t<std::invoke_result_t<Callable&, decltype(std::uint64_t{I})...>>, encoded>;
  else
    return false;
}

template <class Callable, std::size_t... I>
void call_with(Callable& mine, const std::array<std::uint64_t, 4>& arguments, encoded& result,
               std::index_sequence<I...>) {
  if constexpr (std::is_invocable_v<Callable&, decltype(std::uint64_t{I})...>) result = call(mine, arguments[I]...);
}

}  // namespace detail

// Runs `mine` and this library on the same inputs. Throws std::invalid_argument where the operation is not defined
// between the formats, the rounding is not valid, the inputs are more than 2^32, or the callable does not take as many
// arguments, or a recorded random number is not below 2^N; what the callable throws passes through. With exact_probability the random bits are the first 32.
template <class Callable>
[[nodiscard]] check_report check(operation op, const format& to, const format& from, check_inputs inputs,
                                 Callable&& mine, const check_options& options = {}) {
  using function = std::remove_reference_t<Callable>;
  static_assert(detail::takes_codes<function>(),
                "the callable takes codes as unsigned integers: std::bit_cast them to floating point inside");
  const bool stochastic = options.rounding.direction == direction::stochastic;
  const int arguments = operand_count(op) + (stochastic ? 1 : 0);
  const auto run = [&]<std::size_t... I>(std::index_sequence<I...> indices) {
    if (!std::is_invocable_v<function&, decltype(std::uint64_t{I})...>) detail::cannot_be_called(arguments, stochastic);
    const auto block = [&](std::span<const operand_codes> operands, std::span<const std::uint32_t> random,
                           std::span<encoded> results) {
      for (std::size_t i = 0; i < operands.size(); ++i) {
        std::array<std::uint64_t, 4> codes{operands[i][0], operands[i][1], operands[i][2]};
        if (stochastic) codes[static_cast<std::size_t>(arguments) - 1] = random[i];
        detail::call_with(mine, codes, results[i], indices);
      }
    };
    return detail::check_blocks(op, to, from, inputs, options, detail::returns_encoded<function>(indices), block);
  };
  switch (arguments) {
    case 1: return run(std::make_index_sequence<1>{});
    case 2: return run(std::make_index_sequence<2>{});
    case 3: return run(std::make_index_sequence<3>{});
    default: return run(std::make_index_sequence<4>{});
  }
}

// Operands and results in one format.
template <class Callable>
[[nodiscard]] check_report check(operation op, const format& in, check_inputs inputs, Callable&& mine,
                                 const check_options& options = {}) {
  return check(op, in, in, inputs, std::forward<Callable>(mine), options);
}

}  // namespace ulp

#endif
