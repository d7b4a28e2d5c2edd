#include "vanished.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "divergence.hpp"
#include "evidence.hpp"
#include "places.hpp"
#include "series.hpp"
#include "tensor_parts.hpp"

namespace ulp {
namespace {

// Whether the loss stood still at the end, and has not fallen to near zero: then gradients vanish as they should.
bool loss_stands_still(const std::vector<step_survey>& steps, std::int64_t last, double& level) {
  constexpr double near_zero = 0.1;
  constexpr double still = 0.1;
  std::vector<double> losses;
  for (const step_survey& s : steps)
    if (s.key.step <= last && std::isfinite(s.loss)) losses.push_back(s.loss);
  constexpr std::size_t few = 10;
  if (losses.size() < few) return losses.empty();
  const auto n = static_cast<std::ptrdiff_t>(losses.size() / 5);
  const double first = median({losses.begin(), losses.begin() + n});
  const double before = median({losses.end() - 2 * n, losses.end() - n});
  level = median({losses.end() - n, losses.end()});
  const bool is_small = first > 0 && level <= near_zero * first;
  return !is_small && before - level < still * std::abs(level);
}

constexpr double almost_all = 0.9;
using part_iterator = std::vector<tensor_history::part>::const_iterator;

double median_zero_share(part_iterator begin, part_iterator end) {
  std::vector<double> shares;
  for (auto p = begin; p != end; ++p) shares.push_back(p->zero_share());
  return median(std::move(shares));
}

// How the zeros of a tensor came to be almost all of it.
struct zero_rise {
  double before = 0;  // shares
  double after = 0;
  std::int64_t mostly_from = 0;  // step
  std::int64_t mostly_to = 0;    // the last step of the part that this is the first of
  double largest_after = 0;
};

std::optional<zero_rise> zero_rise_of(const tensor_survey& t, std::int64_t last) {
  constexpr double much_more = 0.3;
  constexpr std::size_t least_parts = 24;
  const auto parts = parts_until(t, last);
  if (parts.size() < least_parts) return std::nullopt;
  const auto n = static_cast<std::ptrdiff_t>(parts.size() / 8);
  zero_rise r{.before = median_zero_share(parts.begin(), parts.begin() + n),
              .after = median_zero_share(parts.end() - n, parts.end()),
              .largest_after = parts.back().max_abs};
  if (r.after < almost_all || r.after - r.before < much_more) return std::nullopt;
  auto p = parts.end();
  while (p != parts.begin() && std::prev(p)->zero_share() >= (r.before + r.after) / 2) --p;
  if (p == parts.end()) --p;
  r.mostly_from = p->first_step;
  r.mostly_to = p->last_step;
  return r;
}

// The largest gradients of the 30 steps up to one, beside the level before these.
void see_peak_before(vanished& v, const std::vector<step_survey>& steps, std::int64_t last) {
  constexpr std::int64_t near = 30;
  constexpr double stands_out = 5;
  const gradient_size of = size_kept(steps);
  std::vector<double> before;
  const step_survey* largest = nullptr;
  for (const step_survey& s : steps) {
    const double size = size_of(s, of);
    if (s.key.step > last || !std::isfinite(size) || is_lost(s)) continue;
    if (s.key.step + near < last || before.empty())
      before.push_back(size);
    else if (largest == nullptr || size > size_of(*largest, of))
      largest = &s;
  }
  const double level = median(std::move(before));
  if (largest == nullptr || !(level > 0)) return;
  const double peak = size_of(*largest, of) / level;
  if (!(peak >= stands_out)) return;
  v.peak = peak;
  v.peak_step = largest->key.step;
}

// Whether its last parts hold more than zeros.
bool is_alive_at(const tensor_survey& t, std::int64_t last) {
  const auto parts = parts_until(t, last);
  const auto n = static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, parts.size() / 8));
  return !parts.empty() && median_zero_share(parts.end() - n, parts.end()) < almost_all;
}

std::optional<vanished> vanished_of(const survey& run, const std::vector<tensor_info>& tensors, std::int64_t last) {
  vanished v;
  if (!loss_stands_still(run.steps(), last, v.loss)) return std::nullopt;
  std::map<std::uint32_t, zero_rise> rises;
  std::set<std::string_view> living;  // modules
  for (std::uint32_t i = 0; i < run.tensors().size(); ++i) {
    if (!has_values(run.tensors()[i]) || !run.tensors()[i].is_scaled) continue;
    if (const std::optional<zero_rise> rise = zero_rise_of(run.tensors()[i], last))
      rises[i] = *rise;
    else if (is_alive_at(run.tensors()[i], last))
      living.insert(module_of(tensors[i].name));
  }
  if (rises.empty()) return std::nullopt;
  const auto lives = [&](std::uint32_t i) {
    return is_weight_gradient(tensors[i]) && has_values(run.tensors()[i]) && is_alive_at(run.tensors()[i], last);
  };
  // A layer whose input died has zeros too, but not in its bias: the module where all vanish is where it happened.
  auto worst = std::ranges::max_element(rises, {}, [](const auto& r) { return r.second.after - r.second.before; });
  for (auto r = rises.begin(); r != rises.end(); ++r)
    if (is_weight_gradient(tensors[r->first]) && !living.contains(module_of(tensors[r->first].name))) worst = r;
  v.tensor = worst->first;
  for (std::uint32_t i = v.tensor + 1; i < tensors.size() && !v.living; ++i)
    if (lives(i)) v.living = i;
  v.tensors = static_cast<std::uint32_t>(rises.size());
  v.zeros_before = worst->second.before;
  v.zeros_after = worst->second.after;
  v.mostly_from = worst->second.mostly_from;
  v.mostly_to = worst->second.mostly_to;
  v.largest_after = worst->second.largest_after;
  const auto from = std::ranges::lower_bound(run.steps(), v.mostly_from, {}, [](const auto& s) { return s.key.step; });
  const auto index = static_cast<std::size_t>(from - run.steps().begin());
  v.jump = largest_jump(run.steps(), 1, index);
  see_peak_before(v, run.steps(), worst->second.mostly_to);
  return v;
}

}  // namespace

bool units_die_at(const survey& run, const std::vector<tensor_info>& tensors, std::int64_t step) {
  constexpr double few = 0.6;
  for (std::uint32_t i = 0; i < run.tensors().size(); ++i) {
    if (!has_values(run.tensors()[i]) || !is_weight_gradient(tensors[i])) continue;
    const auto& parts = run.tensors()[i].history.parts();
    const auto after = std::ranges::find_if(parts, [&](const auto& p) { return p.first_step > step; });
    const bool was_alive = parts.front().first_step < step && parts.front().zero_share() < few;
    if (was_alive && after != parts.end() && median_zero_share(after, parts.end()) >= almost_all) return true;
  }
  return false;
}

void examine_vanished(const evidence& e, std::vector<cause>& found) {
  if (e.is_thrown_back() || has<zero_gradients>(found) || has<underflow>(found)) return;
  if (const auto gone = vanished_of(e.run, e.tensors, e.last)) found.emplace_back(*gone);
}

}  // namespace ulp
