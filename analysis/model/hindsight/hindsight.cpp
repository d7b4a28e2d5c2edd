#include <ulp/model/hindsight/hindsight.hpp>

#include <algorithm>
#include <cmath>

namespace ulp {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::int16_t narrow(int exponent) {
  return static_cast<std::int16_t>(std::clamp(exponent, always_overflows, never_overflows));
}

// The scales of the search, as exponents.
struct scale_window {
  int first = 0;
  int last = 0;
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(last - first) + 1; }
};

scale_window window_of(const run_costs& costs, std::optional<int> start, open_steps open) {
  const auto [falls_to, rises_from] = costs.range_that_matters(open);
  scale_window w;
  if (falls_to < rises_from) {
    w = {falls_to, rises_from};
  } else {
    // Some scale is the best of every step.
    const int lowest = rises_from != always_overflows ? rises_from
                       : falls_to != never_overflows  ? falls_to
                                                      : start.value_or(0);
    const int best = start ? std::clamp(*start, rises_from, falls_to) : lowest;
    w = {best, best};
  }
  if (start) w = {std::min(w.first, *start), std::max(w.last, *start)};
  return w;
}

// What it costs to come to each scale of a step, from the costs of those before it.
class cost_front {
 public:
  cost_front(const run_costs& costs, std::optional<int> start, const largest_moves& moves, open_steps open)
      : costs_(&costs), open_(open), window_(window_of(costs, start, open)) {
    const int most = static_cast<int>(window_.size()) - 1;
    up_ = static_cast<std::size_t>(std::min(moves.up, most));
    down_ = static_cast<std::size_t>(std::min(moves.down, most));
    first_.resize(window_.size());
    of_step_.resize(window_.size());
    costs.fill(0, window_.first, open, first_);
    if (start)
      for (std::size_t i = 0; i < first_.size(); ++i)
        if (window_.first + static_cast<int>(i) != *start) first_[i] = infinity;
  }

  [[nodiscard]] const scale_window& window() const { return window_; }
  [[nodiscard]] const std::vector<double>& first() const { return first_; }

  // From the costs after the step before.
  void advance(std::size_t step, std::vector<double>& front) {
    least_in_reach(front);
    costs_->fill(step, window_.first, open_, of_step_);
    for (std::size_t i = 0; i < front.size(); ++i) front[i] += of_step_[i];
  }

  // The scale before scale `to`, given the costs after that step.
  [[nodiscard]] std::size_t before(std::size_t to, const double* front) const {
    const std::size_t size = window_.size();
    const std::size_t low = to - std::min(to, up_);
    const std::size_t high = std::min(size - 1, to + down_);
    const double least = *std::min_element(front + low, front + high + 1);
    for (std::size_t d = 0;; ++d) {
      if (d <= to - low && front[to - d] == least) return to - d;
      if (d <= high - to && front[to + d] == least) return to + d;
    }
  }

 private:
  // Each the least from `up` before it to `down` behind it, by doubling the span.
  void least_in_reach(std::vector<double>& front) {
    const std::size_t size = front.size();
    if (size == 1) return;
    if (up_ == 1 && down_ == 1) {  // nearly always
      double before = infinity;
      double here = front[0];
      for (std::size_t i = 0; i < size; ++i) {
        const double after = i + 1 < size ? front[i + 1] : infinity;
        front[i] = std::min(std::min(before, here), after);
        before = here;
        here = after;
      }
      return;
    }
    const std::size_t width = up_ + down_ + 1;
    reach_.assign(size + up_ + down_, infinity);
    std::copy(front.begin(), front.end(), reach_.begin() + static_cast<std::ptrdiff_t>(up_));
    std::size_t span = 1;
    for (; 2 * span <= width; span *= 2)
      for (std::size_t i = 0; i + span < reach_.size(); ++i) reach_[i] = std::min(reach_[i], reach_[i + span]);
    for (std::size_t i = 0; i < size; ++i) front[i] = std::min(reach_[i], reach_[i + width - span]);
  }

  const run_costs* costs_;
  open_steps open_;
  scale_window window_;
  std::size_t up_ = 0;
  std::size_t down_ = 0;
  std::vector<double> first_;
  std::vector<double> of_step_;
  std::vector<double> reach_;
};

}  // namespace

int overflow_exponent_of(double scale) {
  if (std::isinf(scale)) return never_overflows;
  if (scale <= std::numeric_limits<double>::denorm_min()) return always_overflows;
  const int exponent = std::ilogb(scale);
  return std::ldexp(1.0, exponent) == scale ? exponent : exponent + 1;
}

int run_costs::one_step::overflows_from(open_steps open) const noexcept {
  return open == open_steps::fine ? certain : open == open_steps::estimate ? likely : possible;
}

void run_costs::add(const overflow_exponents& overflow, const magnitude_loss& loss) {
  if (steps_ % block_steps == 0) {
    if (!blocks_.empty()) blocks_.back().costs.shrink_to_fit();
    blocks_.emplace_back().steps.reserve(block_steps);
  }
  block& to = blocks_.back();
  one_step s{.first = static_cast<std::uint32_t>(to.costs.size()),
             .certain = narrow(overflow.certain),
             .likely = narrow(overflow.likely),
             .possible = narrow(overflow.possible),
             .falls_to = narrow(never_overflows),
             .rises_from = narrow(always_overflows)};
  has_open_steps_ = has_open_steps_ || s.certain != s.possible;
  if (weight_ > 0 && loss.total > 0 && std::isfinite(loss.total) && !loss.lost.empty()) {
    const auto cost = [&](double lost) { return static_cast<float>(std::min(1.0, weight_ * (lost / loss.total))); };
    std::size_t from = 0;
    std::size_t end = loss.lost.size();
    while (end - from > 1 && cost(loss.lost[end - 1]) == cost(loss.lost[end - 2])) --end;
    while (end - from > 1 && cost(loss.lost[from]) == cost(loss.lost[from + 1])) ++from;
    for (std::size_t i = from; i < end; ++i) to.costs.push_back(cost(loss.lost[i]));
    s.exponent = narrow(loss.first + static_cast<int>(from));
    s.count = static_cast<std::uint16_t>(end - from);
    const float* const c = to.costs.data() + s.first;
    std::size_t p = 0;
    while (p + 1 < s.count && c[p + 1] <= c[p]) ++p;
    std::size_t q = s.count - 1U;
    while (q > 0 && c[q - 1] <= c[q]) --q;
    if (p + 1 < s.count) s.falls_to = narrow(s.exponent + static_cast<int>(p));
    if (q > 0) s.rises_from = narrow(s.exponent + static_cast<int>(q));
  }
  to.steps.push_back(s);
  ++steps_;
}

bool run_costs::overflows(std::size_t step, int exponent, open_steps open) const {
  const int from = block_of(step).steps[step % block_steps].overflows_from(open);
  return from == always_overflows || (from != never_overflows && exponent >= from);
}

double run_costs::of_magnitude(std::size_t step, int exponent) const {
  const block& from = block_of(step);
  const one_step& s = from.steps[step % block_steps];
  if (s.count == 0) return 0;
  return from.costs[s.first + static_cast<std::size_t>(std::clamp(exponent - s.exponent, 0, s.count - 1))];
}

void run_costs::fill(std::size_t step, int first, open_steps open, std::vector<double>& costs) const {
  const block& from = block_of(step);
  const one_step& s = from.steps[step % block_steps];
  const int size = static_cast<int>(costs.size());
  const int fine = std::clamp(s.overflows_from(open) - first, 0, size);  // of the entries
  double* const to = costs.data();
  if (s.count == 0) {
    std::fill(to, to + fine, 0.0);
  } else {
    const float* const c = from.costs.data() + s.first;
    for (int i = 0; i < fine; ++i) to[i] = c[std::clamp(first + i - s.exponent, 0, s.count - 1)];
  }
  std::fill(to + fine, to + size, 1.0);
}

run_costs::range run_costs::range_that_matters(open_steps open) const {
  range all;
  for (const block& b : blocks_)
    for (const one_step& s : b.steps) {
      const int from = s.overflows_from(open);
      if (from == always_overflows) continue;
      const bool overflows = from != never_overflows;
      all.falls_to = std::min<int>(all.falls_to, overflows ? std::min<int>(s.falls_to, from - 1) : s.falls_to);
      all.rises_from = std::max<int>(all.rises_from, overflows ? std::min<int>(s.rises_from, from - 1) : s.rises_from);
    }
  return all;
}

best_trajectory best_trajectory::summary() const {
  best_trajectory s;
  s.cost = cost;
  s.skipped = skipped;
  s.of_magnitude = of_magnitude;
  s.least = least;
  s.greatest = greatest;
  s.moves = moves;
  return s;
}

best_trajectory best_in_hindsight(const run_costs& costs, std::optional<int> start, const largest_moves& moves,
                                  open_steps open) {
  best_trajectory best;
  const std::size_t steps = costs.steps();
  if (steps == 0) return best;
  cost_front search(costs, start, moves, open);
  const std::size_t scales = search.window().size();
  // Fronts are kept at the first step of each block, and of one block at a time for all its steps.
  const auto block = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(steps))));
  std::vector<double> front = search.first();
  std::vector<double> starts;
  for (std::size_t t = 0; t < steps; ++t) {
    if (t > 0) search.advance(t, front);
    if (t % block == 0) starts.insert(starts.end(), front.begin(), front.end());
  }
  auto at = static_cast<std::size_t>(std::min_element(front.begin(), front.end()) - front.begin());
  best.cost = front[at];

  best.exponents.resize(steps);
  std::vector<double> fronts;
  for (std::size_t end = steps; end > 0;) {
    const std::size_t first = (end - 1) / block * block;
    const auto from = starts.begin() + static_cast<std::ptrdiff_t>(first / block * scales);
    front.assign(from, from + static_cast<std::ptrdiff_t>(scales));
    fronts.assign(front.begin(), front.end());
    for (std::size_t t = first + 1; t < end; ++t) {
      search.advance(t, front);
      fronts.insert(fronts.end(), front.begin(), front.end());
    }
    for (std::size_t t = end; t-- > first;) {
      if (t + 1 < steps) at = search.before(at, &fronts[(t - first) * scales]);
      best.exponents[t] = narrow(search.window().first + static_cast<int>(at));
    }
    end = first;
  }

  const auto [least, greatest] = std::ranges::minmax(best.exponents);
  best.least = least;
  best.greatest = greatest;
  for (std::size_t t = 0; t < steps; ++t) {
    const int exponent = best.exponents[t];
    best.moves += t > 0 && exponent != best.exponents[t - 1] ? 1 : 0;
    if (costs.overflows(t, exponent, open))
      ++best.skipped;
    else
      best.of_magnitude += costs.of_magnitude(t, exponent);
  }
  return best;
}

namespace {

value_range above(const value_range& cost, const value_range& best) {
  if (std::isnan(cost.low)) return cost;
  return {std::max(0.0, cost.low - best.high), cost.high - best.low};
}

}  // namespace

value_range policy_regret::regret_bounds() const noexcept { return above(cost_bounds, best_cost); }

value_range policy_regret::free_regret_bounds() const noexcept { return above(cost_bounds, free_cost); }

}  // namespace ulp
