#include "reachable_states.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace ulp {
namespace {

constexpr std::size_t most_ways = 4096;
constexpr std::uint64_t most_work = 500'000;  // updates: a quarter of a second

void widen(count_range& to, const count_range& by) { to = {std::min(to.low, by.low), std::max(to.high, by.high)}; }
void widen(value_range& to, double by) { to = {std::min(to.low, by), std::max(to.high, by)}; }

constexpr value_range nothing{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};

bool applies_overflow(const scaler& s, const scaler_verdict& verdict, bool found) {
  return found && !verdict.skipped && verdict.error.empty() && std::isnan(s.edge());
}

}  // namespace

void reachable_states::join(std::map<key, way>& ways, way from) {
  const auto [at, is_new] = ways.try_emplace(from.at.state_bits(), from);
  if (is_new) return;
  widen(at->second.skipped, from.skipped);
  widen(at->second.poisoned, from.poisoned);
}

void reachable_states::give_up() {
  totals_.known = false;
  ways_.clear();
  ended_.clear();
}

bounds_of_step reachable_states::advance(const scaler& now, bool decided, const step_at& step) {
  if (!totals_.known) {
    // At whatever scale.
    constexpr double least = std::numeric_limits<double>::denorm_min();
    constexpr double most = std::numeric_limits<double>::max();
    return {step.overflow(least).certain || !step.overflow(most).possible, {0, most}, {0, most}};
  }
  if (ways_.empty()) {
    if (decided) return {true, {now.scale(), now.scale()}, {}};
    join(ways_, {now, totals_.skipped, totals_.poisoned});
  }
  // What counts by an edge is told more than whether the step overflows.
  work_ += 2 * ways_.size();
  if (ways_.size() > most_ways || work_ > most_work || !std::isnan(now.edge())) {
    give_up();
    return advance(now, decided, step);
  }
  bounds_of_step bounds{true, nothing, nothing};
  bool all = true;
  bool any = false;
  std::map<double, overflow_answer> known;  // NaN, in no order, is the estimate's alone
  std::map<key, way> next;
  for (auto& [state, from] : ways_) {
    const double scale = from.at.scale();
    const auto cached = std::isnan(scale) ? known.end() : known.find(scale);
    const overflow_answer answer = cached != known.end() ? cached->second : step.overflow(scale);
    if (cached == known.end() && !std::isnan(scale)) known.emplace(scale, answer);
    widen(bounds.scale_used, scale);
    all = all && answer.certain;
    any = any || answer.possible;
    for (const bool found : {false, true}) {
      if (found ? !answer.possible : answer.certain) continue;
      way to = from;
      const scaler_verdict verdict = to.at.update(step.input(scale, found));
      const std::uint64_t skips = verdict.skipped ? 1 : 0;
      const std::uint64_t applied = applies_overflow(from.at, verdict, found) ? 1 : 0;
      to.skipped += {skips, skips};
      to.poisoned += {applied, applied};
      widen(bounds.scale_next, to.at.scale());
      if (verdict.error.empty())
        join(next, std::move(to));
      else if (ended_.empty())
        ended_.push_back(std::move(to));
      else
        widen(ended_.front().skipped, to.skipped), widen(ended_.front().poisoned, to.poisoned);
    }
  }
  ways_ = std::move(next);
  bounds.found_certain = all || !any;
  return bounds;
}

void reachable_states::follow(const scaler& now, const scaler_verdict& verdict, bool found) {
  if (!totals_.known) return;
  if (ways_.empty() && ended_.empty()) {
    const std::uint64_t skips = verdict.skipped ? 1 : 0;
    const std::uint64_t applied = applies_overflow(now, verdict, found) ? 1 : 0;
    totals_.skipped += {skips, skips};
    totals_.poisoned += {applied, applied};
    return;
  }
  std::optional<bounds_of_run> widest;
  const auto add = [&](const way& w) {
    if (!widest) {
      widest = {w.skipped, w.poisoned};
      return;
    }
    widen(widest->skipped, w.skipped);
    widen(widest->poisoned, w.poisoned);
  };
  for (const auto& [state, w] : ways_) add(w);
  for (const way& w : ended_) add(w);
  totals_ = *widest;
  // Every way has met the estimate again.
  if (ways_.size() == 1 && ended_.empty() && ways_.begin()->first == now.state_bits()) ways_.clear();
}

}  // namespace ulp
