#include <ulp/report/findings/replay_losses.hpp>

#include <fmt/format.h>

#include <algorithm>

#include "findings.hpp"

namespace ulp {
namespace {

constexpr double most_of_a_tensor = 0.5;
constexpr double many_values = 0.01;
constexpr std::size_t named = 5;

}  // namespace

void replay_losses::add(const tensor_outcome& of) {
  by_tensor_.resize(std::max<std::size_t>(by_tensor_.size(), of.tensor + 1));
  loss& to = by_tensor_[of.tensor];
  to.counts += of.counts;
  if (of.counts.underflow.low > 0 && !to.first_step) to.first_step = of.key.step;
}

finding replay_losses::result(const std::vector<tensor_info>& tensors, const std::string& format_name) const {
  finding f{.topic = "replay_underflow",
            .question = fmt::format("What underflows in {} under this replay?", format_name)};
  outcome_counts all;
  std::vector<std::size_t> losers;
  std::uint64_t with_values = 0;
  for (std::size_t t = 0; t < by_tensor_.size(); ++t) {
    const loss& l = by_tensor_[t];
    all += l.counts;
    with_values += l.counts.nonzero().high > 0 ? 1 : 0;
    if (l.counts.underflow.high > 0) losers.push_back(t);
    if (l.first_step) f.step = std::min(f.step.value_or(*l.first_step), *l.first_step);
  }
  f.numbers = {{"underflow_share", underflow_share(all)}, {"tensors", integer(with_values)}};
  if (losers.empty()) {
    f.conclusion = "nothing underflows";
    return f;
  }
  const auto share = [&](std::size_t t) { return underflow_share(by_tensor_[t].counts); };
  std::ranges::stable_sort(losers, [&](std::size_t a, std::size_t b) { return share(a).high > share(b).high; });
  const auto mostly = static_cast<std::uint64_t>(
      std::ranges::count_if(losers, [&](std::size_t t) { return share(t).low > most_of_a_tensor; }));
  const std::string& worst = tensors[losers.front()].name;
  f.conclusion = fmt::format("{} of the nonzero values become zero", range_text(underflow_share(all)));
  f.conclusion += mostly > 0 ? fmt::format("; {} of {} {} more than half of {} values, {} most ({})", grouped(mostly),
                                           count_text(with_values, "tensor"), mostly == 1 ? "loses" : "lose",
                                           mostly == 1 ? "its" : "their", worst, range_text(share(losers.front())))
                             : fmt::format("; {} loses most, {} of its own", worst, range_text(share(losers.front())));
  if (f.step) f.conclusion += fmt::format("; from step {} on", *f.step);
  f.tensor = worst;
  f.grade = mostly > 0 || underflow_share(all).low > many_values ? finding_grade::notable : finding_grade::fine;
  for (std::size_t i = 0; i < std::min(losers.size(), named); ++i) {
    const loss& l = by_tensor_[losers[i]];
    const value_range of = share(losers[i]);
    f.bars.push_back({tensors[losers[i]].name, of, range_text(of),
                      of.low > most_of_a_tensor ? finding_grade::notable : finding_grade::fine});
    f.evidence.push_back(fmt::format("{}  {} of nonzero underflow{}", tensors[losers[i]].name, range_text(of),
                                     l.first_step ? fmt::format(", from step {} on", *l.first_step) : ""));
  }
  f.numbers.push_back({"mostly_lost_tensors", integer(mostly)});
  f.limits = "Counts of values, over the whole run: small values may carry little of the magnitude.";
  return f;
}

}  // namespace ulp
