// Amaxes among the scalars of TensorBoard event files, which are built byte by byte here.
#include <cmath>

#include <ulp/io/tensorboard/event_statistics.hpp>

#include "io/builders.hpp"
#include "io/tf_builders.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

using rows = std::vector<amax_row>;

TEST_CASE("event files: scalars that are called amaxes") {
  const playground place;
  const std::string path = place.write(
      "events.out.tfevents.1",
      tf_begin() +
          tf_event(1, {tf_scalar("loss", 2), tf_scalar("fc_gradient_amax", 0.03125F), tf_scalar("fc_weight_min", -3)}) +
          tf_event(1, {tf_scalar("fc_weight_max", 2), tf_tensor_scalar("fc/activation/amax", 12)}) +
          tf_event(2, {tf_scalar("fc_gradient_amax", 0), tf_scalar("fc_weight_max", 5)}) +
          tf_event(3, {tf_scalar("fc_gradient_amax", HUGE_VALF), tf_scalar("fc_gradient_amax", 0.5F)}));
  const auto all = read_event_statistics(path);
  REQUIRE(all);
  CHECK(all->rows == rows{{1, "fc_gradient", 0.03125F},
                          {1, "fc_weight", 3},
                          {1, "fc/activation", 12},
                          {2, "fc_gradient", 0},  // of the weight one side alone is known
                          {3, "fc_gradient", 0.5F}});
  CHECK(all->notes.empty());
}

TEST_CASE("event files: a restart voids what came before, and a cut event is left out") {
  const playground place;
  const std::string more = tf_event(3, {tf_scalar("w_amax", 4)});
  const auto all = read_event_statistics(
      place.write("events", tf_begin() + tf_event(1, {tf_scalar("w_amax", 1)}) + tf_event(2, {tf_scalar("w_amax", 2)}) +
                                tf_restart(2) + more + more.substr(0, more.size() - 3)));
  REQUIRE(all);
  CHECK(all->rows == rows{{1, "w", 1}, {3, "w", 4}});
  REQUIRE(all->notes.size() == 1);
  CHECK(all->notes[0].ends_with(": its last event was cut short, and is left out"));
}

TEST_CASE("event files: without an amax, or no such file, it is something else") {
  const playground place;
  CHECK_FALSE(read_event_statistics(place.write("a", tf_begin() + tf_event(1, {tf_scalar("loss", 1)}))));
  CHECK_FALSE(read_event_statistics(
      place.write("b", tf_begin() + tf_event(1, {tf_scalar("w_min", 1), tf_scalar("w_max", 2)}))));
  CHECK_FALSE(read_event_statistics(place.write("c", "step,tensor\n")));
  CHECK_FALSE(read_event_statistics(place.write("d", "")));
}
