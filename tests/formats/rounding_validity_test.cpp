// Pins rounding::is_valid: a rounding that is none is no constant expression, ends the program where it would have no
// meaning, and is refused by a checker.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <stdexcept>

#include <ulp/formats/arithmetic.hpp>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/check.hpp>
#include <ulp/formats/operation.hpp>
#include <ulp/formats/rounding.hpp>

#include "support/catch.hpp"

using namespace ulp;

namespace {

template <std::uint64_t>
struct constant {};
template <rounding R>
concept rounds_at_compile_time = requires {
  typename constant<encode(float16, 0.1, R).code>;
};
template <rounding R>
concept operates_at_compile_time = requires {
  typename constant<add(float16, 1, 2, R).code>;
  typename constant<fma(float16, 1, 2, 3, R).code>;
  typename constant<sqrt(float16, 1, R).code>;
};
constexpr rounding stochastic_with(int bits) { return {.direction = direction::stochastic, .random_bits = bits}; }

static_assert(rounds_at_compile_time<rounding{}> && operates_at_compile_time<rounding{}>);
static_assert(rounds_at_compile_time<stochastic_with(1)> && rounds_at_compile_time<stochastic_with(32)> &&
              rounds_at_compile_time<stochastic_with(exact_probability)>);
static_assert(!rounds_at_compile_time<stochastic_with(33)> && !rounds_at_compile_time<stochastic_with(40)> &&
              !rounds_at_compile_time<stochastic_with(-1)>);
static_assert(!operates_at_compile_time<rounding{.random_bits = 33}>);
static_assert(!rounds_at_compile_time<rounding{.flush = static_cast<flush>(4)}>);

// Whether `what` returns, in a process of its own.
template <class What>
bool returns(What what) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    (void)std::freopen("/dev/null", "w", stderr);
    std::signal(SIGABRT, SIG_DFL);
    what();
    _exit(0);
  }
  int state = 0;
  REQUIRE(waitpid(child, &state, 0) == child);
  return WIFEXITED(state) && WEXITSTATUS(state) == 0;
}

}  // namespace

TEST_CASE("which roundings are valid") {
  CHECK(rounding{}.is_valid());
  for (int bits = -2; bits <= 40; ++bits) CHECK(stochastic_with(bits).is_valid() == (bits >= 0 && bits <= 32));
  CHECK_FALSE(rounding{.direction = static_cast<direction>(7)}.is_valid());
  CHECK_FALSE(rounding{.overflow = static_cast<overflow_mode>(3)}.is_valid());
  CHECK_FALSE(rounding{.flush = static_cast<flush>(4)}.is_valid());
  CHECK_FALSE(rounding{.tininess = static_cast<tininess>(2)}.is_valid());
  CHECK_FALSE(rounding{.definition = static_cast<stochastic_definition>(3)}.is_valid());
  CHECK(rounding{.direction = direction::to_odd,
                 .overflow = overflow_mode::saturate_finite,
                 .flush = flush::result,
                 .daz = true,
                 .tininess = tininess::before_rounding,
                 .definition = stochastic_definition::c}
            .is_valid());
}

TEST_CASE("a rounding without meaning ends the program") {
  volatile int bits = 40;
  CHECK(returns([] { (void)encode(float16, 0.1, stochastic_with(32)); }));
  const auto rounds = [](const rounding& mode) {
    return returns([&] { (void)encode(float16, 0.1, mode); }) || returns([&] { (void)add(float16, 1, 2, mode); }) ||
           returns([&] { (void)mul(float16, 1, 2, mode); }) || returns([&] { (void)div(float16, 1, 2, mode); }) ||
           returns([&] { (void)rem(float16, 1, 2, mode); }) || returns([&] { (void)sqrt(float16, 1, mode); }) ||
           returns([&] { (void)fma(float16, 1, 2, 3, mode); }) ||
           returns([&] { (void)from_integer(float16, 7, mode); }) ||
           returns([&] { (void)to_integer<std::int32_t>(float16, 7, mode); }) || returns([&] {
             (void)evaluate(operation::sub, float16, float16, {1, 2}, mode);
           });
  };
  CHECK_FALSE(rounds(stochastic_with(bits)));
  CHECK_FALSE(rounds(stochastic_with(-bits)));
  CHECK_FALSE(rounds({.direction = static_cast<direction>(bits)}));
}

TEST_CASE("a checker refuses a rounding that is none") {
  const auto mine = [](std::uint64_t a, std::uint64_t) { return a; };
  CHECK_THROWS_AS(check(operation::convert, float16, check_inputs::all, mine, {.rounding = stochastic_with(40)}),
                  std::invalid_argument);
  CHECK_THROWS_AS(check(operation::sqrt, float16, check_inputs::all, [](std::uint64_t a) { return a; },
                        {.rounding = {.flush = static_cast<flush>(9)}}),
                  std::invalid_argument);
}
