// Pins the frameworks' clipping coefficient and when it applies.
#include "support/catch.hpp"

#include <ulp/model/replay/clipping.hpp>

#include <cmath>
#include <limits>

using namespace ulp;

TEST_CASE("norm clipping multiplies by max / (norm + 1e-6) where that is below one") {
  const norm_clipping clip{.max_norm = 1};
  CHECK(clip.coefficient(3) == 1 / (3 + 1e-6));
  CHECK(clip.triggers(1));  // 1 / (1 + 1e-6) < 1
  CHECK(clip.triggers(1 - 0.5e-6));
  CHECK_FALSE(clip.triggers(1 - 1.5e-6));
  CHECK(clip.coefficient(std::numeric_limits<double>::infinity()) == 0);
  CHECK(std::isnan(clip.coefficient(std::nan(""))));
  CHECK_FALSE(clip.triggers(std::nan("")));
}

TEST_CASE("norm clipping does nothing where its coefficient is one") {
  const norm_clipping clip{.max_norm = 2};
  double norm = 2 - 1e-6;
  while (norm + 1e-6 < 2) norm = std::nextafter(norm, 3);
  while (norm + 1e-6 > 2) norm = std::nextafter(norm, 1);
  REQUIRE(norm + 1e-6 == 2);
  CHECK(clip.coefficient(norm) == 1);
  CHECK_FALSE(clip.triggers(norm));
  while (norm + 1e-6 == 2) norm = std::nextafter(norm, 3);
  CHECK(clip.triggers(norm));
}

TEST_CASE("value clipping applies above its bound only") {
  CHECK_FALSE(value_clipping{.max_value = 1}.triggers(1));
  CHECK(value_clipping{.max_value = 1}.triggers(std::nextafter(1, 2)));
}

TEST_CASE("orders are three words") {
  CHECK(parse_step_order("unscale,check,clip") == step_order{});
  CHECK(parse_step_order("check,unscale,clip") == step_order{});
  CHECK(parse_step_order("clip,unscale,check") == step_order{.clip_before_unscale = true, .clip_before_check = true});
  CHECK(parse_step_order("unscale,clip,check") == step_order{.clip_before_unscale = false, .clip_before_check = true});
  CHECK(parse_step_order("check,clip,unscale") == step_order{.clip_before_unscale = true, .clip_before_check = false});
  CHECK(parse_step_order("clip,check,unscale") == step_order{.clip_before_unscale = true, .clip_before_check = true});
  for (const char* const wrong : {"", "clip", "clip,unscale", "clip,clip,check", "unscale,check,clip,clip", "a,b,c",
                                  "unscale,check,clip,", ",unscale,check"})
    CHECK_FALSE(parse_step_order(wrong));
}
