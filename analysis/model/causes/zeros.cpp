#include "zeros.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "divergence.hpp"
#include "places.hpp"
#include "series.hpp"
#include "tensor_parts.hpp"

namespace ulp {
namespace {

constexpr std::uint64_t few_steps = 20;

bool is_all_zero(const tensor_survey& t, std::int64_t last) {
  const auto parts = parts_until(t, last);
  return !parts.empty() && std::ranges::all_of(parts, [](const auto& p) { return p.zeros == p.numel && p.numel > 0; });
}

// Of the values that are not zero, in least numbers of what they were rounded to; NaN where they were not.
double mean_units_of(const tensor_survey& t) {
  // A zero may have been half of the least number.
  const double least = t.censored == 0 ? 0 : 2 * t.censored_magnitude / static_cast<double>(t.censored);
  const std::uint64_t nonzero = t.numel - t.zeros - t.nonfinite;
  if (!(least > 0) || nonzero == 0) return not_known;
  return t.magnitudes().low / static_cast<double>(nonzero) / least;
}

}  // namespace

std::optional<zero_gradients> zero_gradients_of(const std::vector<step_survey>& steps) {
  constexpr std::uint64_t least_steps = 5;
  const auto is_zero = [](const step_survey& s) {
    if (s.tensors == 0) return s.logged_norm == 0 || (s.known && s.max_abs == 0);
    return s.is_zero;
  };
  zero_gradients z{.loss_is_zero = true};
  std::size_t first = steps.size();
  while (first > 0 && is_zero(steps[first - 1])) --first;
  z.zero = {0, 0, steps.size() - first};
  z.starts_the_run = first == 0;
  if (z.zero.steps < least_steps && !(z.starts_the_run && z.zero.steps > 0)) return std::nullopt;
  z.zero.first = steps[first].key.step;
  z.zero.last = steps.back().key.step;
  for (std::size_t i = first; i < steps.size(); ++i) {
    z.loss_is_zero = z.loss_is_zero && steps[i].loss == 0;
    if (!z.overflowed && steps[i].found_inf == true && steps[i].tensors > 0) z.overflowed = steps[i].key.step;
  }
  return z;
}

std::optional<underflow_before_recording> underflow_before_recording_of(const survey& run,
                                                                        const std::vector<tensor_info>& tensors) {
  // Values that are spread as widely as gradients are, and average 16 least numbers, lose some to rounding.
  constexpr double near_least = 16;
  constexpr double many_zeros = 0.1;
  constexpr double share_of_elements = 0.1;
  underflow_before_recording u;
  std::uint64_t elements = 0;
  std::uint64_t of_these = 0;
  for (std::uint32_t i = 0; i < run.tensors().size(); ++i) {
    const tensor_survey& t = run.tensors()[i];
    if (!has_values(t) || !is_weight_gradient(tensors[i]) || t.numel == 0) continue;
    if (t.max_abs == 0) {
      ++u.all_zero;
      continue;
    }
    ++u.of;
    elements += t.numel;
    const double zeros = static_cast<double>(t.zeros) / static_cast<double>(t.numel);
    const double mean = mean_units_of(t);
    if (!(mean <= near_least) || zeros < many_zeros) continue;
    ++u.tensors;
    of_these += t.numel;
    if (zeros <= u.zeros) continue;
    u.worst = i;
    u.zeros = zeros;
    u.mean_units = mean;
  }
  if (u.tensors == 0 || static_cast<double>(of_these) < share_of_elements * static_cast<double>(elements))
    return std::nullopt;
  std::vector<double> scales;
  for (const step_survey& s : run.steps())
    if (const double scale = scale_of(s); !std::isnan(scale)) scales.push_back(scale);
  u.scale = median(std::move(scales));
  return u;
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
      std::uint64_t finite = 0;
      for (const tensor_history::part& p : parts_until(run.tensors()[i], last)) finite += p.steps;
      dead.steps.steps = std::max(dead.steps.steps, finite);
    } else if (!is_dead && !dead.living && !dead.tensors.empty()) {
      dead.living = i;
    }
  }
  const bool something_lives = std::ranges::any_of(module_lives, [](const auto& m) { return m.second; });
  if (dead.tensors.empty() || !something_lives || dead.steps.steps < few_steps) return std::nullopt;
  dead.steps.first = run.steps().front().key.step;
  dead.steps.last = std::min(run.steps().back().key.step, last);
  return dead;
}

}  // namespace ulp
