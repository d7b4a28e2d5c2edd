#include "optimizer_loop_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace ulp::cli {
namespace {

using results = std::span<const optimizer_loop_result>;

mean_and_deviation over(results seeds, const std::function<double(const optimizer_loop_result&)>& value) {
  std::vector<double> all;
  for (const optimizer_loop_result& seed : seeds) all.push_back(value(seed));
  return spread_of(all);
}

// Of one mode over the seeds.
struct mode_row {
  std::string mode;
  mean_and_deviation twin, loss, harm, predicted, deviation, layers;
  double lost = not_known;
  std::uint64_t runaway = 0;
  std::uint64_t zeroed = 0;
  std::string worst_open, worst_closed;  // layers, by mean deviation
};

struct layer_row_of {
  std::string mode;
  std::string layer;
  mean_and_deviation open, closed, predicted;
  std::uint64_t runaway = 0;
};

double layer_correlation(const mode_harm& mode) {
  std::vector<double> open;
  std::vector<double> closed;
  for (const layer_harm& layer : mode.layers) {
    open.push_back(layer.open.relative());
    closed.push_back(layer.closed);
  }
  return rank_correlation(open, closed);
}

std::vector<layer_row_of> layers_of(const finished_optimizer_loops& all, std::size_t mode) {
  std::vector<layer_row_of> rows;
  for (std::size_t l = 0; l < all.seeds.front().modes[mode].layers.size(); ++l) {
    const auto layer = [&](const optimizer_loop_result& s) -> const layer_harm& { return s.modes[mode].layers[l]; };
    layer_row_of made{.mode = all.modes[mode], .layer = layer(all.seeds.front()).tensor};
    made.open = over(all.seeds, [&](const auto& s) { return layer(s).open.relative(); });
    made.closed = over(all.seeds, [&](const auto& s) { return layer(s).closed; });
    made.predicted = over(all.seeds, [&](const auto& s) { return layer(s).open.loss_change; });
    for (const optimizer_loop_result& s : all.seeds) made.runaway += layer(s).open.runaway;
    rows.push_back(std::move(made));
  }
  return rows;
}

std::vector<mode_row> rows_of(const finished_optimizer_loops& all) {
  std::vector<mode_row> rows;
  for (std::size_t m = 0; m < all.modes.size(); ++m) {
    mode_row made{.mode = all.modes[m]};
    weight_drift sum;
    for (const optimizer_loop_result& s : all.seeds) sum += s.modes[m].open();
    made.runaway = sum.runaway;
    made.zeroed = sum.zeroed;
    if (sum.updates > 0) made.lost = static_cast<double>(sum.lost) / static_cast<double>(sum.updates);
    made.twin = over(all.seeds, [&](const auto& s) { return s.twin_losses[m]; });
    made.loss = over(all.seeds, [&](const auto& s) { return s.modes[m].loss; });
    made.harm = over(all.seeds, [&](const auto& s) { return s.modes[m].harm; });
    made.predicted = over(all.seeds, [&](const auto& s) { return s.modes[m].open().loss_change; });
    made.deviation = over(all.seeds, [&](const auto& s) { return s.modes[m].open().relative(); });
    made.layers = over(all.seeds, [&](const auto& s) { return layer_correlation(s.modes[m]); });
    const std::vector<layer_row_of> layers = layers_of(all, m);
    const auto by_open = [](const layer_row_of& l) { return l.open.mean; };
    const auto by_closed = [](const layer_row_of& l) { return l.closed.mean; };
    if (sum.deviation > 0) made.worst_open = std::ranges::max_element(layers, {}, by_open)->layer;
    made.worst_closed = std::ranges::max_element(layers, {}, by_closed)->layer;
    rows.push_back(std::move(made));
  }
  return rows;
}

std::string spread_or_dash(const mean_and_deviation& s) {
  if (std::isnan(s.mean)) return "-";
  return std::isnan(s.deviation) ? fmt::format("{:.3g}", s.mean) : fmt::format("{:.3g} ± {:.1g}", s.mean, s.deviation);
}

std::string harm_text(const mean_and_deviation& s) {
  if (std::isnan(s.mean)) return "-";
  return std::isnan(s.deviation) ? fmt::format("{:+.2g}", s.mean)
                                 : fmt::format("{:+.2g} ± {:.1g}", s.mean, s.deviation);
}

table_value known(double x) { return value_if(!std::isnan(x), x); }

// KEY and KEY_sd for machines, "mean ± deviation" for people.
template <class Row>
void add_spread(std::vector<column<Row>>& to, const std::string& key, const std::string& title,
                mean_and_deviation Row::*what, std::string (*text)(const mean_and_deviation&) = spread_or_dash) {
  to.push_back({key, "", [what](const Row& r) { return known((r.*what).mean); }});
  to.push_back({key + "_sd", "", [what](const Row& r) { return known((r.*what).deviation); }});
  to.push_back({"", title, [what, text](const Row& r) { return text(r.*what); }, range_keys::none, alignment::right});
}

// The modes by a figure, the means over seeds.
std::vector<double> figures(const std::vector<mode_row>& rows, mean_and_deviation mode_row::*what) {
  std::vector<double> all;
  for (const mode_row& r : rows) all.push_back((r.*what).mean);
  return all;
}

// The first of the largest; NaN, which comes of weights that are not finite, is above all.
std::size_t worst(const std::vector<double>& figures) {
  const auto rank = [](double x) { return std::isnan(x) ? std::numeric_limits<double>::infinity() : x; };
  return static_cast<std::size_t>(std::ranges::max_element(figures, {}, rank) - figures.begin());
}

// Whether the open loop names a mode that none trains worse than: several may end with infinite losses.
bool agrees(const std::vector<double>& predicted, const std::vector<double>& harm) {
  return harm[worst(predicted)] == harm[worst(harm)];
}

// Seeds in which float32 itself does not train: what modes do beside it is no harm of theirs.
std::uint64_t seeds_without_twin(results seeds) {
  return static_cast<std::uint64_t>(std::ranges::count_if(seeds, [](const optimizer_loop_result& s) {
    return !std::ranges::all_of(s.twin_losses, [](double loss) { return std::isfinite(loss); });
  }));
}

std::string correlation_text(double x) { return std::isnan(x) ? "undefined" : fmt::format("{:.2f}", x); }

summary_line worst_line(const finished_optimizer_loops& all, const std::vector<double>& predicted,
                        const std::vector<double>& harm) {
  if (const std::uint64_t failed = seeds_without_twin(all.seeds); failed > 0)
    return {"trains worst",
            fmt::format("cannot be told: the loss of float32 itself is not finite in {} of {}; give a smaller --lr",
                        failed, count_text(all.seeds.size(), "seed")),
            {{"worst_mode", std::monostate{}}, {"worst_mode_open", std::monostate{}}, {"agreeing_seeds", integer(0)}}};
  std::uint64_t agreeing = 0;
  for (const optimizer_loop_result& s : all.seeds) {
    std::vector<double> of_seed;
    std::vector<double> predicted_in_seed;
    for (const mode_harm& m : s.modes) {
      of_seed.push_back(m.harm);
      predicted_in_seed.push_back(m.open().loss_change);
    }
    agreeing += agrees(predicted_in_seed, of_seed) ? 1 : 0;
  }
  const std::string open_worst = all.modes[worst(predicted)];
  const std::string closed_worst = agrees(predicted, harm) ? open_worst : all.modes[worst(harm)];
  const std::string seeds = count_text(all.seeds.size(), "seed");
  return {
      "trains worst",
      open_worst == closed_worst
          ? fmt::format("{}, as the open loop says (in {} of {})", closed_worst, agreeing, seeds)
          : fmt::format("{}; the open loop names {} (right in {} of {})", closed_worst, open_worst, agreeing, seeds),
      {{"worst_mode", closed_worst}, {"worst_mode_open", open_worst}, {"agreeing_seeds", integer(agreeing)}}};
}

}  // namespace

table modes_table(const finished_optimizer_loops& all) {
  std::vector<column<mode_row>> columns = {{"mode", "mode", [](const mode_row& r) { return r.mode; }}};
  add_spread(columns, "float32_loss", "", &mode_row::twin);
  add_spread(columns, "loss", "loss", &mode_row::loss);
  add_spread(columns, "harm", "above float32's", &mode_row::harm, harm_text);
  add_spread(columns, "open_loss_change", "open: loss change", &mode_row::predicted, harm_text);
  add_spread(columns, "open_deviation", "deviation", &mode_row::deviation);
  const auto lost_text = [](const mode_row& r) {
    return std::isnan(r.lost) ? std::string("-") : percent_text({r.lost, r.lost});
  };
  columns.insert(
      columns.end(),
      {{"lost_update_share", "", [](const mode_row& r) { return known(r.lost); }},
       {"", "updates lost", lost_text, range_keys::none, alignment::right},
       {"runaway", "run away", [](const mode_row& r) { return exactly(r.runaway); }},
       {"zeroed", "v = 0", [](const mode_row& r) { return exactly(r.zeroed); }},
       {"layer_rank_correlation", "", [](const mode_row& r) { return known(r.layers.mean); }},
       {"", "layers",
        [](const mode_row& r) { return std::isnan(r.layers.mean) ? "-" : fmt::format("{:.2f}", r.layers.mean); },
        range_keys::none, alignment::right},
       {"worst_layer_open", "", [](const mode_row& r) { return value_if(!r.worst_open.empty(), r.worst_open); }},
       {"worst_layer_closed", "", [](const mode_row& r) { return r.worst_closed; }}});
  return table_of(columns, rows_of(all));
}

table layers_table(const finished_optimizer_loops& all) {
  std::vector<layer_row_of> rows;
  for (std::size_t m = 0; m < all.modes.size(); ++m) std::ranges::move(layers_of(all, m), std::back_inserter(rows));
  std::vector<column<layer_row_of>> columns = {{"mode", "mode", [](const layer_row_of& r) { return r.mode; }},
                                               {"layer", "layer", [](const layer_row_of& r) { return r.layer; }}};
  add_spread(columns, "closed_deviation", "closed deviation", &layer_row_of::closed);
  add_spread(columns, "open_deviation", "open deviation", &layer_row_of::open);
  add_spread(columns, "open_loss_change", "loss change", &layer_row_of::predicted, harm_text);
  columns.push_back({"runaway", "run away", [](const layer_row_of& r) { return exactly(r.runaway); }});
  return table_of(columns, rows);
}

bool names_the_worst(const finished_optimizer_loops& all) {
  const std::vector<mode_row> rows = rows_of(all);
  return seeds_without_twin(all.seeds) == 0 &&
         agrees(figures(rows, &mode_row::predicted), figures(rows, &mode_row::harm));
}

summary summary_of(const finished_optimizer_loops& all) {
  const std::vector<mode_row> rows = rows_of(all);
  const std::vector<double> harm = figures(rows, &mode_row::harm);
  const std::vector<double> predicted = figures(rows, &mode_row::predicted);
  const double by_change = rank_correlation(predicted, harm);
  const double by_deviation = rank_correlation(figures(rows, &mode_row::deviation), harm);
  std::vector<double> layers;
  for (const mode_row& r : rows)
    if (!std::isnan(r.layers.mean)) layers.push_back(r.layers.mean);
  const double of_layers = layers.empty() ? not_known : spread_of(layers).mean;
  return {
      {"trained",
       fmt::format("{}, {}, learning rate {}; passes in {}", all.model,
                   count_text(static_cast<std::uint64_t>(all.steps), "step"), shortest(all.rate), all.passes),
       {{"model", all.model}, {"steps", all.steps}, {"learning_rate", all.rate}, {"format", all.passes}}},
      {"loss",
       fmt::format("mean of the last {}; above that of a float32 training on the same batches",
                   count_text(static_cast<std::uint64_t>(all.judged), "step")),
       {{"judged_steps", all.judged}, {"seeds", integer(all.seeds.size())}}},
      worst_line(all, predicted, harm),
      {"ranks",
       fmt::format(
           "Spearman's correlation over modes: {} for loss change and harm, {} for deviation and harm; over layers: {} "
           "for deviations",
           correlation_text(by_change), correlation_text(by_deviation), correlation_text(of_layers)),
       {{"rank_correlation", known(by_change)},
        {"rank_correlation_deviation", known(by_deviation)},
        {"rank_correlation_layers", known(of_layers)}}},
  };
}

}  // namespace ulp::cli
