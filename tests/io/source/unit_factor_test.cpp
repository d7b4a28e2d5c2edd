// Pins when the factor is taken to be 1 because the loss scale was: only then, only where nobody says another, and with a note.
#include <algorithm>
#include <cmath>

#include <ulp/io/inputs/open.hpp>
#include <ulp/io/recording/recording.hpp>

#include "io/builders.hpp"
#include "io/tf_builders.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

const std::string histogram =
    "step,tensor,n,zero,nan,inf,max_abs,e_min,counts\n0,wgrad/w,1,0,0,0,1,0,1\n1,wgrad/w,1,0,0,0,1,0,1\n";

source_options inferring(const std::string& scalars = "") {
  source_options options;
  options.infer = true;
  options.scalars = scalars;
  return options;
}

double factor_of(const contents& read) { return read.steps.at(0).tensors.at(0).factor; }

bool has_note(const contents& read) {
  return std::ranges::any_of(read.notes, [](const std::string& note) {
    return note.starts_with("the loss scale is logged as 1 in every step") &&
           note.find("--factor") != std::string::npos;
  });
}

}  // namespace

TEST_CASE("unit factor: a logged scale of 1 throughout") {
  const playground place;
  place.write("h.csv", histogram);
  const auto read = [&](const std::string& scalars, source_options options = inferring()) {
    options.scalars = place.write("s.csv", scalars);
    return place.open(std::vector<std::string>{"h.csv"}, options);
  };
  CHECK(factor_of(read("step,scale\n0,1\n1,1\n")) == 1);
  CHECK(has_note(read("step,scale\n0,1\n1,1\n")));
  for (const char* const other : {"step,scale\n0,1\n1,2\n", "step,scale\n0,1\n1,\n", "step,loss\n0,1\n1,1\n"}) {
    CAPTURE(other);
    CHECK(std::isnan(factor_of(read(other))));
    CHECK_FALSE(has_note(read(other)));
  }
  // Who says a factor is believed; who asks for none gets none.
  source_options said = inferring();
  said.factor = 4;
  CHECK(factor_of(read("step,scale\n0,1\n1,1\n", said)) == 4);
  CHECK_FALSE(has_note(read("step,scale\n0,1\n1,1\n", said)));
  CHECK(std::isnan(factor_of(read("step,scale\n0,1\n1,1\n", {}))));
}

TEST_CASE("unit factor: of recordings that lack it") {
  const playground place;
  const auto recorded = [&](double factor, double second_scale) {
    place.write("h.csv", histogram);
    source_options options;
    options.factor = factor;
    options.scalars = place.write("s.csv", "step,scale\n0,1\n1," + std::to_string(second_scale) + "\n");
    const std::string path = place.path("r" + std::to_string(factor) + std::to_string(second_scale) + ".ulp");
    const auto from = open_source({place.path("h.csv")}, options);
    recording_writer to(path, recording_writer::mode::create);
    for (step s; from->next(s);) to.write(s, from->tensors());
    to.close();
    const auto again = open_source({path}, inferring());
    return read_all(*again);
  };
  const contents lacking = recorded(not_known, 1);
  CHECK(factor_of(lacking) == 1);
  CHECK(has_note(lacking));
  CHECK(std::isnan(factor_of(recorded(not_known, 2))));
  // A factor that was recorded stays, and is no news.
  const contents known = recorded(8, 1);
  CHECK(factor_of(known) == 8);
  CHECK_FALSE(has_note(known));
}

TEST_CASE("unit factor: of event files") {
  const playground place;
  const std::string h = tf_histogram("wgrad/w", {.min = 1, .max = 1, .num = 1, .limits = {2}, .counts = {1}});
  const auto events = [&](float second) {
    return place.open(
        "e",
        tf_begin() + tf_event(0, {h, tf_scalar("loss_scale", 1)}) + tf_event(1, {h, tf_scalar("loss_scale", second)}),
        inferring());
  };
  CHECK(factor_of(events(1)) == 1);
  CHECK(has_note(events(1)));
  CHECK(std::isnan(factor_of(events(2))));
  CHECK(std::isnan(factor_of(place.open("e", tf_begin() + tf_event(0, {h}), inferring()))));
}
