#include <ulp/train/closed_loop.hpp>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <ulp/model/replay/replay.hpp>

namespace ulp {
namespace {

bool same_decision(const trajectory_row& a, const trajectory_row& b) {
  return a.found_inf == b.found_inf && a.skipped == b.skipped && a.scale_used == b.scale_used &&
         a.scale_next == b.scale_next && a.error == b.error;
}

// Activation gradients are checked too, where they are recorded.
replayer replay_of(const training& recorded, const closed_loop_options& o, scenario policy) {
  if (o.training.activation_grads)
    policy.checked = [&recorded](std::string_view name) {
      const auto& all = recorded.tensors();
      const auto found = std::ranges::find(all, name, &tensor_info::name);
      return found != all.end() && found->role == tensor_role::low;
    };
  return replayer(std::move(policy));
}

loop_outcome train_closed(const closed_loop_options& o, const scenario& policy, const closed_loop_watch& watch,
                          closed_loop_result& into) {
  low_rounding hook(policy.recipe.usual(), policy.seed);
  training loop(o.training, hook, policy.recipe.machine());
  replayer self = replay_of(loop, o, policy);
  loop_outcome made;
  for (std::int64_t i = 0; i < o.steps && made.sum.error.empty(); ++i) {
    const trained_step now = loop.advance();
    made.sum.add(now.row);
    made.nonzero += now.nonzero;
    made.underflow += {now.underflow, now.underflow};
    made.loss = now.recorded.scalars.loss;
    if (same_decision(self.advance(now.recorded, loop.tensors()), now.row))
      ++into.identical;
    else if (!into.first_difference)
      into.first_difference = i;
    watch.call(watch.closed, now, loop.tensors());
  }
  return made;
}

loop_outcome train_twin(const closed_loop_options& o, const scenario& policy, const closed_loop_watch& watch) {
  no_rounding hook;
  training twin(in_float32(o.training), hook, std::nullopt);
  replayer open = replay_of(twin, o, policy);
  loop_outcome made;
  std::vector<tensor_outcome> outcomes;
  for (std::int64_t i = 0; i < o.steps; ++i) {
    const trained_step now = twin.advance();
    made.loss = now.recorded.scalars.loss;
    if (made.sum.error.empty()) {
      outcomes.clear();
      made.sum.add(open.advance(now.recorded, twin.tensors(), &outcomes));
      for (const tensor_outcome& t : outcomes) {
        const tensor_info& info = twin.tensors()[t.tensor];
        if (info.role != tensor_role::low || info.kind != tensor_kind::weight_grad) continue;
        made.nonzero += t.counts.nonzero().high;
        made.underflow += t.counts.underflow;
      }
    }
    watch.call(watch.twin, now, twin.tensors());
  }
  return made;
}

}  // namespace

void closed_loop_watch::call(const see_step& see, const trained_step& now,
                             const std::vector<tensor_info>& tensors) const {
  if (see) see(now, tensors);
  if (after_step) after_step();
}

value_range loop_outcome::underflow_share() const noexcept {
  if (nonzero == 0) return {};
  const auto all = static_cast<double>(nonzero);
  return {static_cast<double>(underflow.low) / all, static_cast<double>(underflow.high) / all};
}

closed_loop_result run_closed_loop(const closed_loop_options& options, const closed_loop_watch& watch) {
  scenario policy = options.policy;
  policy.seed = options.training.seed;
  closed_loop_result made{.seed = options.training.seed};
  made.closed = train_closed(options, policy, watch, made);
  made.open = train_twin(options, policy, watch);
  return made;
}

mean_and_deviation spread_of(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  double sum = 0;
  for (const double v : values) sum += v;
  double squares = 0;
  for (const double v : values) squares += (v - sum / n) * (v - sum / n);
  return {.mean = sum / n, .deviation = values.size() < 2 ? not_known : std::sqrt(squares / (n - 1))};
}

skip_agreement agreement_of(std::span<const closed_loop_result> seeds) {
  std::vector<double> closed;
  std::vector<double> open;
  skip_agreement made;
  for (const closed_loop_result& r : seeds) {
    closed.push_back(static_cast<double>(r.closed.sum.skipped));
    open.push_back(static_cast<double>(r.open.sum.skipped));
    const double difference = std::fabs(open.back() - closed.back());
    if (&r != &seeds.front() && difference <= made.greatest_difference) continue;
    made.greatest_difference = difference;
    made.seed_of_greatest = r.seed;
  }
  made.closed = spread_of(closed);
  made.open = spread_of(open);
  if (seeds.size() > 1) made.allowed = std::max(2.0, 3 * made.closed.deviation);
  for (std::size_t i = 0; i < seeds.size(); ++i)
    made.agreeing += std::fabs(open[i] - closed[i]) <= made.allowed ? 1U : 0U;
  return made;
}

}  // namespace ulp
