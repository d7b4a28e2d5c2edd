// The names under which scripts and frameworks print what they log of a step. Of several for one number, the first that a
// line has counts.
#ifndef ULP_IO_TRAINING_LOG_DIALECTS_USUAL_FIELDS_HPP
#define ULP_IO_TRAINING_LOG_DIALECTS_USUAL_FIELDS_HPP

#include <array>

#include "line_values.hpp"

namespace ulp::io {

inline constexpr std::array usual_fields{
    line_field{"loss", &scale_record::loss},
    line_field{"Loss", &scale_record::loss},
    line_field{"tot_loss", &scale_record::loss},
    line_field{"total_loss", &scale_record::loss},
    line_field{"totalloss", &scale_record::loss},
    line_field{"train_loss", &scale_record::loss},
    line_field{"train/loss", &scale_record::loss},
    line_field{"trainloss", &scale_record::loss},
    line_field{"TrainLoss", &scale_record::loss},
    line_field{"TrainingLoss", &scale_record::loss},
    line_field{"Trainloss", &scale_record::loss},
    line_field{"trainingloss", &scale_record::loss},
    line_field{"reduced_train_loss", &scale_record::loss},
    line_field{"loss/train/total", &scale_record::loss},
    line_field{"lmloss", &scale_record::loss},
    line_field{"lm_loss", &scale_record::loss},
    line_field{"grad_norm", &scale_record::grad_norm},
    line_field{"gradnorm", &scale_record::grad_norm},
    line_field{"GradNorm", &scale_record::grad_norm},
    line_field{"Gradnorm", &scale_record::grad_norm},
    line_field{"grad-norm", &scale_record::grad_norm},
    line_field{"train/grad_norm", &scale_record::grad_norm},
    line_field{"actor/grad_norm", &scale_record::grad_norm},
    line_field{"gradient_norm", &scale_record::grad_norm},
    line_field{"gradientnorm", &scale_record::grad_norm},
    line_field{"gnorm", &scale_record::grad_norm},
    line_field{"global_norm", &scale_record::grad_norm},
    line_field{"global_grad_norm", &scale_record::grad_norm},
    line_field{"total_norm", &scale_record::grad_norm},
    line_field{"l2_norm/grad/global", &scale_record::grad_norm},
    line_field{"Grad", &scale_record::grad_norm},
    line_field{"loss_scale", &scale_record::after},
    line_field{"lossscale", &scale_record::after},
    line_field{"Lossscale", &scale_record::after},
    line_field{"LossScale", &scale_record::after},
    line_field{"lg_loss_scale", &scale_record::after, nullptr, true},
    line_field{"log2_loss_scale", &scale_record::after, nullptr, true},
    line_field{"grad_scale", &scale_record::after},
    line_field{"gradscale", &scale_record::after},
    line_field{"amp_scale", &scale_record::after},
    line_field{"ampscale", &scale_record::after},
    line_field{"scaler", &scale_record::after},
    line_field{"scale", &scale_record::after},
    line_field{"learning_rate", &scale_record::learning_rate},
    line_field{"learningrate", &scale_record::learning_rate},
    line_field{"lr", &scale_record::learning_rate},
    line_field{"LR", &scale_record::learning_rate},
    line_field{"cur_lr", &scale_record::learning_rate},
    line_field{"actor/lr", &scale_record::learning_rate},
};

// What a script's own lines say of skipped steps.
inline constexpr std::array skip_fields{
    line_field{"found_inf", &scale_record::overflow},
    line_field{"overflow", &scale_record::overflow},
    line_field{"overflowed", &scale_record::overflow},
    line_field{"is_overflow", &scale_record::overflow},
    line_field{"has_overflow", &scale_record::overflow},
    line_field{"grad_overflow", &scale_record::overflow},
    line_field{"step_skipped", &scale_record::overflow},
    line_field{"is_fin", &scale_record::overflow, nullptr, false, true},
    line_field{"is_finite", &scale_record::overflow, nullptr, false, true},
    line_field{"all_finite", &scale_record::overflow, nullptr, false, true},
    line_field{"grads_finite", &scale_record::overflow, nullptr, false, true},
    line_field{"skipped_steps", &scale_record::skips},
    line_field{"skippedsteps", &scale_record::skips},
    line_field{"num_skipped", &scale_record::skips},
    line_field{"n_skipped", &scale_record::skips},
    line_field{"total_skipped", &scale_record::skips},
    line_field{"skipped_iterations", &scale_record::skips},
    line_field{"skippediterations", &scale_record::skips},
    line_field{"skipped", &scale_record::skips},
    line_field{"overflows", &scale_record::skips},
};

}  // namespace ulp::io

#endif
