#include <ulp/model/replay/recording_doubts.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <ulp/model/recipe/scaling.hpp>
#include <ulp/model/replay/recorded_run.hpp>

namespace ulp {
namespace {

// The least number of float16. Averages over ranks and micro-batches may be smaller by their number, but not by this.
constexpr double least_of_float16 = 0x1p-24;
constexpr double most_averaged = 64;

// With three digits.
std::string text(double value) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.begin(), digits.end(), value, std::chars_format::general, 3).ptr;
  return {digits.begin(), end};
}

std::string steps(std::uint64_t n) { return std::to_string(n) + (n == 1 ? " step" : " steps"); }

}  // namespace

void recording_doubts::see(const step& now, const std::vector<tensor_info>& tensors) {
  if (now.key.microbatch != -1) return;
  ++steps_;
  see_values(now, tensors);
  const bool is_finite = std::ranges::all_of(
      now.tensors, [&](const tensor_row& t) { return !is_scaled(tensors[t.tensor]) || t.table.nonfinite() == 0; });
  see_scale(now, is_finite && !now.scalars.found_inf.value_or(false));
}

void recording_doubts::see_values(const step& now, const std::vector<tensor_info>& tensors) {
  const double scale = now.scalars.loss_scale;
  const bool has_scale = scale > 1 && std::isfinite(scale);
  bool any = false;
  bool all_zero = true;
  for (const tensor_row& t : now.tensors) {
    const tensor_info& info = tensors[t.tensor];
    if (!is_scaled(info) || t.table.numel == 0) continue;
    any = true;
    all_zero = all_zero && t.table.zeros == t.table.numel;
    if (!has_scale || !t.factor_known() || info.through != "float16" || !(t.table.max_abs > 0)) continue;
    const bool is_scaled_by_it = t.factor > std::sqrt(scale);
    const double as_it_was = scale / t.factor;
    const double least = t.table.min_abs * std::min(as_it_was, 1.0);
    if (is_scaled_by_it && least > 0 && least < least_of_float16 / most_averaged) {
      if (!unscaled_ || (unscaled_->step == now.key.step && t.table.min_abs < unscaled_->value))
        unscaled_ = {now.key.step, info.name, t.table.min_abs, scale};
    }
    if (!is_scaled_by_it && t.table.max_abs * as_it_was > most_of_sum) {
      if (!scaled_ || (scaled_->step == now.key.step && t.table.max_abs > scaled_->value))
        scaled_ = {now.key.step, info.name, t.table.max_abs, scale};
    }
  }
  if (any && all_zero && zero_steps_++ == 0) first_zero_step_ = now.key.step;
}

void recording_doubts::see_scale(const step& now, bool is_finite) {
  const double scale = now.scalars.loss_scale;
  // Between steps that were not recorded anything may have happened.
  const bool follows = now.key.step == step_before_ + 1;
  step_before_ = now.key.step;
  if (!follows) scale_before_ = not_known;
  // A scale that falls again and again tells neither; to 0 no scaler lowers it.
  const bool falls = scale > 0 && scale < scale_before_;
  if (falls && !finite_before_ && is_finite) ++falls_after_;
  if (falls && finite_before_ && !is_finite && falls_within_++ == 0) first_fall_within_ = now.key.step;
  scale_before_ = scale;
  finite_before_ = is_finite;
}

std::vector<std::string> recording_doubts::lines() const {
  std::vector<std::string> all = wrong();
  if (zero_steps_ > 0)
    all.push_back("all gradients are zero in " + steps(zero_steps_) + " of " + std::to_string(steps_) +
                  (zero_steps_ == 1 ? ", step " : ", first in step ") + std::to_string(first_zero_step_) +
                  ": zero_grad() came before they were recorded, the loss does not reach the parameters, or everything "
                  "underflowed");
  return all;
}

std::string recording_doubts::gravest() const {
  const std::vector<std::string> all = wrong();
  return all.empty() ? "" : all.front();
}

std::vector<std::string> recording_doubts::wrong() const {
  std::vector<std::string> all;
  const auto where = [](const place& p) { return " (" + p.tensor + ", step " + std::to_string(p.step) + ")"; };
  if (unscaled_)
    all.push_back("recorded wrongly: gradients are said to be multiplied by the loss scale, and are not: " +
                  text(unscaled_->value) + where(*unscaled_) +
                  " is below the smallest number of float16, which they went through. Every scale here is too large by "
                  "the loss scale: record before scaler.unscale_(), or with scaled=False (or give --factor)");
  if (scaled_)
    all.push_back("recorded wrongly: gradients are said to be unscaled, and are not: " + text(scaled_->value) +
                  where(*scaled_) + " would have been " + text(scaled_->value * scaled_->scale) +
                  " in float16, which they went through. Record without scaled=False, or after scaler.unscale_() (or "
                  "give --factor scale)");
  if (falls_within_ > falls_after_)
    all.push_back("recorded wrongly: the loss scale falls in the steps that overflow (" +
                  (falls_within_ == 1 ? std::string("once") : std::to_string(falls_within_) + " times") +
                  ", first in step " + std::to_string(first_fall_within_) +
                  "), and not after them: it is that of the next step. Take scaler.get_scale() before scaler.update()");
  return all;
}

}  // namespace ulp
