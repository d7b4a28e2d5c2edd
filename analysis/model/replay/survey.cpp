#include <ulp/model/replay/survey.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <ulp/formats/catalog.hpp>
#include <ulp/formats/names.hpp>

#include "backward_order.hpp"
#include "step_accumulator.hpp"

namespace ulp {
namespace {

constexpr std::size_t most_places = 64;

void add_to(tensor_survey& of, const tensor_row& t, const tensor_info& info, std::int64_t step) {
  auto [merged, first] = of.tables.try_emplace({t.unit(), t.type}, t.table);
  if (!first) merged->second.merge(t.table);
  ++of.steps;
  of.numel += t.table.numel;
  of.zeros += t.table.zeros;
  if (is_censored(t.type, info)) {
    of.censored += t.table.zeros;
    of.censored_magnitude += censored_magnitude_of(t.table.zeros, info, t.unit());
  }
  of.nonfinite += t.table.nonfinite();
  if (t.table.numel > 0)
    of.least_zero_share =
        std::min(of.least_zero_share, static_cast<double>(t.table.zeros) / static_cast<double>(t.table.numel));
  of.max_abs = std::max(of.max_abs, t.table.largest_possible() / t.unit());
  of.is_sum = of.is_sum || t.parts.is_sum();
  if (t.table.nonfinite() == 0) of.history.add(step, t.table, t.unit());
}

template <typename See>
void for_each_with_values(const survey& run, See see) {
  for (std::size_t i = 0; i < run.tensors().size(); ++i)
    if (run.tensors()[i].counted && run.tensors()[i].steps > 0) see(i);
}

}  // namespace

bool is_censored(dtype recorded, const tensor_info& of) { return recorded == dtype::float16 || !of.through.empty(); }

double censored_magnitude_of(std::uint64_t zeros, const tensor_info& of, double unit) {
  const std::optional<format> through = of.through.empty() ? float16 : find_format(of.through);
  const int least = through ? through->min_quantum_exponent() - 1 : float16.min_quantum_exponent() - 1;
  return std::ldexp(static_cast<double>(zeros), least) / unit;
}

outcome_counts tensor_survey::outcomes(const treatment& how, double scale) const {
  outcome_counts all;
  for (const auto& [of, table] : tables)
    all += outcomes_of(table, how, {.scale = is_scaled ? scale : 1, .factor = of.first}, of.second);
  return all;
}

lost_mass tensor_survey::lost(const treatment& how, double scale) const {
  lost_mass all;
  for (const auto& [of, table] : tables)
    all += lost_to_underflow(table, how, {.scale = is_scaled ? scale : 1, .factor = of.first}, of.second);
  return all;
}

rounding_noise tensor_survey::noise(const treatment& how, double scale) const {
  rounding_noise all;
  for (const auto& [of, table] : tables)
    all += noise_of(table, how, {.scale = is_scaled ? scale : 1, .factor = of.first}, of.second);
  return all;
}

value_range tensor_survey::magnitudes() const {
  value_range all;
  for (const auto& [of, table] : tables) {
    const value_range sum = magnitudes_bounds(table);
    all += {sum.low / of.first, sum.high / of.first};
  }
  return all;
}

void tensor_history::add(std::int64_t step, const cell_table& table, double unit) {
  constexpr std::size_t most_parts = 64;
  if (parts_.empty() || parts_.back().steps == width_) {
    if (parts_.size() == most_parts) {
      for (std::size_t i = 0; i < most_parts / 2; ++i) {
        part merged = parts_[2 * i];
        const part& next = parts_[2 * i + 1];
        merged.last_step = next.last_step;
        merged.steps += next.steps;
        merged.numel += next.numel;
        merged.zeros += next.zeros;
        merged.max_abs = std::max(merged.max_abs, next.max_abs);
        parts_[i] = merged;
      }
      parts_.resize(most_parts / 2);
      width_ *= 2;
    }
    parts_.push_back({.first_step = step});
  }
  part& now = parts_.back();
  now.last_step = step;
  ++now.steps;
  now.numel += table.numel;
  now.zeros += table.zeros;
  now.max_abs = std::max(now.max_abs, table.largest_possible() / unit);
}

std::optional<step_surveyor::surveyed> step_surveyor::see(const step& now, const std::vector<tensor_info>& all) {
  if (!counted_.takes(now.key.step) || now.key.microbatch != -1) return std::nullopt;
  choice_.see(all);
  surveyed seen;
  step_survey& s = seen.step;
  s.key = now.key;
  s.loss = now.scalars.loss;
  s.logged_norm = now.scalars.grad_norm;
  s.learning_rate = now.scalars.learning_rate;
  step_accumulator sums;
  sums.add_log(now);
  std::uint64_t elements = 0;
  std::uint64_t zeros = 0;
  for (const tensor_row& t : now.tensors) {
    const tensor_choice::membership& m = choice_[t.tensor];
    if (m.counted || m.checked) as_recorded_ = as_recorded_ || !t.factor_known();
    if (m.is_scaled) {
      ++s.tensors;
      if (t.table.nans > 0) seen.with_nan.push_back(t.tensor);
      if (t.table.infinities() > 0) seen.with_infinities.push_back(t.tensor);
      if (t.table.nonfinite() > 0) ++s.lost;
      elements += t.table.numel;
      zeros += t.table.zeros;
    } else if (all[t.tensor].kind == tensor_kind::activation && t.table.nonfinite() > 0) {
      seen.lost_activations.push_back(t.tensor);
    }
    sums.add(t, m);
    if (m.checked && t.parts.is_sum()) {
      s.has_sums = true;
      // One of n parts is at least an n-th of their sum.
      constexpr std::uint8_t or_more = std::numeric_limits<std::uint8_t>::max();
      if (t.parts.kept == 0 && t.parts.rounded < or_more && t.table.max_abs > 0)
        s.least_part = std::max(s.least_part, t.table.max_abs / t.unit() / t.parts.rounded);
    } else if (m.checked) {
      s.largest_whole = std::max(s.largest_whole, t.table.largest_possible() / t.unit());
    }
    // Infinities elsewhere tell of an overflow that the checked tensors do not show.
    if (m.seen_if_lost && t.table.nonfinite() > 0) sums.largest.add(t);
  }
  s.is_zero = elements > 0 && zeros == elements;
  run_.see(now, all);
  doubts_.see(now, all);
  s.loss_scale = now.scalars.loss_scale;
  if (run_.rounded_to() != nullptr) s.rounded_to = *run_.rounded_to();
  s.several_formats = run_.has_several_formats();
  s.found_inf = now.scalars.found_inf;
  s.applied = now.scalars.applied;
  if (now.bounds) {
    s.bound_low = now.bounds->low;
    s.bound_high = now.bounds->high;
    s.bound_is_certain = now.bounds->certain;
  }
  s.loss_is_lost = run_.loss_is_lost();
  s.known = sums.largest.known();
  s.max_abs = sums.largest.value();
  if (now.tensors.empty() && s.known) s.largest_whole = s.max_abs;
  s.norm = sums.norm.value();
  s.norm_is_exact = sums.norm.exact();
  s.with_nan = static_cast<std::uint32_t>(seen.with_nan.size());
  s.with_infinities = static_cast<std::uint32_t>(seen.with_infinities.size());
  return seen;
}

void survey::see_weights(const step& now, const std::vector<tensor_info>& all) {
  ulp::lost_weights lost{.step = now.key.step, .is_first = !has_weights_};
  for (const tensor_row& t : now.tensors) {
    const tensor_info& info = all[t.tensor];
    if (info.kind == tensor_kind::update && surveyor_.counted().takes(info) && now.scalars.learning_rate != 0) {
      zeros_of_updates& of = zero_updates_[t.tensor];
      of.zeros += t.table.zeros;
      of.numel += t.table.numel - t.table.nonfinite();
    }
    if (info.kind != tensor_kind::weight || !surveyor_.counted().takes(info)) continue;
    has_weights_ = true;
    weight_types_[t.tensor] = t.type;
    if (t.table.nonfinite() == 0) continue;
    lost.tensors.push_back(t.tensor);
    lost.elements += t.table.nonfinite();
    lost.numel += t.table.numel;
  }
  if (lost.tensors.empty()) return;
  if (lost_weights_)
    ++lost_weights_->more_steps;
  else
    lost_weights_ = std::move(lost);
}

void survey::see_lost(const step_surveyor::surveyed& seen) {
  if (seen.step.lost == 0) return;
  std::vector<std::uint32_t> lost = seen.lost_activations;
  std::ranges::set_union(seen.with_nan, seen.with_infinities, std::back_inserter(lost), {}, rank(), rank());
  for (const std::uint32_t i : lost) {
    tensor_survey& t = tensors_[i];
    if (t.lost_steps++ == 0) t.first_lost_step = seen.step.key.step;
  }
  // Of steps in a row the first tells: what was applied there reaches everything after it. NaN follows from infinities.
  if (!steps_.empty() && steps_.back().lost > 0 && seen.with_infinities.empty()) return;
  const std::vector<std::uint32_t>& first = !seen.lost_activations.empty() ? seen.lost_activations
                                            : seen.with_infinities.empty() ? seen.with_nan
                                                                           : seen.with_infinities;
  ++tensors_[first.front()].lost_first;
}

void survey::add(const step& now, const std::vector<tensor_info>& all) {
  std::optional<step_surveyor::surveyed> seen = surveyor_.see(now, all);
  if (!seen) return;
  see_weights(now, all);
  for (std::size_t i = tensors_.size(); i < all.size(); ++i) {
    const tensor_choice::membership& m = choice()[i];
    tensors_.emplace_back();
    tensors_.back().is_scaled = m.is_scaled;
    tensors_.back().counted = m.counted && (tensors_.back().is_scaled || !surveyor_.counted().kinds.empty());
    tensors_.back().checked = m.checked;
  }
  if (backward_ranks_.size() < all.size()) backward_ranks_ = backward_ranks(all);
  std::ranges::sort(seen->with_nan, {}, rank());
  std::ranges::sort(seen->with_infinities, {}, rank());
  for (const tensor_row& t : now.tensors)
    if (tensors_[t.tensor].counted) add_to(tensors_[t.tensor], t, all[t.tensor], now.key.step);
  see_lost(*seen);
  steps_.push_back(seen->step);
  const step_survey& s = steps_.back();
  const step_survey* const before = steps_.size() > 1 ? &steps_[steps_.size() - 2] : nullptr;
  const bool goes_on = before != nullptr && before->lost > 0;
  const bool is_nan_after_infinities = goes_on && before->with_infinities > 0 && s.with_infinities == 0;
  if (s.lost == 0 || (goes_on && !is_nan_after_infinities)) return;
  if (lost_places_.size() > most_places) lost_places_.pop_back();
  lost_places_.push_back({.step = steps_.size() - 1,
                          .with_nan = std::move(seen->with_nan),
                          .with_infinities = std::move(seen->with_infinities)});
}

std::uint64_t survey::censored() const {
  std::uint64_t all = 0;
  for (const tensor_survey& t : tensors_) all += t.censored;
  return all;
}

double survey::censored_magnitude(const tensor_set& of) const {
  double all = 0;
  for (const std::size_t i : of.tensors) all += tensors_[i].censored_magnitude;
  return all;
}

outcome_counts survey::outcomes(const treatment& how, double scale) const {
  outcome_counts all;
  for (const tensor_survey& t : tensors_) all += t.outcomes(how, scale);
  return all;
}

outcome_counts survey::outcomes(const tensor_set& of, const treatment& how, double scale) const {
  outcome_counts all;
  for (const std::size_t i : of.tensors) all += tensors_[i].outcomes(how, scale);
  return all;
}

lost_mass survey::lost(const tensor_set& of, const treatment& how, double scale) const {
  lost_mass all;
  for (const std::size_t i : of.tensors) all += tensors_[i].lost(how, scale);
  return all;
}

rounding_noise survey::noise(const tensor_set& of, const treatment& how, double scale) const {
  rounding_noise all;
  for (const std::size_t i : of.tensors) all += tensors_[i].noise(how, scale);
  return all;
}

value_range survey::magnitudes(const tensor_set& of) const {
  value_range all;
  for (const std::size_t i : of.tensors) all += tensors_[i].magnitudes();
  return all;
}

std::vector<tensor_set> sets_by_tensor(const survey& run, const std::vector<tensor_info>& tensors) {
  std::vector<tensor_set> all;
  for_each_with_values(run, [&](std::size_t i) { all.push_back({tensors[i].name, {i}}); });
  return all;
}

std::vector<tensor_set> sets_by_kind(const survey& run, const std::vector<tensor_info>& tensors) {
  std::map<std::string_view, tensor_set> all;
  for_each_with_values(run, [&](std::size_t i) {
    const std::string_view kind = to_string(tensors[i].kind);
    tensor_set& set = all[kind];
    set.name = kind;
    set.tensors.push_back(i);
  });
  std::vector<tensor_set> sets;
  for (auto& [kind, set] : all) sets.push_back(std::move(set));
  return sets;
}

std::vector<tensor_set> sets_by_group(const survey& run, const std::vector<tensor_info>& tensors,
                                      const std::vector<tensor_group>& groups) {
  std::vector<tensor_set> all;
  for (const tensor_group& g : groups) all.push_back({g.name, {}});
  all.push_back({name_of_rest, {}});
  for_each_with_values(
      run, [&](std::size_t i) { all[group_of(groups, tensors[i].name).value_or(groups.size())].tensors.push_back(i); });
  if (all.back().tensors.empty()) all.pop_back();
  return all;
}

}  // namespace ulp
