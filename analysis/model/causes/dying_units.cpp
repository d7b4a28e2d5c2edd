#include "dying_units.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "series.hpp"
#include "tensor_parts.hpp"

namespace ulp {
namespace {

// A batch may leave some units out by chance, and ReLU's leave out more as training goes on.
constexpr double much_more = 0.2;
constexpr std::size_t least_parts = 8;
constexpr std::size_t least_tensors = 3;

struct new_zeros {
  double before = 0;  // shares
  double after = 0;
  std::int64_t from = 0;  // the first step of the part that has gone half of the way
};

std::optional<new_zeros> new_zeros_of(const tensor_survey& t, std::int64_t last) {
  const auto parts = parts_until(t, last);
  if (parts.size() < least_parts) return std::nullopt;
  std::vector<double> late;
  for (std::size_t i = parts.size() / 2; i < parts.size(); ++i) late.push_back(parts[i].zero_share());
  const double least = std::ranges::min(late);
  new_zeros z{.before = t.least_zero_share, .after = median(std::move(late))};
  // They stay.
  if (z.after - z.before < much_more || least - z.before < much_more / 2) return std::nullopt;
  const auto is_half = [&](const tensor_history::part& p) { return p.zero_share() >= (z.before + z.after) / 2; };
  z.from = std::ranges::find_if(parts, is_half)->first_step;
  return z;
}

}  // namespace

std::optional<dying_units> dying_units_of(const evidence& e) {
  dying_units all;
  std::set<std::string_view> modules;
  for (std::uint32_t i = 0; i < e.run.tensors().size(); ++i) {
    const tensor_survey& t = e.run.tensors()[i];
    if (!has_values(t) || !t.is_scaled || !is_weight_gradient(e.tensors[i])) continue;
    const auto zeros = new_zeros_of(t, e.last);
    if (!zeros) continue;
    modules.insert(module_of(e.tensors[i].name));
    if (all.tensors.empty()) all = {{}, zeros->before, zeros->after, zeros->after, zeros->from, zeros->from};
    all.tensors.push_back(i);
    all.zeros_before = std::max(all.zeros_before, zeros->before);
    all.zeros_low = std::min(all.zeros_low, zeros->after);
    all.zeros_high = std::max(all.zeros_high, zeros->after);
    all.from = std::min(all.from, zeros->from);
    all.to = std::max(all.to, zeros->from);
  }
  if (all.tensors.size() < least_tensors || modules.size() < 2) return std::nullopt;
  return all;
}

namespace {

// Whether the loss is known, and no lower at the end than it was before the zeros came.
bool learned_nothing_since(const evidence& e, std::int64_t step) {
  constexpr double noticeably = 0.9;
  constexpr std::size_t window = 5;
  std::vector<double> before;
  std::vector<double> after;
  for (const point& p : losses_of(e.steps, e.healthy))
    (e.steps[p.step].key.step < step ? before : after).push_back(p.value);
  if (before.empty() || after.size() < window) return false;
  const auto last = [&](const std::vector<double>& of) {
    return median({of.end() - static_cast<std::ptrdiff_t>(std::min(of.size(), window)), of.end()});
  };
  return last(after) >= noticeably * last(before);
}

}  // namespace

// Where the loss fell on, units that are not needed take no part, and nothing is wrong.
void examine_dying_units(const evidence& e, std::vector<cause>& found) {
  if (e.is_thrown_back() || has<underflow>(found) || has<vanished>(found) || has<zero_gradients>(found) ||
      has<loss_peak>(found))
    return;
  if (const auto dying = dying_units_of(e); dying && learned_nothing_since(e, dying->from)) found.emplace_back(*dying);
}

}  // namespace ulp
