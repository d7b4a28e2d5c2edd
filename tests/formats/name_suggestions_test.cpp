#include <ulp/formats/name_suggestions.hpp>

#include <array>

#include "support/catch.hpp"

using namespace ulp;

TEST_CASE("edit distance") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("hysteresis", "hysterisis") == 1);
}

TEST_CASE("nearest name: case, dashes and underscores do not count; of equals the first") {
  constexpr std::array<std::string_view, 3> names{"loss_scale", "--loss-scale-window", "fp16"};
  CHECK(nearest_name("Loss-Scale", names) == "loss_scale");
  CHECK(nearest_name("__LOSS_SCALE_WINDW", names) == "--loss-scale-window");
  CHECK(nearest_name("fp15", std::array<std::string_view, 2>{"fp16", "fp14"}) == "fp16");
  CHECK(nearest_name("x", {}).empty());
}
