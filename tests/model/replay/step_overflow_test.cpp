// Pins what the recorded run itself says of overflow: at its own scale and in its own format it decides, elsewhere it leaves
// open, and what may have happened is followed both ways.
#include "support/catch.hpp"

#include <ulp/formats/catalog.hpp>
#include <ulp/model/cells/cell_counter.hpp>
#include <ulp/model/replay/replay.hpp>
#include <ulp/model/sweep/sweep.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

using namespace ulp;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// One weight gradient that went through float16, and one that is kept in float32.
const std::vector<tensor_info> tensors{
    {.name = "low", .kind = tensor_kind::weight_grad, .role = tensor_role::low, .through = "float16"},
    {.name = "norm", .kind = tensor_kind::weight_grad, .role = tensor_role::float32},
    {.name = "out", .kind = tensor_kind::activation, .role = tensor_role::low, .through = "float16"}};

tensor_row row_of(std::uint32_t tensor, double scaled, double scale, gradient_parts parts = {}) {
  const std::vector<float> values{static_cast<float>(scaled), 1};
  return {.tensor = tensor,
          .type = dtype::float32,
          .factor = scale,
          .table = count_cells(std::span<const float>{values}),
          .parts = parts};
}

// A step at a loss scale; `largest` is that of the scaled gradient.
step step_of(std::int64_t number, double largest, double scale, std::optional<bool> found = std::nullopt) {
  step s;
  s.key.step = number;
  s.scalars.loss = 1;
  s.scalars.loss_scale = scale;
  s.scalars.found_inf = found;
  s.tensors = {row_of(0, largest, scale), row_of(1, 1, scale)};
  return s;
}

scenario under(const char* scaler, std::vector<std::pair<std::string, parameter_value>> set,
               const treatment& all = {float16}) {
  return scenario{make_scaler(*find_scaler(scaler), set), all};
}

enum class says { no, maybe_no, maybe_yes, yes };

says at(const step& now, double scale, const format& f = float16, const std::vector<tensor_info>& of = tensors) {
  const trajectory_row row = replayer(under("static", {{"loss_scale", scale}}, {f})).advance(now, of);
  if (!row.found_inf_certain) return row.found_inf ? says::maybe_yes : says::maybe_no;
  return row.found_inf ? says::yes : says::no;
}

}  // namespace

TEST_CASE("what was infinite overflows from the scale of its step on, and is open below and in other formats") {
  for (const double lost : {infinity, -infinity, std::nan("")}) {
    const step now = step_of(0, lost, 1024);
    CHECK(at(now, 1024) == says::yes);
    CHECK(at(now, 0x1p40) == says::yes);
    CHECK(at(now, 1023) == says::maybe_no);
    CHECK(at(now, 0x1p-20) == says::maybe_no);
    CHECK(at(now, 1024, bfloat16) == says::maybe_no);
    CHECK(at(now, 0x1p121, bfloat16) == says::maybe_no);
    CHECK(at(now, 0x1p122, bfloat16) == says::maybe_yes);  // where float16's limit would be bfloat16's
    CHECK(at(now, 1024, float8_e5m2) == says::maybe_yes);
    CHECK(at(now, 1024, float4_e2m1) == says::no);  // has neither
  }
}

TEST_CASE("a finding alone holds up to its scale in its format, up to as much in others, and is open beyond") {
  step now = step_of(0, 1, 1024, false);
  now.tensors.clear();
  const std::vector<tensor_info> none;
  const auto says_at = [&](double scale, const format& f = float16) { return at(now, scale, f, none); };
  CHECK(says_at(1024) == says::no);
  CHECK(says_at(0x1p-20) == says::no);
  CHECK(says_at(1025) == says::maybe_no);
  CHECK(says_at(0x1p60) == says::maybe_no);
  CHECK(says_at(0x1p121, bfloat16) == says::no);
  CHECK(says_at(0x1p122, bfloat16) == says::maybe_no);  // where bfloat16's limit would be beyond float16's
  CHECK(says_at(8, float8_e4m3fn) == says::maybe_no);
  CHECK(says_at(4, float8_e5m2) == says::no);
  CHECK(says_at(0x1p60, float4_e2m1) == says::no);  // has no infinity
  // That a step was applied says the same.
  now.scalars.found_inf.reset();
  now.scalars.applied = true;
  CHECK(says_at(1024) == says::no);
  CHECK(says_at(2048) == says::maybe_no);
  // Without a scale it is not known up to where it holds.
  now.scalars.loss_scale = 1;
  CHECK(says_at(2) == says::maybe_no);
  now.scalars.loss_scale = not_known;
  now.scalars.found_inf = false;
  CHECK(says_at(1) == says::maybe_no);
  now.scalars.found_inf = true;
  CHECK(says_at(1) == says::maybe_yes);
  CHECK(says_at(0x1p60, float4_e2m1) == says::maybe_yes);
}

TEST_CASE("the scale is the step's loss scale, not the factor") {
  step now = step_of(0, infinity, 1024);
  for (tensor_row& row : now.tensors) row.factor = 1;  // recorded after unscaling
  CHECK(at(now, 1024) == says::yes);
  CHECK(at(now, 512) == says::maybe_no);
  now.scalars.loss_scale = not_known;
  CHECK(at(now, 0x1p-20) == says::maybe_yes);
  CHECK(at(now, 0x1p10) == says::maybe_yes);
  for (tensor_row& row : now.tensors) row.factor = 1024;  // what the scale may have been
  CHECK(at(now, 512) == says::maybe_no);
  CHECK(at(now, 1024) == says::maybe_yes);
}

TEST_CASE("where the loss was lost every scale of the format overflows") {
  for (const double loss : {infinity, -infinity}) {
    step now = step_of(0, infinity, 1024);
    now.scalars.loss = loss;
    CHECK(at(now, 0x1p-20) == says::yes);
    CHECK(at(now, 1024, bfloat16) == says::maybe_yes);
  }
  // A recording has no NaN: it is a loss that is missing where those of three finite steps, and of all, are there.
  const scenario small = under("static", {{"loss_scale", 1.0}});
  const auto after = [&](int steps, double loss) {
    replayer r(small);
    for (int n = 0; n < steps; ++n) {
      step finite = step_of(n, 1, 1024);
      finite.scalars.loss = n == 0 ? 2.5 : loss;
      static_cast<void>(r.advance(finite, tensors));
    }
    step now = step_of(steps, std::nan(""), 1024);
    now.scalars.loss = not_known;
    return r.advance(now, tensors);
  };
  CHECK(after(3, 2.5).found_inf);
  CHECK(after(3, 2.5).found_inf_certain);
  CHECK_FALSE(after(1, 2.5).found_inf);  // of every tenth step, perhaps
  CHECK_FALSE(after(1, 2.5).found_inf_certain);
  CHECK_FALSE(after(5, not_known).found_inf_certain);
}

TEST_CASE("every scale is from the least double on") {
  const auto at_every_scale = [](const step& now) {
    return replayer(under("static", {{"loss_scale", 1.0}})).advance(now, tensors).at_every_scale;
  };
  step now = step_of(0, infinity, 0x1p-1050);
  for (tensor_row& row : now.tensors) row.factor = 1;
  CHECK_FALSE(at_every_scale(now));  // open below the scale of its step
  now.scalars.loss = infinity;
  CHECK(at_every_scale(now));
}

TEST_CASE("values decide above the scale of a finite step") {
  const step now = step_of(0, 40000, 1024);
  CHECK(at(now, 512) == says::no);
  CHECK(at(now, 1024) == says::no);
  CHECK(at(now, 2048) == says::yes);
  CHECK(at(now, 2048, bfloat16) == says::no);
  CHECK(at(now, 1024, float8_e4m3fn) == says::yes);
}

TEST_CASE("what went through the format and is finite did not overflow there, be its bucket as wide as it may") {
  step now = step_of(0, 1, 1024);
  now.tensors[0].table = cell_table{.numel = 2, .max_abs = not_known, .min_abs = not_known};
  now.tensors[0].table.buckets = {bucket{.low = 1, .high = 70000, .count = 2}};
  CHECK(at(now, 512) == says::no);
  CHECK(at(now, 1024) == says::no);
  CHECK(at(now, 2048) == says::maybe_no);
}

TEST_CASE("what the run found outweighs the values") {
  // A float32 sum of float16 parts: finite beyond the limit.
  CHECK(at(step_of(0, 100000, 1024, false), 1024) == says::no);
  CHECK(at(step_of(0, 100000, 1024, false), 1) == says::no);
  CHECK(at(step_of(0, 100000, 1024, false), 2048) == says::maybe_yes);
  CHECK(at(step_of(0, 100000, 1024), 1024) == says::no);  // infinite parts would have made it infinite
  // Overflow in what was not recorded.
  CHECK(at(step_of(0, 100, 1024, true), 1024) == says::yes);
  CHECK(at(step_of(0, 100, 1024, true), 2048) == says::yes);
  CHECK(at(step_of(0, 100, 1024, true), 512) == says::maybe_no);
  CHECK(at(step_of(0, 100, 1024, true), 1024, bfloat16) == says::maybe_no);
  CHECK(at(step_of(0, 100, not_known, true), 512) == says::maybe_yes);
  // Whether the step was applied says the same.
  step applied = step_of(0, 100000, 1024);
  applied.scalars.applied = false;
  CHECK(at(applied, 1024) == says::yes);
  // A policy that applies infinities says nothing by it.
  step poisoned = step_of(0, infinity, 1024);
  poisoned.scalars.applied = true;
  CHECK(at(poisoned, 1024) == says::yes);
  poisoned.scalars.found_inf = false;
  CHECK(at(poisoned, 1024) == says::no);
}

TEST_CASE("of a sum of rounded parts the largest is at least the share of one") {
  step now = step_of(0, 40000, 1024);
  now.tensors[0].parts = {.rounded = 4};
  CHECK(at(now, 1024) == says::no);
  CHECK(at(now, 2048) == says::maybe_no);
  CHECK(at(now, 4096) == says::maybe_yes);  // 40000 * 4 / 2 >= 65520
  CHECK(at(now, 8192) == says::yes);        // 40000 * 8 / 4 >= 65520
  // What was finite in float16 is so in formats of more range, be the sum as large as it may.
  CHECK(at(now, 0x1p20, bfloat16) == says::no);
  CHECK(at(now, 1024, float8_e5m2) != says::no);  // 61440 instead of 65520
  CHECK(at(now, 1024 * 61440 / 65520.0, float8_e5m2) == says::no);
  CHECK(at(step_of(0, 100000, 1024), 1024 * 61440 / 65520.0, float8_e5m2) == says::no);
  now.tensors[0].parts = {.rounded = 1, .kept = 1};
  CHECK(at(now, 0x1p20, bfloat16) == says::no);
  CHECK(at(now, 0x1p125, bfloat16) != says::no);
  CHECK(at(now, 2048) == says::maybe_yes);
  CHECK(at(now, 0x1p40) == says::maybe_yes);  // it may all be in the other part
  now.tensors[0].parts = {.rounded = 1};
  CHECK(at(now, 2048) == says::yes);
  // Where none was rounded yet, all may be.
  now.tensors[0].parts = {.kept = 4};
  CHECK(at(now, 2048) == says::maybe_no);   // 40000 * 2 / 2 < 65520
  CHECK(at(now, 4096) == says::maybe_yes);  // 40000 * 4 / 2 >= 65520
}

TEST_CASE("infinities in a gradient that is kept in float32 tell of an overflow before it") {
  step now = step_of(0, 1, 1024);
  now.tensors[1] = row_of(1, 100000, 1024);
  CHECK(at(now, 1024) == says::no);
  now.tensors[1] = row_of(1, infinity, 1024);
  CHECK(at(now, 1024) == says::yes);
  CHECK(at(now, 512) == says::maybe_no);
}

TEST_CASE("what is not a gradient is not multiplied by the loss scale") {
  step now = step_of(0, 1, 1024);
  now.tensors.push_back(row_of(2, 9.5, 1));
  scenario s = under("static", {{"loss_scale", 65536.0}});
  s.checked = [](std::string_view) { return true; };
  const trajectory_row row = replayer(s).advance(now, tensors);
  CHECK_FALSE(row.found_inf);
  CHECK(row.counts.overflow.high == 0);
  now.tensors.back() = row_of(2, 100000, 1);
  CHECK(replayer(s).advance(now, tensors).found_inf);
}

TEST_CASE("a policy is not told of infinities where it is not at their scale") {
  // Its loss scale follows the largest gradient, which an infinite one would leave unknown.
  replayer r(under("openseq2seq_logmax", {}));
  step now = step_of(0, infinity, 0x1p20);
  now.tensors[1] = row_of(1, 3, 0x1p20);
  const trajectory_row row = r.advance(now, tensors);
  CHECK_FALSE(row.found_inf);
  CHECK(row.error.empty());
}

namespace {

struct ends {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t most = 0;
};

// Every way through the run, one after the other.
void follow(const std::vector<step>& run, std::size_t i, scaler now, std::uint64_t skipped, ends& found) {
  if (i == run.size()) {
    found.least = std::min(found.least, skipped);
    found.most = std::max(found.most, skipped);
    return;
  }
  const says answer = at(run[i], now.scale());
  for (const bool overflow : {false, true}) {
    if (answer == (overflow ? says::no : says::yes)) continue;
    scaler next = now;
    const bool skips = next.update({.found_inf = overflow}).skipped;
    follow(run, i + 1, std::move(next), skipped + (skips ? 1 : 0), found);
  }
}

}  // namespace

TEST_CASE("the bounds are those of all that may have happened") {
  std::mt19937 random(7);
  for (int trial = 0; trial < 40; ++trial) {
    std::vector<step> run;
    for (std::int64_t i = 0; i < 14; ++i) {
      const double scale = std::exp2(8 + static_cast<double>(random() % 4));
      const bool lost = random() % 3 == 0;
      run.push_back(step_of(i, lost ? infinity : static_cast<double>(random() % 60000), scale, lost));
    }
    const double interval = 1 + trial % 4;
    for (const char* const name : {"pytorch_gradscaler", "megatron_dynamic", "deepspeed_dynamic"}) {
      CAPTURE(trial, name);
      const scenario s =
          name[0] == 'p'   ? under(name, {{"growth_interval", interval}, {"init_scale", 512.0}})
          : name[0] == 'm' ? under(name, {{"growth_interval", interval}, {"initial_scale", 512.0}, {"hysteresis", 2.0}})
                           : under(name, {{"scale_window", interval}, {"init_scale", 512.0}});
      ends all;
      follow(run, 0, s.recipe.machine(), 0, all);
      replayer r(s);
      trajectory_summary sum;
      for (const step& now : run) sum.add(r.advance(now, tensors));
      REQUIRE(sum.bounds.known);
      CHECK(sum.bounds.skipped == count_range{all.least, all.most});
      CHECK(sum.skipped >= all.least);
      CHECK(sum.skipped <= all.most);
      sweep together({s});
      for (const step& now : run) together.add(now, tensors);
      const sweep_result swept = together.results().front();
      CHECK(swept.bounds.skipped == sum.bounds.skipped);
      CHECK(swept.skipped == sum.skipped);
      CHECK(swept.uncertain == sum.uncertain);
    }
  }
}

TEST_CASE("beyond so many states there are no bounds, and only what holds at every scale is certain") {
  // Undecided in every step, with a policy that never forgets: the states are as many as the steps squared.
  const scenario s = under("pytorch_gradscaler", {{"growth_interval", 1e6}, {"init_scale", 512.0}});
  replayer r(s);
  trajectory_summary sum;
  for (std::int64_t i = 0; i < 400; ++i) sum.add(r.advance(step_of(i, infinity, 0x1p20), tensors));
  CHECK_FALSE(sum.bounds.known);
  CHECK(sum.uncertain == 400);
  step now = step_of(400, infinity, 0x1p20);
  now.scalars.loss = infinity;
  CHECK(r.advance(now, tensors).found_inf_certain);
}

TEST_CASE("a row has the scales that may have been used") {
  replayer r(under("pytorch_gradscaler", {{"growth_interval", 1.0}, {"init_scale", 512.0}}));
  const trajectory_row first = r.advance(step_of(0, infinity, 1024), tensors);
  CHECK(first.bounds.scale_used == value_range{512, 512});
  CHECK(first.bounds.scale_next == value_range{256, 1024});
  const trajectory_row second = r.advance(step_of(1, 1, 1024), tensors);
  CHECK(second.found_inf_certain);  // at neither
  CHECK(second.bounds.scale_used == value_range{256, 1024});
}

TEST_CASE("that the run found nothing speaks of float16 alone where its format is not known") {
  const std::vector<tensor_info> unknown{{.name = "w", .kind = tensor_kind::weight_grad},
                                         {.name = "v", .kind = tensor_kind::weight_grad}};
  // Beyond any sum of float16 numbers: never rounded to it.
  CHECK(at(step_of(0, 1e8, 65536, false), 65536, float16, unknown) == says::yes);
  // A sum, or never rounded.
  CHECK(at(step_of(0, 1e5, 65536, false), 65536, float16, unknown) == says::maybe_no);
  CHECK(at(step_of(0, 1e4, 65536, false), 65536, float16, unknown) == says::no);
  std::vector<tensor_info> told = unknown;
  for (tensor_info& t : told) t.through = "float32";
  CHECK(at(step_of(0, 1e5, 65536, false), 65536, float16, told) == says::yes);
  // Nor where several formats were used.
  std::vector<tensor_info> mixed = tensors;
  mixed[1] = {.name = "b", .kind = tensor_kind::weight_grad, .role = tensor_role::low, .through = "bfloat16"};
  step now = step_of(0, 1, 1024, false);
  now.tensors[1] = row_of(1, 1e5, 1024);
  CHECK(at(now, 1024, float16, mixed) == says::yes);
  CHECK(at(step_of(0, 1, 1024, true), 1024, float16, mixed) != says::yes);
}

TEST_CASE("a sum is a sum under every rounding") {
  step now = step_of(0, 40000, 1024);
  now.tensors[0].parts = {.rounded = 1, .kept = 1};
  for (const direction to : {direction::toward_positive, direction::toward_negative, direction::stochastic}) {
    const scenario s = under("static", {{"loss_scale", 8192.0}}, {float16, {.direction = to}});
    const trajectory_row row = replayer(s).advance(now, tensors);
    CHECK(row.found_inf);
    CHECK_FALSE(row.found_inf_certain);
  }
}

TEST_CASE("a lost loss is overflow at every scale though the gradients that were recorded are finite") {
  step now = step_of(0, 1, 1024, true);
  now.scalars.loss = infinity;
  CHECK(at(now, 0x1p-20) == says::yes);
}

TEST_CASE("where no overflow is delivered none is likely, and there is no critical scale") {
  for (const format& f : {float16, float8_e4m3fn, float8_e5m2}) {
    const scenario s = under("static", {{"loss_scale", 0x1p30}}, {f, {.overflow = overflow_mode::saturate}});
    CHECK_FALSE(replayer(s).advance(step_of(0, infinity, 1024), tensors).found_inf);
    CHECK(replayer(s).advance(step_of(0, 1, 1024), tensors).critical_scale == infinity);
  }
}

TEST_CASE("the critical scale is where the estimate begins to overflow") {
  for (const format& f : {float16, float8_e5m2, bfloat16}) {
    for (const double largest : {1.0, infinity}) {
      const step now = step_of(0, largest, 131072);
      const double critical = replayer(under("static", {}, {f})).advance(now, tensors).critical_scale;
      CHECK_FALSE(replayer(under("static", {{"loss_scale", critical}}, {f})).advance(now, tensors).found_inf);
      const double above = std::nextafter(critical, infinity);
      CHECK(replayer(under("static", {{"loss_scale", above}}, {f})).advance(now, tensors).found_inf);
    }
  }
}

TEST_CASE("a policy with a scale for each layer has bounds while all is certain") {
  replayer r(under("fairscale_layerwise", {{"init_scale", 0x1p20}}));
  const trajectory_row certain = r.advance(step_of(0, 1000, 1), tensors);
  CHECK(certain.skipped);
  CHECK(certain.so_far.known);
  CHECK(certain.so_far.skipped == count_range{1, 1});
  CHECK(certain.bounds.scale_used == value_range{certain.scale_used, certain.scale_used});
  const trajectory_row open = r.advance(step_of(1, infinity, 0x1p30), tensors);
  CHECK_FALSE(open.so_far.known);
  CHECK(std::isnan(open.bounds.scale_used.low));
  // Later steps do not bring back what was open once.
  const trajectory_row again = r.advance(step_of(2, 1000, 1), tensors);
  CHECK(again.found_inf_certain);
  CHECK_FALSE(again.so_far.known);
}
