#include <ulp/ask/reading/lost_end.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <ulp/ask/questions/number_text.hpp>

namespace ulp {

namespace {

// Whether the loss, or where there is none the gradients are not finite; nullopt where a step tells of neither.
std::optional<bool> is_lost(const step& now, bool has_loss) {
  if (has_loss) return !std::isfinite(now.scalars.loss);
  if (!now.tensors.empty())
    return std::ranges::any_of(now.tensors, [](const tensor_row& t) { return t.table.nonfinite() > 0; });
  if (now.max_abs) return !std::isfinite(*now.max_abs);
  if (now.scalars.grad_norm_is_nan || !std::isnan(now.scalars.grad_norm)) return !std::isfinite(now.scalars.grad_norm);
  return std::nullopt;
}

}  // namespace

void lost_end::see(const step& now) {
  const bool has_loss = !std::isnan(now.scalars.loss) || now.scalars.loss_is_nan;
  const std::optional<bool> lost = is_lost(now, has_loss);
  if (!lost) return;
  if (!*lost) {
    any_finite_ = true;
    steps_ = 0;
    return;
  }
  if (steps_ == 0) {
    first_ = now.key.step;
    by_loss_ = true;
  }
  if (steps_ == 0 || now.key.step != last_) ++steps_;
  last_ = now.key.step;
  by_loss_ = by_loss_ && has_loss;
}

std::vector<std::string> lost_end::lines() const {
  constexpr std::uint64_t few = 20;  // scalers take as many to come down
  if (!any_finite_ || steps_ < few) return {};
  return {fmt::format(
      "{} not finite in all {} that tell, from {} to the end, and these count here; leave them out with --steps :{}",
      by_loss_ ? "the loss is" : "gradients are", count_text(steps_, "step"), first_, first_)};
}

}  // namespace ulp
