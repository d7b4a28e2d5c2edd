// What a network learns, and the pass in which it is used.
#ifndef ULP_TRAIN_PARAMETER_HPP
#define ULP_TRAIN_PARAMETER_HPP

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include <ulp/model/cells/step.hpp>
#include <ulp/train/rounding_hook.hpp>
#include <ulp/train/training.hpp>

#include "arithmetic/matrix.hpp"

namespace ulp::train {

// One micro-batch on its way forward and back. Networks of doubles are there for tests and pass no hook.
template <typename Real>
struct pass {
  rounding_hook* hook = nullptr;  // not null where Real is float
  std::int64_t step = 0;
  std::int32_t microbatch = 0;
  sum_order sums = sum_order::ascending;

  void keep(site_kind kind, tensor_role role, std::string_view tensor, matrix<Real>& values) const {
    if constexpr (std::is_same_v<Real, float>) hook->round(site_of(kind, role, tensor, values), values.values());
  }
  // What a linear layer's products take; low: `values` the one that sums over columns, `across` the one over rows. Returns
  // what sums of products are to be multiplied by.
  [[nodiscard]] Real keep_operand(site_kind kind, std::string_view tensor, matrix<Real>& values,
                                  matrix<Real>& across) const {
    Real unit = 1;
    if constexpr (std::is_same_v<Real, float>) {
      const site at = site_of(kind, tensor_role::low, tensor, values);
      across = values;
      unit = hook->round_operand(at, values.values());
      if (hook->round_across(at, across.values())) return unit;
    }
    across = values;
    return unit;
  }

 private:
  [[nodiscard]] site site_of(site_kind kind, tensor_role role, std::string_view tensor,
                             const matrix<Real>& values) const {
    return {.kind = kind,
            .role = role,
            .tensor = tensor,
            .rows = values.rows(),
            .columns = values.columns(),
            .step = step,
            .microbatch = microbatch};
  }
};

template <typename Real>
struct parameter {
  std::string name;
  matrix<Real> value;     // the master weight
  gradient_parts parts;   // in each micro-batch: one for each use, rounded where it is low there
  matrix<Real> gradient;  // over the micro-batches so far, times the loss scale
  matrix<Real> of_pass;   // of the one in flight

  // Low where any use of it is.
  [[nodiscard]] tensor_role role() const noexcept {
    return parts.rounded > 0 ? tensor_role::low : tensor_role::float32;
  }

  [[nodiscard]] matrix<Real> cast(const pass<Real>& in) const {
    matrix<Real> low = value;
    in.keep(site_kind::weight, tensor_role::low, name, low);
    return low;
  }

  // What one use adds to the gradient.
  void add_gradient(matrix<Real> part, tensor_role role, const pass<Real>& in) {
    in.keep(site_kind::weight_grad, role, name, part);
    of_pass += part;
  }

  // Ends a micro-batch.
  void accumulate(const pass<Real>& in) {
    gradient += of_pass;
    in.keep(site_kind::accumulator, tensor_role::float32, name, gradient);
    clear(of_pass);
  }

  void clear_gradient() { clear(gradient); }

 private:
  static void clear(matrix<Real>& m) { m = matrix<Real>(m.rows(), m.columns()); }
};

}  // namespace ulp::train

#endif
