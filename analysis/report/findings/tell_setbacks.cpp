#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "findings.hpp"
#include "told.hpp"

namespace ulp {
namespace {

// "zeros came to 18 gradients by step 9, and stay: 29 % to 70 % of each, 0 % before (blocks.0.f1.weight, ...)"
std::string zeros_text(const dying_units& d, const telling& about) {
  constexpr std::size_t most = 3;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(d.tensors.size(), most); ++i) names.push_back(about.tensors[d.tensors[i]].name);
  if (d.tensors.size() > most) names.emplace_back("...");
  return fmt::format(
      "exact zeros came to {} of {} gradients between steps {} and {} and stay: {} to {} of each, {} before ({})",
      d.tensors.size(), about.tensors.size(), d.from, d.to, percent(d.zeros_low), percent(d.zeros_high),
      d.zeros_before == 0 ? "none" : "at most " + percent(d.zeros_before), fmt::join(names, ", "));
}

named_values numbers_of(const dying_units& d, const telling& about) {
  return {{{"first_step", d.from},
           {"last_step", d.to},
           {"tensors", integer(std::uint64_t{d.tensors.size()})},
           {"first_tensor", about.tensors[d.tensors.front()].name},
           {"zero_share_before", d.zeros_before},
           {"zero_share_low", d.zeros_low},
           {"zero_share_high", d.zeros_high}}};
}

}  // namespace

told told_of(const dying_units& d, const telling& about) {
  told t;
  t.happened = zeros_text(d, about) + ", and the loss has not fallen since: units that died";
  t.change =
      "lower the learning rate, or warm it up, from before the zeros came; or use an activation without dead units (GELU, "
      "SiLU, leaky ReLU)";
  t.sure = "fairly sure: the zeros are counted, their origin is inferred; a mask that was switched on looks the same";
  t.numbers = numbers_of(d, about);
  return t;
}

told told_of(const loss_peak& p, const telling& about) {
  told t;
  t.happened =
      fmt::format("the loss rose from {} to {} by step {} and came back only after step {}; it ends at {}",
                  loss_number(p.before), loss_number(p.highest), p.highest_at, p.high.last, loss_number(p.at_end));
  if (p.jump)
    t.happened += fmt::format(", after the learning rate rose {} in step {}",
                              times_text(p.jump->after / p.jump->before), p.jump->step);
  if (p.dying) t.happened += "; " + zeros_text(*p.dying, about) + ": units that died";
  t.change =
      p.jump ? fmt::format("go back to a learning rate of {:.3g}; {:.3g} is too high", p.jump->before, p.jump->after)
             : std::string{"lower the peak of the learning rate, or warm it up more slowly"};
  if (const std::string clipping = clipping_text(about); !clipping.empty()) t.change += ", and " + clipping;
  t.change += fmt::format("; otherwise look at the data from step {} on", p.high.first);
  t.sure = p.dying ? "fairly sure: loss and zeros are recorded, that a too large update caused both is inferred"
                   : "the loss is as recorded; gradients do not show why it rose";
  t.numbers = numbers_of(p.high);
  t.numbers.all.push_back({"loss_before", p.before});
  t.numbers.all.push_back({"loss_highest", p.highest});
  t.numbers.all.push_back({"highest_step", p.highest_at});
  t.numbers.all.push_back({"loss_at_end", p.at_end});
  t.numbers.all.push_back({"dying_tensors", integer(std::uint64_t{p.dying ? p.dying->tensors.size() : 0})});
  return t;
}

}  // namespace ulp
