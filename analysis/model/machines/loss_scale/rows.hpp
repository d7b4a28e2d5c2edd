// The catalogue's names, in the order in which they are listed to people: here and nowhere else. The row of NAME is made
// by NAME_row() in the file of its policy.
#ifndef ULP_MODEL_MACHINES_LOSS_SCALE_ROWS_HPP
#define ULP_MODEL_MACHINES_LOSS_SCALE_ROWS_HPP

// clang-format off
#define ULP_SCALERS(ROW) \
  ROW(pytorch_gradscaler) \
  ROW(pytorch_gradscaler_preguard) \
  ROW(pytorch_gradscaler_floor) \
  ROW(pytorch_fsdp_sharded_cpu) \
  ROW(composer_closure) \
  ROW(fairscale_sharded_cpu) \
  ROW(nemo_gradscaler) \
  ROW(nemo_megatron) \
  ROW(icefall_gradscaler) \
  ROW(apex_update_scale_hysteresis) \
  ROW(apex_amp) \
  ROW(apex_fp16_utils) \
  ROW(deepspeed_dynamic) \
  ROW(deepspeed) \
  ROW(deepspeed_fused_nonzero) \
  ROW(deepspeed_fused) \
  ROW(deepspeed_unfused) \
  ROW(megatron_dynamic) \
  ROW(megatron_constant) \
  ROW(colossalai_dynamic) \
  ROW(colossalai_mixin) \
  ROW(fairseq_dynamic) \
  ROW(fairseq_cli) \
  ROW(metaseq_dynamic) \
  ROW(fairscale_dynamic) \
  ROW(fairscale_layerwise) \
  ROW(jmp_dynamic) \
  ROW(flax_dynamic_scale) \
  ROW(tf_keras_dynamic) \
  ROW(keras3_lso) \
  ROW(tf_contrib_exponential) \
  ROW(mxnet_amp) \
  ROW(paddle_dygraph) \
  ROW(paddle_ampscaler) \
  ROW(paddle_static) \
  ROW(mindspore_manager) \
  ROW(mindspore_update_cell) \
  ROW(mindspore_amp_scaler) \
  ROW(openseq2seq_backoff) \
  ROW(openseq2seq_logmax) \
  ROW(chainer_dynamic) \
  ROW(nnabla_updater) \
  ROW(cerebras_dls) \
  ROW(cerebras_tf_legacy) \
  ROW(cerebras_gpu) \
  ROW(popart_als) \
  ROW(ada_loss_zhao) \
  ROW(static) \
  ROW(none)
// clang-format on

namespace ulp::scalers {

struct registration;
#define ULP_DECLARED_ROW(name) registration name##_row();
ULP_SCALERS(ULP_DECLARED_ROW)
#undef ULP_DECLARED_ROW

}  // namespace ulp::scalers

#endif
