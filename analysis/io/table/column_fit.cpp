#include "column_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

#include <ulp/model/cells/cell_table.hpp>

namespace ulp::io {

bool can_count_steps(std::span<const numbered_value> values) {
  bool are_flags = true;
  bool since_before = true;
  bool in_all = true;
  numbered_value last{.step = not_known, .value = not_known};
  for (const numbered_value& now : values) {
    if (std::isnan(now.value)) continue;
    if (now.value < 0 || now.value != std::floor(now.value)) return false;
    const double gap = now.step - last.step;
    const auto fits = [&](double n) { return !(gap > 0) || n <= gap; };
    are_flags = are_flags && now.value <= 1;
    since_before = since_before && fits(now.value);
    in_all = in_all && !(now.value < last.value) && fits(now.value - last.value);
    last = now;
  }
  return are_flags || since_before || in_all;
}

bool falls_by_several_factors(std::span<const numbered_value> scales) {
  constexpr std::uint64_t again = 2;
  constexpr std::uint64_t few = 3;
  std::map<double, std::uint64_t> falls;
  std::uint64_t rises = 0;
  numbered_value last{.step = not_known, .value = not_known};
  for (const numbered_value& now : scales) {
    if (!std::isfinite(now.value) || !(now.value > 0)) continue;
    if (now.value < last.value && now.step == last.step + 1) ++falls[last.value / now.value];
    rises += now.value > last.value ? 1 : 0;
    last = now;
  }
  const auto factors = std::ranges::count_if(falls, [](const auto& of) { return of.second >= again; });
  return factors > 1 && rises >= few;
}

bool rises_in_all(std::span<const numbered_value> values) {
  std::vector<double> finite;
  for (const numbered_value& v : values)
    if (std::isfinite(v.value)) finite.push_back(v.value);
  const auto middle = finite.begin() + static_cast<std::ptrdiff_t>(finite.size() / 2);
  const auto n = static_cast<double>(finite.size() / 2);
  if (n == 0) return false;
  return std::accumulate(finite.end() - static_cast<std::ptrdiff_t>(n), finite.end(), 0.0) >
         std::accumulate(finite.begin(), middle, 0.0);
}

double common_distance(std::span<const double> ascending) noexcept {
  constexpr std::size_t few = 3;
  if (ascending.size() < few) return 0;
  const double distance = ascending[1] - ascending[0];
  for (std::size_t i = 1; i < ascending.size(); ++i)
    if (ascending[i] - ascending[i - 1] != distance) return 0;
  return distance;
}

}  // namespace ulp::io
