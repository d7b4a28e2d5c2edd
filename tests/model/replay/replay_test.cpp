// Pins the replay's rules on small made-up runs: what is checked, scaled by what, normed, clipped, compared with what
// was recorded.
#include "support/catch.hpp"

#include <ulp/formats/catalog.hpp>
#include <ulp/model/cells/cell_counter.hpp>
#include <ulp/model/machines/policy_analysis.hpp>
#include <ulp/model/replay/recorded_run.hpp>
#include <ulp/model/replay/replay.hpp>

#include <cmath>
#include <limits>

using namespace ulp;

namespace {

tensor_row row_of(std::uint32_t tensor, std::vector<float> values, double factor = not_known) {
  tensor_row row;
  row.tensor = tensor;
  row.type = dtype::float32;
  row.factor = factor;
  row.table = count_cells(std::span<const float>{values});
  return row;
}

step step_of(std::int64_t number, std::vector<tensor_row> rows) {
  step s;
  s.key.step = number;
  s.tensors = std::move(rows);
  return s;
}

step log_line(std::int64_t number, double max_abs) {
  step s;
  s.key.step = number;
  s.max_abs = max_abs;
  return s;
}

scenario float16_under(const char* scaler, std::vector<std::pair<std::string, parameter_value>> set = {},
                       const treatment& all = {float16}) {
  return scenario{make_scaler(*find_scaler(scaler), set), all};
}

const std::vector<tensor_info> two{{.name = "a.weight", .kind = tensor_kind::weight_grad},
                                   {.name = "act", .kind = tensor_kind::activation_grad}};

}  // namespace

TEST_CASE("bounds on the largest gradient decide overflow, or mark it") {
  struct outcome {
    bool found;
    bool certain;
    bool operator==(const outcome&) const = default;
  };
  const auto at = [](double scale, max_abs_bounds bounds, const format& to = float16) {
    const scenario s = float16_under("static", {{"loss_scale", scale}}, {to});
    step now;
    now.scalars.found_inf = bounds.low > 0;
    now.bounds = bounds;
    const trajectory_row row = replayer(s).advance(now, {});
    CHECK(std::isnan(row.critical_scale));
    return outcome{row.found_inf, row.found_inf_certain};
  };
  // Recorded at the scale 1024: it overflowed there, or did not.
  const max_abs_bounds large{.low = 65520.0 / 1024};
  const max_abs_bounds small{.high = 65520.0 / 1024};
  CHECK(at(1024, large) == outcome{true, true});
  CHECK(at(2048, large) == outcome{true, true});
  CHECK(at(512, large) == outcome{false, false});
  CHECK(at(1024, small) == outcome{false, true});
  CHECK(at(1, small) == outcome{false, true});
  CHECK(at(2048, small) == outcome{false, false});
  // What overflowed in float16 may be infinite or NaN, which overflows everywhere, or may not.
  CHECK(at(1024, large, bfloat16) == outcome{false, false});
  CHECK(at(1024, small, bfloat16) == outcome{false, true});
  // Both are known, but not which of the two this step was.
  CHECK(at(1024, {.low = large.low, .certain = false}) == outcome{true, false});
  CHECK(at(1024, {.high = small.high, .certain = false}) == outcome{false, false});
  CHECK(at(1024, {.low = 63, .high = 64}) == outcome{false, false});
  CHECK(at(2048, {.low = 63, .high = 64}) == outcome{true, true});
}

TEST_CASE("a step log overflows from the format's threshold on") {
  replayer r(float16_under("static"));
  CHECK_FALSE(r.advance(log_line(0, std::nextafter(65520.0, 0)), {}).found_inf);
  CHECK(r.advance(log_line(1, 65520), {}).found_inf);
  CHECK(r.advance(log_line(2, std::nan("")), {}).found_inf);
  CHECK(r.advance(log_line(3, INFINITY), {}).found_inf);
  CHECK_FALSE(r.advance(log_line(4, 0), {}).found_inf);
  const scenario fn = float16_under("static", {}, {float8_e4m3fn});
  replayer open_threshold(fn);
  CHECK_FALSE(open_threshold.advance(log_line(0, 464), {}).found_inf);
  CHECK(open_threshold.advance(log_line(1, std::nextafter(464, 465)), {}).found_inf);
}

TEST_CASE("roundings that never deliver infinity find none") {
  for (const direction d : {direction::toward_zero, direction::to_odd}) {
    const scenario s = float16_under("static", {}, {float16, {.direction = d}});
    CHECK_FALSE(replayer(s).advance(log_line(0, 1e9), {}).found_inf);
  }
  const scenario saturating = float16_under("static", {}, {float16, {.overflow = overflow_mode::saturate}});
  CHECK_FALSE(replayer(saturating).advance(log_line(0, 1e9), {}).found_inf);
}

TEST_CASE("what the format clamps is not found, be it recorded as infinity") {
  const auto finds = [](const format& f, overflow_mode delivery, double largest) {
    const rounding mode{.overflow = delivery};
    const scenario s = float16_under("static", {}, {f, mode});
    const trajectory_row of_tensor =
        replayer(s).advance(step_of(0, {row_of(0, {static_cast<float>(largest)}, 1)}), two);
    const trajectory_row of_log = replayer(s).advance(log_line(0, largest), {});
    CHECK(of_tensor.found_inf == of_log.found_inf);
    // Whether values were infinite by themselves, or by the scale and format that they are not known to have had.
    CHECK(of_tensor.found_inf_certain == (std::isfinite(largest) || !of_tensor.found_inf));
    CHECK(of_log.found_inf_certain == of_tensor.found_inf_certain);
    // As the conversion has it.
    const number_class kind = decode(f, encode(f, largest, mode).code).kind;
    CHECK(of_log.found_inf == (kind == number_class::infinity || kind == number_class::nan));
    return of_log.found_inf;
  };
  const double nan = std::nan("");
  for (const double x : {1e38, HUGE_VAL, nan})
    for (const format& f : {float16, float8_e4m3fn, float8_e5m2fnuz, dlfloat16}) {
      CHECK(finds(f, overflow_mode::ieee, x));
      CHECK(finds(f, overflow_mode::saturate, x) == std::isnan(x));
    }
  for (const double x : {1e38, HUGE_VAL, nan})
    for (const overflow_mode d : {overflow_mode::ieee, overflow_mode::saturate}) CHECK_FALSE(finds(float4_e2m1, d, x));
}

TEST_CASE("directed roundings look at the sign where it is known") {
  const scenario s = float16_under("static", {}, {float16, {.direction = direction::toward_positive}});
  CHECK(replayer(s).advance(step_of(0, {row_of(0, {65505})}), two).found_inf);
  CHECK_FALSE(replayer(s).advance(step_of(0, {row_of(0, {-1e6F})}), two).found_inf);
  const trajectory_row unknown_sign = replayer(s).advance(log_line(0, 65505), {});
  CHECK(unknown_sign.found_inf);
  CHECK_FALSE(unknown_sign.found_inf_certain);
}

TEST_CASE("stochastic overflow is certain outside the last step and drawn within it") {
  const scenario s = float16_under("static", {}, {float16, {.direction = direction::stochastic}});
  CHECK_FALSE(replayer(s).advance(log_line(0, 65504), {}).found_inf);
  CHECK(replayer(s).advance(log_line(0, 65536), {}).found_inf);
  replayer r(s);
  int found = 0;
  for (int i = 0; i < 4000; ++i) {
    const trajectory_row row = r.advance(log_line(i, 65504 + 8), {});  // a quarter of the way
    CHECK_FALSE(row.found_inf_certain);
    found += row.found_inf ? 1 : 0;
  }
  CHECK(std::abs(found - 1000) < 5 * std::sqrt(4000 * 0.25 * 0.75));
}

TEST_CASE("stochastic overflow is certain from the next number on, which need not be a power of two") {
  const auto at = [&](const format& to, double max_abs) {
    const scenario s = float16_under("static", {}, {to, {.direction = direction::stochastic}});
    return replayer(s).advance(log_line(0, max_abs), {});
  };
  CHECK(at(float8_e4m3fn, 480).found_inf);
  CHECK(at(float8_e4m3fn, 480).found_inf_certain);
  CHECK_FALSE(at(float8_e4m3fn, std::nextafter(480.0, 0)).found_inf_certain);
  CHECK(at(float8_e4m3fn, 448).found_inf_certain);
  const double beyond = to_double(dlfloat16, dlfloat16.max_finite_code()) + 0x1p23;
  CHECK(at(dlfloat16, beyond).found_inf_certain);
  CHECK_FALSE(at(dlfloat16, std::nextafter(beyond, 0)).found_inf_certain);
}

TEST_CASE("infinities of a step log are those recorded") {
  replayer r(float16_under("static"));
  const trajectory_row infinite = r.advance(log_line(0, INFINITY), {});
  CHECK(infinite.recorded_inf);
  CHECK_FALSE(infinite.recorded_nan);
  // At which scale it overflowed is not known.
  CHECK(std::isnan(infinite.critical_scale));
  CHECK(infinite.found_inf);
  CHECK_FALSE(infinite.found_inf_certain);
  CHECK_FALSE(infinite.at_every_scale);
  CHECK_FALSE(r.advance(log_line(1, 70000), {}).recorded_inf);
  CHECK_FALSE(r.advance(log_line(2, NAN), {}).recorded_inf);
  CHECK(r.advance(step_of(3, {row_of(0, {INFINITY})}), two).recorded_inf);
}

TEST_CASE("the scale is that of the true gradient where the factor is known") {
  scenario s = float16_under("static", {{"loss_scale", 1024.0}});
  // Recorded at factor 1024: 2^16 is the true gradient 64, scaled by 1024 it overflows; 2^15 does not.
  CHECK(replayer(s).advance(step_of(0, {row_of(0, {0x1p16F}, 1024)}), two).found_inf);
  CHECK_FALSE(replayer(s).advance(step_of(0, {row_of(0, {0x1p15F}, 1024)}), two).found_inf);
  const trajectory_row unknown_factor = replayer(s).advance(step_of(0, {row_of(0, {0x1p6F})}), two);
  CHECK(unknown_factor.found_inf);
  CHECK(unknown_factor.as_recorded);
}

TEST_CASE("which tensors the scaler sees") {
  std::vector<tensor_info> tensors = two;
  const step overflow_in_activation = step_of(0, {row_of(0, {1}), row_of(1, {1e6F})});
  SECTION("all weight gradients where roles are not known") {
    replayer r(float16_under("static"));
    CHECK_FALSE(r.advance(overflow_in_activation, tensors).found_inf);
    CHECK(r.choice().rule() == check_rule::all_weight_grads);
    CHECK(r.choice().checked_count() == 1);
  }
  SECTION("those of role low where roles are known") {
    tensors.push_back({.name = "norm.weight", .kind = tensor_kind::weight_grad, .role = tensor_role::float32});
    tensors[0].role = tensor_role::low;
    replayer r(float16_under("static"));
    CHECK_FALSE(r.advance(step_of(0, {row_of(0, {1}), row_of(2, {1e6F})}), tensors).found_inf);
    CHECK(r.choice().rule() == check_rule::low_gradients);
    CHECK(r.advance(step_of(1, {row_of(0, {1e6F})}), tensors).found_inf);
  }
  SECTION("by --check") {
    scenario s = float16_under("static");
    s.checked = [](std::string_view name) { return name.starts_with("act"); };
    CHECK(replayer(s).advance(overflow_in_activation, tensors).found_inf);
  }
  SECTION("what --tensor selects") {
    scenario s = float16_under("static");
    s.counted.tensor = [](std::string_view name) { return name.starts_with("act"); };
    replayer r(s);
    const trajectory_row row = r.advance(overflow_in_activation, tensors);
    CHECK(row.found_inf);
    CHECK(row.counts.numel == 1);
    CHECK(r.choice().rule() == check_rule::counted);
  }
  SECTION("everything without weight gradients") {
    tensors[0].kind = tensor_kind::unknown;
    replayer r(float16_under("static"));
    CHECK(r.advance(overflow_in_activation, tensors).found_inf);
    CHECK(r.choice().rule() == check_rule::everything);
  }
}

TEST_CASE("policies that look at the norm skip where it is NaN, though no element that is checked is") {
  std::vector<tensor_info> tensors = two;
  tensors.push_back({.name = "b.weight", .kind = tensor_kind::weight_grad});
  for (const char* const name : {"fairseq_dynamic", "cerebras_dls"}) {
    CAPTURE(name);
    scenario s = float16_under(name);
    s.checked = [](std::string_view tensor) { return tensor == "a.weight"; };
    replayer r(s);
    const trajectory_row finite = r.advance(step_of(0, {row_of(0, {1}, 1), row_of(2, {1}, 1)}), tensors);
    CHECK_FALSE(finite.skipped);
    const trajectory_row lost = r.advance(step_of(1, {row_of(0, {1}, 1), row_of(2, {NAN}, 1)}), tensors);
    CHECK_FALSE(lost.found_inf);
    CHECK(lost.skipped);
  }
}

TEST_CASE("weight gradients that come late are told") {
  replayer r(float16_under("static"));
  const std::vector<tensor_info> first{two[1]};
  const std::vector<tensor_info> both{two[1], two[0]};
  (void)r.advance(step_of(0, {row_of(0, {1})}), first);
  CHECK_FALSE(r.choice().rule_is_late());
  (void)r.advance(step_of(1, {row_of(1, {1})}), both);
  CHECK(r.choice().rule_is_late());
}

TEST_CASE("the norm is that of the unscaled weight gradients, and decides clipping") {
  scenario s = float16_under("static");
  s.clip_norm = norm_clipping{.max_norm = 2.5};
  replayer r(s);
  const trajectory_row row = r.advance(step_of(0, {row_of(0, {30, 40}, 10), row_of(1, {1e6F}, 10)}), two);
  CHECK(row.norm == 5);
  CHECK(row.norm_exact);
  CHECK(row.clip_coefficient == 2.5 / (5 + 1e-6));
  CHECK(row.clipped == true);
  CHECK_FALSE(r.advance(step_of(1, {row_of(0, {12, 16}, 10)}), two).clip_coefficient < 1);
  CHECK(std::isnan(r.advance(step_of(2, {row_of(0, {std::nanf("")})}), two).norm));
  CHECK(r.advance(step_of(3, {row_of(0, {-INFINITY})}), two).norm == INFINITY);
}

TEST_CASE("value clipping looks at the unscaled maximum") {
  scenario s = float16_under("static");
  s.clip_value = value_clipping{.max_value = 4};
  replayer r(s);
  CHECK(r.advance(step_of(0, {row_of(0, {-40}, 10)}), two).clipped == false);
  CHECK(r.advance(step_of(1, {row_of(0, {-41}, 10)}), two).clipped == true);
}

TEST_CASE("value clipping looks at the largest of the layers that a log has") {
  scenario s = float16_under("static", {{"loss_scale", 8.0}});
  s.clip_value = value_clipping{.max_value = 4};
  const auto log = [](std::int64_t number, double a, double b) {
    step now;
    now.key.step = number;
    now.layers = {{"a", std::nullopt, a}, {"b", std::nullopt, b}};
    return now;
  };
  replayer r(s);
  CHECK(r.advance(log(0, 1, 4), {}).clipped == false);
  CHECK(r.advance(log(1, 5, 1), {}).clipped == true);
  CHECK(r.advance(log(2, 5, NAN), {}).clipped == std::nullopt);
  s.order = *parse_step_order("clip,unscale,check");
  replayer of_scaled(s);
  CHECK(of_scaled.advance(log(0, 0.5, 0.25), {}).clipped == false);
  CHECK(of_scaled.advance(log(1, 0.5, 0.75), {}).clipped == true);
}

TEST_CASE("clipping before unscaling is clipping at the bound over the scale") {
  scenario wrong = float16_under("static", {{"loss_scale", 1024.0}});
  wrong.clip_norm = norm_clipping{.max_norm = 2048};
  wrong.order = *parse_step_order("clip,unscale,check");
  scenario same = float16_under("static", {{"loss_scale", 1024.0}});
  same.clip_norm = norm_clipping{.max_norm = 2};
  replayer a(wrong);
  replayer b(same);
  int clipped = 0;
  for (int i = 1; i < 40; ++i) {
    const float x = static_cast<float>(i) / 8;
    const trajectory_row first = a.advance(step_of(i, {row_of(0, {x, x})}), two);
    const trajectory_row second = b.advance(step_of(i, {row_of(0, {x, x})}), two);
    CHECK(first.clipped == second.clipped);
    CHECK(first.clip_coefficient == Approx(second.clip_coefficient).epsilon(1e-5));  // the 1e-6 is not scaled
    clipped += *first.clipped ? 1 : 0;
  }
  CHECK(clipped > 5);
  CHECK(clipped < 35);
}

TEST_CASE("clamping values before the check hides infinities, not NaN; scaling by the norm hides neither") {
  const std::vector<tensor_row> infinite{row_of(0, {1, INFINITY}, 1)};
  const std::vector<tensor_row> large{row_of(0, {70000}, 1)};
  const std::vector<tensor_row> nan{row_of(0, {1, NAN}, 1)};
  for (const char* const order : {"unscale,clip,check", "clip,unscale,check", "clip,check,unscale"}) {
    CAPTURE(order);
    scenario values = float16_under("static");
    values.clip_value = value_clipping{.max_value = 1};
    values.order = *parse_step_order(order);
    replayer r(values);
    const trajectory_row row = r.advance(step_of(0, infinite), two);
    CHECK_FALSE(row.found_inf);
    CHECK(row.clipped == true);
    CHECK(row.critical_scale == INFINITY);
    CHECK_FALSE(r.advance(step_of(1, large), two).found_inf);
    CHECK(r.advance(step_of(2, nan), two).found_inf);
    CHECK_FALSE(r.advance(log_line(3, 1e9), {}).found_inf);

    scenario norm = float16_under("static");
    norm.clip_norm = norm_clipping{.max_norm = 1};
    norm.order = *parse_step_order(order);
    CHECK(replayer(norm).advance(step_of(0, infinite), two).found_inf);
  }
  scenario right = float16_under("static");
  right.clip_value = value_clipping{.max_value = 1};
  CHECK(replayer(right).advance(step_of(0, infinite), two).found_inf);
}

TEST_CASE("a policy that reads the largest gradient is told the bound where clamping hides what is above it") {
  constexpr double scale = 4;  // LogMax's, set by hand
  const auto after = [&](const char* order, std::vector<float> values, std::optional<double> clip) {
    scaler machine = make_scaler(*find_scaler("openseq2seq_logmax"), {});
    machine.set_state("scale", scale);
    scenario s{std::move(machine), {float16}};
    if (clip) s.clip_value = value_clipping{.max_value = *clip};
    s.order = *parse_step_order(order);
    return replayer(s).advance(step_of(0, {row_of(0, std::move(values), 1)}), two);
  };
  const auto told = [](double max_abs) {
    scaler s = make_scaler(*find_scaler("openseq2seq_logmax"), {});
    s.update({.max_abs = max_abs});
    return s.scale();
  };
  const float infinity = INFINITY;
  // Clamped at 64 after unscaling, at 64 / scale before.
  CHECK(after("unscale,clip,check", {1, 100}, 64).scale_next == told(64));
  CHECK(after("unscale,clip,check", {1, 20}, 64).scale_next == told(20));
  for (const char* const order : {"clip,unscale,check", "clip,check,unscale"}) {
    CHECK(after(order, {1, 20}, 64).scale_next == told(64 / scale));
    CHECK(after(order, {1, 15}, 64).scale_next == told(15));
  }
  // An infinity becomes the bound, NaN does not.
  CHECK(after("unscale,clip,check", {1, infinity}, 64).scale_next == told(64));
  CHECK(after("unscale,clip,check", {infinity}, 64).scale_next == told(64));
  CHECK(after("clip,unscale,check", {1, infinity}, 64).scale_next == told(64 / scale));
  CHECK(after("unscale,clip,check", {NAN, infinity}, 64).skipped);
  // Where the check comes first nothing is hidden.
  CHECK(after("unscale,check,clip", {1, 100}, 64).scale_next == told(100));
  CHECK(after("unscale,check,clip", {1, infinity}, 64).skipped);
  CHECK(after("unscale,clip,check", {1, 100}, std::nullopt).scale_next == told(100));

  // Nor is the norm of before clamping, which alone would be an overflow.
  const auto by_norm = [&](const char* order) {
    scenario s = float16_under("cerebras_dls", {{"init_scale", 1.0}});
    s.clip_value = value_clipping{.max_value = 1};
    s.order = *parse_step_order(order);
    return replayer(s).advance(step_of(0, {row_of(0, {1, infinity}, 1)}), two).skipped;
  };
  CHECK_FALSE(by_norm("unscale,clip,check"));
  CHECK(by_norm("unscale,check,clip"));
}

TEST_CASE("what the recorded run decided is what it says, layer by layer or in all") {
  const auto decided = [](step now) { return replayer(float16_under("static")).advance(now, {}).recorded_applied; };
  const auto says = [&](std::optional<bool> found, std::optional<bool> applied,
                        std::vector<std::optional<bool>> layers = {}) {
    step now;
    now.max_abs = 1;
    now.scalars.found_inf = found;
    now.scalars.applied = applied;
    for (std::size_t i = 0; i < layers.size(); ++i)
      now.layers.push_back({std::string(1, static_cast<char>('a' + i)), layers[i], 1.0});
    return decided(now);
  };
  CHECK(says({}, {}) == std::nullopt);
  CHECK(says(true, {}) == false);
  CHECK(says(false, {}) == true);
  for (const std::optional<bool> found : {std::optional<bool>{}, std::optional{false}, std::optional{true}})
    for (const bool applied : {false, true}) CHECK(says(found, applied) == applied);
  // Layers decide where each of them says something.
  for (const std::optional<bool> applied : {std::optional<bool>{}, std::optional{false}, std::optional{true}}) {
    CHECK(says({}, applied, {false, false}) == true);
    CHECK(says({}, applied, {false, true}) == false);
    CHECK(says({}, applied, {true, true}) == false);
    CHECK(says({}, applied, {true, std::nullopt}) == applied);
  }
  CHECK(says(true, {}, {false, std::nullopt}) == false);
}

TEST_CASE("poisoned is a step that overflows and is neither skipped, nor an error, nor expected to") {
  const auto row = [](scenario s, double max_abs) { return replayer(std::move(s)).advance(log_line(0, max_abs), {}); };
  const auto unskipped = [] { return float16_under("static", {{"skip_on_overflow", false}}); };
  CHECK(row(unskipped(), 1e9).poisoned);
  CHECK_FALSE(row(unskipped(), 1).poisoned);
  CHECK(row(float16_under("none"), 1e9).poisoned);
  CHECK(row(float16_under("static"), 1e9).skipped);
  CHECK_FALSE(row(float16_under("static"), 1e9).poisoned);
  // Zhao's policy skips nothing; without the statistics that it needs the first step is an error.
  CHECK(row(float16_under("ada_loss_zhao", {{"loss_scale_method", std::string{"fixed"}}}), 1e9).poisoned);
  const trajectory_row failed = row(float16_under("ada_loss_zhao"), 1e9);
  CHECK(failed.found_inf);
  CHECK_FALSE(failed.skipped);
  CHECK_FALSE(failed.error.empty());
  CHECK_FALSE(failed.poisoned);
  // PopART counts what is above an edge, of gradients that saturate.
  const trajectory_row counted =
      replayer(float16_under("popart_als")).advance(step_of(0, {row_of(0, {1, INFINITY}, 1)}), two);
  CHECK(counted.found_inf);
  CHECK_FALSE(counted.skipped);
  CHECK_FALSE(counted.poisoned);
}

TEST_CASE("the norm after clipping is the bound's where it triggers, and as it was elsewhere") {
  const auto after = [](scenario s, std::vector<float> values) {
    return replayer(std::move(s)).advance(step_of(0, {row_of(0, std::move(values), 1)}), two).clipped_norm;
  };
  scenario norm = float16_under("static");
  norm.clip_norm = norm_clipping{.max_norm = 2.5};
  const double clipped = 5 * (2.5 / (5 + 1e-6));
  CHECK(after(norm, {3, 4}) == value_range{clipped, clipped});
  CHECK(after(norm, {1.5, 2}).low == 2.5 * (2.5 / (2.5 + 1e-6)));
  CHECK(after(norm, {0.75, 1}) == value_range{1.25, 1.25});
  // Each value on its own: 3 and 4 become 2.
  scenario values = float16_under("static");
  values.clip_value = value_clipping{.max_value = 2};
  CHECK(after(values, {0.75, 1}) == value_range{1.25, 1.25});
  CHECK(after(values, {INFINITY, -2}) == value_range{std::sqrt(8.0), std::sqrt(8.0)});
  CHECK(std::isnan(after(values, {NAN, 1}).low));
  CHECK(std::isnan(after(values, {NAN, 1}).high));
  CHECK(std::isnan(after(float16_under("static"), {3, 4}).low));
}

TEST_CASE("gradients are divided by the next scale where the policy does that") {
  const auto row = [](const char* name, const char* window) {
    return replayer(float16_under(name, {{"init_scale", 4.0}, {window, 1.0}})).advance(log_line(0, 1), {});
  };
  CHECK(row("deepspeed_dynamic", "scale_window").scale_next == 8);
  CHECK(row("deepspeed_dynamic", "scale_window").unscaled_by == 8);
  CHECK(row("pytorch", "growth_interval").scale_next == 8);
  CHECK(row("pytorch", "growth_interval").unscaled_by == 4);
}

TEST_CASE("a policy that counts by an edge counts no NaN, and is certain where no cell is cut by it") {
  const auto popart = [](tensor_row row, double edge) {
    return replayer(
               float16_under("popart_als", {{"binEdgeLocation", edge / 65504}, {"thresholdUpperCountProportion", 0.5}}))
        .advance(step_of(0, {std::move(row)}), two);
  };
  // Two above and one below: it halves, though with the NaNs more are not above than are.
  CHECK(popart(row_of(0, {9000, -9000, 1, NAN, NAN, NAN, NAN}, 1), 8188).scale_next == 0.5);
  CHECK(popart(row_of(0, {9000, -9000, 1, 1, 1}, 1), 8188).scale_next == 2);
  tensor_row binade = row_of(0, {}, 1);
  binade.table.numel = 4;
  binade.table.max_abs = 16000;
  binade.table.min_abs = not_known;
  binade.table.cells = {{cell_sign::unknown, whole_binade, 13, 4}};
  CHECK(popart(binade, 8188).found_inf_certain);
  CHECK_FALSE(popart(binade, 9000).found_inf_certain);
}

TEST_CASE("groups have the norm of their weight gradients, or of what they hold where none is one") {
  std::vector<tensor_info> tensors = two;
  tensors.push_back({.name = "a.bias", .kind = tensor_kind::weight_grad});
  tensors.push_back({.name = "a.act", .kind = tensor_kind::activation_grad});
  scenario s = float16_under("static");
  const auto begins = [](const char* with) { return [with](std::string_view name) { return name.starts_with(with); }; };
  s.groups = {{"act", begins("act")}, {"a", begins("a")}, {"none", begins("none")}};
  const trajectory_row row = replayer(s).advance(
      step_of(0, {row_of(0, {3}, 1), row_of(1, {6, 8}, 1), row_of(2, {4}, 1), row_of(3, {100}, 1)}), tensors);
  REQUIRE(row.group_norms.size() == 3);
  CHECK(row.group_norms[0] == 10);
  CHECK(row.group_norms[1] == 5);
  CHECK(std::isnan(row.group_norms[2]));
  CHECK(row.norm == 5);
}

TEST_CASE("a selection takes the steps from its first up to its end that are divisible by its stride") {
  const auto taken = [](const selection& s) {
    std::vector<std::int64_t> all;
    for (std::int64_t i = -4; i <= 12; ++i)
      if (s.takes(i)) all.push_back(i);
    return all;
  };
  CHECK(taken({.first_step = 3, .end_step = 7}) == std::vector<std::int64_t>{3, 4, 5, 6});
  CHECK(taken({.first_step = 3, .every = 4}) == std::vector<std::int64_t>{4, 8, 12});
  CHECK(taken({.first_step = 4, .end_step = 8, .every = 4}) == std::vector<std::int64_t>{4});
  CHECK(taken({.every = 4}) == std::vector<std::int64_t>{-4, 0, 4, 8, 12});
  constexpr std::int64_t last = std::numeric_limits<std::int64_t>::max();
  CHECK(selection{}.takes(last));
  CHECK_FALSE(selection{.end_step = last - 1}.takes(last));
}

TEST_CASE("a run has the format of its rounded tensors where they have one") {
  recorded_run run;
  std::vector<tensor_info> tensors{{.name = "a", .kind = tensor_kind::weight_grad}};
  run.see({}, tensors);
  CHECK(run.rounded_to() == nullptr);
  tensors.push_back({.name = "b", .kind = tensor_kind::weight_grad, .through = "float16"});
  tensors.push_back({.name = "w", .kind = tensor_kind::weight, .through = "bfloat16"});  // no gradient
  run.see({}, tensors);
  REQUIRE(run.rounded_to() != nullptr);
  CHECK(*run.rounded_to() == float16);
  CHECK_FALSE(run.has_several_formats());
  CHECK(run.rounded_to(0) == nullptr);
  REQUIRE(run.rounded_to(2) != nullptr);
  CHECK(*run.rounded_to(2) == bfloat16);
  tensors.push_back({.name = "c", .kind = tensor_kind::weight_grad, .through = "bfloat16"});
  run.see({}, tensors);
  CHECK(run.has_several_formats());
  CHECK(run.rounded_to() == nullptr);
}

TEST_CASE("a summary counts each kind of step once") {
  trajectory_summary sum;
  const auto add = [&](std::int64_t number, auto set) {
    trajectory_row row;
    row.key.step = number;
    row.scale_used = std::ldexp(4.0, static_cast<int>(number));
    row.scale_next = 2 * row.scale_used;
    row.recorded_applied = true;
    set(row);
    sum.add(row);
  };
  add(1, [](trajectory_row& row) { row.clipped = true; });
  add(2, [](trajectory_row& row) { row.clipped = std::nullopt; });
  add(0, [](trajectory_row& row) { row.recorded_nan = row.recorded_inf = row.at_every_scale = true; });
  add(3, [](trajectory_row& row) { row.recorded_inf = true; });
  add(4, [](trajectory_row& row) {
    row.found_inf_certain = false;
    row.found_inf = true;
    row.recorded_applied = false;
    row.skipped = true;
  });
  CHECK_FALSE(sum.first_divergence);
  add(5, [](trajectory_row& row) { row.found_inf_certain = false; });
  add(6, [](trajectory_row& row) {
    row.recorded_applied = false;
    row.poisoned = row.as_recorded = true;
    row.found_inf_certain = false;
  });
  add(7, [](trajectory_row& row) {
    row.skipped = true;
    row.error = "raised";
  });
  CHECK(sum.steps == 8);
  CHECK(sum.clipped == 1);
  CHECK(sum.clipping_unknown == 1);
  CHECK(sum.recorded_nan == 1);
  CHECK(sum.recorded_inf == 1);
  CHECK(sum.first_recorded_nonfinite == 0);
  CHECK(sum.beyond_scaling == 1);
  CHECK(sum.uncertain == 3);
  CHECK(sum.skipped == 2);
  CHECK(sum.first_skip == 4);
  CHECK(sum.poisoned == 1);
  CHECK(sum.as_recorded);
  CHECK_FALSE(sum.has_counts);
  CHECK(sum.first_divergence == 6);
  CHECK_FALSE(sum.divergence_certain);
  CHECK(sum.recorded_outcome_known);
  CHECK(sum.first_scale == 8);
  CHECK(sum.last_scale == 1024);
  CHECK(sum.least_scale == 4);
  CHECK(sum.greatest_scale == 512);
  CHECK(sum.mean_log2_scale() == 2 + 28 / 8.0);
  CHECK(sum.error == "raised");
}

TEST_CASE("each counted tensor is told apart") {
  scenario s = float16_under("static", {{"loss_scale", 4.0}});
  replayer r(s);
  std::vector<tensor_outcome> tensors;
  const trajectory_row row =
      r.advance(step_of(7, {row_of(0, {0x1p-28F, 2}), row_of(1, {30000, NAN, 0})}), two, &tensors);
  REQUIRE(tensors.size() == 2);
  CHECK(tensors[0].key.step == 7);
  CHECK(tensors[0].scale == 4);
  CHECK(tensors[0].checked);
  CHECK(tensors[0].counts.underflow == count_range{1, 1});
  CHECK(tensors[0].max_abs == 2);
  CHECK(tensors[0].critical_scale == critical_scale_of(2, {float16}).largest_safe);
  CHECK_FALSE(tensors[1].checked);
  CHECK(tensors[1].counts.overflow == count_range{1, 1});
  CHECK(std::isnan(tensors[1].critical_scale));
  outcome_counts sum;
  for (const tensor_outcome& t : tensors) sum += t.counts;
  CHECK(sum == row.counts);
}

TEST_CASE("a collapsed scale loses everything, an infinite one overflows everything") {
  const auto at_scale = [](double scale) {
    scaler machine = make_scaler(*find_scaler("pytorch"));
    machine.set_state("scale", scale);
    return scenario{std::move(machine), {float16}};
  };
  const trajectory_row row = replayer(at_scale(0)).advance(step_of(0, {row_of(0, {1, 0})}), two);
  CHECK_FALSE(row.found_inf);
  CHECK(row.counts.underflow == count_range{1, 1});
  const trajectory_row infinite = replayer(at_scale(INFINITY)).advance(step_of(0, {row_of(0, {1, 0})}), two);
  CHECK(infinite.counts.overflow == count_range{1, 1});
}

TEST_CASE("the summary marks the first step that parts from the recorded run") {
  trajectory_summary sum;
  replayer r(float16_under("static"));
  const auto with_record = [](step s, bool applied) {
    s.scalars.applied = applied;
    return s;
  };
  sum.add(r.advance(with_record(log_line(3, 1e9), false), {}));
  CHECK_FALSE(sum.first_divergence);
  sum.add(r.advance(with_record(log_line(4, 1), true), {}));
  CHECK_FALSE(sum.first_divergence);
  sum.add(r.advance(with_record(log_line(5, 1), false), {}));
  CHECK(sum.first_divergence == 5);
  CHECK(sum.first_skip == 3);
  CHECK(sum.skipped == 1);
  CHECK(sum.steps == 3);
  trajectory_summary without;
  without.add(r.advance(log_line(0, 1e9), {}));
  CHECK(without.first_divergence == 0);  // a run that says nothing is taken to have applied every step
  CHECK_FALSE(without.recorded_outcome_known);
}
