// Pins what is concluded from runs that are made up so that their cause is known: growth, logs, depth, ends.
#include <ulp/model/causes/diagnosis.hpp>

#include <cmath>
#include <functional>

#include "made_run.hpp"

using namespace ulp;
using namespace ulp::test;

TEST_CASE("a scale that falls far and stays down is told, one that comes back is not") {
  const auto falls = [](int places, bool comes_back) {
    made_run run;
    double scale = 65536;
    for (int place = 0; place < places; ++place) {
      for (int i = 0; i < 9; ++i) run.log(false, scale);
      run.log(true, scale);
      scale /= 2;
    }
    for (int i = 0; i < 9; ++i) run.log(false, comes_back ? 65536 : scale);
    return first_of<gradient_overflow>(run);
  };
  CHECK(falls(8, false).fell_from == 65536);
  CHECK(falls(8, false).fell_to == 512);
  CHECK(std::isnan(falls(8, true).fell_to));
  CHECK(std::isnan(falls(6, false).fell_to));  // to 2048: not far
}

TEST_CASE("a lost loss is known to follow finite gradients only where these were logged") {
  const auto lost = [](bool logs_norm) {
    made_run run;
    for (int i = 0; i < 60; ++i) {
      run.scalars.loss = i < 40 ? 2 : not_known;
      run.scalars.loss_is_nan = i >= 40;
      run.scalars.grad_norm = logs_norm && i < 40 ? 1 : not_known;
      if (i >= 40) run.scalars.found_inf = true;
      run.add(std::vector<std::vector<float>>{});
    }
    return first_of<forward_overflow>(run);
  };
  CHECK(lost(true).follows_finite);
  CHECK_FALSE(lost(false).follows_finite);
  CHECK_FALSE(lost(false).is_narrow);
}

TEST_CASE("between lines that are far apart a lost loss is known to follow nothing") {
  const auto every = [](int gap) {
    made_run run;
    for (int i = 0; i < 60; ++i) {
      run.scalars.loss = i < 40 ? 2 : not_known;
      run.scalars.loss_is_nan = i >= 40;
      run.scalars.grad_norm = i < 40 ? 1 : not_known;
      if (i >= 40) run.scalars.found_inf = true;
      run.add(std::vector<std::vector<float>>{});
      run.skip(gap - 1);
    }
    return first_of<forward_overflow>(run).follows_finite;
  };
  CHECK(every(1));
  CHECK_FALSE(every(2));
}

TEST_CASE("a loss that comes back was not lost for good, and one that nothing follows may not be") {
  const auto lost_up_to = [](int last, int told, bool has_scale) {
    made_run run;
    for (int i = 0; i < 100; ++i) {
      const bool lost = i >= 30 && i <= last;
      run.scalars = {};
      if (has_scale) run.scalars.loss_scale = 1024;
      if (i < told) {
        run.scalars.loss = lost ? not_known : 2;
        run.scalars.loss_is_nan = lost;
        if (lost) run.scalars.found_inf = true;
      }
      run.add(std::vector<std::vector<float>>{});
    }
    return run;
  };
  for (const bool has_scale : {false, true}) {
    const made_run back = lost_up_to(39, 100, has_scale);
    CHECK(back.names() == names{"forward_overflow"});
    CHECK_FALSE(first_of<forward_overflow>(back).ends_the_run);
    CHECK_FALSE(back.found().died_at);
  }
  const auto silent = first_of<forward_overflow>(lost_up_to(39, 40, false));
  CHECK_FALSE(silent.ends_the_run);
  CHECK(silent.untold_after == 60);
  CHECK_FALSE(lost_up_to(39, 40, false).found().died_at);
  CHECK(first_of<forward_overflow>(lost_up_to(99, 100, false)).untold_after == 0);
}

TEST_CASE(
    "gradients that are not finite just before the loss is lost to the end were applied where no scaler is told of") {
  const auto ended = [](double scale, bool loss_is_finite, int before) {
    made_run run;
    for (int i = 0; i < 100; ++i) {
      const bool lost = i >= 60;
      run.scalars.loss_scale = lost ? scale / 2 : scale;
      run.scalars.loss = lost || (i == 59 && !loss_is_finite) ? not_known : 2;
      run.scalars.loss_is_nan = std::isnan(run.scalars.loss);
      run.scalars.grad_norm = i == 59 || i == before ? infinity : lost ? not_known : 1;
      run.scalars.grad_norm_is_nan = lost;
      run.scalars.found_inf = lost || i == 59 || i == before ? std::optional{true} : std::nullopt;
      run.add(std::vector<std::vector<float>>{});
    }
    return run;
  };
  const made_run ruined = ended(not_known, true, -1);
  CHECK(ruined.names() == names{"unhandled_overflow"});
  const auto u = first_of<unhandled_overflow>(ruined);
  CHECK(u.ruined_at == 59);
  CHECK(u.lost.first == 59);
  CHECK(u.ends_the_run);
  CHECK_FALSE(u.has_scaler);
  CHECK(ruined.found().died_at == 60);
  // What a scaler skipped, and what came with the loss, did not ruin it.
  CHECK(first_of<forward_overflow>(ended(1024, true, -1)).lost.first == 60);
  CHECK(first_of<forward_overflow>(ended(not_known, false, -1)).lost.first == 59);
  CHECK(has_name(ended(not_known, true, 20), "gradient_overflow"));
}

TEST_CASE("a norm that grows by orders of magnitude before the first NaN is a divergence") {
  made_run run({"a.weight"});
  for (int i = 0; i < 100; ++i) {
    run.scalars.learning_rate = 1e-3 * i;
    run.scalars.loss = 2;
    run.add(1 + 0.1F * static_cast<float>(i % 7));
  }
  for (int i = 0; i < 17; ++i) {
    run.scalars.learning_rate += 1e-3;
    run.scalars.loss *= 1.5;
    run.add(std::pow(10.0F, static_cast<float>(i + 1) * 13 / 17));
  }
  run.scalars.loss = not_known;
  for (int i = 0; i < 40; ++i) run.add(not_a_number);
  const auto d = first_of<divergence>(run);
  CHECK(d.growing.first == 100);
  CHECK(d.growing.last == 116);
  CHECK(d.growth_steps == 17);
  CHECK(std::log10(d.growth) == Approx(13).margin(0.3));
  CHECK(d.lost_at == 117);
  CHECK(d.rate_rises);
  CHECK_FALSE(d.jump);
  CHECK(run.found().died_at == 100);
  CHECK(run.names() == names{"divergence"});
}

TEST_CASE("the learning rate is not said to rise through a step that did not log it") {
  const auto rises = [](int unlogged) {
    made_run run({"a.weight"});
    for (int i = 0; i < 140; ++i) {
      run.scalars.learning_rate = i == unlogged ? not_known : 1e-3 * i;
      run.scalars.loss = i < 100 ? 2 : i < 117 ? 2 * std::pow(1.5, i - 99) : not_known;
      run.add(i < 100 ? 1.0F : i < 117 ? std::pow(10.0F, static_cast<float>(i - 99) * 13 / 17) : not_a_number);
    }
    return first_of<divergence>(run).rate_rises;
  };
  CHECK(rises(50));  // long before the gradients grow
  CHECK_FALSE(rises(105));
}

TEST_CASE("two steps of growth are a divergence where the run is lost next, at its end they may be a batch") {
  const auto with = [](int lost) {
    made_run run({"a.weight"});
    for (int i = 0; i < 98; ++i) run.add(1.0F);
    run.add(2000.0F);
    run.add(4000.0F);
    for (int i = 0; i < lost; ++i) run.add(not_a_number);
    return run;
  };
  CHECK(with(20).names() == names{"divergence"});
  CHECK(first_of<divergence>(with(20)).growing.first == 98);
  CHECK(first_of<divergence>(with(20)).lost_at == 100);
  CHECK(with(0).names().empty());
}

TEST_CASE("gradients that are larger at the start, or fall, are no divergence") {
  made_run run({"a.weight"});
  for (int i = 0; i < 300; ++i) {
    run.scalars.loss = 1 + std::exp(-i / 30.0);
    run.add(1e4F * std::exp(static_cast<float>(-i) / 20) + 1e-3F * static_cast<float>(1 + i % 5));
  }
  CHECK(run.names().empty());
}

TEST_CASE("a warm-up whose gradients grow while the loss falls is none") {
  made_run run({"a.weight"});
  for (int i = 0; i < 200; ++i) {
    run.scalars.learning_rate = 1e-5 * std::min(i, 100);
    run.scalars.loss = 5 - 0.02 * i;
    run.add(1e-4F * std::exp(static_cast<float>(std::min(i, 100)) / 10));
  }
  CHECK(run.names().empty());
}

TEST_CASE("NaN in all tensors without an infinity, to the end, is not gradient overflow") {
  made_run run({"a.weight", "b.weight"});
  for (int i = 0; i < 50; ++i) run.add({{1.0F}, {0.5F}});
  for (int i = 0; i < 20; ++i) run.add({{not_a_number}, {not_a_number}});
  const auto f = first_of<forward_overflow>(run);
  CHECK(f.lost.first == 50);
  CHECK(f.lost.steps == 20);
  CHECK_FALSE(f.has_infinities);
  CHECK(f.in_all_tensors);
  CHECK(f.losses_finite == 0);
  CHECK(run.names() == names{"forward_overflow"});
  CHECK(run.found().died_at == 50);
}

TEST_CASE("overflow that a lower scale ends is handled, with NaN beside the infinities too") {
  made_run run({"a.weight", "b.weight"});
  for (int i = 0; i < 200; ++i) {
    run.scalars.loss_scale = i < 100 ? 65536 : 32768;
    if (i == 99)
      run.add({{infinity, not_a_number}, {0.5F}});
    else
      run.add({{0.9F}, {0.5F}});
  }
  CHECK(run.names() == names{"gradient_overflow"});
  CHECK(first_of<gradient_overflow>(run).skipped.steps == 1);
  CHECK_FALSE(run.found().died_at);
}

TEST_CASE("a log of overflow alone") {
  SECTION("a search for the scale at the start") {
    made_run run;
    for (int i = 0; i < 17; ++i) run.log(true, std::ldexp(1.0, 32 - i));
    for (int i = 0; i < 100; ++i) run.log(false, 32768);
    CHECK(run.names() == names{"initial_scale"});
    CHECK(first_of<initial_scale>(run).fitting_scale == 32768);
  }
  SECTION("an end at every scale") {
    made_run run;
    for (int i = 0; i < 100; ++i) run.log(false, 65536);
    for (int i = 0; i < 20; ++i) run.log(true, std::ldexp(1.0, 16 - i));
    CHECK(run.names() == names{"forward_overflow"});
    CHECK(first_of<forward_overflow>(run).lost.first == 100);
    CHECK(run.found().died_at == 100);
  }
  SECTION("a few overflows at the end are a scaler at work") {
    made_run run;
    for (int i = 0; i < 100; ++i) run.log(false, 65536);
    for (int i = 0; i < 3; ++i) run.log(true, std::ldexp(1.0, 16 - i));
    CHECK(run.names() == names{"gradient_overflow"});
    CHECK(first_of<gradient_overflow>(run).at_end == 3);
    CHECK_FALSE(run.found().died_at);
  }
  SECTION("a scale that ends at its floor though steps are finite") {
    made_run run;
    double scale = 65536;
    for (int i = 0; i < 300; ++i) {
      const bool overflow = i % 10 == 9;
      run.log(overflow, scale);
      if (overflow) scale = std::max(1.0, scale / 2);
    }
    CHECK(run.names() == names{"scale_at_floor", "gradient_overflow"});
    CHECK(first_of<scale_at_floor>(run).floor == 1);
  }
}

TEST_CASE("magnitudes that fall from layer to layer") {
  std::vector<std::string> layers;
  for (int i = 0; i < 12; ++i) layers.push_back("layers." + std::to_string(i) + ".weight");
  const auto with = [&](float factor) {
    made_run run(layers);
    for (int step = 0; step < 40; ++step) {
      std::vector<std::vector<float>> values;
      for (int i = 0; i < 12; ++i) values.push_back({std::pow(factor, static_cast<float>(11 - i))});
      run.add(values);
    }
    return run;
  };
  const made_run vanishing = with(0.1F);
  CHECK(vanishing.names() == names{"vanished_in_depth"});
  CHECK(first_of<vanished_in_depth>(vanishing).log2_ratio == Approx(11 * std::log2(10)).epsilon(1e-6));
  CHECK(first_of<vanished_in_depth>(vanishing).small_end == 0);
  CHECK(with(0.5F).names().empty());  // 2^11: nothing unusual
}

TEST_CASE("a bias without gradient beside a weight that has one is no dead layer") {
  made_run run({"k.weight", "k.bias", "v.weight"});
  for (int i = 0; i < 40; ++i) run.add({{1.0F}, {0.0F}, {1.0F}});
  CHECK(run.names().empty());
}

TEST_CASE("of no steps and of one nothing is concluded") {
  made_run none({"a.weight"});
  CHECK(none.names().empty());
  none.add(1);
  CHECK(none.names().empty());
}

TEST_CASE("losses below zero and near zero are not taken for growth") {
  made_run gan({"a.weight"});
  for (int i = 0; i < 300; ++i) {
    gan.scalars.loss = -1 + 0.02 * std::sin(i);
    gan.add(i < 100 ? 1.0F : 20.0F);
  }
  CHECK(gan.names().empty());
  made_run overfit({"a.weight"});
  for (int i = 0; i < 300; ++i) {
    overfit.scalars.loss = i < 200 ? 2 * std::exp(-i / 13.0) + 1e-6 : 1.4e-4;
    overfit.add(i < 200 ? 0.01F : 0.5F);
  }
  CHECK(overfit.names().empty());
}

TEST_CASE("a warm-up and a warm restart are no jumps of the learning rate") {
  made_run warm_up({"a.weight"});
  made_run restarts({"a.weight"});
  for (int i = 0; i < 200; ++i) {
    warm_up.scalars.learning_rate = 1e-5 * std::min(i + 1, 100);
    warm_up.scalars.loss = 2 + 0.05 * std::sin(i * i);
    warm_up.add(i < 20 ? 0.01F : 0.15F);
    restarts.scalars.learning_rate = 1e-6 + 0.005 * (1 + std::cos(3.14159 * (i % 90) / 90));
    restarts.scalars.loss = i % 90 < 20 && i > 90 ? 1.6 : 1 + std::exp(-(i % 90) / 20.0);
    restarts.add(i % 90 < 20 ? 1.0F : 0.2F);
  }
  CHECK(warm_up.names().empty());
  CHECK(restarts.names().empty());
}

TEST_CASE("losses that fall and then rise above all before, to NaN, diverge") {
  const auto with = [](const std::vector<double>& last) {
    made_run run;
    const auto log = [&](double loss, bool lost) {
      run.scalars = {};
      run.scalars.loss = lost ? not_known : loss;
      run.scalars.loss_is_nan = lost;
      run.add(std::vector<std::vector<float>>{});
    };
    for (int i = 0; i < 20; ++i) log(7 - 0.2 * i, false);
    for (const double loss : last) log(loss, false);
    for (int i = 0; i < 6; ++i) log(0, true);
    return run;
  };
  const made_run risen = with({3.3, 5.7, 9, 12.6, 16.5});
  CHECK(risen.names() == names{"divergence"});
  const auto d = first_of<divergence>(risen);
  CHECK(d.growing.first == 20);
  CHECK(d.loss_before == 7 - 0.2 * 19);
  CHECK(d.loss_after == 16.5);
  CHECK(with({3.3, 4, 6}).names() == names{"forward_overflow"});      // not above what it was
  CHECK(with({3, 16.5}).names() == names{"forward_overflow"});        // at once
  CHECK(with({3.3, 9, 12, 3}).names() == names{"forward_overflow"});  // and back
}

TEST_CASE("a loss that begins at zero and grows beside steady gradients is no divergence") {
  const auto begins_at = [](double first) {
    made_run run({"a.weight"});
    for (int i = 0; i < 60; ++i) {
      run.scalars.loss = i < 8 ? first : 0.001 * (i - 7);
      run.add(i % 2 == 0 ? 0.3F : 0.35F);
    }
    return run;
  };
  CHECK(begins_at(0).names().empty());
  CHECK(begins_at(0.0005).names() == names{"divergence"});
}

TEST_CASE("growth that levels off, without a loss, is not called a divergence") {
  made_run run({"a.weight"});
  for (int i = 0; i < 200; ++i) run.add(i < 40 ? 1e-4F : 1.0F);
  CHECK(run.names().empty());
}

TEST_CASE("sparse rewards are no bad batches, a single outlier is one") {
  made_run sparse({"a.weight"});
  made_run once({"a.weight"});
  for (int i = 0; i < 500; ++i) {
    sparse.add(i % 29 == 0 ? 1e4F : 1.0F);
    once.add(i == 250 ? 1e4F : 1.0F);
  }
  CHECK(sparse.names().empty());
  CHECK(once.names() == names{"bad_batch"});
  CHECK(first_of<bad_batch>(once).steps == std::vector<std::int64_t>{250});
}

TEST_CASE("infinities that no scaler takes care of are not called handled") {
  SECTION("without a scaler") {
    made_run run({"a.weight"});
    for (int i = 0; i < 100; ++i) run.add(i == 50 ? infinity : 1.0F);
    CHECK(run.names() == names{"unhandled_overflow"});
    CHECK_FALSE(first_of<unhandled_overflow>(run).has_scaler);
  }
  SECTION("at a static scale") {
    made_run run({"a.weight"});
    run.scalars.loss_scale = 4096;
    for (int i = 0; i < 100; ++i) {
      run.scalars.found_inf = i % 7 == 3;
      run.add(i % 7 == 3 ? infinity : 15.0F);
    }
    CHECK(run.names() == names{"unhandled_overflow"});
    CHECK(first_of<unhandled_overflow>(run).scale == 4096);
  }
  SECTION("applied") {
    made_run run({"a.weight"});
    for (int i = 0; i < 100; ++i) {
      run.scalars.loss_scale = i < 51 ? 65536 : 32768;
      run.scalars.found_inf = i == 50;
      run.scalars.applied = true;
      run.add(i == 50 ? infinity : 0.9F);
    }
    CHECK(run.names() == names{"unhandled_overflow"});
    CHECK(first_of<unhandled_overflow>(run).applied == 1);
  }
  SECTION("ten lost losses without a scaler") {
    made_run run({"a.weight"});
    for (int i = 0; i < 100; ++i) {
      const bool lost = i >= 50 && i < 60;
      run.scalars.loss = lost ? not_known : 1;
      run.add(lost ? not_a_number : 1.0F);
    }
    CHECK(run.names() == names{"forward_overflow"});
    CHECK_FALSE(first_of<forward_overflow>(run).ends_the_run);
    CHECK_FALSE(run.found().died_at);
  }
}

TEST_CASE("gradients that are lost just before the loss were applied, where no scale moved") {
  const auto with_scale = [](double scale, double after) {
    made_run run;
    for (int i = 0; i < 100; ++i) {
      const bool is_lost = i > 50;
      run.scalars.loss = is_lost ? not_known : 2;
      run.scalars.loss_is_nan = is_lost;
      run.scalars.grad_norm = i < 50 ? 1 : i == 50 ? infinity : not_known;
      run.scalars.found_inf = i >= 50;
      run.scalars.loss_scale = i > 50 ? after : scale;
      run.add(std::vector<std::vector<float>>{});
    }
    return run;
  };
  const auto none = first_of<unhandled_overflow>(with_scale(1, 1));
  CHECK(none.ruined_at == 50);
  CHECK_FALSE(none.has_scaler);
  const auto constant = first_of<unhandled_overflow>(with_scale(1024, 1024));
  CHECK(constant.ruined_at == 50);
  CHECK(constant.has_scaler);
  CHECK(constant.scale == 1024);
  CHECK(with_scale(1024, not_known).names().front() == "forward_overflow");
  // Where the loss came back after such a step before, updates that are not finite are left out.
  const auto survived = [](int before) {
    made_run run;
    for (int i = 0; i < 100; ++i) {
      const bool is_lost = i > 50;
      run.scalars.loss = is_lost ? not_known : 2;
      run.scalars.loss_is_nan = is_lost;
      run.scalars.grad_norm = i == 50 || i == before ? infinity : is_lost ? not_known : 1;
      run.scalars.found_inf = is_lost || i == 50 || i == before;
      run.scalars.loss_scale = 1024;
      run.add(std::vector<std::vector<float>>{});
    }
    return run.names().front();
  };
  CHECK(survived(-1) == "unhandled_overflow");
  CHECK(survived(20) == "forward_overflow");
  CHECK(survived(49) == "forward_overflow");
  CHECK(with_scale(1024, 512).names().front() == "forward_overflow");
}

TEST_CASE("a run that begins without a scale has no initial scale") {
  made_run run({"a.weight"});
  for (int i = 0; i < 100; ++i) run.add(i < 6 ? infinity : 1.0F);
  CHECK(run.names() == names{"unhandled_overflow"});
}

TEST_CASE("thirty overflows at scales far above one are no forward pass") {
  made_run search;
  for (int i = 0; i < 35; ++i) search.log(true, std::ldexp(1.0, 60 - i));
  CHECK(search.names() == names{"open_overflow"});
  made_run constant({"a.weight"});
  constant.scalars.loss_scale = 4096;
  for (int i = 0; i < 140; ++i) {
    constant.scalars.found_inf = i >= 100;
    constant.add(i >= 100 ? infinity : 14.0F);
  }
  CHECK(constant.names() == names{"unhandled_overflow"});
}

TEST_CASE("a scale that grew is not said to have fallen") {
  made_run run;
  for (int i = 0; i < 200; ++i) run.log(false, i < 50 ? 1 : 4096);
  CHECK(run.names().empty());
}

TEST_CASE("a layer is dead though an overflow made its zeros NaN") {
  made_run run({"a.weight", "b.weight"});
  for (int i = 0; i < 60; ++i) {
    run.scalars.loss_scale = i < 31 ? 65536 : 32768;
    run.scalars.found_inf = i == 30;
    run.add(i == 30 ? std::vector<std::vector<float>>{{not_a_number}, {infinity}}
                    : std::vector<std::vector<float>>{{0.0F}, {0.9F}});
  }
  CHECK(run.names() == names{"dead_layer", "gradient_overflow"});
}

TEST_CASE("logged norms speak where few are recorded") {
  made_run run;
  for (int i = 0; i < 200; ++i) {
    run.scalars.grad_norm = i < 150 ? 1 : std::pow(10.0, (i - 149) / 7.0);
    run.scalars.loss = i < 150 ? 1 : 1 + (i - 149);
    run.add(std::vector<std::vector<float>>{});
  }
  CHECK(run.names() == names{"divergence"});
  CHECK(first_of<divergence>(run).of == gradient_size::logged_norm);
}

TEST_CASE("an explosion in the first steps is a divergence, also where hardly a step is finite") {
  SECTION("the loss falls apart at once") {
    made_run run({"a.weight"});
    const float sizes[] = {0.25F, 1.8F, 5.7F, 81.0F, 3e3F, 1e6F};
    for (int i = 0; i < 6; ++i) {
      run.scalars.loss = 2.3 * std::pow(4.0, i);
      run.add(sizes[i]);
    }
    run.scalars.loss = not_known;
    run.scalars.loss_is_nan = true;
    for (int i = 0; i < 50; ++i) run.add(not_a_number);
    CHECK(run.names() == names{"divergence"});
    CHECK(first_of<divergence>(run).growing.first == 1);
    CHECK(first_of<divergence>(run).lost_at == 6);
  }
  SECTION("two finite steps and no loss") {
    made_run run({"a.weight"});
    for (int i = 0; i < 60; ++i) {
      run.scalars.loss_scale = std::ldexp(1024.0, i < 2 ? 0 : i < 4 ? 1 - i : 2 - i);
      run.scalars.found_inf = i != 0 && i != 3;
      run.add(i == 0 ? 0.26F : i == 3 ? 17.0F : i < 3 ? infinity : not_a_number);
    }
    CHECK(run.names().front() == "divergence");
    CHECK(first_of<divergence>(run).growth == Approx(17 / 0.26));
    CHECK(run.found().died_at == 1);
  }
  SECTION("it comes down again, and the loss does not") {
    made_run run({"a.weight"});
    for (int i = 0; i < 100; ++i) {
      const bool high = i >= 2 && i < 8;
      run.scalars.loss = i < 2 ? 2.3 : high ? 1e4 : 6;
      run.add(i < 2 ? 0.25F : high ? 3e3F : 0.6F);
    }
    CHECK(run.names() == names{"divergence"});
    CHECK(first_of<divergence>(run).growing.first == 2);
  }
  SECTION("gradients that peak early while the loss falls are none") {
    made_run run({"a.weight"});
    for (int i = 0; i < 100; ++i) {
      run.scalars.loss = 2.3 - 0.02 * i;
      run.add(i < 2 ? 0.25F : i < 8 ? 30.0F : 0.6F);
    }
    CHECK(run.names().empty());
  }
}

TEST_CASE("an explosion that only the loss shows, and one long after the learning rate rose") {
  made_run early({"a.weight"});
  for (int i = 0; i < 60; ++i) {
    early.scalars.loss = i == 0 ? 2.9 : i < 15 ? 12 + i % 3 : not_known;
    early.scalars.loss_is_nan = i >= 15;
    early.add(i < 15 ? 1.0F : not_a_number);
  }
  CHECK(early.names() == names{"divergence"});
  CHECK(first_of<divergence>(early).growing.first == 1);

  made_run late({"a.weight"});
  for (int i = 0; i < 300; ++i) {
    late.scalars.learning_rate = i < 100 ? 1e-3 : 1e-1;
    late.scalars.loss = i < 100 ? 1.8 : i < 250 ? 2.4 : not_known;
    late.scalars.loss_is_nan = i >= 250;
    late.add(i < 250 ? 1.0F : not_a_number);
  }
  CHECK(late.names() == names{"divergence"});
  CHECK(first_of<divergence>(late).growing.first == 100);
  CHECK(first_of<divergence>(late).lost_at == 250);
}

TEST_CASE("NaN in some tensors after ordinary overflow is found where the infinities end") {
  made_run run({"a.weight", "b.weight"});
  for (int i = 0; i < 60; ++i) {
    run.scalars.loss_scale = i < 30 ? 65536 : std::ldexp(65536.0, 30 - i);
    run.scalars.found_inf = i >= 30;
    run.scalars.loss = 1;
    run.add(i < 30   ? std::vector<std::vector<float>>{{0.9F}, {0.9F}}
            : i < 33 ? std::vector<std::vector<float>>{{infinity}, {infinity}}
                     : std::vector<std::vector<float>>{{not_a_number}, {0.0001F}});
  }
  CHECK(run.names().front() == "nan_source");
  CHECK(first_of<nan_source>(run).lost.first == 33);
  CHECK(first_of<nan_source>(run).tensor == 0);
  CHECK(run.found().died_at == 33);
}

TEST_CASE("a loss that rises is told of a run that did not die") {
  const auto with_end = [](double end) {
    made_run run({"a.weight"});
    for (int i = 0; i < 200; ++i) {
      run.scalars.loss = i < 120 ? 0.5 + 2.3 * std::exp(-i / 20.0) : end;
      run.add(1.0F);
    }
    return run.found();
  };
  const diagnosis back = with_end(2.8);
  CHECK(back.causes.empty());
  REQUIRE(back.rise);
  CHECK(back.rise->step == 120);
  CHECK(back.rise->after == 2.8);
  CHECK(back.rise->is_back);
  REQUIRE(with_end(1.9).rise);
  CHECK_FALSE(with_end(1.9).rise->is_back);
  CHECK_FALSE(with_end(0.5).rise);
}

TEST_CASE("a log without a scale whose norm is NaN to its end is lost") {
  made_run run;
  for (int i = 0; i < 30; ++i) {
    run.scalars.grad_norm = 1;
    run.scalars.loss = 2;
    run.add(std::vector<std::vector<float>>{});
  }
  run.scalars.grad_norm = not_known;
  run.scalars.loss = 0;
  for (int i = 0; i < 20; ++i) run.add_largest(not_known);
  CHECK(run.names() == names{"forward_overflow"});
  const auto f = first_of<forward_overflow>(run);
  CHECK(f.lost.first == 30);
  CHECK(f.losses_zero == 20);  // which are no finite losses
  CHECK(f.losses_finite == 0);
  CHECK_FALSE(f.has_scaler);
}

TEST_CASE("flags alone do not tell a scaler at work from a forward pass") {
  made_run run;
  run.scalars.found_inf = false;
  for (int i = 0; i < 95; ++i) run.add(std::vector<std::vector<float>>{});
  run.scalars.found_inf = true;
  for (int i = 0; i < 5; ++i) run.add(std::vector<std::vector<float>>{});
  CHECK(run.names() == names{"open_overflow"});
}

TEST_CASE("what comes after a death is no cause, and what came before it is told") {
  made_run run({"a.weight", "b.weight"});
  for (int i = 0; i < 120; ++i) {
    const bool lost = i == 20 || i >= 112;
    run.scalars.loss_scale = i <= 20 ? 4096 : 2048;
    run.scalars.found_inf = lost;
    run.scalars.loss = lost ? not_known : i < 100 ? 2 : 2.0 * (i - 98);
    run.scalars.loss_is_nan = lost;
    run.add(lost ? not_a_number : i < 100 ? 0.01F : 0.01F * std::pow(4.0F, static_cast<float>(i - 99)));
  }
  CHECK(run.names() == names{"divergence", "bad_batch"});
  CHECK(run.found().died_at == 100);
}

TEST_CASE("overflow that ends in a lost loss is told once") {
  made_run run;
  for (int i = 0; i < 120; ++i) {
    run.scalars.loss = i < 106 ? 2 : not_known;
    run.scalars.loss_is_nan = i >= 106;
    run.log(i >= 100, i < 100 ? 65536 : std::ldexp(65536.0, 100 - i));
  }
  CHECK(run.names() == names{"forward_overflow", "gradient_overflow"});
  CHECK(first_of<forward_overflow>(run).lost.first == 106);
}

TEST_CASE("NaN in all tensors, again and again, is not told as lost losses") {
  made_run run({"a.weight", "b.weight"});
  for (int i = 0; i < 200; ++i) {
    const bool lost = i % 15 == 7 || i >= 199;
    run.scalars.loss_scale = 4096;
    run.scalars.found_inf = lost;
    run.scalars.loss = 2;
    run.add(lost ? not_a_number : 0.01F);
  }
  CHECK(run.names().front() == "bad_batch");
  CHECK_FALSE(first_of<bad_batch>(run).loss_is_lost);
}

TEST_CASE("a peak of one step long ago, and a loss that rises at the end, are no divergence") {
  made_run run({"a.weight"});
  for (int i = 0; i < 300; ++i) {
    run.scalars.loss = i < 290 ? 2 : 3.2;
    run.add(i == 50 ? 200.0F : i == 200 ? 15.0F : 1.0F);
  }
  CHECK(run.names() == names{"bad_batch"});
  CHECK_FALSE(run.found().died_at);
}

TEST_CASE("a loss that overflows alone is no forward pass that does") {
  made_run run({"a.weight"});
  for (int i = 0; i < 80; ++i) {
    run.scalars.loss = i % 4 == 1 ? std::numeric_limits<double>::infinity() : 6e4;
    run.add(1.0F);
  }
  CHECK(run.names() == names{"loss_overflow"});
  CHECK(first_of<loss_overflow>(run).lost.steps == 20);
  CHECK_FALSE(run.found().died_at);
}

TEST_CASE("a finite norm tells of its step, and not where the log leaves that step open") {
  const auto told_by = [](bool certain) {
    survey seen({}, {});
    step s;
    s.scalars.grad_norm = 1.5;
    s.bounds = max_abs_bounds{.certain = certain};
    seen.add(s, {});
    return diagnosis_of(seen, {}).told_steps;
  };
  CHECK(told_by(true) == 1);
  CHECK(told_by(false) == 0);
}

TEST_CASE("a lost loss beside a norm that is finite is not certain, and ends no run") {
  const auto with_norms = [](const auto& is_lost, const auto& norm) {
    made_run run;
    for (int i = 0; i < 120; ++i) {
      run.scalars.loss = is_lost(i) ? not_known : 2;
      run.scalars.loss_is_nan = is_lost(i);
      run.scalars.grad_norm = norm(i);
      run.add(std::vector<std::vector<float>>{});
    }
    return run;
  };
  const auto moves = [](int i) { return 1 + 0.01 * (i % 7); };
  const made_run every_second = with_norms([](int i) { return i % 2 == 1; }, moves);
  CHECK(first_of<forward_overflow>(every_second).finite_norms == 60);
  CHECK_FALSE(every_second.found().died_at);
  const made_run regular = with_norms([](int i) { return i > 0 && i % 25 == 0; }, moves);
  CHECK(first_of<bad_batch>(regular).finite_norms == 4);
  CHECK(first_of<bad_batch>(regular).period == 25);
  const made_run none = with_norms([](int i) { return i >= 60; }, [&](int i) { return i < 60 ? moves(i) : not_known; });
  CHECK(first_of<forward_overflow>(none).finite_norms == 0);
  CHECK(none.found().died_at == 60);
}

TEST_CASE("a scale that is logged as 0 at once is told apart from one that fell there") {
  const auto zero_from = [](double before, double norm_after) {
    made_run run;
    for (int i = 0; i < 100; ++i) {
      run.scalars.loss_scale = i < 60 ? before : 0;
      run.scalars.loss = 2;
      run.scalars.grad_norm = i < 60 ? 1 + 0.01 * (i % 7) : norm_after;
      run.add(std::vector<std::vector<float>>{});
    }
    return run;
  };
  const auto c = first_of<collapsed_scale>(zero_from(65536, 0.9));
  CHECK(c.is_alive);
  CHECK(c.dead == 40);
  CHECK(c.dead_from == 60);
  CHECK_FALSE(first_of<collapsed_scale>(zero_from(65536, 0)).is_alive);
  // Without norms the loss tells.
  const auto with_losses = [](double per_step) {
    made_run run;
    for (int i = 0; i < 100; ++i) {
      run.scalars.found_inf = false;
      run.scalars.loss_scale = i < 60 ? 65536 : 0;
      run.scalars.loss = 5 - per_step * i + 0.1 * (i % 3);
      run.add(std::vector<std::vector<float>>{});
    }
    return first_of<collapsed_scale>(run);
  };
  CHECK(with_losses(0.02).loss_moves);
  CHECK_FALSE(with_losses(0).loss_moves);
  // A scale that is 0 from the first step on was not in use where the loss moves.
  const auto never_other = [](double per_step) {
    made_run run;
    for (int i = 0; i < 100; ++i) {
      run.scalars.found_inf = false;
      run.scalars.loss_scale = 0;
      run.scalars.loss = 5 - per_step * i + 0.1 * (i % 3);
      run.add(std::vector<std::vector<float>>{});
    }
    return has_name(run, "collapsed_scale");
  };
  CHECK(never_other(0));
  CHECK_FALSE(never_other(0.02));
  // It may have been any that is printed so.
  CHECK(zero_from(0x1p-5, 0.9).names().empty());
  CHECK(std::ranges::count(zero_from(0x1p-5, 0).names(), "collapsed_scale") == 0);
  CHECK(std::ranges::count(zero_from(1, 0).names(), "collapsed_scale") == 1);
  CHECK(std::ranges::count(zero_from(0x1p-60, 0).names(), "collapsed_scale") == 1);
}

TEST_CASE("at a scale of 0 gradients are NaN, and the scale is the cause; a loss that is lost is not its own") {
  const auto zero_from = [](int first, int steps, double loss) {
    made_run run;
    for (int i = 0; i < first + steps; ++i) {
      const bool is_dead = i >= first;
      run.scalars.loss_scale = is_dead ? 0 : 65536;
      run.scalars.loss = is_dead ? loss : 2;
      run.scalars.loss_is_nan = std::isnan(run.scalars.loss);
      run.scalars.grad_norm = is_dead ? not_known : 1 + 0.01 * (i % 7);
      run.scalars.grad_norm_is_nan = is_dead;
      run.scalars.found_inf = is_dead;
      run.add(std::vector<std::vector<float>>{});
    }
    return run;
  };
  for (const int steps : {3, 20, 40}) {
    CAPTURE(steps);
    const auto c = first_of<collapsed_scale>(zero_from(60, steps, 2));
    CHECK(c.dead == static_cast<std::uint64_t>(steps));
    CHECK(c.dead_lost == c.dead);
    CHECK(c.dead_from == 60);
    CHECK_FALSE(c.was_never_other);
    CHECK_FALSE(has_name(zero_from(60, steps, 2), "open_overflow"));
  }
  CHECK(first_of<collapsed_scale>(zero_from(0, 40, 2)).was_never_other);
  CHECK(zero_from(60, 40, 2).found().died_at == 60);
  CHECK(zero_from(60, 40, not_known).names().front() == "forward_overflow");
}

TEST_CASE(
    "where a scale of 0 was not that of the gradients, NaN to the end is not told as its own, and never as nothing") {
  // The norm is lost from one step on, at a scale that is 0 from another on; the loss goes on falling or not.
  const auto lost_from = [](int norm, int scale, double per_step) {
    made_run run;
    for (int i = 0; i < 100; ++i) {
      const bool is_lost = i >= norm;
      run.scalars.loss_scale = i >= scale ? 0 : 65536;
      run.scalars.loss = 5 - per_step * i + 0.1 * (i % 3);
      run.scalars.grad_norm = is_lost ? not_known : 1 + 0.01 * (i % 7);
      run.scalars.grad_norm_is_nan = is_lost;
      run.scalars.found_inf = is_lost;
      run.add(std::vector<std::vector<float>>{});
    }
    return run;
  };
  CHECK(lost_from(0, 0, 0.02).names() == names{"forward_overflow"});
  CHECK(lost_from(60, 0, 0).names() == names{"forward_overflow"});
  const made_run moving = lost_from(60, 60, 0.02);
  const auto c = first_of<collapsed_scale>(moving);
  CHECK(c.loss_moves);
  CHECK(c.dead_lost == 40);
  CHECK_FALSE(moving.found().died_at);
}

TEST_CASE("overflow that ends at the scale that it went on at was not the scale's") {
  const auto at_floor = [](int steps_there) {
    made_run run;
    for (int i = 0; i < 60; ++i) run.log(false, 65536);
    for (int i = 0; i < 16; ++i) run.log(true, std::ldexp(1.0, 16 - i));
    for (int i = 0; i < steps_there; ++i) run.log(true, 1);
    for (int i = 0; i < 50; ++i) run.log(false, 1);
    return run;
  };
  const auto u = first_of<unhandled_overflow>(at_floor(24));
  CHECK(u.is_held);
  CHECK(u.scale == 1);
  CHECK(u.lost.first == 76);
  CHECK(u.lost.steps == 24);
  const diagnosis found = at_floor(24).found();
  REQUIRE(std::holds_alternative<gradient_overflow>(found.causes.back()));
  CHECK(std::get<gradient_overflow>(found.causes.back()).skipped.steps == 16);
  CHECK(std::ranges::count(at_floor(2).names(), "unhandled_overflow") == 0);
}

TEST_CASE("overflow down to scales below 1 to the end is told once, another one later is told, too") {
  made_run run;
  for (int i = 0; i < 16; ++i) run.log(true, std::ldexp(1.0, 3 - i));
  CHECK(run.names().size() == 1);
  CHECK(std::ranges::count(run.names(), "open_overflow") == 0);
  made_run again;
  for (int i = 0; i < 12; ++i) again.log(true, std::ldexp(1.0, 3 - i));
  for (int i = 0; i < 90; ++i) again.scalars.grad_norm = 1, again.log(false, 65536);
  again.scalars.grad_norm = not_known;
  for (int i = 0; i < 12; ++i) again.log(true, std::ldexp(1.0, 16 - i));
  CHECK(std::ranges::count(again.names(), "open_overflow") == 1);
}

TEST_CASE("losses that rise up to the first lost one are told with it; those of a training that begins are not") {
  const auto with = [](const std::function<double(int)>& loss) {
    made_run run;
    for (int i = 0; i < 300; ++i) {
      const bool is_lost = i >= 200;
      run.scalars.loss = is_lost ? not_known : loss(i) + 0.1 * (i % 3);
      run.scalars.loss_is_nan = is_lost;
      run.scalars.learning_rate = 1e-3;
      run.add(std::vector<std::vector<float>>{});
    }
    return first_of<forward_overflow>(run);
  };
  const auto falling = [](int i) { return i < 50 ? 11 - 0.14 * i : 4.0; };
  CHECK(std::isnan(with(falling).loss_after));
  const auto risen = with([&](int i) { return i < 170 ? falling(i) : 4 + 0.15 * (i - 170); });
  CHECK(risen.loss_before == Approx(4.1));
  CHECK(risen.loss_after == Approx(4 + 0.15 * 29 + 0.1));
  CHECK(risen.rises_from >= 170);
  CHECK(risen.rises_from <= 176);
  CHECK(std::isnan(with([&](int i) { return i < 190 ? falling(i) : 5.0; }).loss_after));          // not by half
  CHECK(std::isnan(with([](int i) { return i < 120 ? 9.0 : i < 190 ? 4.0 : 7.0; }).loss_after));  // no more than before
}
