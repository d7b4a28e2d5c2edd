// The names that people's tools give to columns, as data.
#ifndef ULP_IO_TABLE_KNOWN_NAMES_HPP
#define ULP_IO_TABLE_KNOWN_NAMES_HPP

#include <array>
#include <string_view>

#include "column_names.hpp"

namespace ulp::io {

struct known_name {
  std::string_view name;  // small letters, with underscores: see reading_of
  column_meaning means;
  bool is_log2 = false;  // of the number
};
// The usual ones first. Where a name is written:
inline constexpr std::array known_names{
    // Lightning-AI/pytorch-lightning logger_connector.py ("trainer/global_step" in loggers/wandb.py); transformers
    // integrations/integration_utils.py ("train/global_step"); OpenMMLab's scalars.json; detectron2 utils/events.py
    // ("iteration"); fairseq ("num_updates"); wandb sdk ("_step", which counts calls of log); stable-baselines3
    // common/logger.py (progress.csv). TensorBoard's and W&B's CSV: "Step".
    known_name{"global_step", column_meaning::step},
    known_name{"global_steps", column_meaning::step},
    known_name{"optimizer_step", column_meaning::step},
    known_name{"optimizer_steps", column_meaning::step},
    known_name{"optim_step", column_meaning::step},
    known_name{"update_step", column_meaning::step},
    known_name{"completed_steps", column_meaning::step},
    known_name{"num_updates", column_meaning::step},
    known_name{"n_updates", column_meaning::step},
    known_name{"updates", column_meaning::step},
    known_name{"update", column_meaning::step},
    known_name{"step", column_meaning::step},
    known_name{"steps", column_meaning::step},
    known_name{"training_step", column_meaning::step},
    known_name{"train_step", column_meaning::step},
    known_name{"step_num", column_meaning::step},
    known_name{"step_idx", column_meaning::step},
    known_name{"iteration", column_meaning::step},
    known_name{"iterations", column_meaning::step},
    known_name{"global_iteration", column_meaning::step},
    known_name{"global_iter", column_meaning::step},
    known_name{"iter", column_meaning::step},
    known_name{"iters", column_meaning::step},
    known_name{"iter_num", column_meaning::step},
    known_name{"n_iter", column_meaning::step},
    known_name{"num_iter", column_meaning::step},
    known_name{"it", column_meaning::step},
    known_name{"training_iteration", column_meaning::step},
    known_name{"total_timesteps", column_meaning::step},
    known_name{"timesteps", column_meaning::step},
    known_name{"batch", column_meaning::step},
    known_name{"batch_idx", column_meaning::step},
    known_name{"batch_num", column_meaning::step},
    known_name{"_step", column_meaning::step},
    known_name{"epoch", column_meaning::epoch},
    known_name{"epochs", column_meaning::epoch},
    known_name{"epoch_num", column_meaning::epoch},
    known_name{"epoch_idx", column_meaning::epoch},
    known_name{"current_epoch", column_meaning::epoch},

    // Megatron-LM training.py ("lm loss"); composer ("loss/train/total"); NeMo ("reduced_train_loss"); torchtitan
    // components/metrics.py ("loss_metrics/global_avg_loss"); detectron2 ("total_loss"); OLMo ("train/CrossEntropyLoss").
    known_name{"loss", column_meaning::loss},
    known_name{"losses", column_meaning::loss},
    known_name{"total_loss", column_meaning::loss},
    known_name{"loss_total", column_meaning::loss},
    known_name{"lm_loss", column_meaning::loss},
    known_name{"objective", column_meaning::loss},
    known_name{"loss_sum", column_meaning::loss},
    known_name{"nll_loss", column_meaning::loss},
    known_name{"ce_loss", column_meaning::loss},
    known_name{"cross_entropy_loss", column_meaning::loss},
    known_name{"cross_entropy", column_meaning::loss},
    known_name{"pg_loss", column_meaning::loss},

    // Megatron-LM ("grad-norm"); Lightning utilities/grads.py ("grad_2.0_norm_total"); composer
    // optimizer_monitor.py ("l2_norm/grad/global", before it "grad_l2_norm/step"); fairseq ("gnorm"); OLMo
    // ("optim/total_grad_norm"); verl ("actor/grad_norm").
    known_name{"grad_norm", column_meaning::grad_norm},
    known_name{"gradnorm", column_meaning::grad_norm},
    known_name{"gradient_norm", column_meaning::grad_norm},
    known_name{"gradients_norm", column_meaning::grad_norm},
    known_name{"grads_norm", column_meaning::grad_norm},
    known_name{"global_grad_norm", column_meaning::grad_norm},
    known_name{"global_gradient_norm", column_meaning::grad_norm},
    known_name{"total_grad_norm", column_meaning::grad_norm},
    known_name{"total_gradient_norm", column_meaning::grad_norm},
    known_name{"grad_norm_total", column_meaning::grad_norm},
    known_name{"grad_total_norm", column_meaning::grad_norm},
    known_name{"gradients_total_norm", column_meaning::grad_norm},
    known_name{"grad_global_norm", column_meaning::grad_norm},
    known_name{"grad_norm_global", column_meaning::grad_norm},
    known_name{"grad_2_0_norm_total", column_meaning::grad_norm},
    known_name{"grad_2_norm_total", column_meaning::grad_norm},
    known_name{"grad_2_0_norm", column_meaning::grad_norm},
    known_name{"l2_norm_grad_global", column_meaning::grad_norm},
    known_name{"grad_l2_norm", column_meaning::grad_norm},
    known_name{"grad_norm_l2", column_meaning::grad_norm},
    known_name{"l2_grad_norm", column_meaning::grad_norm},
    known_name{"grad_norm_before_clip", column_meaning::grad_norm},
    known_name{"grad_norm_preclip", column_meaning::grad_norm},
    known_name{"grad_norm_pre_clip", column_meaning::grad_norm},
    known_name{"gnorm", column_meaning::grad_norm},
    known_name{"g_norm", column_meaning::grad_norm},
    known_name{"total_norm", column_meaning::grad_norm},
    known_name{"global_norm", column_meaning::grad_norm},
    known_name{"norm", column_meaning::grad_norm},

    // Keras LearningRateScheduler ("lr", "learning_rate"); Lightning LearningRateMonitor ("lr-AdamW", "lr-AdamW/pg1");
    // ultralytics ("lr/pg0"); further names begin with "lr_".
    known_name{"lr", column_meaning::learning_rate},
    known_name{"learning_rate", column_meaning::learning_rate},
    known_name{"learningrate", column_meaning::learning_rate},
    known_name{"base_lr", column_meaning::learning_rate},
    known_name{"last_lr", column_meaning::learning_rate},

    // Megatron-LM ("loss-scale"); DeepSpeed runtime/engine.py ("Train/Samples/loss_scale"); ESPnet ("loss_scale",
    // "grad_scale"); scripts that log GradScaler.get_scale().
    known_name{"loss_scale", column_meaning::loss_scale},
    known_name{"lossscale", column_meaning::loss_scale},
    known_name{"grad_scale", column_meaning::loss_scale},
    known_name{"gradscale", column_meaning::loss_scale},
    known_name{"gradient_scale", column_meaning::loss_scale},
    known_name{"amp_scale", column_meaning::loss_scale},
    known_name{"amp_loss_scale", column_meaning::loss_scale},
    known_name{"scaler_scale", column_meaning::loss_scale},
    known_name{"grad_scaler_scale", column_meaning::loss_scale},
    known_name{"gradscaler_scale", column_meaning::loss_scale},
    known_name{"grad_scaler", column_meaning::loss_scale},
    known_name{"gradscaler", column_meaning::loss_scale},
    known_name{"loss_scaler", column_meaning::loss_scale},
    known_name{"loss_scaling", column_meaning::loss_scale},
    known_name{"loss_scale_value", column_meaning::loss_scale},
    known_name{"dynamic_loss_scale", column_meaning::loss_scale},
    known_name{"fp16_scale", column_meaning::loss_scale},
    known_name{"fp16_loss_scale", column_meaning::loss_scale},
    known_name{"cur_scale", column_meaning::loss_scale},
    // openai/guided-diffusion train_util.py ("lg_loss_scale").
    known_name{"lg_loss_scale", column_meaning::loss_scale, true},
    known_name{"log2_loss_scale", column_meaning::loss_scale, true},
    known_name{"loss_scale_log2", column_meaning::loss_scale, true},
    known_name{"log2_grad_scale", column_meaning::loss_scale, true},
    known_name{"grad_scale_log2", column_meaning::loss_scale, true},
    known_name{"log2_scale", column_meaning::loss_scale, true},
    known_name{"scale_log2", column_meaning::loss_scale, true},
    known_name{"lg_scale", column_meaning::loss_scale, true},
    known_name{"scaler", column_meaning::loss_scale},
    known_name{"scale", column_meaning::loss_scale},

    known_name{"found_inf", column_meaning::found_inf},
    known_name{"foundinf", column_meaning::found_inf},
    known_name{"found_nan", column_meaning::found_inf},
    known_name{"found_inf_or_nan", column_meaning::found_inf},
    known_name{"found_inf_nan", column_meaning::found_inf},
    known_name{"overflow", column_meaning::found_inf},
    known_name{"overflowed", column_meaning::found_inf},
    known_name{"has_overflow", column_meaning::found_inf},
    known_name{"is_overflow", column_meaning::found_inf},
    known_name{"grad_overflow", column_meaning::found_inf},
    known_name{"gradient_overflow", column_meaning::found_inf},
    known_name{"step_skipped", column_meaning::found_inf},
    known_name{"skipped_step", column_meaning::found_inf},
    known_name{"optimizer_step_skipped", column_meaning::found_inf},
    known_name{"is_skipped", column_meaning::found_inf},
    known_name{"was_skipped", column_meaning::found_inf},
    known_name{"skip_step", column_meaning::found_inf},
    known_name{"skip", column_meaning::found_inf},
    known_name{"skipped", column_meaning::found_inf},

    // Megatron-LM's log: "number of skipped iterations".
    known_name{"skipped_steps", column_meaning::skipped},
    known_name{"num_skipped_steps", column_meaning::skipped},
    known_name{"n_skipped_steps", column_meaning::skipped},
    known_name{"num_skipped", column_meaning::skipped},
    known_name{"n_skipped", column_meaning::skipped},
    known_name{"total_skipped", column_meaning::skipped},
    known_name{"total_skipped_steps", column_meaning::skipped},
    known_name{"skipped_iterations", column_meaning::skipped},
    known_name{"number_of_skipped_iterations", column_meaning::skipped},
    known_name{"skipped_iters", column_meaning::skipped},
    known_name{"skipped_batches", column_meaning::skipped},
    known_name{"skipped_updates", column_meaning::skipped},
    known_name{"overflows", column_meaning::skipped},
    known_name{"num_overflows", column_meaning::skipped},
    known_name{"overflow_count", column_meaning::skipped},
    known_name{"overflow_events", column_meaning::skipped},

    known_name{"applied", column_meaning::applied},
    known_name{"step_applied", column_meaning::applied},
    known_name{"optimizer_stepped", column_meaning::applied},
    known_name{"stepped", column_meaning::applied},
    // deepmind/jmp ("grads_finite"); flax's dynamic_scale ("is_fin").
    known_name{"is_finite", column_meaning::applied},
    known_name{"is_fin", column_meaning::applied},
    known_name{"all_finite", column_meaning::applied},
    known_name{"grads_finite", column_meaning::applied},
    known_name{"grad_finite", column_meaning::applied},
    known_name{"gradients_finite", column_meaning::applied},

    known_name{"rank", column_meaning::rank},
    known_name{"global_rank", column_meaning::rank},
    known_name{"local_rank", column_meaning::rank},

    known_name{"run", column_meaning::run},
    known_name{"run_id", column_meaning::run},
    known_name{"run_name", column_meaning::run},
    known_name{"experiment", column_meaning::run},
    known_name{"seed", column_meaning::run},

    // OpenMMLab's .log.json: "mode".
    known_name{"mode", column_meaning::part},
    known_name{"split", column_meaning::part},
    known_name{"phase", column_meaning::part},
    known_name{"stage", column_meaning::part},
    known_name{"subset", column_meaning::part},

    // mlflow ("key", "value"); tbparse and pandas.melt ("tag", "variable").
    known_name{"key", column_meaning::key},
    known_name{"tag", column_meaning::key},
    known_name{"metric", column_meaning::key},
    known_name{"metric_name", column_meaning::key},
    known_name{"variable", column_meaning::key},
    known_name{"name", column_meaning::key},
    known_name{"value", column_meaning::value},
    known_name{"metric_value", column_meaning::value},
};

}  // namespace ulp::io

#endif
