// Pins what holds for any tensor and any run of overflows: cell tables merge as sets do, a power of two shifts outcomes,
// counts are monotone in the scale, and a scaler has skipped as often as its scale halved.
// A failure prints a counterexample; the environment variable RC_PARAMS with what the first line of the output says after
// "Using configuration:" repeats it.
#include "support/catch.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/model/cells/cell_counter.hpp>
#include <ulp/model/machines/scaler.hpp>
#include <ulp/model/outcomes/outcome.hpp>

#include "support/raw.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

struct tensor {
  std::vector<float> values;
};

void showValue(const tensor& t, std::ostream& out) {
  out << std::hexfloat;
  for (const float x : t.values) out << x << ' ';
}

using with = cell_counter::with;

cell_table table_of(const tensor& t, with what = with::sums) {
  cell_counter counter(what);
  if (what == with::sums_and_errors) counter.set_edges(std::vector<double>{0x1p-100, 1.5, 3});
  counter.add(std::span{t.values});
  return counter.take();
}

cell_table merged(cell_table a, const cell_table& b) {
  a.merge(b);
  return a;
}

// Of the whole range, however small rapidcheck wants its values to be.
template <typename T>
rc::Gen<T> between(T low, T last) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange<T>(low, static_cast<T>(last + 1)));
}

// Any bit pattern; a subnormal one; one with few significant bits; on an edge of a cell, or one bit beside it.
rc::Gen<float> any_float() {
  const auto bits = rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint32_t>());
  const auto subnormal = rc::gen::apply([](std::uint32_t x, int n) { return (x & 0x80000000U) | (x & 0x7FFFFFU) >> n; },
                                        bits, between(0, 22));
  const auto short_one = rc::gen::apply([](std::uint32_t x, int n) { return x >> n << n; }, bits, between(0, 23));
  const auto edge =
      rc::gen::apply([](std::uint32_t x, int n,
                        std::uint32_t beside) { return (x & 0xFF800000U) + (0x7FFFFFU >> n << n) + beside - 1; },
                     bits, between(0, 23), between(0U, 2U));
  const auto special = rc::gen::element(0U, 0x80000000U, 0x7F800000U, 0xFF800000U, 0x7FC00000U);
  return rc::gen::map(
      rc::gen::weightedOneOf<std::uint32_t>({{3, bits}, {2, subnormal}, {3, short_one}, {6, edge}, {1, special}}),
      [](std::uint32_t x) { return std::bit_cast<float>(x); });
}

rc::Gen<with> any_contents() { return rc::gen::element(with::nothing, with::sums, with::sums_and_errors); }

// Up to three binades apart, powers of two among them; ascending.
rc::Gen<std::vector<double>> close_scales() {
  const auto one = rc::gen::apply([](int k, std::uint32_t f) { return std::ldexp(1 + std::ldexp(f, -32), k); },
                                  between(0, 2), rc::gen::arbitrary<std::uint32_t>());
  return rc::gen::apply(
      [](int k, std::vector<double> scales) {
        for (double& s : scales) s = std::ldexp(s, k);
        std::sort(scales.begin(), scales.end());
        return scales;
      },
      between(-150, 150), rc::gen::container<std::vector<double>>(6, one));
}

// Ten times rapidcheck's own number of cases, where the caller has not said otherwise.
[[maybe_unused]] const int cases = setenv("RC_PARAMS", "max_success=1000", 0);

std::string in(const char* name, const rounding& mode) {
  return std::string{name} + ", " + to_string(mode) + ", flush " + std::to_string(static_cast<int>(mode.flush));
}

}  // namespace

template <>
struct rc::Arbitrary<tensor> {
  static Gen<tensor> arbitrary() {
    return gen::map(gen::container<std::vector<float>>(any_float()), [](auto values) { return tensor{values}; });
  }
};

TEST_CASE(
    "merging is commutative and associative, with and without sums and errors, and merged parts equal the whole") {
  const bool in_any_order = rc::check("in any order", [](const tensor& x, const tensor& y, const tensor& z) {
    const cell_table a = table_of(x, *any_contents());
    const cell_table b = table_of(y, *any_contents());
    const cell_table c = table_of(z, *any_contents());
    RC_ASSERT(merged(a, b) == merged(b, a));
    RC_ASSERT(merged(merged(a, b), c) == merged(a, merged(b, c)));
  });
  CHECK(in_any_order);
  const bool as_whole = rc::check("the whole", [](const tensor& x, const tensor& y) {
    const with what = *any_contents();
    tensor whole = x;
    whole.values.insert(whole.values.end(), y.values.begin(), y.values.end());
    RC_ASSERT(merged(table_of(x, what), table_of(y, what)) == table_of(whole, what));
  });
  CHECK(as_whole);
}

TEST_CASE("counting the scaled values equals scaling the count, at powers of two") {
  const bool holds = rc::check([](const tensor& t) {
    const int k = *between(-200, 200);
    const int shared = *between(-200, 200);  // of scale and factor
    std::vector<double> scaled;
    for (const float x : t.values) scaled.push_back(std::ldexp(static_cast<double>(x), k));  // exact
    const cell_table before = table_of(t);
    const cell_table after = count_cells(std::span{scaled});
    std::vector<cell> shifted = before.cells;
    for (cell& c : shifted) c.exponent = static_cast<std::int16_t>(c.exponent + k);
    RC_ASSERT(after.cells == shifted);
    const multiplier by{std::ldexp(1.0, k + shared), std::ldexp(1.0, shared)};
    for (const char* const name : {"float16", "bfloat16", "cbfloat16", "tf32", "dlfloat16", "float32", "float8_e4m3fn",
                                   "float8_e5m2fnuz", "float4_e2m1", "e6m9,specials=fn"})
      for (const rounding& mode : all_modes())
        if (!(outcomes_of(before, {*find_format(name), mode}, by) ==
              outcomes_of(after, {*find_format(name), mode}, {})))
          RC_FAIL(in(name, mode));
  });
  CHECK(holds);
}

TEST_CASE("as the scale rises underflow never grows and overflow never shrinks, at both ends of their ranges") {
  const bool holds = rc::check([](const tensor& t, bool binades_only) {
    const cell_table table = binades_only ? binades_of(table_of(t)) : table_of(t);
    const std::vector<double> scales = *close_scales();
    for (const char* const name :
         {"float16", "bfloat16", "cbfloat16", "dlfloat16", "float8_e4m3fn", "float4_e2m1", "e6m16"})
      for (const rounding& mode : all_modes()) {
        std::vector<outcome_counts> counts;
        for (const double s : scales) counts.push_back(outcomes_of(table, {*find_format(name), mode}, {s}));
        const auto in_order = [](const outcome_counts& a, const outcome_counts& b) {
          return a.underflow.low >= b.underflow.low && a.underflow.high >= b.underflow.high &&
                 a.overflow.low <= b.overflow.low && a.overflow.high <= b.overflow.high;
        };
        if (std::adjacent_find(counts.begin(), counts.end(), std::not_fn(in_order)) != counts.end())
          RC_FAIL(in(name, mode));
      }
  });
  CHECK(holds);
}

// Where every overflow halves the scale at once, every growth doubles it and nothing clamps it, skips = growths +
// log2(s0 / sT) after any T steps, and there are at most as many growths as whole windows in the runs of good steps.
TEST_CASE("skips are growths and the octaves that the scale fell") {
  using parameters = std::vector<std::pair<std::string, parameter_value>>;
  struct member {
    std::string scaler;
    std::string start;
    std::string window;
    parameters set;  // what waits, tolerates, clamps or lowers by another factor by default
  };
  const std::vector<member> members{
      {"pytorch_gradscaler", "init_scale", "growth_interval", {}},
      {"pytorch_gradscaler_preguard", "init_scale", "growth_interval", {}},
      {"pytorch_gradscaler_floor", "init_scale", "growth_interval", {{"min_scale", 0x1p-126}}},
      {"pytorch_fsdp_sharded_cpu", "init_scale", "growth_interval", {}},
      {"composer_closure", "init_scale", "growth_interval", {}},
      {"fairscale_sharded_cpu", "init_scale", "growth_interval", {}},
      {"fairscale_layerwise", "init_scale", "growth_interval", {}},
      {"nemo_gradscaler", "init_scale", "growth_interval", {}},
      {"nemo_megatron", "init_scale", "growth_interval", {{"hysteresis", 1.0}}},
      {"icefall_gradscaler", "init_scale", "growth_interval", {{"double_below", 0.0}, {"double_seldom_below", 0.0}}},
      {"apex_update_scale_hysteresis", "init_scale", "growth_interval", {}},
      {"apex_amp", "init_scale", "scale_window", {{"max_loss_scale", 0x1p127}}},
      {"apex_fp16_utils", "init_scale", "scale_window", {}},
      {"deepspeed_dynamic", "init_scale", "scale_window", {}},
      {"deepspeed", "init_scale", "scale_window", {{"delayed_shift", 1.0}}},
      {"deepspeed_fused_nonzero", "cur_scale", "scale_window", {}},
      {"deepspeed_fused", "cur_scale", "scale_window", {}},
      {"deepspeed_unfused", "cur_scale", "scale_window", {}},
      {"megatron_dynamic", "initial_scale", "growth_interval", {{"hysteresis", 1.0}}},
      {"colossalai_dynamic", "initial_scale", "growth_interval", {{"hysteresis", 1.0}}},
      {"colossalai_mixin", "initial_scale", "growth_interval", {{"hysteresis", 1.0}, {"max_scale", 0.0}}},
      {"fairseq_dynamic", "init_scale", "scale_window", {}},
      {"fairseq_cli", "init_scale", "scale_window", {}},
      {"jmp_dynamic", "init_scale", "period", {}},
      {"flax_dynamic_scale", "scale", "growth_interval", {}},
      {"tf_keras_dynamic", "initial_loss_scale", "growth_steps", {}},
      {"keras3_lso", "initial_scale", "dynamic_growth_steps", {}},
      {"tf_contrib_exponential",
       "init_loss_scale",
       "incr_every_n_steps",
       {{"decr_every_n_nan_or_inf", 1.0}, {"decr_ratio", 0.5}}},
      {"paddle_dygraph", "init_loss_scaling", "incr_every_n_steps", {}},
      {"paddle_ampscaler", "init_loss_scaling", "incr_every_n_steps", {}},
      {"paddle_static",
       "init_loss_scaling",
       "incr_every_n_steps",
       {{"decr_every_n_nan_or_inf", 1.0}, {"decr_ratio", 0.5}}},
      {"mindspore_manager", "init_loss_scale", "scale_window", {}},
      {"mindspore_update_cell", "loss_scale_value", "scale_window", {}},
      {"mindspore_amp_scaler", "scale_value", "scale_window", {}},
      {"nnabla_updater", "scale", "N", {}},
      {"cerebras_dls", "init_scale", "steps_per_increase", {{"max_loss_scale", 0x1p127}}},
      {"cerebras_tf_legacy",
       "initial_loss_scale",
       "increment_period",
       {{"max_loss_scale", 0x1p127}, {"overflow_tolerance", 0.0}}},
      {"cerebras_gpu", "initial_loss_scale", "steps_per_increase", {}}};
  const std::vector<std::string> left_out{
      "static",               // a constant
      "none",                 // a constant
      "megatron_constant",    // a constant
      "metaseq_dynamic",      // its window halves with the scale
      "fairscale_dynamic",    // grows within skipped steps too
      "mxnet_amp",            // changes one step late
      "openseq2seq_backoff",  // starts at its ceiling
      "chainer_dynamic",      // starts at its floor, grows by roots of 2
      "openseq2seq_logmax",   // follows statistics
      "popart_als",           // follows statistics
      "ada_loss_zhao",        // follows statistics
  };
  for (const scaler_entry& entry : scaler_catalog()) {
    CAPTURE(std::string{entry.name});
    const auto is = [&](const member& m) { return m.scaler == entry.name; };
    CHECK(std::count_if(members.begin(), members.end(), is) +
              std::count(left_out.begin(), left_out.end(), entry.name) ==
          1);
  }
  // From 2^60, 59 steps reach neither a floor of 1 nor the largest float32.
  const auto overflows = rc::gen::resize(
      59, rc::gen::container<std::vector<std::uint8_t>>(rc::gen::weightedElement<std::uint8_t>({{3, 0}, {1, 1}})));
  for (const member& m : members) {
    const scaler_entry& entry = *find_scaler(m.scaler);
    const bool holds = rc::check(m.scaler, [&] {
      const std::vector<std::uint8_t> found_inf = *overflows;
      const auto window = *between<std::size_t>(1, 6);
      parameters set = m.set;
      set.emplace_back(m.start, 0x1p60);
      set.emplace_back(m.window, static_cast<double>(window));
      std::vector<double> scales(found_inf.size());
      const series_totals run = make_scaler(entry, set).run({.found_inf = found_inf}, scales);
      scales.insert(scales.begin(), 0x1p60);
      int growths = 0;
      int windows = 0;
      for (std::size_t i = 0, good = 0; i < found_inf.size(); ++i) {
        good = found_inf[i] != 0 ? 0 : good + 1;
        windows += good > 0 && good % window == 0 ? 1 : 0;
        growths += scales[i + 1] > scales[i] ? 1 : 0;
      }
      RC_ASSERT(run.error.empty());
      RC_ASSERT(static_cast<double>(run.skipped) == growths + std::log2(scales.front() / scales.back()));
      if (entry.family.starts_with('A'))
        RC_ASSERT(growths == windows);
      else  // the first growth or every one comes later
        RC_ASSERT(growths <= windows);
    });
    CHECK(holds);
  }
}
