// The names of the policies that scale each tensor, in the order in which they are listed to people: here and nowhere
// else. The row of NAME is made by NAME_row() in the file of its policy.
#ifndef ULP_MODEL_MACHINES_FP8_ROWS_HPP
#define ULP_MODEL_MACHINES_FP8_ROWS_HPP

// clang-format off
#define ULP_FP8_SCALERS(ROW) \
  ROW(te_delayed_bulk) \
  ROW(te_delayed_single) \
  ROW(te_delayed_python) \
  ROW(te_delayed_jax) \
  ROW(te_current_cuda) \
  ROW(te_current_python) \
  ROW(te_nvfp4_global_encode) \
  ROW(flax_delayed) \
  ROW(keras_delayed) \
  ROW(msamp) \
  ROW(torchao_dynamic) \
  ROW(static_fp8)
// clang-format on

namespace ulp::fp8 {

struct registration;
#define ULP_DECLARED_ROW(name) registration name##_row();
ULP_FP8_SCALERS(ULP_DECLARED_ROW)
#undef ULP_DECLARED_ROW

}  // namespace ulp::fp8

#endif
