// The dialects whose lines are rows of data, with where they are printed. A row more is a layout more.
#include "layouts.hpp"

#include <array>

#include "layout.hpp"
#include "usual_fields.hpp"

namespace ulp::io {
namespace {

using kind = scale_record::kind;

constexpr scale_record a_step{.what = kind::reached};
// Nothing is said of the steps before it.
constexpr scale_record a_single{.what = kind::reached, .steps = 1};
constexpr scale_record a_mean{.what = kind::reached, .is_mean = true};

// MMDetection and all others on MMCV or MMEngine, means of the steps since the line before. "Epoch [1][50/5808]  lr:
// 1.000e-02, ..., loss: nan, grad_norm: nan", "Iter [50/80000]  lr: ...": open-mmlab/mmcv mmcv/runner/hooks/logger/text.py;
// "Epoch(train)  [1][ 500/2931]  lr: 2.0000e-02 ...": open-mmlab/mmengine mmengine/runner/log_processor.py.
constexpr std::array openmmlab{
    line_layout{"Epoch[", "", "{epoch}][{iter}/{length}]", usual_fields, a_mean, 1},
    line_layout{"Epoch(train)[", "", "{epoch}][{iter}/{length}]", usual_fields, a_mean, 1},
    line_layout{"Iter[", "", "{step}/{n}]", usual_fields, a_mean},
    line_layout{"Iter(train)[", "", "{step}/{n}]", usual_fields, a_mean},
};

// Of scripts: "Epoch[0] Iter[10/200] loss=...".
constexpr std::array epoch_and_iteration{
    line_layout{"Epoch[", "", "{epoch}]Iter[{iter}/{length}]", usual_fields, a_step, 1},
};

// PyTorch's and Apex's own training of ImageNet, and what was made of it: "Epoch: [0][10/5004] Time 0.311 (0.320) Loss
// 6.9413 (6.8813) Prec@1 1.2 (0.9)", the present value and the mean, counted from 0: pytorch/examples imagenet/main.py
// (ProgressMeter), NVIDIA/apex examples/imagenet/main_amp.py.
constexpr std::array imagenet_fields{line_field{"Loss", &scale_record::loss}};
constexpr std::array imagenet{
    line_layout{"Epoch:[", "", "{epoch}][{iter}/{length}]", imagenet_fields, a_step},
};

// Swin Transformer, SimMIM and others with their loop: "Train: [3/300][370/1251]  eta 0:08:57 lr 0.000166  time 0.6068
// (0.6098)  loss 6.3568 (6.1324)  grad_norm 2.0382 (inf)  loss_scale 32768.0000 (37236.3636)  mem 11818MB", the present
// value and the mean of the epoch: microsoft/Swin-Transformer main.py (train_one_epoch). DeiT, BEiT, MAE and others with
// its MetricLogger: "Epoch: [115]  [1298/1299]  eta: 0:00:00  loss: 6.5993 (6.5971)  loss_scale: 8192.0000 (8646.0600)
// grad_norm: 0.3922 (nan)", the median of the last 20 and the mean: microsoft/unilm beit/utils.py (SmoothedValue), and
// PaddlePaddle/PaddleDetection ppdet/engine/callbacks.py (LogPrinter). Both count from 0.
constexpr std::array swin{
    line_layout{.words = "Train:[",
                .after = "{epoch}/{n}][{iter}/{length}]",
                .fields = usual_fields,
                .as = a_step,
                .norm_is_of_applied = true},
    line_layout{"Epoch:[", "", "{epoch}][{iter}/{length}]", usual_fields, a_mean},
};

// Detectron2: "eta: 5:41:49  iter: 379  total_loss: 1.707  loss_cls: ...  lr: 0.003796", medians of the last 20, and
// "FloatingPointError: Loss became infinite or NaN at iteration=27!": facebookresearch/detectron2
// detectron2/utils/events.py (CommonMetricPrinter) and detectron2/engine/train_loop.py (write_metrics).
constexpr std::array rate_alone{line_field{"lr", &scale_record::learning_rate}};
constexpr std::array detectron{
    line_layout{.words = "iter:", .after = "{step}total_loss:{loss}", .fields = rate_alone, .as = a_mean},
    line_layout{.words = "LossbecameinfiniteorNaNatiteration=",
                .after = "{step}!",
                .as = {.what = kind::reached, .loss_is_nan = true}},
};

// InsightFace's ArcFace: "Speed 2178.40 samples/sec   Loss nan   LearningRate 0.001000   Epoch: 0   Global Step: 20
// Fp16 Grad Scale:  0   Required: 194 hours", the loss a mean: deepinsight/insightface
// recognition/arcface_torch/utils/utils_callbacks.py (CallBackLogging).
constexpr std::array insightface{
    line_layout{"GlobalStep:", "Loss{loss}LearningRate{lr}Epoch:{n}", "{step}Fp16GradScale:{after}", {}, a_mean},
    line_layout{"GlobalStep:", "Loss{loss}Epoch:{n}", "{step}Fp16GradScale:{after}", {}, a_mean},
};

// ESPnet2: "(trainer:636) INFO: 2epoch:train:12009-12640batch: ..., loss=65.129, ..., optim0_lr0=1.485e-05,
// grad_norm=63.297, grad_scale=2.048e+03", means of these batches, and "(trainer:581) WARNING: The grad norm is nan.
// Skipping updating the model." for each that was skipped: espnet/espnet espnet2/train/trainer.py (train_one_epoch) and
// espnet2/train/reporter.py (log_message).
constexpr std::array espnet_fields{
    line_field{"loss", &scale_record::loss},
    line_field{"grad_norm", &scale_record::grad_norm},
    line_field{"grad_scale", &scale_record::after},
    line_field{"loss_scale", &scale_record::after},
    line_field{"optim0_lr0", &scale_record::learning_rate},
};
constexpr std::array espnet{
    line_layout{"epoch:train:", "{epoch}", "{first}-{iter}batch:", espnet_fields, a_mean},
    line_layout{.words = "Thegradnormisnan.Skippingupdatingthemodel"},
    line_layout{.words = "Thegradnormisinf.Skippingupdatingthemodel"},
};

// llm.c: "step   10/74 | loss     nan (+nanz)| norm    nan (+nanz)| lr 3.00e-04 | 36.58 ms | 9.2% bf16 MFU":
// karpathy/llm.c train_gpt2.cu (main).
constexpr std::array llm_c_fields{
    line_field{"loss", &scale_record::loss},
    line_field{"norm", &scale_record::grad_norm},
    line_field{"lr", &scale_record::learning_rate},
};
constexpr std::array llm_c{
    line_layout{.words = "|loss",
                .before = "step{step}/{n}",
                .after = "{loss}(*)|",
                .fields = llm_c_fields,
                .as = a_step,
                .norm_is_of_applied = true},
};

// timm: "Train: 0 [  50/1251 (  4%)]  Loss: 6.94 (6.94)  Time: 1.2s,  100.1/s  (1.2s, 100/s)  LR: 1.000e-06": the present
// value and the mean, from 0: huggingface/pytorch-image-models train.py (train_one_epoch).
constexpr std::array timm{
    line_layout{"Train:", "", "{epoch}[{iter}/{length}(", usual_fields, a_step},
};

// icefall: "(0/4) Epoch 1, batch 13500, loss[loss=0.5912, ...], tot_loss[loss=0.571, ...], batch size: 130, lr: 2.73e-02,
// grad_scale: 2.0", batches counted from 0 in each epoch: k2-fsa/icefall egs/librispeech/ASR/zipformer/train.py
// (train_one_epoch), which doubles a small scale itself. "Epoch 1, batch 50, global_batch_idx: 50, batch size: 12,
// loss[...], tot_loss[...], cur_lr: 1.0e-02, grad_scale: 1.0": k2-fsa/ZipVoice zipvoice/bin/train_zipvoice.py.
constexpr std::array icefall_fields{
    line_field{"tot_loss[loss", &scale_record::loss},     line_field{"train_loss[loss", &scale_record::loss},
    line_field{"loss[loss", &scale_record::loss},         line_field{"grad_scale", &scale_record::after},
    line_field{"lr", &scale_record::learning_rate},       line_field{"cur_lr", &scale_record::learning_rate},
    line_field{"cur_lr_g", &scale_record::learning_rate},
};
constexpr std::array icefall{
    line_layout{",global_batch_idx:", "({rank}/{n})Epoch{epoch},batch{iter}", "{step},batchsize", icefall_fields,
                a_mean},
    line_layout{",global_batch_idx:", "Epoch{epoch},batch{iter}", "{step},batchsize", icefall_fields, a_mean},
    line_layout{",batch", "({rank}/{n})Epoch{epoch}", "{iter},", icefall_fields, a_mean},
    line_layout{",batch", "Epoch{epoch}", "{iter},", icefall_fields, a_mean},
};

// Paddle: "Found inf or nan, current scale is: 32768.0, decrease to: 32768.0*0.5" for each overflow that lowers the scale:
// PaddlePaddle/Paddle python/paddle/amp/grad_scaler.py (_update). "[Train][Epoch 1/800][Iter: 0/366]lr(LinearWarmup):
// 0.00100000, CELoss: 11.86, loss: 12.56, ...": PaddlePaddle/PaddleClas ppcls/engine/train/utils.py (log_info), counted
// from 0, the mean of the epoch. "global step 10, epoch: 1, batch: 9, loss: 0.5": PaddlePaddle/PaddleNLP, read as a script's;
// "optimizer not run, scale_before: 32768.0, scale_after: 16384.0": its paddlenlp/trainer/trainer.py (_inner_training_loop).
constexpr std::array paddle_fields{line_field{"loss", &scale_record::loss}};
constexpr std::array paddle{
    line_layout{"Foundinfornan,currentscaleis:", "", "{before},decreaseto:{x}*{factor}"},
    line_layout{"optimizernotrun,scale_before:", "", "{before},scale_after:{after}"},
    line_layout{"][Iter:", "[Epoch{epoch}/{n}", "{iter}/{length}]", paddle_fields, a_mean, 1},
};

// MindYOLO: "overflow, still update, loss scale adjust to 1024.0" in front of the line of a step that overflowed, "overflow,
// drop step, ..." where it was skipped; only of steps that are logged. "Epoch 1/200, Step 100/3995, imgsize (640, 640),
// loss: 11.6707, lbox: 3.6262, ..., cur_lr: 0.0992": mindspore-lab/mindyolo mindyolo/utils/trainer_factory.py (train_step).
constexpr std::array mindyolo_fields{
    line_field{"loss", &scale_record::loss},
    line_field{"cur_lr", &scale_record::learning_rate},
};
constexpr std::array mindyolo{
    line_layout{"overflow,stillupdate,lossscaleadjustto", "", "{after}", {}, {.is_applied = true}},
    line_layout{"overflow,dropstep,lossscaleadjustto", "", "{after}"},
    line_layout{",Step", "Epoch{epoch}/{n}", "{iter}/{length},imgsize", mindyolo_fields, a_single, 1},
};

// MindFormers: "{ Epoch:[  1/  2], step:[   10/  100], loss: 10.644, per_step_time: 1530ms, lr: 9.9e-06, overflow cond:
// False, loss_scale: 65536.0, global_norm: [1.7]", "loss:[10.644/10.644]" the last and the mean, the overflow that of the last step and the scale its own
// those of the last step: mindspore-lab/mindformers mindformers/core/callback/callback.py (MFLossMonitor).
constexpr std::array mindformers_fields{
    line_field{"loss", &scale_record::loss},         line_field{"overflowcond", nullptr, &scale_record::skipped},
    line_field{"loss_scale", &scale_record::before}, line_field{"global_norm", &scale_record::grad_norm},
    line_field{"lr", &scale_record::learning_rate},
};
constexpr std::array mindformers{
    line_layout{"],step:[", "Epoch:[{epoch}/{n}", "{iter}/{length}]", mindformers_fields, a_single, 1},
};

// NeMo 2: "Training epoch 0, iteration 8/99 | lr: 4.5e-07 | global_batch_size: 512 | global_step: 8 | reduced_train_loss:
// 11.03 | train_step_timing in s: 9.1": NVIDIA/NeMo nemo/lightning/pytorch/callbacks/progress_printer.py (format_string).
constexpr std::array nemo{
    line_layout{.words = ",iteration",
                .before = "Trainingepoch{epoch}",
                .after = "{iter}/{length}|*global_step:{step}",
                .fields = usual_fields,
                .as = a_step,
                .with_loss = true},
};

// torchtitan: "step:  1  loss:  2.83300  grad_norm: 105.0000  memory: 66.91GiB(37.51%)  tps: 10,050": pytorch/torchtitan
// torchtitan/components/metrics.py (MetricsProcessor.log).
constexpr std::array torchtitan{
    line_layout{.words = "step:", .after = "{step}loss:{loss}grad_norm:{norm}memory:", .as = a_step},
    line_layout{.words = "step:", .after = "{step}loss:{loss}memory:", .as = a_step},
};

// verl: "step:1 - global_seqlen/min:11873.000 - ... - actor/pg_loss:-0.001 - actor/grad_norm:nan - actor/lr:0.000", and
// "step:1 - train/loss:0.52 - train/lr(1e-3):0.01": volcengine/verl verl/utils/logger/aggregate_logger.py (concat_dict_to_str).
constexpr std::array verl_fields{
    line_field{"train/loss", &scale_record::loss},           line_field{"actor/loss", &scale_record::loss},
    line_field{"actor/pg_loss", &scale_record::loss},        line_field{"actor/grad_norm", &scale_record::grad_norm},
    line_field{"train/grad_norm", &scale_record::grad_norm}, line_field{"actor/lr", &scale_record::learning_rate},
};
constexpr std::array verl{
    line_layout{.words = "step:", .after = "{step}-", .fields = verl_fields, .as = a_step, .with_loss = true},
};

// torchtune: "1|5|Loss: 2.3445:   0%|  | 5/26000 [00:10<...", the epoch and the step in front of the bar: pytorch/torchtune
// recipes/full_finetune_single_device.py (train).
constexpr std::array torchtune{
    line_layout{.words = "|Loss:", .before = "{n}|{step}", .after = "{loss}", .as = a_step},
};

// SCNet, Demucs: "Train Summary | Epoch 1 | Loss=0.2242 | Grad=9164.2812", means of an epoch: starrytong/SCNet
// scnet/solver.py (train), facebookresearch/demucs demucs/solver.py.
constexpr std::array scnet{
    line_layout{
        .words = "TrainSummary|Epoch", .after = "{step}|", .fields = usual_fields, .as = a_mean, .with_loss = true},
};

// YOLOv5 and Ultralytics: "0/99     2.64G   0.0913   0.0312   0.0211    4    416: 100%|###| 7/7 [00:15<00:00, 2.27s/it]",
// the epoch, means of the parts of the loss, instances and the size: ultralytics/yolov5 train.py (train; with a total
// before 2021), ultralytics/ultralytics ultralytics/engine/trainer.py (progress_string), which count from 0 and from 1.
constexpr std::array yolo{
    line_layout{"G", "{step}/{n} {x}", "{sum} {sum} {sum} {n} {n}:~ {n}%|", {}, a_mean},
    line_layout{"G", "{step}/{n} {x}", "{x} {x} {x} {loss} {n} {n}:~ {n}%|", {}, a_mean},
};

// guided-diffusion and what descends from it, a box with a value in each line, sorted by their names, all with three digits:
// "| grad_norm     | 0.2      |", "| loss          | 0.0513   |", ..., "| step          | 1.2e+03  |": openai/guided-diffusion
// guided_diffusion/logger.py (HumanOutputFormat.writekvs); and "Found NaN, decreased lg_loss_scale to 19.005" for each step
// that is skipped, which says the scale better than the box: guided_diffusion/fp16_util.py (optimize). So does
// openai/improved-diffusion.
constexpr scale_record a_section{.what = kind::section};
constexpr scale_record some_metrics{.what = kind::metrics};
constexpr std::array guided_diffusion{
    line_layout{.words = "FoundNaN,decreasedlg_loss_scaleto", .after = "{log2}"},
    line_layout{.words = "|step|", .after = "{rounded}|", .as = a_section},
    line_layout{.words = "|loss|", .after = "{loss}|", .as = some_metrics},
    line_layout{.words = "|grad_norm|", .after = "{norm}|", .as = some_metrics},
};

// Composer: "[batch=1/4800]:" and below it "Train loss/train/total: 11.9", "Train l2_norm/grad/global: 3.1", each in a line:
// mosaicml/composer composer/loggers/console_logger.py (log_to_console).
constexpr std::array composer{
    line_layout{.words = "[batch=", .after = "{step}/{n}]:", .as = a_section},
    line_layout{.words = "Trainloss/train/total:", .after = "{loss}", .as = some_metrics},
    line_layout{.words = "Trainl2_norm/grad/global:", .after = "{norm}", .as = some_metrics},
    line_layout{.words = "Traintrainer/loss_scale:", .after = "{after}", .as = some_metrics},
};

// OLMo: "[step=1/739328]" and below it "train/CrossEntropyLoss=11.42", "optim/total_grad_norm=8.1", each in a line:
// allenai/OLMo olmo/train.py (log_metrics_to_console).
constexpr std::array olmo{
    line_layout{.words = "[step=", .after = "{step}/{n}]", .as = a_section},
    line_layout{.words = "train/CrossEntropyLoss=", .after = "{loss}", .as = some_metrics},
    line_layout{.words = "total_grad_norm=", .after = "{norm}", .as = some_metrics},
};

// nnU-Net: "Epoch 5" and below it "train_loss -0.7712", the mean of the epoch, from 0: MIC-DKFZ/nnUNet
// nnunetv2/training/nnUNetTrainer/nnUNetTrainer.py (on_epoch_end).
constexpr std::array nnunet{
    line_layout{.words = ":Epoch", .after = "{step}$", .as = a_section},
    line_layout{.words = "train_loss", .before = ":", .after = "{loss}", .as = some_metrics},
};

// Keras: "Epoch 1/10" and below it "1381/1381 [=====] - 1033s 748ms/step - loss: nan", the mean of the epoch so far, or
// "1381/1381 - 1033s - loss: nan": keras-team/keras keras/src/utils/progbar.py (update).
constexpr std::array keras{
    line_layout{"Epoch", "", "{step}/{n} {iter}/{length}[", {}, a_section},
    line_layout{"Epoch", "", "{step}/{n} {iter}/{length}-", {}, a_section},
    line_layout{"Epoch", "", "{step}/{n} {iter}/{length}\xE2\x94\x81", {}, a_section},
    line_layout{"]-", "{n}/{n}[~", "*-loss:{loss}", {}, some_metrics},
    line_layout{"s/step", "", "*-loss:{loss}", {}, some_metrics},
    line_layout{"s-loss:", "{n}/{n}-{n}", "{loss}", {}, some_metrics},
};

// Marian: "Ep. 1 : Up. 1000 : Sen. 45,123 : Cost 7.84930754 * 1,234,567 @ 1,234 after 3,456,789 : Time 123.45s : 12345.67
// words/s : gNorm 0.0000 : L.r. 3.0000e-04", the cost a mean, gNorm an average that is 0 where nothing needs it; and at
// --log-level debug each skipped update: "Seen NaN/Inf after 812 gradient updates. Reduced cost-scaling factor to 128": marian-nmt/marian-dev
// src/training/scheduler.h (update), src/training/graph_group.cpp (decreaseCostScaleFactor).
constexpr std::array marian_fields{line_field{"L.r.", &scale_record::learning_rate}};
constexpr std::array marian{
    line_layout{":Up.", "Ep.{x}", "{step}:Sen.*:Cost{loss}", marian_fields, a_mean},
    line_layout{"Reducedcost-scalingfactorto", "", "{after}"},
    line_layout{"Reducedcost-scalingfactortominimum", "", "{after}"},
    line_layout{"Increasingcost-scalingfactorto", "", "{after}", {}, {.what = kind::grown}},
};

// fairseq2: "Train Metrics (step 20) - CTC Loss: 507.8 | Gradient Norm: 31.7 | Learning Rate: 2e-06", means since the line before;
// "Overflow detected at step 103, ignoring gradient, decreasing loss scale from 65536 to 32768." for each that was skipped, which is
// done again as the same step, and "Overflow detected at step 31, ignoring gradient, loss scale is already at minimum (0.0001)." where
// the run ends: facebookresearch/fairseq2 src/fairseq2/optim/fp16_loss_scaler.py, src/fairseq2/recipes/_trainer.py (_repeat_step).
constexpr std::array fairseq2_fields{
    line_field{"Loss", &scale_record::loss},
    line_field{"GradientNorm", &scale_record::grad_norm},
    line_field{"LearningRate", &scale_record::learning_rate},
};
constexpr std::array fairseq2{
    line_layout{
        .words = "TrainMetrics(step", .after = "{step})-", .fields = fairseq2_fields, .as = a_mean, .with_loss = true},
    line_layout{"Overflowdetectedatstep", "", "{step},ignoringgradient,decreasinglossscalefrom{before}to{after}"},
    line_layout{.words = "Overflowdetectedatstep",
                .after = "{step},ignoringgradient,lossscaleisalreadyatminimum({after})",
                .as = {.what = kind::fatal}},
    line_layout{"increasinglossscalefrom", "", "{before}to{after}", {}, {.what = kind::grown}},
};

// WaveGlow, Tacotron 2 and others from NVIDIA: "Validation loss 8416:  0.711720" after that iteration: NVIDIA/tacotron2
// train.py (validate).
constexpr std::array validations{
    line_layout{
        "Validationloss", "", "{step}:{loss}", {}, {.what = kind::reached, .is_mean = true, .is_validation = true}},
};

// NVIDIA's BERT: "DLL 2020-05-29 11:31:45.763470 - Training Epoch: 0 Training Iteration: 100  average_loss : 9.1
// step_loss : nan  learning_rate : 0.0053": NVIDIA/DeepLearningExamples PyTorch/LanguageModeling/BERT/run_pretraining.py.
constexpr std::array bert_fields{line_field{"learning_rate", &scale_record::learning_rate}};
constexpr std::array bert{
    line_layout{.words = "TrainingIteration:",
                .before = "TrainingEpoch:{n}",
                .after = "{step}*step_loss:{loss}",
                .fields = bert_fields,
                .as = a_single},
};

// clu: "[12] grad_norm=1.0, learning_rate=1e-4, loss=4.03, steps_per_sec=3.1" behind what absl writes in front of a line:
// google/CommonLoopUtils clu/metric_writers/logging_writer.py (write_scalars).
constexpr std::array clu{
    line_layout{.words = "][",
                .before = ".py:{n}",
                .after = "{step}]",
                .fields = usual_fields,
                .as = a_single,
                .with_loss = true},
};

// Lines of scripts that have a number and a loss, in many words: own_lines.cpp has the others.
constexpr std::array own{
    // "Train Epoch: 1 [640/60000 (1%)]	Loss: 2.300", samples instead of steps: pytorch/examples mnist/main.py (train),
    // mlfoundations/open_clip src/open_clip_train/train.py (train_one_epoch).
    line_layout{"TrainEpoch:", "", "{epoch}[{iter}/{length}(", usual_fields, a_step, 0, true},
    // "train iter: 100 loss_net: 2.1 loss_scale: 32768.0000 norm: 21.8": what users of
    // christianpayer/MedicalDataAugmentationTool-VerSe post.
    line_layout{.words = "trainiter:", .after = "{step}loss_net:{loss}loss_scale:{after}norm:{norm}", .as = a_step},
    // Wikitext models of NVIDIA and Salesforce: "| epoch   1 | 121090/129094 batches | lr 0.00200 | ms/batch 216.22 | loss
    // 0.83 | ppl     2.28": salesforce/awd-lstm-lm main.py (train).
    line_layout{"batches|", "|epoch{epoch}|{iter}/{n}", "", usual_fields, a_mean, 1, true},
};

constexpr std::array framework_rows{
    log_dialect{.name = "Paddle", .layouts = paddle},
    log_dialect{.name = "OpenMMLab", .layouts = openmmlab, .means_are_of_all = true},
    log_dialect{.name = "a script", .layouts = epoch_and_iteration, .is_own = true, .scale_is_open = true},
    log_dialect{.name = "PyTorch's ImageNet example", .layouts = imagenet},
    log_dialect{.name = "Swin or DeiT", .layouts = swin},
    log_dialect{.name = "ESPnet", .layouts = espnet, .counts_in_epochs = true, .scale_is_mean = true},
    log_dialect{.name = "InsightFace", .layouts = insightface},
    log_dialect{.name = "Detectron2", .layouts = detectron},
    log_dialect{.name = "llm.c", .layouts = llm_c},
    log_dialect{.name = "timm", .layouts = timm},
    log_dialect{.name = "icefall", .layouts = icefall, .counts_in_epochs = true, .resets_scale = true},
    log_dialect{.name = "MindYOLO", .layouts = mindyolo, .scale_may_stay = true},
    log_dialect{.name = "MindFormers", .layouts = mindformers, .resets_scale = true},
    log_dialect{.name = "NeMo", .layouts = nemo},
    log_dialect{.name = "NVIDIA's BERT", .layouts = bert},
    log_dialect{.name = "clu", .layouts = clu},
    log_dialect{.name = "Marian", .layouts = marian, .scale_may_stay = true},
    log_dialect{.name = "fairseq2", .layouts = fairseq2, .counts_updates = true},
    log_dialect{.name = "torchtitan", .layouts = torchtitan},
    log_dialect{.name = "verl", .layouts = verl},
    log_dialect{.name = "torchtune", .layouts = torchtune},
    log_dialect{.name = "SCNet", .layouts = scnet, .is_by_epoch = true},
    log_dialect{.name = "YOLO", .layouts = yolo, .is_by_epoch = true},
    log_dialect{.name = "guided-diffusion",
                .layouts = guided_diffusion,
                .may_count_from_zero = true,
                .in_sections = true,
                .section_is_last = true,
                .step_digits = 3,
                .resets_scale = true},
    log_dialect{.name = "Composer", .layouts = composer, .in_sections = true},
    log_dialect{.name = "OLMo", .layouts = olmo, .in_sections = true},
    log_dialect{.name = "nnU-Net", .layouts = nnunet, .in_sections = true, .is_by_epoch = true},
    log_dialect{.name = "Keras", .layouts = keras, .in_sections = true, .is_by_epoch = true},
};
constexpr std::array script_rows{
    log_dialect{.name = "a script", .layouts = validations, .may_count_from_zero = true, .is_own = true},
    log_dialect{.name = "a script",
                .layouts = own,
                .counts_in_epochs = true,
                .may_count_from_zero = true,
                .is_own = true,
                .scale_is_open = true},
};

}  // namespace

std::span<const log_dialect> layout_dialects() noexcept { return framework_rows; }
std::span<const log_dialect> script_layouts() noexcept { return script_rows; }

}  // namespace ulp::io
