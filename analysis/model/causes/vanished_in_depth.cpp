#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "evidence.hpp"
#include "series.hpp"
#include "tensor_parts.hpp"

namespace ulp {
namespace {

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

std::optional<vanished_in_depth> vanished_in_depth_of(const survey& run, const std::vector<tensor_info>& tensors,
                                                      std::int64_t last) {
  std::map<std::pair<std::string, tensor_kind>, std::vector<layer>> families;
  for (std::uint32_t i = 0; i < run.tensors().size(); ++i) {
    const tensor_survey& t = run.tensors()[i];
    if (!has_values(t) || !t.is_scaled) continue;
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

void examine_vanished_in_depth(const evidence& e, std::vector<cause>& found) {
  if (e.depth) found.emplace_back(*e.depth);
}

}  // namespace ulp
