#include "unit_factor.hpp"

#include <algorithm>
#include <cmath>

namespace ulp::io {
namespace {

class unit_factor_source final : public forwarding_source {
 public:
  using forwarding_source::forwarding_source;

  [[nodiscard]] bool next(step& into) override {
    if (!inner().next(into)) return false;
    for (tensor_row& row : into.tensors)
      if (!row.factor_known()) row.factor = 1;
    return true;
  }

  [[nodiscard]] std::vector<std::string> notes() const override {
    std::vector<std::string> all = inner().notes();
    all.emplace_back(
        "the loss scale is logged as 1 in every step, so the factor of the recorded values is taken to be 1 (--factor "
        "says another)");
    return all;
  }
};

}  // namespace

bool is_unit_scale(const source& from, const scalar_table& scalars) {
  const auto is_one = [](const auto& row) { return row.second.loss_scale == 1; };
  const auto is_silent = [](const auto& row) { return std::isnan(row.second.loss_scale); };
  if (!scalars.empty() && std::ranges::all_of(scalars, is_one)) return true;
  return std::ranges::all_of(scalars, [&](const auto& row) { return is_one(row) || is_silent(row); }) &&
         from.logs_unit_scale();
}

std::unique_ptr<source> with_unit_factor(std::unique_ptr<source> from) {
  return std::make_unique<unit_factor_source>(std::move(from));
}

}  // namespace ulp::io
