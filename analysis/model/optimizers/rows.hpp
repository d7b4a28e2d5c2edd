// The catalogue's names, in the order in which they are listed to people: here and nowhere else. ROW(NAME) is made by
// NAME_row() in the file of its family; ROW_AVX2(NAME), by NAME_avx2_row(), is NAME.avx2.
#ifndef ULP_MODEL_OPTIMIZERS_ROWS_HPP
#define ULP_MODEL_OPTIMIZERS_ROWS_HPP

// clang-format off
#define ULP_OPTIMIZERS(ROW, ROW_AVX2) \
  ROW(torch_adam) \
  ROW_AVX2(torch_adam) \
  ROW(torch_adam_l2) \
  ROW_AVX2(torch_adam_l2) \
  ROW(torch_adamw) \
  ROW_AVX2(torch_adamw) \
  ROW(torch_fused_adam) \
  ROW_AVX2(torch_fused_adam) \
  ROW(torch_fused_adamw) \
  ROW_AVX2(torch_fused_adamw) \
  ROW(torch_sgd) \
  ROW_AVX2(torch_sgd) \
  ROW(torch_sgd_mom) \
  ROW_AVX2(torch_sgd_mom) \
  ROW(torch_sgd_nesterov_wd) \
  ROW_AVX2(torch_sgd_nesterov_wd) \
  ROW(bnb_cpu_default_adam8bit) \
  ROW(bnb_cpu_default_adamw8bit) \
  ROW(bnb_cpu_default_adam32bit) \
  ROW(bnb_cpu_default_adamw32bit) \
  ROW(bnb_cpu_default_sgd8bit_mom) \
  ROW(bnb_cpu_native_adam8bit) \
  ROW(bnb_cpu_native_adamw8bit) \
  ROW(bnb_cpu_native_sgd8bit_mom) \
  ROW(bnb_triton_pytorch_ref_adam8bit) \
  ROW(bnb_triton_pytorch_ref_adamw8bit) \
  ROW(bnb_cuda_text_adam8bit) \
  ROW(bnb_cuda_text_adamw8bit) \
  ROW(bnb_cuda_text_sgd8bit_mom) \
  ROW(ao_adam8bit) \
  ROW(ao_adamw8bit) \
  ROW(ao_adam4bit) \
  ROW(ao_adamw4bit) \
  ROW(ao_adamfp8) \
  ROW(ao_adamwfp8) \
  ROW(ao_adamw) \
  ROW(ao_adamw_bf16states) \
  ROW(optimi_adam) \
  ROW(optimi_adam_nokahan) \
  ROW(optimi_adamw) \
  ROW(optimi_sgd) \
  ROW(anyprecision_adamw) \
  ROW(anyprecision_adamw_kahan) \
  ROW(nxd_adamw_fp32optim_downcast1) \
  ROW(nxd_adamw_fp32optim_downcast0) \
  ROW(xla_zero1_master_fp32acc) \
  ROW(xla_zero1_master_bf16acc) \
  ROW(xla_zero1_master_fp32acc_clip) \
  ROW(xla_zero1_master_fp32acc_resume_with_master) \
  ROW(xla_zero1_master_fp32acc_resume_without_master)
// clang-format on

namespace ulp::optimizers {

struct registration;
#define ULP_DECLARED_ROW(name) registration name##_row();
#define ULP_DECLARED_AVX2_ROW(name) registration name##_avx2_row();
ULP_OPTIMIZERS(ULP_DECLARED_ROW, ULP_DECLARED_AVX2_ROW)
#undef ULP_DECLARED_ROW
#undef ULP_DECLARED_AVX2_ROW

}  // namespace ulp::optimizers

#endif
