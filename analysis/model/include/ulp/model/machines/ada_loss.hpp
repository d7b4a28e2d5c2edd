// The scale of one layer by Zhao et al., "Reducing Underflow in Mixed Precision Training by Gradient Scaling" (IJCAI
// 2020), as kumasento/gradient-scaling @0ca43543 computes it (ada_loss/core.py, ada_loss/chainer_impl/
// ada_loss_chainer.py): from statistics of the layer's incoming activation gradients and weights in this iteration,
// with no history and no skipped steps. float32, with doubles where numpy's promotion puts them.
#ifndef ULP_MODEL_MACHINES_ADA_LOSS_HPP
#define ULP_MODEL_MACHINES_ADA_LOSS_HPP

#include <cstdint>
#include <optional>

#include <ulp/model/cells/cell_table.hpp>

namespace ulp {

// float32 numbers. approx_range wants means, deviations and extremes, abs_range the extremes and least magnitudes.
struct layer_statistics {
  double g_mean = not_known;  // of the gradients
  double g_std = not_known;
  double w_mean = not_known;  // of the weights
  double w_std = not_known;
  double g_min = not_known;
  double g_max = not_known;
  double w_min = not_known;
  double w_max = not_known;
  double g_absmin_nz = not_known;  // least magnitude but 0; 0 where all are 0
  double w_absmin_nz = not_known;
  double fan_in = not_known;  // rows of the weight matrix; of a convolution times the kernel's area
};

enum class ada_loss_method : std::uint8_t { approx_range, abs_range, fixed };

// Under the names of the original.
struct ada_loss_settings {
  ada_loss_method loss_scale_method = ada_loss_method::approx_range;
  bool use_bound = true;  // with approx_range only
  bool power_of_two = true;
  double scale_upper_bound = 16;    // of this layer
  double accum_upper_bound = 1024;  // of the product over the layers so far
  double prev_scale = 1;            // that product, without this layer
  double n_uf_threshold = 1e-3;     // share of products that may underflow
  double u_min = 6e-8;              // range of the format
  double u_max = 65504;
  double fixed_loss_scale = 1;
};

struct ada_loss_scale {
  double unbound = 1;
  std::optional<double> bound;  // where the bounds apply
  double final = 1;             // a float16 number: infinite where it does not fit
};

[[nodiscard]] ada_loss_scale ada_loss_scale_of(const layer_statistics& layer, const ada_loss_settings& settings = {});

}  // namespace ulp

#endif
