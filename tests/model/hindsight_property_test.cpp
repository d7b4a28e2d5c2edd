// Pins that no policy beats the best trajectory in hindsight: every scaler of the catalogue and random walks, over random
// runs, whose costs are counted here value by value. Left out by name, and told so by the sweep: a scale for each layer,
// scales that are no powers of two, policies that count by an edge. Steps that are not decided have bounds.
// RC_PARAMS repeats a failure, as in property_test.cpp.
#include "support/catch.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>
#include <ulp/formats/names.hpp>
#include <ulp/model/cells/cell_counter.hpp>
#include <ulp/model/machines/policy_analysis.hpp>
#include <ulp/model/replay/replay.hpp>
#include <ulp/model/sweep/sweep.hpp>

using namespace ulp;

namespace {

[[maybe_unused]] const int cases = setenv("RC_PARAMS", "max_success=600", 0);

struct drawn_run {
  std::vector<std::vector<float>> values;  // of each step, unscaled
  std::vector<step> steps;
};

// Sizes wander, batches spike; with `open`, some steps overflowed at the scale that they logged.
drawn_run draw_run(std::mt19937& random, bool open) {
  std::normal_distribution<double> normal;
  drawn_run run;
  const std::size_t n = 1 + random() % 40;
  double size = -static_cast<double>(random() % 20);
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<float>& values = run.values.emplace_back();
    size += normal(random);
    const double spike = random() % 9 == 0 ? static_cast<double>(random() % 14) : 0;
    for (std::size_t k = random() % 12; k > 0; --k)
      values.push_back(static_cast<float>(std::exp2(size + spike + 6 * normal(random)) * (k % 2 == 0 ? 1 : -1)));
    step& s = run.steps.emplace_back();
    s.key.step = static_cast<std::int64_t>(i);
    const double factor = std::ldexp(1.0, static_cast<int>(random() % 12));
    std::vector<double> recorded(values.begin(), values.end());
    for (double& x : recorded) x *= factor;
    if (open && random() % 5 == 0) {
      recorded.push_back(random() % 2 == 0 ? not_known : std::numeric_limits<double>::infinity());
      s.scalars.loss_scale = std::ldexp(1.0, static_cast<int>(random() % 20));
    }
    s.tensors.push_back({.tensor = 0, .type = dtype::float32, .factor = factor, .table = count_cells(recorded)});
  }
  return run;
}

const std::vector<tensor_info> one_tensor{{.name = "w", .kind = tensor_kind::weight_grad}};

// A short window and a start that matters, where the scaler has them and takes them.
scenario draw_scenario(const scaler_entry& entry, std::mt19937& random) {
  static const std::set<std::string> windows{
      "growth_interval",      "scale_window",       "growth_steps",    "period", "incr_every_n_steps", "N",
      "dynamic_growth_steps", "steps_per_increase", "increment_period"};
  static const std::set<std::string> starts{
      "init_scale", "initial_scale",   "cur_scale",        "scale",       "initial_loss_scale", "init_loss_scaling",
      "loss_scale", "init_loss_scale", "loss_scale_value", "scale_value", "constant_scale"};
  std::vector<std::pair<std::string, parameter_value>> set;
  for (const scaler_parameter& p : entry.parameters) {
    if (windows.contains(p.name)) set.emplace_back(p.name, static_cast<double>(1 + random() % 5));
    if (starts.contains(p.name)) set.emplace_back(p.name, std::ldexp(1.0, static_cast<int>(random() % 25)));
  }
  const auto made = [&] {
    try {
      return make_scaler(entry, set);
    } catch (const parameter_error&) {
      return make_scaler(entry);
    }
  };
  scenario s{made()};
  const std::vector<std::string> formats{"float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "cbfloat16"};
  const format to = *find_format(formats[random() % formats.size()]);
  rounding mode;
  if (random() % 4 == 0) mode.overflow = overflow_mode::saturate;
  if (random() % 4 == 0) mode.direction = direction::toward_zero;
  s.recipe.round_all({to, mode});
  return s;
}

// Of a step that is applied: each value rounded by itself.
double magnitude_cost(const std::vector<float>& values, const scenario& s, double scale, double weight) {
  const double largest = to_double(s.recipe.usual().format, s.recipe.usual().format.max_finite_code());
  double lost = 0;
  double total = 0;
  for (const float x : values) {
    const double magnitude = std::abs(static_cast<double>(x));
    const auto result = encode(s.recipe.usual().format, magnitude * scale, s.recipe.usual().rounding);
    total += magnitude;
    if ((result.code & s.recipe.usual().format.magnitude_mask()) == 0) lost += magnitude;
    if (any(result.flags, status::overflow) && !overflow_is_infinite(s.recipe.usual(), false))
      lost += magnitude - largest / scale;
  }
  return total == 0 ? 0 : std::min(1.0, weight * lost / total);
}

bool overflows(const std::vector<float>& values, const scenario& s, double scale) {
  return std::ranges::any_of(values, [&](float x) {
    return !std::isfinite(
        to_double(s.recipe.usual().format,
                  encode(s.recipe.usual().format, static_cast<double>(x) * scale, s.recipe.usual().rounding).code));
  });
}

bool is_power_of_two(double x) { return x > 0 && std::isfinite(x) && std::ldexp(1.0, std::ilogb(x)) == x; }

// A step that was skipped, or applied with infinities or NaN.
bool is_lost(const trajectory_row& row) { return row.skipped || row.found_inf; }

double drawn_weight(std::mt19937& random) { return std::vector{1.0, 0.01, 100.0}[random() % 3]; }

// Costs are rounded to float32 step by step, and cells of saturating formats bound what is clamped.
constexpr double margin = 1e-4;

}  // namespace

TEST_CASE("no scaler of the catalogue and no random walk beats the best of its class") {
  std::set<std::string> compared;
  const bool holds = rc::check([&](std::uint32_t seed) {
    std::mt19937 random(seed);
    const drawn_run run = draw_run(random, false);
    const double weight = drawn_weight(random);
    std::vector<scenario> all;
    for (const scaler_entry& entry : scaler_catalog()) all.push_back(draw_scenario(entry, random));
    sweep together(all, weight);
    for (const step& s : run.steps) together.add(s, one_tensor);
    const std::vector<sweep_result> results = together.results();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const scenario& s = all[i];
      const sweep_result& r = results[i];
      RC_ASSERT(r.regret.has_value() == r.why_no_regret.empty());
      // The same policy, step by step.
      replayer alone(s);
      double cost = 0;
      bool powers = true;
      bool raised = false;
      double start = 0;
      for (std::size_t t = 0; t < run.steps.size(); ++t) {
        if (raised) {
          cost += 1;
          continue;
        }
        const trajectory_row row = alone.advance(run.steps[t], one_tensor);
        if (t == 0) start = row.scale_used;
        powers = powers && is_power_of_two(row.scale_used);
        raised = !row.error.empty();
        cost += is_lost(row) ? 1 : magnitude_cost(run.values[t], s, row.scale_used, weight);
      }
      const bool has_one_scale =
          s.recipe.machine().scope() == machine_scope::run && std::isnan(s.recipe.machine().edge());
      RC_ASSERT(r.regret.has_value() == (powers && has_one_scale));
      if (!r.regret) continue;
      compared.insert(std::string{s.recipe.machine().entry().name});
      const policy_regret& p = *r.regret;
      const bool saturates = !overflow_is_infinite(s.recipe.usual(), false);
      if (!saturates) RC_ASSERT(std::abs(p.cost - cost) < margin);
      RC_ASSERT(p.regret() >= 0);
      RC_ASSERT(p.free_regret() >= p.regret());
      RC_ASSERT(p.decided);
      RC_ASSERT((p.regret_bounds() == value_range{p.regret(), p.regret()}));
      // Any other policy from the same start that moves no further.
      for (int walk = 0; walk < 5; ++walk) {
        int k = std::ilogb(start);
        double walked = 0;
        for (std::size_t t = 0; t < run.steps.size(); ++t) {
          const double scale = std::ldexp(1.0, k);
          walked += overflows(run.values[t], s, scale) ? 1 : magnitude_cost(run.values[t], s, scale, weight);
          const int up = p.moves.up;
          k += static_cast<int>(random() % static_cast<unsigned>(up + p.moves.down + 1)) - p.moves.down;
        }
        if (!saturates) RC_ASSERT(walked >= p.best.cost - margin);
      }
    }
  });
  CHECK(holds);
  // The rest has scales that are no powers of two, or is left out by name.
  CHECK(compared.size() >= scaler_catalog().size() - 6);
}

TEST_CASE("where steps are open the regret is not negative either, and its bounds hold it") {
  const bool holds = rc::check([](std::uint32_t seed) {
    std::mt19937 random(seed);
    const drawn_run run = draw_run(random, true);
    std::vector<scenario> all;
    for (const scaler_entry& entry : scaler_catalog()) all.push_back(draw_scenario(entry, random));
    sweep together(all, drawn_weight(random));
    for (const step& s : run.steps) together.add(s, one_tensor);
    for (const sweep_result& r : together.results()) {
      if (!r.regret) continue;
      const policy_regret& p = *r.regret;
      RC_ASSERT(p.regret() >= 0);
      RC_ASSERT(p.free_regret() >= p.regret());
      for (const auto& [bounds, regret] :
           {std::pair{p.regret_bounds(), p.regret()}, {p.free_regret_bounds(), p.free_regret()}}) {
        if (p.decided) RC_ASSERT(!std::isnan(bounds.low));
        if (std::isnan(bounds.low)) continue;
        RC_ASSERT((0 <= bounds.low && bounds.low <= regret && regret <= bounds.high));
      }
    }
  });
  CHECK(holds);
}
