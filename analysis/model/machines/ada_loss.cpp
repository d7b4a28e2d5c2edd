#include <ulp/model/machines/ada_loss.hpp>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numbers>

#include <ulp/formats/catalog.hpp>
#include <ulp/formats/codec.hpp>

namespace ulp {
namespace {

float to_float(double x) { return static_cast<float>(x); }
double to_double(float x) { return static_cast<double>(x); }

// y in (0, 1): Newton's method on erf, whose derivative is 2 / sqrt(pi) * exp(-x^2).
double erf_inverse(double y) {
  double x = y < 0.9 ? y * std::sqrt(std::numbers::pi) / 2 : std::sqrt(-std::log(1 - y));
  for (int i = 0; i < 60; ++i) x -= (std::erf(x) - y) * std::sqrt(std::numbers::pi) / 2 * std::exp(x * x);
  return x;
}

// So large that products below u_min are no more than the share n_uf_threshold, if they are normal.
float approx_range(const layer_statistics& l, const ada_loss_settings& s) {
  const auto mean_square = [](double mean, double deviation) {
    const double m = to_double(to_float(mean));
    const double d = to_double(to_float(deviation));
    return d * d + m * m;
  };
  const float sigma = to_float(std::sqrt(mean_square(l.g_mean, l.g_std) * mean_square(l.w_mean, l.w_std)));
  if (sigma == 0) return 1;
  const double spread = to_double(sigma) * std::sqrt(0.5 * l.fan_in);  // half the products survive a ReLU
  const double underflow_free =
      to_double(to_float(s.u_min)) / (erf_inverse(s.n_uf_threshold) * std::sqrt(2.0) * spread);
  float largest = 0;
  for (const double g : {l.g_min, l.g_max})
    for (const double w : {l.w_min, l.w_max}) largest = std::max(largest, std::abs(to_float(g) * to_float(w)));
  const double overflow_free = to_double(to_float(s.u_max)) / l.fan_in / to_double(largest);
  return to_float(std::min(std::max(underflow_free, 1.0), overflow_free));
}

// So large that the least product reaches u_min.
float abs_range(const layer_statistics& l, const ada_loss_settings& s) {
  if (!(l.g_absmin_nz > 0 && l.w_absmin_nz > 0)) return 1;
  const float g_max = to_float(std::max(std::abs(l.g_min), std::abs(l.g_max)));
  const float w_max = to_float(std::max(std::abs(l.w_min), std::abs(l.w_max)));
  const double least = std::max(to_double(to_float(l.g_absmin_nz) * to_float(l.w_absmin_nz)), 1e-15);
  const double u_min = to_double(to_float(s.u_min)) / l.fan_in;
  const double u_max = to_double(to_float(s.u_max)) / l.fan_in;
  return to_float(std::min(std::max(u_min / least, 1.0), u_max / to_double(g_max * w_max)));
}

double to_float16(float x) {
  const auto code = encode(float16, to_double(x)).code;
  return ulp::to_double(float16, code);
}

}  // namespace

ada_loss_scale ada_loss_scale_of(const layer_statistics& layer, const ada_loss_settings& settings) {
  float scale = to_float(to_float16(to_float(settings.fixed_loss_scale)));
  if (settings.loss_scale_method == ada_loss_method::approx_range) scale = approx_range(layer, settings);
  if (settings.loss_scale_method == ada_loss_method::abs_range) scale = abs_range(layer, settings);
  ada_loss_scale result{.unbound = to_double(scale)};
  if (settings.loss_scale_method == ada_loss_method::approx_range && settings.use_bound) {
    const double accumulated =
        to_double(to_float(to_float16(to_float(settings.accum_upper_bound)))) / settings.prev_scale;
    scale = to_float(std::min({to_double(scale), accumulated, to_float16(to_float(settings.scale_upper_bound))}));
    result.bound = to_double(scale);
  }
  if (settings.power_of_two) scale = std::pow(2.0F, std::floor(std::log2(scale)));
  result.final = to_float16(scale);
  return result;
}

}  // namespace ulp
