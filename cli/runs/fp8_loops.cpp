#include "runs/fp8_loops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ulp/ask/runs/fp8_answer.hpp>
#include <ulp/train/fp8_loop.hpp>

#include "command.hpp"
#include "interrupt.hpp"
#include "tables/fp8_loop_table.hpp"

namespace ulp::cli {
namespace {

std::vector<fp8_loop_result> train(const fp8_loops& o, fp8_loop_options loop, loop_recorders& to) {
  progress shown("steps", 2 * o.steps * o.seeds);
  std::vector<fp8_loop_result> seeds;
  for (std::uint64_t i = 0; i < o.seeds; ++i) {
    closed_loop_watch watch{.after_step = [&] { shown.advance(); }};
    if (i == 0) to.listen(watch);
    loop.training.seed = o.training.seed + i;
    seeds.push_back(run_fp8_loop(loop, watch));
    if (i == 0) to.finish(!o.output.machine_stdout());
  }
  return seeds;
}

}  // namespace

int run_fp8_loops(const fp8_loops& o, loop_recorders& to) {
  const auto steps = static_cast<std::int64_t>(o.steps);
  const fp8_loop_options loop{
      .training = o.training,
      .recipe = recipe_of({.run = {}, .recipe = o.recipe, .scaler = {}, .parameters = o.parameters, .format = {}}),
      .steps = steps,
      .judged = std::max<std::int64_t>(steps / 10, 1)};
  const std::vector<fp8_loop_result> seeds = train(o, loop, to);
  const summary lines = summary_of({.model = o.model, .options = loop, .seeds = seeds});
  const table t = kinds_table(seeds);
  if (o.output.json) print_json("selfcheck.fp8", lines, "kinds", t);
  if (!o.output.machine_stdout()) {
    print_text(lines);
    fmt::print("\n");
  }
  write_table("selfcheck.fp8", t, {.csv = o.output.csv}, !o.output.json);
  return is_identical(seeds) ? done : differences;
}

}  // namespace ulp::cli
