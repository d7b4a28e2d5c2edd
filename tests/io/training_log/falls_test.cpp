// Pins how often a printed scale was halved at least, where small scales are rounded in print, and what follows from means.
#include "training_log/falls.hpp"

#include <cmath>
#include <limits>

#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::io;

TEST_CASE("a scale that fell from one printed value to another was halved so often at least") {
  CHECK(falls(65536, 8192) == 3);
  CHECK(falls(8, 8) == 0);
  CHECK(falls(8, 16) == 0);
  CHECK(falls(100, 60) == 1);
  CHECK(falls(100, 30) == 1);  // twice would be below 25
  CHECK(falls(100, 25) == 2);
  // 0.25 is printed as 0.2 or 0.3, 0.125 as 0.1.
  CHECK(falls(0.25, 0.2) == 0);
  CHECK(falls(0.25, 0.1) == 1);
  CHECK(falls(2, 1.9) == 1);
  // What is printed as 0 may be up to 0.5.
  CHECK(falls(0.5, 0) == 0);
  CHECK(falls(0.2, 0) == 0);
  CHECK(falls(1, 0) == 1);
  CHECK(falls(64, 0) == 7);
  CHECK(falls(std::numeric_limits<double>::infinity(), 1) == 0);
  CHECK(falls(not_known, 1) == 0);
  CHECK(falls(8, not_known) == 0);
  CHECK(falls(8, -1) == 0);
}

TEST_CASE("the scale of an overflow is twice what it left, where its line does not say it") {
  CHECK(used_scale({.before = 16, .after = 4}, 64) == 16);
  CHECK(used_scale({.before = not_known, .after = 4}, 64) == 8);
  CHECK(used_scale({.before = not_known, .after = 0}, 1) == 1);
  CHECK(scale_after({.before = 16, .after = not_known}) == 8);
  CHECK(scale_after({.before = 16, .after = 4}) == 4);
}

TEST_CASE("of scales that may be means nothing follows but from a power of two") {
  log_dialect means = no_dialect;
  means.scale_is_mean = true;
  const auto after = [](const log_dialect& from, double scale, double printed) {
    log_interval now{.from = &from};
    now.record.after = printed;
    return unlogged_falls_of(now, scale).after;
  };
  CHECK(after(no_dialect, 100, 40) == 1);
  CHECK(after(means, 100, 40) == 0);
  CHECK(after(means, 128, 40) == 1);
  CHECK(after(means, 100, 32) == 1);
  CHECK(after(means, 100, 64) == 0);  // of 128 and 64: it fell before
}

TEST_CASE("a scale with few digits is the power of two that it stands for") {
  CHECK(exact_scale(0.0004883) == 0x1p-11);
  CHECK(exact_scale(3.052e-05) == 0x1p-15);
  CHECK(exact_scale(0.03125) == 0x1p-5);
  CHECK(exact_scale(0.0312) == 0x1p-5);
  CHECK(exact_scale(1.04858e+06) == 0x1p20);
  CHECK(exact_scale(65536) == 65536);
  CHECK(exact_scale(65540) == 65536);
  for (const double other : {0.993, 0.5001, 0.1, 3.0, 48000.0, 1.5}) CHECK(exact_scale(other) == other);
  CHECK(exact_scale(0) == 0);
  CHECK(std::isnan(exact_scale(-1)));
}
