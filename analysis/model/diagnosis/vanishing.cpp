#include "vanishing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "divergence.hpp"
#include "places.hpp"

namespace ulp {
namespace {

bool is_weight_gradient(const tensor_info& t) {
  return t.kind == tensor_kind::weight_grad || t.kind == tensor_kind::unknown;
}

bool has_values(const tensor_survey& t) { return t.counted && !t.history.parts().empty(); }

// Whose steps are all up to `last`.
std::vector<tensor_history::part> parts_until(const tensor_survey& t, std::int64_t last) {
  std::vector<tensor_history::part> parts = t.history.parts();
  std::erase_if(parts, [&](const tensor_history::part& p) { return p.last_step > last; });
  return parts;
}

bool is_all_zero(const tensor_survey& t, std::int64_t last) {
  const auto parts = parts_until(t, last);
  return !parts.empty() && std::ranges::all_of(parts, [](const auto& p) { return p.zeros == p.numel && p.numel > 0; });
}

// "layers.0.attn" of "layers.0.attn.weight"; empty of a name without a dot.
std::string_view module_of(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? std::string_view{} : name.substr(0, dot);
}

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

// The name without its numbers, and the numbers.
std::pair<std::string, std::vector<std::uint64_t>> family_of(std::string_view name) {
  std::string family;
  std::vector<std::uint64_t> numbers;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] < '0' || name[i] > '9') {
      family += name[i];
      continue;
    }
    if (family.empty() || family.back() != '#') {
      family += '#';
      numbers.push_back(0);
    }
    constexpr std::uint64_t most = 1'000'000'000'000;
    numbers.back() = std::min(most, numbers.back() * 10 + static_cast<std::uint64_t>(name[i] - '0'));
  }
  return {family, numbers};
}

struct layer {
  std::uint32_t tensor = 0;
  std::vector<std::uint64_t> numbers;
  double log2_largest = 0;  // minus infinity where all are zero
};

// The middle one of the largest magnitudes of the parts; minus infinity where all are zero.
double log2_largest_of(const std::vector<tensor_history::part>& parts) {
  std::vector<double> largest;
  for (const tensor_history::part& p : parts)
    if (p.max_abs > 0) largest.push_back(std::log2(p.max_abs));
  return largest.empty() ? -std::numeric_limits<double>::infinity() : median(std::move(largest));
}

// How far magnitudes go one way: concordant pairs less discordant ones, of all.
double trend_of(const std::vector<layer>& layers) {
  double sum = 0;
  double pairs = 0;
  for (std::size_t i = 0; i < layers.size(); ++i)
    for (std::size_t j = i + 1; j < layers.size(); ++j) {
      const double a = layers[i].log2_largest;
      const double b = layers[j].log2_largest;
      if (a == b) continue;
      sum += a < b ? 1 : -1;
      ++pairs;
    }
  return pairs == 0 ? 0 : sum / pairs;
}

std::optional<vanished_in_depth> shrinks_through(std::vector<layer> layers) {
  constexpr std::size_t least_layers = 6;
  constexpr std::size_t most_layers = 2000;
  constexpr double least_log2_ratio = 20;
  constexpr double steady = 0.8;
  if (layers.size() < least_layers || layers.size() > most_layers) return std::nullopt;
  std::ranges::sort(layers, {}, &layer::numbers);
  const double trend = trend_of(layers);
  if (std::abs(trend) < steady) return std::nullopt;
  if (trend < 0) std::ranges::reverse(layers);
  const auto first = std::ranges::find_if(layers, [](const layer& l) { return std::isfinite(l.log2_largest); });
  if (first == layers.end()) return std::nullopt;
  vanished_in_depth v{.small_end = first->tensor,
                      .large_end = layers.back().tensor,
                      .layers = static_cast<std::uint32_t>(layers.size()),
                      .log2_ratio = layers.back().log2_largest - first->log2_largest,
                      .all_zero = static_cast<std::uint32_t>(first - layers.begin())};
  if (!(v.log2_ratio >= least_log2_ratio)) return std::nullopt;
  return v;
}

}  // namespace

std::optional<vanished_in_time> vanished_in_time_of(const survey& run, const std::vector<tensor_info>& tensors,
                                                    std::int64_t last) {
  constexpr double almost_all = 0.9;
  constexpr double much_more = 0.3;
  vanished_in_time v;
  if (!loss_stands_still(run.steps(), last, v.loss)) return std::nullopt;
  double most = 0;
  for (std::uint32_t i = 0; i < run.tensors().size(); ++i) {
    const tensor_survey& t = run.tensors()[i];
    if (!has_values(t) || !is_scaled(tensors[i].kind)) continue;
    const auto parts = parts_until(t, last);
    constexpr std::size_t least_parts = 24;
    if (parts.size() < least_parts) continue;
    const std::size_t n = parts.size() / 8;
    const auto share = [&](std::size_t from) {
      std::vector<double> shares;
      for (std::size_t p = from; p < from + n; ++p) shares.push_back(parts[p].zero_share());
      return median(std::move(shares));
    };
    const double before = share(0);
    const double after = share(parts.size() - n);
    if (after < almost_all || after - before < much_more) continue;
    ++v.tensors;
    if (after - before <= most) continue;
    most = after - before;
    v.tensor = i;
    v.zeros_before = before;
    v.zeros_after = after;
    v.largest_after = parts.back().max_abs;
    auto p = parts.end();
    while (p != parts.begin() && std::prev(p)->zero_share() >= (before + after) / 2) --p;
    v.mostly_from = p == parts.end() ? parts.back().first_step : p->first_step;
  }
  if (v.tensors == 0) return std::nullopt;
  const auto from = std::ranges::lower_bound(run.steps(), v.mostly_from, {}, [](const auto& s) { return s.key.step; });
  v.jump = largest_jump(run.steps(), 1, static_cast<std::size_t>(from - run.steps().begin()));
  return v;
}

std::optional<vanished_in_depth> vanished_in_depth_of(const survey& run, const std::vector<tensor_info>& tensors,
                                                      std::int64_t last) {
  std::map<std::pair<std::string, tensor_kind>, std::vector<layer>> families;
  for (std::uint32_t i = 0; i < run.tensors().size(); ++i) {
    const tensor_survey& t = run.tensors()[i];
    if (!has_values(t) || !is_scaled(tensors[i].kind)) continue;
    const auto parts = parts_until(t, last);
    auto [family, numbers] = family_of(tensors[i].name);
    if (numbers.empty() || parts.empty()) continue;
    families[{std::move(family), tensors[i].kind}].push_back({i, std::move(numbers), log2_largest_of(parts)});
  }
  std::optional<vanished_in_depth> worst;
  for (auto& [family, layers] : families) {
    const std::optional<vanished_in_depth> v = shrinks_through(std::move(layers));
    if (v && (!worst || v->log2_ratio > worst->log2_ratio)) worst = v;
  }
  return worst;
}

std::optional<dead_tensors> dead_tensors_of(const survey& run, const std::vector<tensor_info>& tensors,
                                            std::int64_t last) {
  // A bias alone may have none by its mathematics, as that of keys in attention: a module is dead where all it has is.
  std::map<std::string_view, bool> module_lives;
  const auto is_meant = [&](std::size_t i) {
    return has_values(run.tensors()[i]) && is_weight_gradient(tensors[i]) &&
           !parts_until(run.tensors()[i], last).empty();
  };
  for (std::size_t i = 0; i < run.tensors().size(); ++i)
    if (is_meant(i) && !is_all_zero(run.tensors()[i], last)) module_lives[module_of(tensors[i].name)] = true;
  dead_tensors dead;
  for (std::uint32_t i = 0; i < run.tensors().size(); ++i) {
    if (!is_meant(i)) continue;
    const bool is_dead = is_all_zero(run.tensors()[i], last) && run.tensors()[i].numel > 0;
    const std::string_view module = module_of(tensors[i].name);
    if (is_dead && (module.empty() || !module_lives[module])) {
      dead.tensors.push_back(i);
      dead.living.reset();
      dead.steps.steps = std::max(dead.steps.steps, run.tensors()[i].steps);
    } else if (!is_dead && !dead.living && !dead.tensors.empty()) {
      dead.living = i;
    }
  }
  const bool something_lives = std::ranges::any_of(module_lives, [](const auto& m) { return m.second; });
  constexpr std::uint64_t few = 20;
  if (dead.tensors.empty() || !something_lives || dead.steps.steps < few) return std::nullopt;
  dead.steps.first = run.steps().front().key.step;
  dead.steps.last = std::min(run.steps().back().key.step, last);
  return dead;
}

}  // namespace ulp
