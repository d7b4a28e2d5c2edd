#include "loss.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ulp/formats/names.hpp>

#include "findings.hpp"

namespace ulp {
namespace {

// The same fraction with the exponent of float32: what rounding costs where range is no matter.
std::optional<format> with_wide_exponent(const format& to) {
  constexpr int exponent_bits = 8;
  if (to.exponent_bits >= exponent_bits) return std::nullopt;
  return find_format(fmt::format("e{}m{}", exponent_bits, to.fraction_bits));
}

}  // namespace

value_range magnitude_loss_of(const survey& run, const tensor_set& of, const treatment& how, double scale) {
  return share_of_magnitude(run.lost(of, how, scale), run.magnitudes(of));
}

range_loss loss_of(const survey& run, const tensor_set& of, const treatment& how, double scale) {
  range_loss loss;
  loss.magnitude = magnitude_loss_of(run, of, how, scale);
  loss.underflow = underflow_share(run.outcomes(of, how, scale));
  const rounding_noise noise = run.noise(of, how, scale);
  loss.sqnr = noise.sqnr();
  loss.lost_sqnr = 0;
  // What overflows has no finite error: the two would be of different values.
  if (noise.overflowing > 0)
    loss.lost_sqnr = not_known;
  else if (const std::optional<format> wide = with_wide_exponent(how.format))
    loss.lost_sqnr = std::max(run.noise(of, {*wide, how.rounding}, scale).sqnr() - loss.sqnr, 0.0);
  return loss;
}

std::string magnitude_text(const value_range& share) {
  constexpr double none = 1e-12;
  if (share.high == 0) return "nothing";
  if (share.high < none) return "less than 1e-10 % of the magnitude";
  if (share.low > 0.9995) return "all of the magnitude";
  const auto text = [&](double x) {
    return x < none ? std::string{"0"} : fmt::format("{:.{}g}", 100 * x, x >= 0.995 ? 3 : 2);
  };
  return ends_text(text(share.low), text(share.high)) + " % of the magnitude";
}

std::string loss_text(const range_loss& loss) {
  std::string text = "loses " + magnitude_text(loss.magnitude);
  if (std::isfinite(loss.sqnr)) {
    text += fmt::format(", SQNR {:.1f} dB", loss.sqnr);
    constexpr double visible = 0.05;
    if (loss.lost_sqnr >= visible) text += fmt::format(" ({:.1f} dB lost to its range)", loss.lost_sqnr);
  }
  return text + fmt::format(", {} of nonzero underflow", range_text(loss.underflow));
}

named_values numbers_of(const range_loss& loss) {
  return {{{"lost_l1_share", loss.magnitude},
           {"sqnr_db", loss.sqnr},
           {"lost_sqnr_db", loss.lost_sqnr},
           {"underflow_share", loss.underflow}}};
}

std::size_t judged_as(tensor_kind kind) {
  return kind == tensor_kind::weight_grad ? 0 : kind == tensor_kind::activation_grad ? 1 : 2;
}

std::vector<named_kind> kinds_of(const survey& run, const std::vector<tensor_info>& tensors) {
  std::vector<named_kind> kinds;
  for (const judged_kind& k : judged_kinds) kinds.push_back({k.key, k.noun, {}});
  for (std::size_t i = 0; i < run.tensors().size(); ++i)
    if (run.tensors()[i].counted && run.tensors()[i].steps > 0)
      kinds[judged_as(tensors[i].kind)].set.tensors.push_back(i);
  std::erase_if(kinds, [](const named_kind& k) { return k.set.tensors.empty(); });
  return kinds;
}

}  // namespace ulp
