#include "scale_at_floor.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "evidence.hpp"

namespace ulp {
namespace {

// So many steps at its least make a floor.
constexpr std::uint64_t least_steps_at_floor = 20;

// How the scale came down to its least, and what the steps there hold.
struct descent {
  scale_at_floor found;
  double last = not_known;
  std::uint64_t falls = 0;   // to ever lower scales
  std::uint64_t places = 0;  // of overflow at the least one
  std::uint64_t since = 0;   // steps behind the last of these

  // Far more often than bad batches are, not once, and to the end.
  [[nodiscard]] bool goes_on() const noexcept {
    constexpr std::uint64_t several = 5;
    return 5 * since <= found.at_floor.steps &&
           (2 * found.lost >= found.at_floor.steps || (4 * found.lost >= found.at_floor.steps && places >= several));
  }
};

descent descent_of(const std::vector<step_survey>& steps, std::size_t begin) {
  descent d{.found = {.floor = std::numeric_limits<double>::infinity()}};
  scale_at_floor& f = d.found;
  double greatest = 0;
  for (std::size_t i = begin; i < steps.size(); ++i) {
    const step_survey& s = steps[i];
    if (!(s.loss_scale > 0) || !std::isfinite(s.loss_scale)) continue;
    d.last = s.loss_scale;
    greatest = std::max(greatest, s.loss_scale);
    ++d.since;
    if (s.loss_scale < f.floor) {
      f = {.at_floor = {s.key.step, s.key.step, 0}, .floor = s.loss_scale, .greatest = greatest};
      ++d.falls;
      d.places = d.since = 0;
    }
    if (s.loss_scale > f.floor) continue;
    f.at_floor.last = s.key.step;
    ++f.at_floor.steps;
    f.lost += is_lost(s) ? 1 : 0;
    d.places += is_lost(s) && (i == 0 || !is_lost(steps[i - 1])) ? 1 : 0;
    if (is_lost(s)) d.since = 0;
  }
  return d;
}

// From the index `begin` on.
std::optional<scale_at_floor> floor_of(const std::vector<step_survey>& steps, std::size_t begin) {
  constexpr double deep = 0x1p10;
  constexpr double near = 4;  // it may try to rise
  const descent down = descent_of(steps, begin);
  const scale_at_floor& f = down.found;
  const bool stays =
      f.at_floor.steps >= least_steps_at_floor && 10 * f.at_floor.steps >= steps.size() && down.last <= near * f.floor;
  if (!(f.greatest >= deep * f.floor) || !stays || 2 * f.lost >= f.at_floor.steps) return std::nullopt;
  return f;
}

}  // namespace

std::optional<scale_at_floor> high_floor_of(const std::vector<step_survey>& steps) {
  // The first scale counts as one; a scale that somebody lowered by hand falls once.
  constexpr std::uint64_t several = 3;
  const descent down = descent_of(steps, 0);
  scale_at_floor f = down.found;
  const bool stays =
      f.at_floor.steps >= least_steps_at_floor && 4 * f.at_floor.steps >= steps.size() && down.last == f.floor;
  if (!std::isfinite(f.floor) || down.falls < several || !stays || !down.goes_on()) return std::nullopt;
  f.is_too_high = true;
  return f;
}

void examine_scale_at_floor(const evidence& e, std::vector<cause>& found) {
  if (e.high_floor)
    found.emplace_back(*e.high_floor);
  else if (const auto floor = e.died ? std::nullopt : floor_of(e.steps, e.searched))
    found.emplace_back(*floor);
}

}  // namespace ulp
