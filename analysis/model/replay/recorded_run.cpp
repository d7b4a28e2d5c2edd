#include <ulp/model/replay/recorded_run.hpp>

#include <algorithm>
#include <cmath>

#include <ulp/formats/names.hpp>
#include <ulp/model/recipe/scaling.hpp>

namespace ulp {
namespace {

// A run that logs every tenth loss has fewer in its first steps.
constexpr std::uint64_t enough_losses = 3;

}  // namespace

void recorded_run::see(const step& now, const std::vector<tensor_info>& tensors) {
  for (std::size_t i = of_.size(); i < tensors.size(); ++i) {
    const std::optional<format>& rounded =
        of_.emplace_back(tensors[i].through.empty() ? std::nullopt : find_format(tensors[i].through));
    if (!rounded || !is_scaled(tensors[i])) continue;
    several_ = several_ || (all_ && *all_ != *rounded);
    all_ = rounded;
  }
  const bool is_finite = !now.scalars.found_inf.value_or(false) &&
                         std::ranges::all_of(now.tensors, [](const tensor_row& t) { return t.table.nonfinite() == 0; });
  const double loss = now.scalars.loss;
  const bool is_logged = !std::isnan(loss) || now.scalars.loss_is_nan;
  if (is_finite && !is_logged) lacks_loss_ = true;
  if (is_finite && std::isfinite(loss)) ++losses_;
  loss_is_lost_ = (is_logged && !std::isfinite(loss)) ||
                  (std::isnan(loss) && !is_finite && !now.tensors.empty() && losses_ >= enough_losses && !lacks_loss_);
}

}  // namespace ulp
