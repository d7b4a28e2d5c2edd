#include <ulp/report/layer_metrics.hpp>

#include <cmath>

namespace ulp {
namespace {

double middle(const count_range& c) { return (static_cast<double>(c.low) + static_cast<double>(c.high)) / 2; }

double value_of(layer_metric metric, const outcome_counts& c, double largest, double scale, const layer_question& q) {
  const auto share = [&](const value_range& part) {
    return c.nonzero().high > 0 ? (part.low + part.high) / 2 : not_known;
  };
  switch (metric) {
    case layer_metric::underflow: return share(underflow_share(c));
    case layer_metric::subnormal: return share(share_of_nonzero(c, c.subnormal));
    case layer_metric::overflow: return share(share_of_nonzero(c, c.overflow));
    case layer_metric::zeros: return c.numel == 0 ? not_known : middle(c.zeros()) / static_cast<double>(c.numel);
    case layer_metric::largest: return largest > 0 ? std::log2(largest) : not_known;
    case layer_metric::headroom:
      return largest > 0 && scale > 0 ? limits_of(q.to, q.mode).overflow - std::log2(largest) - std::log2(scale)
                                      : not_known;
  }
  return not_known;
}

}  // namespace

layer_answer answer_to(const layer_question& q, const run_picture& run, std::size_t tensors,
                       const std::function<void(double)>& told) {
  const auto& columns = run.columns().columns();
  layer_answer all{.metric = q.metric, .tensors = tensors, .values = {}, .rank = {}};
  all.values.assign(columns.size() * all.tensors, not_known);
  all.rank.assign(all.tensors, 0);
  std::vector<double> columns_with(all.tensors, 0);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    told(static_cast<double>(c) / static_cast<double>(columns.size()));
    const double scale = q.scales[c];
    const auto counts = columns[c].outcomes_by_tensor(all.tensors, q.to, q.mode, scale);
    std::vector<double> largest(all.tensors, 0);
    for (const tensor_tables::entry& e : columns[c].entries)
      if (e.tensor < all.tensors)
        largest[e.tensor] = std::fmax(largest[e.tensor], e.table.largest_possible() / e.factor);
    for (std::size_t t = 0; t < all.tensors; ++t) {
      const double value = value_of(q.metric, counts[t], largest[t], scale, q);
      all.values[c * all.tensors + t] = value;
      if (std::isnan(value)) continue;
      all.rank[t] += value;
      columns_with[t] += 1;
    }
  }
  for (std::size_t t = 0; t < all.tensors; ++t) all.rank[t] /= columns_with[t];
  return all;
}

}  // namespace ulp
