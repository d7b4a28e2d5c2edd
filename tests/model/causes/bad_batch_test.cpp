// Pins which single steps are told as bad batches: lost ones, outliers, and one that ruined the run.
#include "made_run.hpp"

using namespace ulp;
using namespace ulp::test;

TEST_CASE("a batch that was applied and ruined the weights is no divergence") {
  made_run run({"a.weight"});
  for (int i = 0; i < 200; ++i) {
    run.scalars.learning_rate = 0.1;
    run.scalars.loss = i < 80 ? 0.5 + 0.01 * (i % 5) : i == 80 ? 5e4 : 2.3;
    run.add(i < 80 ? 1.0F : i == 80 ? 4e5F : 0.1F);
  }
  CHECK(run.names() == names{"bad_batch"});
  const auto b = first_of<bad_batch>(run);
  CHECK(b.ends_the_run);
  CHECK(b.steps == std::vector<std::int64_t>{80});
  CHECK(b.outlier == Approx(4e5));
  CHECK(run.found().died_at == 80);
}

TEST_CASE("one step far above the others, after which only the loss does not come back, is a batch that was applied") {
  const auto with = [](float spike, float then) {
    made_run run;
    for (int i = 0; i < 400; ++i) {
      run.scalars.loss = i <= 200 ? 2.3 + 0.05 * (i % 5) : 9.5 + 0.05 * (i % 3);
      run.scalars.grad_norm = i == 200 ? spike : (i < 200 ? 1 : then) * (1 + 0.05F * static_cast<float>(i % 7));
      run.add(std::vector<std::vector<float>>{});
    }
    return run;
  };
  const auto b = first_of<bad_batch>(with(4831, 1));
  CHECK(b.ends_the_run);
  CHECK(b.steps == std::vector<std::int64_t>{200});
  // Gradients that stay large grew.
  CHECK(with(4831, 50).names() == names{"divergence"});
}

TEST_CASE("bad data may fill two or three steps, or come again soon; more is no batch") {
  const auto steps_of = [](const std::vector<int>& bad) {
    made_run run({"a.weight"});
    for (int i = 0; i < 600; ++i) run.add(std::ranges::find(bad, i) != bad.end() ? 5e4F + static_cast<float>(i) : 1.0F);
    const diagnosis d = run.found();
    return d.causes.empty() ? std::vector<std::int64_t>{} : std::get<bad_batch>(d.causes.front()).steps;
  };
  for (const std::vector<int>& bad :
       {std::vector{120}, {120, 121}, {120, 121, 122}, {120, 124}, {120, 126}, {50, 51}}) {
    CAPTURE(bad);
    CHECK(steps_of(bad) == std::vector<std::int64_t>(bad.begin(), bad.end()));
  }
  CHECK(steps_of({120, 121, 122, 123}).empty());
}

TEST_CASE("a learning rate that jumps, or gradients that go on growing, are no batch") {
  const auto made = [](double rate_after, float then) {
    made_run run({"a.weight"});
    for (int i = 0; i < 200; ++i) {
      if (rate_after > 0) run.scalars.learning_rate = i < 80 ? 0.1 : rate_after;
      run.scalars.loss = i < 80 ? 0.5 : 5e4;
      run.add(i < 80 ? 1.0F : i == 80 ? 4e5F : then);
    }
    return run.names();
  };
  CHECK(made(3, 0.1F) == names{"divergence"});
  CHECK(made(0, 1e7F) == names{"divergence"});
  CHECK(made(0.1, 1e7F) == names{"bad_batch"});  // the rate is known, and stayed
}

TEST_CASE("a batch some steps before a divergence is what began it") {
  made_run run({"a.weight"});
  for (int i = 0; i < 200; ++i) {
    // As Adam has it: still for some steps, then far too large an update.
    run.scalars.loss = i < 140 ? 0.5 : i == 140 ? 2e9 : i < 144 ? 0.5 : 50;
    run.add(i < 140 ? 1.0F : i == 140 ? 5e5F : i < 144 ? 1.0F : 40.0F + static_cast<float>(i - 144));
  }
  CHECK(run.names() == names{"bad_batch"});
  CHECK(first_of<bad_batch>(run).steps == std::vector<std::int64_t>{140});
  CHECK(first_of<bad_batch>(run).ends_the_run);
  CHECK(run.found().died_at == 140);
}

TEST_CASE("the loss tells a bad batch where the scale is near the limit") {
  const auto with_loss = [](double loss) {
    made_run run({"a.weight"});
    for (int i = 0; i < 200; ++i) {
      run.scalars.loss_scale = i <= 120 ? 65536 : 32768;
      run.scalars.found_inf = i == 120;
      run.scalars.loss = i == 120 ? loss : 2 + 0.1 * (i % 3);
      run.add(i == 120 ? infinity : 0.9F);
    }
    return run.names();
  };
  CHECK(with_loss(107) == names{"bad_batch"});
  CHECK(with_loss(4) == names{"gradient_overflow"});
}

TEST_CASE("the steps around an overflow are held against the scale that overflowed") {
  // At 65536 float16 has room for 64 times what is below 1/64; at 32768, to which it fell, for twice that.
  const auto with = [](float after) {
    made_run run({"a.weight"});
    for (int i = 0; i < 200; ++i) {
      run.scalars.loss_scale = i <= 120 ? 65536 : 32768;
      run.scalars.found_inf = i == 120;
      run.add(i == 120 ? infinity : i < 120 ? 0.01F : after);
    }
    return run.names();
  };
  CHECK(with(0.012F) == names{"bad_batch"});
  CHECK(with(0.02F) == names{"gradient_overflow"});
}

TEST_CASE("three overflows in a row may be batches, four are not") {
  const auto with = [](int count) {
    made_run run({"a.weight"});
    for (int i = 0; i < 200; ++i) {
      const bool lost = i >= 120 && i < 120 + count;
      run.scalars.loss_scale = std::ldexp(65536.0, i < 120 ? 0 : lost ? 120 - i : -count);
      run.scalars.found_inf = lost;
      run.add(lost ? infinity : 1e-3F);
    }
    return run;
  };
  CHECK(with(3).names() == names{"bad_batch"});
  CHECK(first_of<bad_batch>(with(3)).steps == std::vector<std::int64_t>{120, 121, 122});
  CHECK(with(4).names() == names{"gradient_overflow"});
}

TEST_CASE("a batch ended the run only where the loss stays twice above what it was") {
  const auto with = [](double after) {
    made_run run({"a.weight"});
    for (int i = 0; i < 200; ++i) {
      run.scalars.loss = i <= 120 ? 1 : after;
      run.add(i == 120 ? 150.0F : 1.0F);
    }
    return run;
  };
  CHECK(first_of<bad_batch>(with(2.1)).ends_the_run);
  CHECK(with(2.1).found().died_at == 120);
  CHECK_FALSE(first_of<bad_batch>(with(1.9)).ends_the_run);
  CHECK_FALSE(with(1.9).found().died_at);
}

TEST_CASE("an outlier is held against the largest of the five steps on either side") {
  const auto with_another_at = [](int other) {
    made_run run({"a.weight"});
    for (int i = 0; i < 200; ++i) run.add(i == 120 ? 150.0F : i == other ? 10.0F : 1.0F);
    return run.names();
  };
  CHECK(with_another_at(115).empty());
  CHECK(with_another_at(125).empty());
  CHECK(with_another_at(114) == names{"bad_batch"});
  CHECK(with_another_at(126) == names{"bad_batch"});
}

TEST_CASE("a finite outlier needs less where the loss stands out with it") {
  const auto with = [](double loss, float size) {
    made_run run({"a.weight"});
    for (int i = 0; i < 200; ++i) {
      run.scalars.loss = i == 120 ? loss : 0.1;
      run.add(i == 120 ? size : 1.0F);
    }
    return run.names();
  };
  CHECK(with(29, 15) == names{"bad_batch"});
  CHECK(with(0.1, 15).empty());
  CHECK(with(29, 2).empty());
  CHECK(with(0.1, 150) == names{"bad_batch"});
}

TEST_CASE("NaN in all tensors in one step, without an infinity, is no gradient that grew") {
  const auto with = [](float first, float second) {
    made_run run({"a.weight", "b.weight"});
    for (int i = 0; i < 200; ++i) {
      run.scalars.loss_scale = i <= 120 ? 65536 : 32768;
      run.scalars.found_inf = i == 120;
      run.add(i == 120 ? std::vector<std::vector<float>>{{first}, {second}}
                       : std::vector<std::vector<float>>{{0.9F}, {0.5F}});
    }
    return run.names();
  };
  CHECK(with(not_a_number, not_a_number) == names{"bad_batch"});
  CHECK(with(not_a_number, infinity) == names{"gradient_overflow"});
}

TEST_CASE("a lost loss that comes back every so many steps is one batch, however often; irregular ones are not") {
  const auto found = [](bool is_regular, int count) {
    made_run run({"a.weight"});
    for (int i = 0; i < 60 * count; ++i) {
      const int pass = i / 60;
      const bool is_bad = i % 60 == (is_regular ? 37 : 5 + 7 * pass * pass % 47);
      run.scalars.loss = is_bad ? NAN : 2;
      run.scalars.found_inf = is_bad;
      run.scalars.loss_scale = 64;
      run.add(is_bad ? NAN : 1);
    }
    return run.found();
  };
  for (const int count : {9, 10, 11, 25}) {
    CAPTURE(count);
    const diagnosis regular = found(true, count);
    REQUIRE(regular.causes.size() == 1);
    const auto* const batch = std::get_if<bad_batch>(&regular.causes.front());
    REQUIRE(batch != nullptr);
    CHECK(batch->steps.size() == static_cast<std::size_t>(count));
    CHECK(batch->period == 60);
  }
  CHECK(std::holds_alternative<forward_overflow>(found(false, 25).causes.front()));
}

TEST_CASE("a period is counted in steps of the input, and told only of what is left") {
  // Every tenth step is logged, and lost rows come in pairs.
  made_run pairs({"a.weight"});
  made_run single({"a.weight"});
  pairs.every = single.every = 10;
  for (int i = 0; i < 600; ++i) {
    const auto add = [&](made_run& to, bool is_bad) {
      to.scalars.loss = is_bad ? NAN : 2;
      to.scalars.found_inf = is_bad;
      to.scalars.loss_scale = 64;
      to.add(is_bad ? NAN : 1);
    };
    add(pairs, i > 1 && (i % 47 == 0 || i % 47 == 1));
    add(single, i % 40 == 7);
  }
  const auto period = [](const made_run& of) {
    for (const cause& c : of.found().causes)
      if (const auto* const batch = std::get_if<bad_batch>(&c)) return batch->period;
    return std::int64_t{0};
  };
  CHECK(period(pairs) == 0);
  CHECK(period(single) == 400);
}

namespace {

// A hundred steps, of which the norms before the loss is lost are these, the last ones.
made_run lost_after(const std::vector<float>& norms, std::optional<bool> applied = {}, int per_line = 1) {
  made_run run;
  run.every = per_line;
  const int first = 100 - static_cast<int>(norms.size());
  for (int i = 0; i < 200; ++i) {
    const bool is_lost = i >= 100;
    run.scalars.loss = is_lost ? not_known : 3 - 0.001 * i;
    run.scalars.loss_is_nan = is_lost;
    const bool is_given = i >= first && !is_lost;
    run.scalars.applied = is_given ? applied : std::nullopt;
    run.scalars.grad_norm = is_lost    ? not_known
                            : is_given ? norms[static_cast<std::size_t>(i - first)]
                                       : 1 + 0.05F * static_cast<float>(i % 7);
    run.scalars.grad_norm_is_nan = is_lost;
    run.scalars.found_inf = is_lost ? std::optional{true} : std::nullopt;
    run.add(std::vector<std::vector<float>>{});
  }
  return run;
}

}  // namespace

TEST_CASE("an outlier just before the loss is lost is what it was lost to, and one not long before is named") {
  const auto b = first_of<bad_batch>(lost_after({3e4F}));
  CHECK(b.ends_the_run);
  CHECK(b.steps == std::vector<std::int64_t>{99});
  CHECK(b.lost_at == 100);
  CHECK(b.outlier == Approx(3e4 / 1.15).epsilon(0.05));
  CHECK(lost_after({3e4F}).found().died_at == 99);
  for (const std::vector<float>& norms : {std::vector<float>{3e4F, 1}, {3e4F, 1, 1, 1}, {3e4F, 1, 1, 1, 1}}) {
    CAPTURE(norms);
    const auto f = first_of<forward_overflow>(lost_after(norms));
    CHECK(f.outlier_at == 100 - static_cast<std::int64_t>(norms.size()));
    CHECK(f.outlier_is_alone);
    CHECK(f.outlier == Approx(3e4 / 1.15).epsilon(0.05));
    CHECK(f.lost.first == 100);
  }
  // Growth over some steps, the largest of which is told.
  const auto grown = first_of<forward_overflow>(lost_after({2, 20, 3e4F}));
  CHECK(grown.outlier_at == 99);
  CHECK_FALSE(grown.outlier_is_alone);
  const auto is_named = [](const made_run& run) { return first_of<forward_overflow>(run).outlier_at.has_value(); };
  CHECK_FALSE(is_named(lost_after({100})));                           // not a hundred times the middle one
  CHECK_FALSE(is_named(lost_after({3e4F, 1, 1, 1, 1, 1})));           // too long before
  CHECK_FALSE(is_named(lost_after({3e4F}, false)));                   // skipped
  CHECK_FALSE(is_named(lost_after({3e4F, 1, 1}, {}, 100)));           // lines far apart
  CHECK_FALSE(is_named(lost_after({2e4F, 1, 1, 1, 1, 1, 1, 3e4F})));  // survived before
}
