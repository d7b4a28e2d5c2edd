#include "runs/optimizer_loops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ulp/ask/questions/recipe_text.hpp>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/train/optimizer_loop.hpp>

#include "command.hpp"
#include "interrupt.hpp"
#include "tables/optimizer_loop_table.hpp"

namespace ulp::cli {
namespace {

// With a master copy and float32 states (only passes are rounded), without one, and states in few bits.
const std::vector<std::string> usual_modes{"torch_adam",
                                           "bnb_cpu_default_adam32bit:bf16",
                                           "torch_adam:bf16",
                                           "bnb_cpu_default_adam32bit:bf16:stochastic",
                                           "bnb_cpu_default_adam32bit:bf16:kahan",
                                           "ao_adam8bit:m_state=bfloat16:v_state=bfloat16",
                                           "bnb_cpu_default_adam8bit",
                                           "bnb_cpu_native_adam8bit",
                                           "ao_adam4bit",
                                           "ao_adamfp8"};

}  // namespace

int run_optimizer_loops(const optimizer_loops& o) {
  optimizer_loop_options loop;
  loop.training = o.training;
  loop.passes = value_format_named(o.passes);
  loop.steps = static_cast<std::int64_t>(o.steps);
  loop.judged = std::max<std::int64_t>(loop.steps / 10, 1);
  const std::vector<std::string> modes = o.modes.empty() ? usual_modes : joined_recipes(o.modes);
  for (const std::string& mode : modes) {
    loop.modes.push_back(recipe_of(mode, "--modes"));
    for (const auto& [name, value] : loop.modes.back().parameters)
      if (name == "lr") throw usage_error(fmt::format("--modes: {}: all modes have the rate of --lr", mode));
    if (make_optimizer(loop.modes.back(), 0, "", 0).micro_batches() != 1)
      throw usage_error(fmt::format("--modes: {}: adds up micro-batches itself; add :micro_batches=1", mode));
  }
  std::vector<optimizer_loop_result> seeds;
  {
    // The number of twins is known to the loop alone: of modes of the same parameters, one.
    progress shown("steps", 0);
    for (std::uint64_t i = 0; i < o.seeds; ++i) {
      loop.training.seed = o.training.seed + i;
      seeds.push_back(run_optimizer_loop(loop, [&] { shown.advance(); }));
    }
  }
  const finished_optimizer_loops all{.model = o.model,
                                     .passes = o.passes,
                                     .steps = loop.steps,
                                     .judged = loop.judged,
                                     .rate = loop.training.rate(),
                                     .modes = modes,
                                     .seeds = seeds};
  const summary lines = summary_of(all);
  const table t = o.by_layer ? layers_table(all) : modes_table(all);
  const char* const key = o.by_layer ? "layers" : "modes";
  if (o.output.json) print_json("selfcheck.optimizers", lines, key, t);
  if (!o.output.machine_stdout()) {
    print_text(lines);
    fmt::print("\n");
  }
  write_table("selfcheck.optimizers", t, {.csv = o.output.csv}, !o.output.json);
  return names_the_worst(all) ? done : differences;
}

}  // namespace ulp::cli
