#include "runs/block_loops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <ulp/report/tables/table.hpp>
#include <ulp/train/block_loop.hpp>
#include <ulp/train/closed_loop.hpp>
#include <vector>

#include "command.hpp"
#include "interrupt.hpp"
#include "tables/summary.hpp"

namespace ulp::cli {
namespace {

std::vector<block_loop_result> train(const block_loops& o, block_loop_options loop) {
  progress shown("steps", 2 * o.steps * o.seeds);
  std::vector<block_loop_result> seeds;
  for (std::uint64_t i = 0; i < o.seeds; ++i) {
    loop.training.seed = o.training.seed + i;
    seeds.push_back(run_block_loop(loop, [&] { shown.advance(); }));
  }
  return seeds;
}

mean_and_deviation over(const std::vector<block_loop_result>& seeds, double (*value)(const block_loop_result&)) {
  std::vector<double> all;
  for (const block_loop_result& r : seeds) all.push_back(value(r));
  return spread_of(all);
}

std::string with_deviation(const mean_and_deviation& s) {
  return std::isnan(s.deviation) ? fmt::format("{:.4f}", s.mean) : fmt::format("{:.4f} ± {:.2g}", s.mean, s.deviation);
}

// The mean over the seeds of each tensor, those that lose most in float32 first.
std::vector<block_loop_tensor> tensors_of(const std::vector<block_loop_result>& seeds) {
  std::vector<block_loop_tensor> all = seeds.front().tensors;
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].closed = all[i].open = 0;
    for (const block_loop_result& r : seeds) {
      all[i].closed += r.tensors[i].closed / static_cast<double>(seeds.size());
      all[i].open += r.tensors[i].open / static_cast<double>(seeds.size());
    }
  }
  std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.open > b.open; });
  return all;
}

table tensors_table(const std::vector<block_loop_result>& seeds) {
  using tensor = block_loop_tensor;
  constexpr auto right = alignment::right;
  const auto text = [](double share) { return fmt::format("{:.3g}", share); };
  const std::vector<column<tensor>> columns = {
      {"tensor", "tensor", [](const tensor& t) { return t.name; }},
      {"kind", "kind", [](const tensor& t) { return std::string{to_string(t.kind)}; }},
      {"closed_lost_share", "", [](const tensor& t) { return t.closed; }},
      {"open_lost_share", "", [](const tensor& t) { return t.open; }},
      {"", "share lost: closed", [=](const tensor& t) { return text(t.closed); }, {}, right},
      {"", "open", [=](const tensor& t) { return text(t.open); }, {}, right},
  };
  return table_of(columns, tensors_of(seeds));
}

// Of the first seed whose training was lost, in blocks or in float32.
summary_line lost_line(const std::vector<block_loop_result>& seeds) {
  summary_line line{"lost", {}, {}};
  for (const auto& [key, which, from] :
       {std::tuple{"lost_from", "training", &block_loop_result::lost_from},
        std::tuple{"float32_lost_from", "training in float32", &block_loop_result::float32_lost_from}}) {
    const auto lost = std::ranges::find_if(seeds, [at = from](const auto& r) { return (r.*at).has_value(); });
    line.values.push_back({key, lost == seeds.end() ? table_value{} : table_value{*((*lost).*from)}});
    if (lost == seeds.end()) continue;
    line.text += fmt::format("{}the {} from step {} on (seed {})", line.text.empty() ? "" : ", ", which,
                             *((*lost).*from), lost->seed);
  }
  if (!line.text.empty()) line.text += ": no loss is finite there, and its shares say nothing";
  return line;
}

summary block_summary(const block_loops& o, const block_loop_options& loop,
                      const std::vector<block_loop_result>& seeds) {
  const mean_and_deviation closed = over(seeds, [](const block_loop_result& r) { return r.loss; });
  const mean_and_deviation twin = over(seeds, [](const block_loop_result& r) { return r.float32_loss; });
  const mean_and_deviation above = over(seeds, [](const block_loop_result& r) { return r.loss - r.float32_loss; });
  const mean_and_deviation ranks = over(seeds, [](const block_loop_result& r) { return r.rank_correlation; });
  const bool is_known = std::isfinite(above.mean) && !std::isnan(twin.deviation);
  const bool is_apart = !(std::fabs(above.mean) <= twin.deviation);
  const std::string apart = !is_known ? "" : is_apart ? ": beyond its own from seed to seed" : ": not told apart";
  return {
      {"trained",
       fmt::format("{}, {}, {}", o.model, count_text(o.steps, "step"), count_text(o.seeds, "seed")),
       {{"model", o.model}, {"steps", integer(o.steps)}, {"seeds", integer(o.seeds)}}},
      {"recipe", fmt::format("{}, along the sums of each product", o.row.name), {{"recipe", std::string{o.row.name}}}},
      {"loss",
       fmt::format("{}, {} above that of float32 ({}){}: mean of the last {}", with_deviation(closed),
                   with_deviation(above), with_deviation(twin), apart,
                   count_text(static_cast<std::uint64_t>(loop.judged), "step")),
       {{"judged_steps", loop.judged},
        {"loss", closed.mean},
        {"loss_sd", closed.deviation},
        {"float32_loss", twin.mean},
        {"float32_loss_sd", twin.deviation},
        {"loss_above_float32", above.mean},
        {"loss_above_float32_sd", above.deviation},
        {"is_told_apart", value_if(is_known, is_apart)}}},
      lost_line(seeds),
      {"open loop",
       fmt::format("operands of a float32 training in the same blocks; rank correlation of the tensors {}",
                   with_deviation(ranks)),
       {{"rank_correlation", ranks.mean}, {"rank_correlation_sd", ranks.deviation}}}};
}

}  // namespace

int run_block_loops(const block_loops& o) {
  const auto steps = static_cast<std::int64_t>(o.steps);
  const block_loop_options loop{
      .training = o.training, .row = o.row, .steps = steps, .judged = std::max<std::int64_t>(steps / 10, 1)};
  const std::vector<block_loop_result> seeds = train(o, loop);
  const summary lines = block_summary(o, loop, seeds);
  const table t = tensors_table(seeds);
  if (o.output.json) print_json("selfcheck.blocks", lines, "tensors", t);
  if (!o.output.machine_stdout()) {
    print_text(lines);
    fmt::print("\n");
  }
  write_table("selfcheck.blocks", t, {.csv = o.output.csv}, !o.output.json);
  return done;
}

}  // namespace ulp::cli
