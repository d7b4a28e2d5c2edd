// What advice says of the rules by which the scale of a block follows from its largest number.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <tuple>

#include "judged_blocks.hpp"

namespace ulp {
namespace {

// Over all tensors that are judged.
struct rule_sum {
  std::string_view name;
  std::optional<block_outcomes> counts;  // none where something was not counted
  double worst = 0;                      // share lost; infinite where it is not known
  bool makes_nonfinite = false;          // finite values become infinite or NaN
  bool may_make_nonfinite = false;       // they are so large that tables do not tell
  [[nodiscard]] bool saturates() const { return counts->overflow.high > 0; }
  [[nodiscard]] bool is_safe() const { return !saturates() && !makes_nonfinite && !may_make_nonfinite; }
};

rule_sum sum_of(const block_trial& tried, const block_format& row) {
  const std::size_t at = tried.index_of(row);
  rule_sum sum{.name = scale_rule_of(row), .counts = tried.counts(at)};
  for (const tried_tensor* t : tried.judged()) {
    const judged_treatment& j = t->of[at];
    sum.worst = std::max(sum.worst, j.worst.high);
    sum.makes_nonfinite = sum.makes_nonfinite || j.nonfinite > 0;
    sum.may_make_nonfinite = sum.may_make_nonfinite || (j.doubts.near_overflow && !tried.from_values);
  }
  sum.makes_nonfinite = sum.makes_nonfinite || (sum.counts && sum.counts->lost.low > 0);
  return sum;
}

value_range share_of(const count_range& n, const block_outcomes& counts) {
  const auto all = static_cast<double>(std::max<std::uint64_t>(1, counts.nonzero()));
  return {static_cast<double>(n.low) / all, static_cast<double>(n.high) / all};
}

// "floor saturates 3.4 % of the values, even 2.2 %; rceil makes some infinite or NaN"
std::string unsafe_text(const std::vector<rule_sum>& sums) {
  std::vector<std::string> parts;
  std::string saturating;
  for (const rule_sum& s : sums) {
    if (s.saturates())
      saturating += fmt::format(fmt::runtime(saturating.empty() ? "{} saturates {} of the values" : ", {} {}"), s.name,
                                percent_text(share_of(s.counts->overflow, *s.counts)));
    else if (!s.is_safe())
      parts.push_back(fmt::format("{} {} some infinite or NaN", s.name, s.makes_nonfinite ? "makes" : "may make"));
  }
  if (!saturating.empty()) parts.insert(parts.begin(), saturating);
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string line_of(const rule_sum& s) {
  return fmt::format("{}: {} of the nonzero values saturate, {} become zero{}{}", s.name,
                     percent_text(share_of(s.counts->overflow, *s.counts)),
                     percent_text(share_of(s.counts->underflow, *s.counts)),
                     std::isfinite(s.worst) ? fmt::format("; the worst tensor loses {}", percent(s.worst)) : "",
                     s.makes_nonfinite ? "; some become infinite or NaN" : "");
}

}  // namespace

finding which_rule(const block_advice& b) {
  finding f{.topic = "block_scale_rule", .question = "Which rule for the scales?"};
  const block_trial& tried = *b.tried;
  const block_format& row = chosen_of(b);
  std::vector<rule_sum> sums;
  for (const block_format* of : b.of.by_rule[chosen_index(b)]) sums.push_back(sum_of(tried, *of));
  // What lies just below the next power of two is cut most.
  const double cut = 1 - static_cast<double>(row.element.largest) / std::ldexp(1.0, row.element.numbers->emax() + 1);
  f.limits = fmt::format(
      "As torchao has them: floor is OCP MX 1.0, rceil what TransformerEngine and the hardware's conversion do. What "
      "saturates is among the largest of its block, becomes the largest number, and loses up to {} of itself.{}",
      percent(cut),
      tried.from_values ? "" : " What floor, ceil and even lose of the energy only the values tell: give the dumps.");
  if (!std::ranges::all_of(sums, [](const rule_sum& s) { return s.counts.has_value(); })) {
    f.conclusion =
        tried.from_values
            ? "not decided: not every tensor could be counted"
            : fmt::format(
                  "not decided: the recording has no tables of these blocks along the last axis; record with --blocks {}",
                  row.block.columns);
    return f;
  }
  named_values numbers;
  for (const rule_sum& s : sums) {
    f.evidence.push_back(line_of(s));
    numbers.all.push_back(
        {std::string{s.name}, named_values{{{"saturating_share", share_of(s.counts->overflow, *s.counts)},
                                            {"underflow_share", share_of(s.counts->underflow, *s.counts)},
                                            {"worst_lost_share", value_if(std::isfinite(s.worst), s.worst)}}}});
  }
  f.numbers = {{"element", element_text(row)}, {"rules", std::move(numbers)}};
  const auto safe = static_cast<std::size_t>(std::ranges::count_if(sums, &rule_sum::is_safe));
  const auto best = std::ranges::min_element(sums, {}, [&](const rule_sum& s) {
    return std::tuple{!s.is_safe(), tried.from_values ? s.worst : 0.0, s.counts->underflow.high};
  });
  const std::string_view why = safe == 1           ? ""
                               : tried.from_values ? ", and the worst tensor loses least"
                                                   : ", and the fewest values become zero";
  f.conclusion = safe == 0             ? "none is safe: " + unsafe_text(sums)
                 : safe == sums.size() ? "any: nothing saturates"
                                       : fmt::format("{}: nothing saturates{}; {}", best->name, why, unsafe_text(sums));
  return f;
}

}  // namespace ulp
