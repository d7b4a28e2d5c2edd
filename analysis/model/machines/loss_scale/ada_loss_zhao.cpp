// Adaptive loss scaling of Zhao et al. (IJCAI 2020): kumasento/gradient-scaling @0ca43543 ada_loss/core.py,
// ada_loss/chainer_impl/ada_loss_chainer.py; the rule itself is <ulp/model/ada_loss.hpp>. The scale of a layer follows
// from statistics of its gradients and weights in the same iteration, which no step log and no histogram tells. They
// are parameters here, so that `--set` answers for one layer: its scale is the same in every step, and nothing is
// skipped. Without them the first step is an error.
#include <cmath>

#include <ulp/model/machines/ada_loss.hpp>

#include "policy.hpp"

namespace ulp::scalers {
namespace {

struct ada_loss_zhao {
  std::string loss_scale_method = "approx_range";
  bool use_bound = true;
  double scale_upper_bound = 16;
  double accum_upper_bound = 1024;
  double prev_scale = 1;
  double n_uf_threshold = 1e-3;
  double fixed_loss_scale = 1;
  bool power_of_two = true;
  std::optional<double> g_mean;
  std::optional<double> g_std;
  std::optional<double> w_mean;
  std::optional<double> w_std;
  std::optional<double> g_min;
  std::optional<double> g_max;
  std::optional<double> w_min;
  std::optional<double> w_max;
  std::optional<double> g_absmin_nz;
  std::optional<double> w_absmin_nz;
  std::optional<double> fan_in;

  template <typename Visitor>
  void fields(Visitor&& v) {
    v("loss_scale_method", loss_scale_method, "approx_range, abs_range or fixed");
    v("use_bound", use_bound, "whether the two upper bounds hold, with approx_range");
    v("scale_upper_bound", scale_upper_bound, "most that one layer scales by");
    v("accum_upper_bound", accum_upper_bound, "most that the product over the layers may be");
    v("prev_scale", prev_scale, "product of the scales of the layers before");
    v("n_uf_threshold", n_uf_threshold, "share of products of gradient and weight that may underflow");
    v("fixed_loss_scale", fixed_loss_scale, "the scale with loss_scale_method=fixed");
    v("power_of_two", power_of_two, "whether the scale is cut to a power of two");
    v("g_mean", g_mean, "mean of the layer's incoming activation gradients");
    v("g_std", g_std, "their standard deviation");
    v("w_mean", w_mean, "mean of its weights");
    v("w_std", w_std, "their standard deviation");
    v("g_min", g_min, "least gradient");
    v("g_max", g_max, "largest gradient");
    v("w_min", w_min, "least weight");
    v("w_max", w_max, "largest weight");
    v("g_absmin_nz", g_absmin_nz, "least magnitude of a gradient that is not 0");
    v("w_absmin_nz", w_absmin_nz, "least magnitude of a weight that is not 0");
    v("fan_in", fan_in, "rows of the weight matrix; of a convolution times the kernel's area");
  }

  struct state {
    double loss_scale = 1;
    template <typename Visitor>
    void fields(Visitor&& v) {
      v("loss_scale", loss_scale);
    }
  };

  // The statistics that the method wants and that were not given.
  [[nodiscard]] std::vector<std::string> missing() const {
    std::vector<std::string> names;
    const auto want = [&](const char* name, const std::optional<double>& value) {
      if (!value) names.emplace_back(name);
    };
    if (loss_scale_method == "fixed") return names;
    if (loss_scale_method == "approx_range") {
      want("g_mean", g_mean);
      want("g_std", g_std);
      want("w_mean", w_mean);
      want("w_std", w_std);
    } else {
      want("g_absmin_nz", g_absmin_nz);
      want("w_absmin_nz", w_absmin_nz);
    }
    want("g_min", g_min);
    want("g_max", g_max);
    want("w_min", w_min);
    want("w_max", w_max);
    want("fan_in", fan_in);
    return names;
  }

  [[nodiscard]] std::string refused() const {
    if (loss_scale_method != "approx_range" && loss_scale_method != "abs_range" && loss_scale_method != "fixed")
      return "loss_scale_method must be approx_range, abs_range or fixed, not '" + loss_scale_method + "'" +
             (loss_scale_method == "element_wise_range" ? ": that one needs the tensors themselves" : "");
    if (!(n_uf_threshold > 0 && n_uf_threshold < 1)) return "n_uf_threshold must be between 0 and 1";
    if (fan_in && !(*fan_in > 0)) return "fan_in must be above 0";
    if (!(prev_scale > 0)) return "prev_scale must be above 0";
    return {};
  }

  [[nodiscard]] state start() const {
    if (!missing().empty()) return {};
    ada_loss_settings settings{.use_bound = use_bound,
                               .power_of_two = power_of_two,
                               .scale_upper_bound = scale_upper_bound,
                               .accum_upper_bound = accum_upper_bound,
                               .prev_scale = prev_scale,
                               .n_uf_threshold = n_uf_threshold,
                               .fixed_loss_scale = fixed_loss_scale};
    if (loss_scale_method == "abs_range") settings.loss_scale_method = ada_loss_method::abs_range;
    if (loss_scale_method == "fixed") settings.loss_scale_method = ada_loss_method::fixed;
    const auto known = [](const std::optional<double>& value) { return value.value_or(not_known); };
    const layer_statistics layer{.g_mean = known(g_mean),
                                 .g_std = known(g_std),
                                 .w_mean = known(w_mean),
                                 .w_std = known(w_std),
                                 .g_min = known(g_min),
                                 .g_max = known(g_max),
                                 .w_min = known(w_min),
                                 .w_max = known(w_max),
                                 .g_absmin_nz = known(g_absmin_nz),
                                 .w_absmin_nz = known(w_absmin_nz),
                                 .fan_in = known(fan_in)};
    return {.loss_scale = ada_loss_scale_of(layer, settings).final};
  }
  [[nodiscard]] double scale(const state& s) const { return s.loss_scale; }

  [[nodiscard]] transition<state> next(state s, const scaler_input&) const {
    const std::vector<std::string> names = missing();
    if (names.empty()) return {s, {}};
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    return {s,
            {.skipped = false,
             .error = "the scale of a layer follows from statistics of its gradients and weights, which no input has; "
                      "set those of one layer: " +
                      list,
             .lacks_input = true}};
  }
};

}  // namespace

registration ada_loss_zhao_row() {
  return row<ada_loss_zhao>(
      {.aliases = {"ada_loss", "zhao"},
       .family = "own",
       .summary = "adaptive scale of one layer (Zhao et al. 2020) from statistics of its gradients and weights",
       .overflow_test = "nothing: no step is skipped",
       .floor = "1",
       .ceiling = "16 a layer",
       .rules = "approx_range: sigma = sqrt((g_std^2 + g_mean^2) * (w_std^2 + w_mean^2) * fan_in / 2), "
                "scale = 6e-8 / (sqrt(2) * erfinv(n_uf_threshold) * sigma)\n"
                "abs_range: scale = 6e-8 / fan_in / (g_absmin_nz * w_absmin_nz)\n"
                "at least 1; at most 65504 / fan_in / the largest product of gradient and weight\n"
                "approx_range with use_bound: at most scale_upper_bound and accum_upper_bound / prev_scale\n"
                "power_of_two: cut to a power of two; the result is a float16",
       .quirks =
           "has no history: the scale of an iteration follows from that iteration alone\n"
           "every layer multiplies the gradient by a scale of its own; the product is divided out at the weights\n"
           "the input has no such statistics: set them, for one layer",
       .source = "kumasento/gradient-scaling ada_loss/core.py, ada_loss/chainer_impl/ada_loss_chainer.py @0ca43543"});
}

}  // namespace ulp::scalers
