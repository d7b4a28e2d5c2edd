// Pins what the path of the loss scale tells: searches, jumps and floors.
#include "made_run.hpp"

using namespace ulp;
using namespace ulp::test;

TEST_CASE("a scale that jumps was made anew") {
  const auto jumping_to = [](double high, int gap) {
    made_run run;
    for (int i = 0; i < 60; ++i) run.log(false, 1024);
    run.skip(gap);
    int i = 0;
    for (; std::ldexp(high, -i) > 4096; ++i) run.log(true, std::ldexp(high, -i));
    for (int j = 0; j < 100; ++j) run.log(false, 4096);
    return run;
  };
  const made_run far = jumping_to(0x1p32, 0);
  CHECK(far.names() == names{"initial_scale"});
  const auto h = first_of<initial_scale>(far);
  CHECK(h.scale_before == 1024);
  CHECK(h.first_scale == 0x1p32);
  CHECK(h.fitting_scale == 4096);
  CHECK(h.skipped.first == 60);
  CHECK(h.skipped.steps == 20);
  CHECK_FALSE(far.found().died_at);
  CHECK(jumping_to(65536, 0).names() == names{"initial_scale"});
  CHECK(jumping_to(8192, 0).names() == names{"gradient_overflow"});  // one step
  CHECK(jumping_to(65536, 50).names() == names{"gradient_overflow"});
}

TEST_CASE("a jump is known by its second step where the first one's scale is only bounded") {
  const auto jump = [](double bound) {
    made_run run;
    for (int i = 0; i < 60; ++i) run.log(false, 256);
    run.log_bounded(true, bound);
    for (double scale = bound / 2; scale > 256; scale /= 2) run.log(true, scale);
    for (int i = 0; i < 100; ++i) run.log(false, 256);
    return run;
  };
  CHECK(jump(65536).names() == names{"initial_scale"});
  const auto found = first_of<initial_scale>(jump(65536));
  CHECK(found.is_at_most);
  CHECK(found.first_scale == 65536);
  CHECK(found.scale_before == 256);
  CHECK(found.skipped.steps == 8);
  CHECK(jump(2048).names() == names{"gradient_overflow"});  // of 1024 it may have grown
}

TEST_CASE("the scale that ended a search may be known only later") {
  const auto search = [](double later) {
    made_run run;
    for (int i = 0; i < 10; ++i) run.log(true, std::ldexp(0x1p32, -i));
    for (int i = 0; i < 5; ++i) run.log(false, not_known);
    for (int i = 0; i < 100; ++i) run.log(false, later);
    return first_of<initial_scale>(run);
  };
  CHECK(search(0x1p22).fitting_scale == 0x1p22);
  CHECK(search(0x1p22).fits_later);
  CHECK(std::isnan(search(0x1p24).fitting_scale));  // which overflowed: it has grown since
}

TEST_CASE("an interval of a log does not end a search") {
  // Nine of ten steps, then `lost` of ten, of which the first are taken.
  const auto search = [](int lost, double next, bool is_placed) {
    made_run run;
    for (int i = 0; i < 9; ++i) run.log(true, std::ldexp(0x1p32, -i));
    run.log(false, not_known);
    for (int i = 0; i < lost; ++i)
      is_placed ? run.log(true, std::ldexp(next, -i)) : run.log_bounded(true, std::ldexp(next, -i), false);
    for (int i = 0; i < 50; ++i) run.log(false, std::ldexp(next, -lost));
    return run;
  };
  const made_run on = search(5, 0x1p23, false);
  CHECK(on.names() == names{"initial_scale"});
  const auto found = first_of<initial_scale>(on);
  CHECK(found.skipped.steps == 14);
  CHECK(found.skipped.first == 0);
  CHECK(found.skipped.last == 14);
  CHECK(found.skipped.is_assumed);
  CHECK(found.last_scale == 0x1p19);
  CHECK(found.fitting_scale == 0x1p18);
  // Steps that are known to lie apart, and a scale that had grown, are others.
  CHECK(first_of<initial_scale>(search(5, 0x1p23, true)).skipped.steps == 9);
  CHECK(first_of<initial_scale>(search(5, 0x1p25, false)).skipped.steps == 9);
}

TEST_CASE("eightfold is a jump, fourfold may be growth") {
  const auto from_1024_to = [](double high) {
    made_run run;
    for (int i = 0; i < 60; ++i) run.log(false, 1024);
    for (double scale = high; scale > 1024; scale /= 2) run.log(true, scale);
    for (int j = 0; j < 100; ++j) run.log(false, 1024);
    return run.names();
  };
  CHECK(from_1024_to(8192) == names{"initial_scale"});
  CHECK(from_1024_to(4096) == names{"gradient_overflow"});
}

TEST_CASE("of two jumps the longer one is told, the other is handled") {
  made_run run;
  const auto jump_from = [&](int power) {
    for (int i = power; i > 10; --i) run.log(true, std::ldexp(1.0, i));
    for (int i = 0; i < 120; ++i) run.log(false, 1024);
  };
  for (int i = 0; i < 60; ++i) run.log(false, 1024);
  jump_from(30);
  jump_from(25);
  CHECK(run.names() == names{"initial_scale", "gradient_overflow"});
  CHECK(first_of<initial_scale>(run).skipped.steps == 20);
  CHECK(std::get<gradient_overflow>(run.found().causes.back()).skipped.steps == 15);
}

TEST_CASE("a search of which every seventh step was recorded") {
  made_run run;
  for (int i = 0; i < 36; ++i) {
    run.log(i < 4, i < 4 ? std::ldexp(0x1p40, -7 * i) : 0x1p17);
    run.skip(6);
  }
  CHECK(run.names() == names{"initial_scale"});
  CHECK(first_of<initial_scale>(run).skipped.steps == 4);
  CHECK(first_of<initial_scale>(run).skipped.last == 21);
}

TEST_CASE("a floor above one at which most steps overflow") {
  const auto with = [](int finite_every, double floor) {
    made_run run;
    double scale = 0x1p24;
    for (int i = 0; i < 150; ++i) {
      const bool finite = scale == floor && i % finite_every == 0;
      run.log(!finite, scale);
      if (!finite) scale = std::max(floor, scale / 2);
    }
    return run;
  };
  const made_run high = with(4, 0x1p20);
  CHECK(high.names() == names{"scale_at_floor"});
  const auto f = first_of<scale_at_floor>(high);
  CHECK(f.is_too_high);
  CHECK(f.floor == 0x1p20);
  CHECK(f.at_floor.steps == 146);
  CHECK_FALSE(high.found().died_at);
  CHECK(with(4, 1).names() == names{"scale_at_floor"});
  CHECK(with(1000, 128).names() == names{"scale_at_floor"});
  CHECK(with(1000, 1).names() == names{"forward_overflow"});
}

TEST_CASE("what overflows at the scale 1 and went by before is no end of the run") {
  const auto with = [](int overflows_of_ten, int at_the_end) {
    made_run run;
    double scale = 0x1p16;
    constexpr int steps = 400;
    for (int i = 0; i < steps; ++i) {
      const bool overflows = i >= 100 && (i >= steps - at_the_end || i % 10 < overflows_of_ten);
      run.scalars.loss = 2.5 + 0.01 * (i % 7);
      run.log(overflows, scale);
      if (overflows) scale = std::max(1.0, scale / 2);
    }
    return run;
  };
  for (const int of_ten : {3, 7}) {
    INFO(of_ten);
    const made_run floor = with(of_ten, of_ten);
    CHECK(floor.names().front() == "scale_at_floor");
    CHECK(first_of<scale_at_floor>(floor).is_too_high);
    CHECK_FALSE(floor.found().died_at);
  }
  // Far longer than any before.
  CHECK(with(3, 60).found().died_at == 340);
}
