// Pins what the scalers make of parameters that the frameworks accept though nobody means them: windows of 0, of half
// a step and without end, factors of 0, starts off the counter. The expected numbers are worked out by hand from the
// originals' statements.
#include "support/catch.hpp"

#include <cmath>
#include <limits>

#include "model/golden.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

scaler resumed(const std::string& name, const parameters& p, const std::string& field, double value) {
  scaler s = made(name, p);
  s.set_state(field, value);
  return s;
}

// '1' overflows; the error of the last step stands behind its scale.
std::string scales_of(scaler s, const std::string& overflows) {
  std::string text;
  for (const char c : overflows) {
    const scaler_verdict verdict = s.update({.found_inf = c == '1'});
    text += (text.empty() ? "" : " ") + to_string(parameter_value{s.scale()});
    if (!verdict.error.empty()) return text + " " + verdict.error.substr(0, verdict.error.find(':'));
  }
  return text;
}

}  // namespace

TEST_CASE("icefall's program doubles a small scale itself, and raises where it is too small") {
  const scaler start = made("icefall_gradscaler");
  scaler s = start;
  std::vector<double> after;
  for (int batch = 0; batch <= 1200; ++batch) {
    CHECK(s.update({.found_inf = false}).error.empty());
    if (batch % 100 == 0) after.push_back(s.scale());
  }
  CHECK(after == std::vector<double>{2, 4, 8, 8, 16, 16, 16, 16, 32, 32, 32, 32, 32});
  // Batch 0 makes 1 of 1/2 again; 17 overflows more make 2^-17, which is below 1e-5.
  scaler falling = start;
  int batch = 0;
  for (; batch < 18; ++batch) CHECK(falling.update({.found_inf = true}).error.empty());
  CHECK(falling.scale() == 0x1p-17);
  for (; batch < 100; ++batch) CHECK(falling.update({.found_inf = false}).error.empty());
  CHECK(falling.update({.found_inf = false}).error.substr(0, 12) == "RuntimeError");
}

TEST_CASE("a floor holds the scale of torch's scaler, and nothing else") {
  CHECK(scales_of(made("pytorch_gradscaler_floor", {{"init_scale", 8.0}, {"min_scale", 2.0}, {"growth_interval", 2.0}}),
                  "11110010") == "4 2 2 2 2 4 2 2");
  CHECK_THROWS_AS(made("pytorch_gradscaler_floor", {{"min_scale", 0.0}}), parameter_error);
}

TEST_CASE("a window of 0 is a modulo by zero in the first good step, and no trouble before") {
  for (const std::string name : {"deepspeed_dynamic", "apex_fp16_utils"}) {
    CAPTURE(name);
    CHECK(scales_of(made(name, {{"init_scale", 16.0}, {"scale_window", 0.0}}), "1101") == "8 4 4 ZeroDivisionError");
  }
  // They look at the remainder only where more than one step has passed.
  for (const std::string name : {"deepspeed_fused_nonzero", "deepspeed_unfused"}) {
    CAPTURE(name);
    CHECK(scales_of(made(name, {{"cur_scale", 16.0}, {"scale_window", 0.0}}), "1100") == "8 4 4 4 ZeroDivisionError");
  }
  for (const std::string name : {"fairseq", "fairscale"}) {
    CAPTURE(name);
    CHECK(scales_of(made(name, {{"init_scale", 16.0}, {"scale_window", 0.0}}), "0") == "16 ZeroDivisionError");
  }
  // int(0 / 2) is 0, of which metaseq makes a window of 1.
  CHECK(scales_of(made("metaseq", {{"scale_window", 0.0}}), "1110") == "2 1 0.5 1");
}

TEST_CASE("counters that are compared with a window of 0") {
  // unskipped is 0 after an overflow, and is compared then too: the scale halves and doubles at once.
  CHECK(scales_of(made("apex_amp", {{"scale_window", 0.0}}), "1101") == "65536 65536 65536 65536");
  CHECK(scales_of(made("apex_amp", {{"scale_window", 0.0}, {"max_loss_scale", 2.0}}), "11") == "2 2");
  CHECK(scales_of(made("apex_amp", {{"scale_window", 1.0}}), "1101") == "32768 16384 32768 16384");
  CHECK(scales_of(made("pytorch", {{"growth_interval", 0.0}}), "0100") == "65536 32768 32768 32768");
  CHECK(scales_of(made("jmp", {{"period", 0.0}}), "0100") == "32768 16384 16384 16384");
  // A counter that is at least the window.
  CHECK(scales_of(made("tf_keras", {{"growth_steps", 0.0}}), "00") == "65536 131072");
}

TEST_CASE("a factor of 0 divides by zero where Python does it, and makes infinity where float32 does") {
  for (const std::string name : {"deepspeed_dynamic", "apex_fp16_utils", "fairseq", "metaseq", "fairscale"}) {
    CAPTURE(name);
    CHECK(scales_of(made(name, {{"init_scale", 16.0}, {"scale_factor", 0.0}}), "1") == "16 ZeroDivisionError");
  }
  CHECK(scales_of(made("nnabla", {{"scaling_factor", 0.0}}), "01") == "8 8 ZeroDivisionError");
  CHECK(scales_of(made("jmp", {{"factor", 0.0}}), "1") == "inf");
  // The hysteresis is spent first.
  CHECK(scales_of(made("deepspeed", {{"scale_factor", 0.0}}), "11") == "65536 65536 ZeroDivisionError");
}

TEST_CASE("windows that are no whole number of steps") {
  // (step - last overflow) mod 2.5 is 0 in every fifth step.
  CHECK(scales_of(made("deepspeed_dynamic", {{"init_scale", 1.0}, {"scale_window", 2.5}}), "00000000000") ==
        "1 1 1 1 2 2 2 2 2 4 4");
  CHECK(scales_of(made("fairseq", {{"init_scale", 1.0}, {"scale_window", 2.5}}), "00000") == "1 1 1 1 2");
  CHECK(scales_of(made("megatron", {{"growth_interval", 1.5}}), "0000") ==
        "4294967296 4294967296 4294967296 4294967296");
  CHECK(scales_of(made("chainer", {{"interval", 1.5}}), "1100").substr(0, 3) == "1 1");
  const auto refused = [](const std::string& name, const char* parameter) {
    try {
      made(name, {{parameter, 2.5}});
    } catch (const parameter_error&) {
      return true;
    }
    return false;
  };
  CHECK(refused("pytorch", "growth_interval"));
}

TEST_CASE("a window of 2^63 - 1 never passes") {
  for (const double never : {0x1p63, 1e300}) {
    CHECK(scales_of(made("pytorch", {{"growth_interval", never}}), "000") == "65536 65536 65536");
    CHECK(scales_of(made("deepspeed_dynamic", {{"init_scale", 4.0}, {"scale_window", never}}), "010") == "4 2 2");
  }
}

TEST_CASE("a hysteresis that is taken from until it is 1, and no further") {
  // if delayed_shift == 1 or cur_hysteresis == 1: lower; else: cur_hysteresis -= 1. What begins below 1 never gets there.
  const auto deepspeed = [](double delayed_shift) {
    return parameters{{"init_scale", 16.0}, {"scale_window", 2.0}, {"delayed_shift", delayed_shift}};
  };
  for (const double never : {0.0, -1.0})
    CHECK(scales_of(made("deepspeed_dynamic", deepspeed(never)), "1111") == "16 16 16 16");
  CHECK(scales_of(made("deepspeed_dynamic", deepspeed(1)), "111") == "8 4 2");
  CHECK(scales_of(made("deepspeed_dynamic", deepspeed(2)), "1111") == "16 8 4 2");
  CHECK(scales_of(made("deepspeed_dynamic", deepspeed(3)), "1111") == "16 16 8 4");
  CHECK(scales_of(resumed("deepspeed_dynamic", deepspeed(1), "cur_hysteresis", 5), "11") == "8 4");
  // Growth refills it, a good step does not.
  CHECK(scales_of(resumed("deepspeed_dynamic", deepspeed(2), "cur_hysteresis", 0), "11100111") ==
        "16 16 16 16 32 32 16 8");
  CHECK(scales_of(made("deepspeed_dynamic", deepspeed(2)), "101") == "16 16 8");
  parameters consecutive = deepspeed(2);
  consecutive.emplace_back("consecutive_hysteresis", true);
  CHECK(scales_of(made("deepspeed_dynamic", consecutive), "101") == "16 16 16");
  // At the floor it is lowering that raises.
  const auto at_floor = [](double delayed_shift) {
    return made("deepspeed_dynamic", {{"init_scale", 1.0}, {"delayed_shift", delayed_shift}});
  };
  CHECK(scales_of(at_floor(0), "111") == "1 1 1");
  CHECK(scales_of(at_floor(1), "111") == "1 Exception");
  CHECK(scales_of(at_floor(2), "111") == "1 1 Exception");
  // With a delayed_shift of 1 whatever is left lowers.
  CHECK(scales_of(resumed("deepspeed_dynamic", {{"init_scale", 1.0}, {"delayed_shift", 1.0}}, "cur_hysteresis", 5),
                  "1") == "1 Exception");
}

TEST_CASE("fairseq's floor keeps the scale, and reaching the minimum raises") {
  for (const std::string name : {"fairseq", "fairscale"}) {
    CAPTURE(name);
    // loss_scale /= scale_factor; if threshold is not None: loss_scale = max(loss_scale, threshold).
    CHECK(scales_of(made(name, {{"init_scale", 4.0}, {"threshold", 3.0}}), "11") == "3 3");
    // if loss_scale <= min_loss_scale: the scale is as before, raise.
    CHECK(scales_of(made(name, {{"init_scale", 4.0}, {"min_loss_scale", 1.0}}), "11") == "2 2 FloatingPointError");
  }
}

TEST_CASE("a hysteresis that goes on below 0") {
  // hysteresis_tracker -= 1; if hysteresis_tracker <= 0: lower.
  const parameters megatron{{"initial_scale", 16.0}, {"hysteresis", 3.0}, {"growth_interval", 2.0}};
  CHECK(scales_of(made("megatron", megatron), "11111") == "16 16 8 4 2");
  CHECK(scales_of(made("megatron", megatron), "1101") == "16 16 16 8");
  CHECK(scales_of(made("megatron", megatron), "1100111") == "16 16 16 32 32 32 16");
  for (const double spent : {1.0, 0.0, -7.0})
    CHECK(scales_of(resumed("megatron", megatron, "hysteresis_tracker", spent), "11") == "8 4");
  for (const std::string name : {"nemo_gradscaler", "apex_update_scale_hysteresis"}) {
    CAPTURE(name);
    for (const double at_once : {1.0, 0.0, -2.0})
      CHECK(scales_of(made(name, {{"init_scale", 16.0}, {"hysteresis", at_once}}), "11") == "8 4");
    CHECK(scales_of(made(name, {{"init_scale", 16.0}, {"hysteresis", 3.0}}), "110111") == "16 16 16 16 16 8");
  }
}

TEST_CASE("overflows that are counted up to a limit or beyond it") {
  // hysteresis_step += 1; if hysteresis_step >= hysteresis: lower.
  for (const double at_once : {0.0, 1.0})
    CHECK(scales_of(made("colossalai", {{"initial_scale", 16.0}, {"hysteresis", at_once}}), "11") == "8 4");
  const parameters colossal{{"initial_scale", 16.0}, {"hysteresis", 3.0}, {"growth_interval", 2.0}};
  CHECK(scales_of(made("colossalai", colossal), "11011") == "16 16 16 8 4");
  CHECK(scales_of(made("colossalai", colossal), "1100111") == "16 16 16 32 32 32 16");
  CHECK(scales_of(resumed("colossalai", colossal, "hysteresis_step", 9), "11") == "8 4");
  // bad_steps + 1 >= decr_every_n_nan_or_inf: lower, and count anew.
  const auto contrib = [](double n) {
    return parameters{{"init_loss_scale", 16.0}, {"decr_ratio", 0.5}, {"decr_every_n_nan_or_inf", n}};
  };
  for (const double at_once : {-1.0, 0.0, 1.0}) CHECK(scales_of(made("tf_contrib", contrib(at_once)), "11") == "8 4");
  CHECK(scales_of(made("tf_contrib", contrib(3)), "1101111") == "16 16 16 8 8 8 4");
  CHECK(scales_of(resumed("tf_contrib", contrib(3), "bad_steps", 9), "1111") == "8 8 8 4");
}

TEST_CASE("overflows in a row whose number has to equal a limit") {
  // bad += 1; if bad == decr_every_n_nan_or_inf: lower, and count anew.
  for (const std::string name : {"paddle_dygraph", "paddle_static"}) {
    CAPTURE(name);
    const std::string count = name == "paddle_static" ? "num_bad_steps" : "decr_count";
    const auto paddle = [](double n) {
      return parameters{{"init_loss_scaling", 16.0}, {"decr_ratio", 0.5}, {"decr_every_n_nan_or_inf", n}};
    };
    for (const double never : {-1.0, 0.0}) CHECK(scales_of(made(name, paddle(never)), "1111") == "16 16 16 16");
    CHECK(scales_of(made(name, paddle(1)), "111") == "8 4 2");
    CHECK(scales_of(made(name, paddle(3)), "11111101101110") == "16 16 8 8 8 4 4 4 4 4 4 4 2 2");
    CHECK(scales_of(resumed(name, paddle(3), count, 2), "1") == "8");
    CHECK(scales_of(resumed(name, paddle(3), count, 3), "1111") == "16 16 16 16");
    CHECK(scales_of(resumed(name, paddle(3), count, 3), "10111") == "16 16 16 16 8");
  }
}

TEST_CASE("good steps whose number has to equal the window, and such as have to reach it") {
  const auto beyond = [](const std::string& name, const parameters& p, const std::string& field, double value) {
    return scales_of(resumed(name, p, field, value), "0001000");
  };
  // _growth_tracker + 1 == growth_interval; an overflow starts the count again.
  const parameters torch{{"init_scale", 16.0}, {"growth_interval", 3.0}};
  CHECK(beyond("pytorch", torch, "_growth_tracker", 2) == "32 32 32 16 16 16 32");
  CHECK(beyond("pytorch", torch, "_growth_tracker", 3) == "16 16 16 8 8 8 16");
  const parameters flax{{"scale", 16.0}, {"growth_interval", 2.0}};
  CHECK(beyond("flax", flax, "fin_steps", 1) == "16 32 32 16 16 16 32");
  CHECK(beyond("flax", flax, "fin_steps", 2) == "32 32 32 16 16 16 32");
  CHECK(beyond("flax", flax, "fin_steps", 3) == "16 16 16 8 8 8 16");
  CHECK(scales_of(made("flax", {{"scale", 16.0}, {"growth_interval", 2.0}, {"fin_steps", 3.0}}), "0001000") ==
        "16 16 16 8 8 8 16");
  // good_steps + 1 >= the window.
  CHECK(beyond("tf_keras", {{"initial_loss_scale", 16.0}, {"growth_steps", 3.0}}, "counter", 9) ==
        "32 32 32 16 16 16 32");
  CHECK(beyond("tf_contrib",
               {{"init_loss_scale", 16.0},
                {"incr_every_n_steps", 3.0},
                {"decr_every_n_nan_or_inf", 1.0},
                {"decr_ratio", 0.5}},
               "good_steps", 9) == "32 32 32 16 16 16 32");
}

TEST_CASE("jmp's and MindSpore's counters are modulo their window") {
  scaler jmp = made("jmp", {{"period", 5.0}});
  jmp.set_state("counter", 7);
  CHECK(scales_of(jmp, "0000000") == "32768 32768 65536 65536 65536 65536 65536");
  scaler mindspore = made("mindspore_amp_scaler", {{"scale_window", 5.0}});
  mindspore.set_state("counter", 7);
  CHECK(scales_of(mindspore, "000") == "65536 65536 131072");
}

TEST_CASE("MindSpore's manager lowers by a float, whose products may be infinite") {
  // 1 / 0.25 is the float 4.0: growth by a backoff, and no int too large to convert.
  scaler s = made("mindspore_manager", {{"init_loss_scale", 4.0}, {"scale_factor", 0.25}});
  for (int i = 0; i < 700; ++i) CHECK(s.update({.found_inf = true}).error.empty());
  CHECK(std::isinf(s.scale()));
}

TEST_CASE("DeepSpeed's message converts the next scale too") {
  CHECK(scales_of(made("deepspeed_dynamic", {{"init_scale", 0x1p1023}, {"scale_factor", 0.5}}), "1")
            .ends_with("OverflowError"));
}

TEST_CASE("MXNet's pending scale can be given apart") {
  CHECK(scales_of(made("mxnet", {{"_loss_scale", 4.0}}), "010") == "4 4 2");
  CHECK(scales_of(made("mxnet", {{"_loss_scale", 4.0}, {"_next_loss_scale", 16.0}}), "010") == "16 16 8");
}

TEST_CASE("norms that overflow in float32 where no element does") {
  // 2e19 squared is above the largest float32.
  for (const std::string name : {"cerebras_dls", "cerebras_tf_legacy"}) {
    CAPTURE(name);
    CHECK(made(name).update({.unscaled_norm = 2e19}).skipped);
    CHECK(made(name).update({.max_abs = 2e19}).skipped);
    CHECK_FALSE(made(name).update({.unscaled_norm = 1e19, .max_abs = 1e19}).skipped);
  }
  // These scale first.
  for (const std::string name : {"fairseq", "metaseq", "fairscale"}) {
    CAPTURE(name);
    CHECK(made(name, {{"init_scale", 4.0}}).update({.unscaled_norm = 5e18}).skipped);
    CHECK_FALSE(made(name, {{"init_scale", 2.0}}).update({.unscaled_norm = 5e18}).skipped);
  }
}
