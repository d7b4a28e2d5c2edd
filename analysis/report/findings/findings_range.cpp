#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <ulp/formats/names.hpp>
#include <ulp/report/usual_formats.hpp>

#include "findings.hpp"

namespace ulp {
namespace {

// The smallest power of two from which on no more than epsilon underflows; nullopt where none up to 2^100 does.
std::optional<int> least_scale(const survey& run, const advice_options& o) {
  constexpr int lowest = -100;
  constexpr int highest = 100;
  const auto fine = [&](int k) {
    return underflow_share(run.outcomes(o.format, o.rounding, std::ldexp(1.0, k))).high <= o.epsilon;
  };
  if (!fine(highest)) return std::nullopt;
  int bad = lowest;
  int good = highest;
  if (fine(bad)) return bad;
  while (good - bad > 1) {
    const int middle = bad + (good - bad) / 2;
    (fine(middle) ? good : bad) = middle;
  }
  return good;
}

// In the order of preference: as many fraction bits as possible.
std::vector<std::string> formats_to_try() {
  std::vector<std::string> names;
  for (const char* const name : usual_formats(format_room::few)) names.emplace_back(name);
  std::ranges::stable_sort(names, std::greater{}, [](const std::string& f) { return find_format(f)->fraction_bits; });
  return names;
}

}  // namespace

finding which_format(const survey& run, const advice_options& o) {
  finding f{.topic = "format", .question = "Which format holds these gradients without a loss scale?"};
  const value_range all = run.magnitudes();
  std::string sufficient;
  std::string perhaps;
  std::uint64_t undecided = 0;
  double nonzero = 0;
  named_values formats;
  for (const std::string& name : formats_to_try()) {
    const format to = *find_format(name);
    const rounding mode = o.typed.value(to);
    const outcome_counts c = run.outcomes(to, mode, 1);
    nonzero = static_cast<double>(c.nonzero().high);
    const lost_mass lost = run.lost(to, mode, 1);
    const window w = window_of(run, to, mode);
    const std::uint64_t overflowing = w.overflowing(1);
    std::optional<value_range> lost_share;
    if (all.high > 0 && std::isfinite(lost.magnitudes.high))
      lost_share = {lost.magnitudes.low / all.high, all.low > 0 ? std::min(lost.magnitudes.high / all.low, 1.0) : 1};
    f.evidence.push_back(fmt::format("{:<14} underflow {} of nonzero, {} of the sum of magnitudes; overflow in {}",
                                     name, range_text(underflow_share(c)),
                                     lost_share ? range_text(*lost_share) : std::string{"an unknown part"},
                                     overflow_text(w, 1)));
    formats.all.push_back({name, named_values{{{"underflow_share", underflow_share(c)},
                                               {"lost_l1_share", lost_share.value_or(unknown_share)},
                                               {"overflow_steps", integer(overflowing)},
                                               {"undecided_steps", integer(w.undecided(1))}}}});
    if (to.width() != 16 || overflowing > 0) continue;
    if (sufficient.empty() && underflow_share(c).high <= o.epsilon) {
      sufficient = name;
      undecided = w.undecided(1);
    }
    if (perhaps.empty() && underflow_share(c).low <= o.epsilon) perhaps = name;
  }
  const std::uint64_t censored = run.censored();
  const bool untold = static_cast<double>(censored) > o.epsilon * nonzero;
  f.numbers = {{"format", untold || sufficient.empty() ? table_value{} : table_value{sufficient}},
               {"decided", undecided == 0},
               {"epsilon", o.epsilon},
               {"formats", formats},
               {"censored_zeros", integer(censored)}};
  if (untold) {
    f.conclusion =
        fmt::format("unknown: {} rounded to a narrow format before {} recorded, and may have underflowed then",
                    were(censored, "zero"), censored == 1 ? "it was" : "they were");
    return f;
  }
  if (sufficient.empty())
    f.conclusion = fmt::format("none of 16 bits{}: each loses more than {} of the nonzero gradients or overflows",
                               perhaps.empty() ? "" : " for certain", percent(o.epsilon));
  else
    f.conclusion = fmt::format("{}: no more than {} of the nonzero gradients underflow, and no {}step overflows{}",
                               sufficient, percent(o.epsilon), undecided == 0 ? "" : "finite ",
                               undecided == 0 ? "" : fmt::format("; of {} it is not decided", steps_text(undecided)));
  if (!perhaps.empty() && perhaps != sufficient)
    f.conclusion += fmt::format("; perhaps {}, but the input leaves that open", perhaps);
  f.limits =
      "These figures are over all selected tensors: single tensors may lose more (see which lose most); --kind "
      "weight_grad restricts them to weight gradients. They concern range only: gradients do not show how much "
      "precision training needs, and accumulation is not examined.";
  return f;
}

finding which_scale(const survey& run, const window& w, const advice_options& o, bool has_values) {
  finding f{.topic = "static_scale", .question = fmt::format("Which static loss scale suffices in {}?", o.format_name)};
  const std::optional<int> most = w.largest_safe();
  const std::string top = most ? "up to " + power(*most) + " no finite step overflows" : "no scale overflows";
  f.limits =
      "This holds for this run; later gradients may be larger. Overflow in the forward pass is not visible here.";
  if (w.undecided(std::numeric_limits<double>::denorm_min()) > 0)
    f.limits +=
        " What overflowed at the scale of the run is not decided at smaller ones: gradients that were recorded in "
        "float32 would tell.";
  f.numbers = {{"epsilon", o.epsilon}, {"lowest_log2", {}}, {"highest_log2", integer(most)}};
  if (!has_values) {
    f.conclusion = top;
    f.evidence.push_back("a step log does not show what underflows");
    return f;
  }
  const std::optional<int> least = least_scale(run, o);
  f.numbers[1].value = integer(least);
  constexpr double greatest_tried = 0x1p100;
  const bool left_open = !least && underflow_share(run.outcomes(o.format, o.rounding, greatest_tried)).low <= o.epsilon;
  if (left_open)
    f.conclusion = fmt::format("unknown: the input leaves open whether more than {} underflow at any scale; {}",
                               percent(o.epsilon), top);
  else if (!least)
    f.conclusion = fmt::format("none: at every scale up to 2^100 more than {} underflow; {}", percent(o.epsilon), top);
  else if (most && *least > *most)
    f.conclusion =
        fmt::format("none: from {} on no more than {} underflow, but only {}", power(*least), percent(o.epsilon), top);
  else
    f.conclusion = fmt::format("{}: from {} on no more than {} underflow, and {}",
                               most && *least == *most ? power(*least) + " alone"
                                                       : power(*least) + " to " + (most ? power(*most) : "any"),
                               power(*least), percent(o.epsilon), top);
  std::vector<int> shown{0, 8, 16};
  if (least) shown.push_back(*least);
  if (most) shown.insert(shown.end(), {*most, *most + 1});
  std::ranges::sort(shown);
  shown.erase(std::unique(shown.begin(), shown.end()), shown.end());
  named_values scales;
  for (const int k : shown) {
    if (std::abs(k) > 100) continue;
    const double scale = std::ldexp(1.0, k);
    const value_range underflow = underflow_share(run.outcomes(o.format, o.rounding, scale));
    f.evidence.push_back(
        fmt::format("{:<6} {} underflow, overflow in {}", power(k), range_text(underflow), overflow_text(w, scale)));
    scales.all.push_back({power(k), named_values{{{"underflow_share", underflow},
                                                  {"overflow_steps", integer(w.overflowing(scale))},
                                                  {"undecided_steps", integer(w.undecided(scale))}}}});
  }
  f.numbers.push_back({"scales", scales});
  return f;
}

}  // namespace ulp
