#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <ulp/ask/reading/reading.hpp>
#include <ulp/ask/runs/fp8_answer.hpp>

namespace ulp {

std::vector<std::uint32_t> worst_first(const fp8_answer& answer) {
  const auto rank = [&](std::uint32_t tensor) {
    const fp8_tensor_summary& sum = answer.by.summaries().at(tensor);
    return std::tuple{sum.infinite + sum.nan > 0, sum.saturating, underflow_share(sum.counts).high};
  };
  std::vector<std::uint32_t> all;
  for (const auto& [tensor, sum] : answer.by.summaries()) all.push_back(tensor);
  std::ranges::stable_sort(all, [&](std::uint32_t a, std::uint32_t b) { return rank(b) < rank(a); });
  return all;
}

void fp8_column::merge(const fp8_column& other) {
  least = std::fmin(least, other.least);
  greatest = std::fmax(greatest, other.greatest);
  ideal = std::fmin(ideal, other.ideal);
  saturating += other.saturating;
  held += other.held;
  stale += other.stale;
  steps += other.steps;
  with_ideal += other.with_ideal;
  saturated += other.saturated;
  nonzero += other.nonzero;
}

void fp8_column::add(const fp8_row& row) {
  const double used = std::log2(row.multiplied_by);
  if (std::isfinite(used)) {
    least = std::fmin(least, used);
    greatest = std::fmax(greatest, used);
  }
  ideal = std::fmin(ideal, std::log2(row.ideal));
  saturating += row.saturates ? 1 : 0;
  held += row.scales.held ? 1 : 0;
  stale += row.is_stale() ? 1 : 0;
  ++steps;
  with_ideal += std::isnan(row.ideal) ? 0 : 1;
  saturated += static_cast<double>(row.counts.overflow.high);
  nonzero += static_cast<double>(row.counts.nonzero().high);
}

drawn_fp8 drawn_fp8_over(const fp8_question& asked, std::size_t most, listener& to) {
  drawn_fp8 drawn{.asked = asked, .answer = fp8_replay_over(asked, to), .worst = {}};
  if (open_run_again(asked.run) == nullptr) return drawn;
  std::map<std::uint32_t, std::size_t> place;
  for (const std::uint32_t tensor : worst_first(drawn.answer)) {
    if (drawn.worst.size() == most) break;
    place[tensor] = drawn.worst.size();
    drawn.worst.push_back({.tensor = tensor, .columns = {}});
  }
  static_cast<void>(fp8_replay_over(asked, nobody(), [&](const std::vector<fp8_row>& rows, const auto&) {
    for (const fp8_row& row : rows)
      if (const auto at = place.find(row.tensor); at != place.end())
        drawn.worst[at->second].columns.at_step(row.key.step).add(row);
  }));
  return drawn;
}

}  // namespace ulp
