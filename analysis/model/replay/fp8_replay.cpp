#include <ulp/model/replay/fp8_replay.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <ulp/model/outcomes/row_outcomes.hpp>
#include <ulp/model/recipe/scaling.hpp>

#include "outcomes/ramps.hpp"

namespace ulp {
namespace {

// The largest finite magnitude of the true values, as float32.
double largest_finite_of(const tensor_row& row) {
  return static_cast<double>(static_cast<float>(row.table.max_abs / row.unit()));
}

// As float32; NaN where the table does not know it.
double amax_of(const tensor_row& row, bool passes_over_nan) {
  const cell_table& t = row.table;
  if (t.nans > 0 && !passes_over_nan) return not_known;
  if (t.infinities() > 0) return std::numeric_limits<double>::infinity();
  return largest_finite_of(row);
}

// x * scale, or x / scale, of the true value x.
multiplier multiplier_of(const fp8_scales& scales, bool divides, double factor) {
  const multiplier by = divides ? multiplier{.scale = 1, .factor = scales.used * factor}
                                : multiplier{.scale = scales.used, .factor = factor};
  const bool is_exact = is_power_of_two(by.scale) && is_power_of_two(by.factor);
  return {.scale = by.scale, .factor = by.factor, .in_float32 = !is_exact};
}

// An infinite or absent divisor leaves nothing, or too much.
multiplier usable(multiplier by) {
  if (by.factor > 0 && std::isfinite(by.factor)) return by;
  return {.scale = by.factor > 0 ? 0 : std::numeric_limits<double>::infinity()};
}

}  // namespace

double fp8_row::binades_off() const noexcept { return std::log2(multiplied_by / ideal); }

bool fp8_row::is_stale() const noexcept { return std::fabs(binades_off()) > 1; }

namespace {

void see_first(std::optional<std::int64_t>& first, bool is, std::int64_t step) {
  if (is && !first) first = step;
}

void join_first(std::optional<std::int64_t>& first, const std::optional<std::int64_t>& other) {
  if (other) first = std::min(first.value_or(*other), *other);
}

}  // namespace

void fp8_tensor_summary::add(const fp8_row& row) {
  if (steps == 0) first_scale = row.scales.used;
  last_scale = row.scales.used;
  ++steps;
  saturating += row.saturates ? 1 : 0;
  see_first(first_saturating, row.saturates, row.key.step);
  stale += row.is_stale() ? 1 : 0;
  see_first(first_stale, row.is_stale(), row.key.step);
  most_binades_above = std::fmax(most_binades_above, row.binades_off());
  most_binades_below = std::fmax(most_binades_below, -row.binades_off());
  infinite += std::isinf(row.amax) ? 1 : 0;
  nan += std::isnan(row.amax) ? 1 : 0;
  see_first(first_not_finite, !std::isfinite(row.amax), row.key.step);
  held += row.scales.held ? 1 : 0;
  if (!std::isfinite(row.amax)) not_finite_underflow += row.counts.underflow;
  holding = row.scales.held ? holding + 1 : 0;
  longest_held = std::max(longest_held, holding);
  counts += row.counts;
  noise += row.noise;
  as_recorded = as_recorded || row.as_recorded;
}

fp8_tensor_summary& fp8_tensor_summary::operator+=(const fp8_tensor_summary& other) {
  steps += other.steps;
  saturating += other.saturating;
  join_first(first_saturating, other.first_saturating);
  stale += other.stale;
  join_first(first_stale, other.first_stale);
  most_binades_above = std::max(most_binades_above, other.most_binades_above);
  most_binades_below = std::max(most_binades_below, other.most_binades_below);
  infinite += other.infinite;
  nan += other.nan;
  join_first(first_not_finite, other.first_not_finite);
  held += other.held;
  not_finite_underflow += other.not_finite_underflow;
  longest_held = std::max(longest_held, other.longest_held);
  holding = 0;
  first_scale = last_scale = not_known;
  counts += other.counts;
  noise += other.noise;
  as_recorded = as_recorded || other.as_recorded;
  return *this;
}

fp8_choice choice_of(const tensor_info& t, const fp8_recipe& recipe, bool has_activation_grads) {
  if (std::ranges::any_of(recipe.kept_out, [&](const std::string& part) { return t.name.find(part) != t.name.npos; }))
    return fp8_choice::kept_out;
  if (!recipe.is_of_linear_layers) return fp8_choice::cast;
  const bool is_parameter = t.kind == tensor_kind::weight || t.kind == tensor_kind::weight_grad;
  const bool is_scalar = t.shape.empty() && t.numel == 1;
  if (is_parameter && (t.shape.size() == 1 || is_scalar)) return fp8_choice::vector;
  if (t.kind == tensor_kind::update) return fp8_choice::output;
  if (t.kind != tensor_kind::weight_grad) return fp8_choice::cast;
  return has_activation_grads ? fp8_choice::output : fp8_choice::in_place_of;
}

bool is_read_by_products(const tensor_info& t, bool has_activation_grads) {
  static const fp8_recipe usual = fp8_recipe_named("te_current");
  const fp8_choice choice = choice_of(t, usual, has_activation_grads);
  return choice == fp8_choice::cast || choice == fp8_choice::in_place_of;
}

void fp8_replayer::see(const std::vector<tensor_info>& tensors) {
  const bool had = has_activation_grads_;
  for (; seen_ < tensors.size(); ++seen_)
    has_activation_grads_ = has_activation_grads_ || tensors[seen_].kind == tensor_kind::activation_grad;
  if (had || !has_activation_grads_) return;
  for (auto& [tensor, choice] : choices_) {
    if (choice != fp8_choice::in_place_of) continue;
    choice = fp8_choice::output;
    machines_.erase(tensor);
    summaries_.erase(tensor);
  }
}

fp8_replayer::machine* fp8_replayer::machine_of(std::uint32_t index, const std::vector<tensor_info>& tensors) {
  const auto [choice, is_new] = choices_.try_emplace(index, fp8_choice::cast);
  if (is_new) choice->second = choice_of(tensors[index], recipe_, has_activation_grads_);
  if (choice->second != fp8_choice::cast && choice->second != fp8_choice::in_place_of) return nullptr;
  const fp8_treatment& as = recipe_.of(tensors[index]);
  return &machines_.try_emplace(index, machine{.of = as.start, .how = as.how}).first->second;
}

fp8_row fp8_replayer::machine::advance(const step_key& key, std::uint32_t tensor, double amax, double largest) {
  const bool divides = of.entry().divides;
  fp8_row row{.key = key, .tensor = tensor, .amax = amax, .scales = of.update(amax)};
  row.multiplied_by = divides ? 1 / row.scales.used : row.scales.used;
  if (amax > 0 && std::isfinite(amax)) row.ideal = of.largest() / amax;
  if (!(largest > 0) || std::isnan(row.scales.used)) return row;
  const multiplier by = usable(multiplier_of(row.scales, divides, 1));
  row.saturates = by.usable() ? reaches(thresholds_of(how, false).overflow, by, largest) : by.scale != 0;
  return row;
}

std::optional<fp8_row> fp8_replayer::advance(const step_key& key, std::uint32_t tensor, double amax,
                                             const std::vector<tensor_info>& tensors) {
  see(tensors);
  machine* const by = counted_.takes(tensors[tensor]) ? machine_of(tensor, tensors) : nullptr;
  if (by == nullptr) return std::nullopt;
  const fp8_row row = by->advance(key, tensor, amax, std::isfinite(amax) ? amax : 0);
  summaries_[tensor].add(row);
  return row;
}

std::vector<fp8_row> fp8_replayer::advance(const step& now, const std::vector<tensor_info>& tensors) {
  see(tensors);
  std::vector<fp8_row> rows;
  for (const tensor_row& t : now.tensors) {
    machine* const by = counted_.takes(tensors[t.tensor]) ? machine_of(t.tensor, tensors) : nullptr;
    if (by == nullptr) continue;
    if (std::isnan(t.table.max_abs))
      throw std::invalid_argument("step " + std::to_string(now.key.step) + ", tensor '" + tensors[t.tensor].name +
                                  "': the input does not know the largest magnitude, which these policies scale by");
    const fp8_scaler_entry& policy = by->of.entry();
    constexpr double greatest = std::numeric_limits<float>::max();
    // A finite value that its factor takes beyond float32 saturates like others.
    const double largest = std::min(largest_finite_of(t), greatest);
    fp8_row row = by->advance(now.key, t.tensor, amax_of(t, policy.ignores_nan), largest);
    const multiplier multiplied = usable(multiplier_of(row.scales, policy.divides, t.unit()));
    row.has_counts = true;
    row.counts = outcomes_of(t, by->how, multiplied);
    if (std::isnan(row.scales.used))
      row.counts = {.numel = row.counts.numel,
                    .zero = row.counts.zero,
                    .maybe_zero = row.counts.maybe_zero,
                    .nonfinite = row.counts.nonfinite};
    if (noise_ == with_noise::yes && !std::isnan(row.scales.used)) row.noise = noise_of(t, by->how, multiplied);
    row.as_recorded = !t.factor_known() && is_scaled(tensors[t.tensor]);
    summaries_[t.tensor].add(row);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace ulp
