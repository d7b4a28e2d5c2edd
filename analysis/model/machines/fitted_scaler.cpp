#include <ulp/model/machines/fitted_scaler.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <set>

namespace ulp {
namespace {

using settings = std::vector<std::pair<std::string, parameter_value>>;

constexpr double as_logged = 1e-6;

bool is_same(double a, double b) { return std::abs(a - b) <= as_logged * std::abs(b); }

bool overflowed(std::span<const scaled_step> steps, std::size_t i) {
  const bool falls = i + 1 < steps.size() && steps[i + 1].scale < steps[i].scale;
  return steps[i].found_inf.value_or(falls);
}

// What the scales show of settings.
struct shown_settings {
  std::set<double> windows;  // good steps before it grew
  double longest = 0;        // good steps in a row
  double growth = 2;
  double backoff = 0.5;
  bool has_grown = false;
  bool changes = false;
};

shown_settings shown_by(std::span<const scaled_step> steps) {
  constexpr std::size_t most_windows = 8;
  shown_settings shown;
  double good = 0;
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    good = overflowed(steps, i) ? 0 : good + 1;
    shown.longest = std::max(shown.longest, good);
    const double ratio = steps[i + 1].scale / steps[i].scale;
    if (is_same(ratio, 1)) continue;
    shown.changes = true;
    (ratio > 1 ? shown.growth : shown.backoff) = ratio;
    if (ratio < 1) continue;
    shown.has_grown = true;
    // It may grow in every step, by a root of 2.
    for (const double window : {good, std::round(1 / std::log2(ratio))})
      if (window >= 1 && shown.windows.size() < most_windows) shown.windows.insert(window);
    good = 0;
  }
  return shown;
}

std::optional<scaler> made(const scaler_entry& entry, const settings& with) {
  try {
    return make_scaler(entry, with);
  } catch (const parameter_error&) {
    return std::nullopt;
  }
}

// The parameter that is the scale of the first step.
std::optional<settings> starting_at(const scaler_entry& entry, double scale) {
  if (const auto s = made(entry, {}); s && s->scale() == scale) return settings{};
  for (const scaler_parameter& p : entry.parameters) {
    if (p.name == entry.window) continue;
    settings with{{p.name, scale}};
    if (const auto s = made(entry, with); s && s->scale() == scale) return with;
  }
  return std::nullopt;
}

// Factors that are not what the scales show.
settings factors_of(const scaler_entry& entry, const shown_settings& shown) {
  settings all;
  for (const scaler_parameter& p : entry.parameters) {
    const double* const usual = std::get_if<double>(&p.value);
    const bool is_factor = p.name.find("factor") != std::string::npos || p.name.find("ratio") != std::string::npos ||
                           p.name.find("multiplier") != std::string::npos;
    if (usual == nullptr || !is_factor) continue;
    const double seen = *usual > 1 ? shown.growth : shown.backoff;
    if (!is_same(seen, *usual)) all.emplace_back(p.name, seen);
  }
  return all;
}

// Overflows that it waits for, as they are tried: the default and others.
std::vector<settings> patiences_of(const scaler_entry& entry) {
  std::vector<settings> all{{}};
  for (const scaler_parameter& p : entry.parameters) {
    const double* const usual = std::get_if<double>(&p.value);
    const bool waits = p.name.find("hysteresis") != std::string::npos || p.name == "delayed_shift";
    if (usual == nullptr || !waits) continue;
    for (const double n : {1.0, 2.0, 3.0, 4.0})
      if (n != *usual) all.push_back({{p.name, n}});
  }
  return all;
}

bool gives(scaler s, std::span<const scaled_step> steps) {
  if (!is_same(s.scale(), steps.front().scale)) return false;
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    const scaler_verdict verdict = s.update({.found_inf = overflowed(steps, i)});
    if (!verdict.error.empty() || verdict.lacks_input || !is_same(s.scale(), steps[i + 1].scale)) return false;
  }
  return true;
}

std::vector<std::optional<double>> windows_of(const shown_settings& shown) {
  std::vector<std::optional<double>> all{std::nullopt};  // the default
  for (const double w : shown.windows) {
    all.emplace_back(w);
    // Some count from the overflow on, or compare before they count.
    for (const double other : {w - 1, w + 1})
      if (other > 0 && !shown.windows.contains(other)) all.emplace_back(other);
  }
  all.emplace_back(shown.longest + 1);
  return all;
}

std::optional<settings> fitted(const scaler_entry& entry, std::span<const scaled_step> steps,
                               const shown_settings& shown) {
  const auto start = starting_at(entry, steps.front().scale);
  if (!start) return std::nullopt;
  const settings factors = shown.changes ? factors_of(entry, shown) : settings{};
  for (const std::optional<double>& window : windows_of(shown))
    for (const settings& patience : patiences_of(entry)) {
      if (window && entry.window.empty()) continue;
      settings with = *start;
      with.insert(with.end(), factors.begin(), factors.end());
      if (window) with.emplace_back(entry.window, *window);
      with.insert(with.end(), patience.begin(), patience.end());
      if (const auto s = made(entry, with); s && gives(*s, steps)) return with;
    }
  return std::nullopt;
}

// Of a scale that never changes: one that stays through overflows, or so long, is no dynamic one that waits. Empty where it may be.
std::string_view constant_policy(std::span<const scaled_step> steps) {
  constexpr std::size_t usual_window = 2000;
  if (steps.front().scale == 1) return "none";
  for (std::size_t i = 0; i + 1 < steps.size(); ++i)
    if (overflowed(steps, i)) return "static";
  return steps.size() > usual_window ? "static" : "";
}

}  // namespace

std::optional<fitted_scaler> fit_scaler(std::span<const scaled_step> steps, std::span<const std::string_view> first) {
  const auto has_scale = [](const scaled_step& s) { return s.scale > 0 && std::isfinite(s.scale); };
  if (steps.size() < 2 || !std::ranges::all_of(steps, has_scale)) return std::nullopt;
  const shown_settings shown = shown_by(steps);
  const auto try_entry = [&](const scaler_entry* entry) -> std::optional<fitted_scaler> {
    if (entry == nullptr || entry->scope != machine_scope::run) return std::nullopt;
    const auto with = fitted(*entry, steps, shown);
    if (!with) return std::nullopt;
    return fitted_scaler{entry->name, *with, shown.has_grown};
  };
  for (const std::string_view name : first)
    if (auto found = try_entry(find_scaler(name))) return found;
  if (!shown.changes)
    if (auto found = try_entry(find_scaler(constant_policy(steps)))) return found;
  for (const scaler_entry& entry : scaler_catalog())
    if (auto found = try_entry(&entry)) return found;
  return std::nullopt;
}

}  // namespace ulp
