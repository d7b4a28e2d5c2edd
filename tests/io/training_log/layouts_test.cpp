// Pins the layouts that are rows of data: lines as each program prints them (its source is named in dialects/layouts.cpp),
// and the steps, losses, norms and scales that they tell of.
#include <algorithm>
#include <cmath>
#include <limits>

#include "io/builders.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double none = -12345;  // nothing was logged

struct row {
  std::int64_t step = 0;
  double loss = none;
  double norm = none;
};
struct layout_case {
  std::string name;
  std::string text;
  std::vector<row> rows;
};

bool has_note(const contents& read, const std::string& words) {
  return std::ranges::any_of(read.notes, [&](const auto& note) { return note.find(words) != std::string::npos; });
}

bool is_logged(double value, bool is_nan, double expected) {
  if (expected == none) return std::isnan(value) && !is_nan;
  if (std::isnan(expected)) return is_nan;
  return value == expected;
}

const std::vector<layout_case> layouts{
    {"timm",
     "Train: 0 [   0/1251 (  0%)]  Loss: 6.94 (6.94)  Time: 1.2s,  100.1/s  (1.2s, 100/s)  LR: 1.000e-06\n"
     "Train: 1 [  50/1251 (  4%)]  Loss:  nan ( nan)  Time: 1.2s,  100.1/s  (1.2s, 100/s)  LR: 1.000e-06\n",
     {{0, 6.94}, {1301, nan}}},
    {"icefall",
     "2025-06-20 11:00:01 INFO [train.py:700] (0/8) Epoch 1, batch 0, loss[loss=2.01, over 21.0 frames. ], tot_loss[loss=2.02, "
     "over 21.0 frames. ], batch size: 30, lr: 1.00e-02, grad_scale: 1.0\n"
     "2025-06-20 11:00:02 INFO [train.py:700] (1/8) Epoch 1, batch 0, loss[loss=2.11, over 21.0 frames. ], tot_loss[loss=2.12, "
     "over 21.0 frames. ], batch size: 30, lr: 1.00e-02, grad_scale: 1.0\n"
     "2025-06-20 11:01:01 INFO [train.py:700] (0/8) Epoch 1, batch 1, loss[loss=nan, over 21.0 frames. ], tot_loss[loss=nan, "
     "over 21.0 frames. ], batch size: 30, lr: 1.00e-02, grad_scale: 0.5\n",
     {{0, 2.02}, {1, nan}}},
    {"icefall",  // ZipVoice
     "INFO (0/8) Epoch 2, batch 7, global_batch_idx: 500, batch size: 24, loss[loss=2.01, over 21.0 frames. ], "
     "tot_loss[loss=1.5, over 2.0 frames. ], cur_lr: 1.00e-02, grad_scale: 1.0\n",
     {{500, 1.5}}},
    {"MindFormers",
     "INFO - { Epoch:[  1/  2], step:[    1/  100], loss: 10.644, per_step_time: 25307ms, lr: 2.5e-08, overflow cond: True, "
     "loss_scale: 65536.0, global_norm: [inf]\n"
     "INFO - { Epoch:[  2/  2], step:[    2/  100], loss:[10.5/10.6], per_step_time: 25307ms, lr: 5.1e-08, overflow cond: "
     "False, loss_scale: 32768.0, global_norm: [1.75]\n",
     {{1, 10.644, infinity}, {102, 10.5, 1.75}}},
    {"NeMo",
     "Training epoch 1, iteration 3/99 | lr: 4.498e-07 | global_batch_size: 512 | global_step: 103 | reduced_train_loss: "
     "11.03 | train_step_timing in s: 9.123\n"
     "Training epoch 1, iteration 4/99 | lr: 4.498e-07 | global_batch_size: 512 | global_step: 104 | reduced_train_loss: nan "
     "| train_step_timing in s: 9.123 | consumed_samples: 53248\n",
     {{103, 11.03}, {104, nan}}},
    {"torchtitan",
     "[rank0]:[titan] 2026-04-24 19:46:17,508 - root - INFO - step:  1  loss:  2.83300  grad_norm: 105.0000  memory: "
     "66.91GiB(37.51%)  tps: 10,050\n"
     "[rank1]:[titan] 2026-04-24 19:46:17,508 - root - INFO - step:  1  loss:  2.83300  grad_norm: 105.0000  memory: "
     "66.91GiB(37.51%)  tps: 10,050\n"
     "[rank0]:[titan] 2026-04-24 19:46:18,508 - root - INFO - step:  2  loss:  nan  grad_norm:  nan  memory: "
     "66.91GiB(37.51%)  tps: 10,050\n",
     {{1, 2.833, 105}, {2, nan, nan}}},
    {"Marian",
     "[2021-05-01 10:00:00] Ep. 1 : Up. 500 : Sen. 45,123 : Cost 7.25 * 1,234,567 @ 1,234 after 3,456,789 : Time 123.45s : "
     "12345.67 words/s : gNorm 0.0000 : L.r. 3.0000e-04\n"
     "[2021-05-01 10:02:00] Ep. 1 : Up. 1000 : Sen. 90,246 : Cost -nan * 1,234,567 @ 1,234 after 6,456,789 : Time 123.45s : "
     "12345.67 words/s\n"
     "[2021-05-01 10:02:01] [valid] Ep. 1 : Up. 1000 : cross-entropy : 45.2 : new best\n",
     {{500, 7.25}, {1000, nan}}},
    {"verl",
     "(TaskRunner pid=111) step:1 - actor/entropy:0.311 - actor/pg_loss:-0.001 - actor/grad_norm:nan - timing_s/step:61\n"
     "(TaskRunner pid=111) step:2 - actor/entropy:0.311 - actor/pg_loss:-0.25 - actor/grad_norm:0.5 - timing_s/step:61\n",
     {{1, -0.001, nan}, {2, -0.25, 0.5}}},
    {"torchtune",
     "1|1|Loss: 1.5:   0%|          | 1/26000 [00:02<20:01:10,  2.77s/it]1|2|Loss: nan:   0%|          | 2/26000 "
     "[00:05<20:01:10,  2.77s/it]\n",
     {{1, 1.5}, {2, nan}}},
    {"SCNet",
     "INFO - Train Summary | Epoch 1 | Loss=0.25 | Grad=9164.5\nINFO - Valid Summary | Epoch 1 | Loss=0.2 | Nsdr=6.2\n"
     "INFO - Train Summary | Epoch 2 | Loss=nan | Grad=inf\n",
     {{1, 0.25, 9164.5}, {2, nan, infinity}}},
    {"YOLO",
     "      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size\n"
     "      1/100      2.63G       1.25        2.5       1.25         20        640: 100%|###| 16/16 [00:10<00:00,  1.52it/s]\n"
     "      2/100      2.63G        nan        nan        nan         20        640: 100%|###| 16/16 [00:10<00:00,  1.52it/s]\n",
     {{1, 5}, {2, nan}}},
    {"Composer",
     "[batch=1/4800]:\n\t Train time/batch: 0\n\t Train loss/train/total: 11.5\n\t Train l2_norm/grad/global: 3.5\n"
     "[batch=2/4800]:\n\t Train time/batch: 1\n\t Train loss/train/total: nan\n\t Train l2_norm/grad/global: nan\n",
     {{1, 11.5, 3.5}, {2, nan, nan}}},
    {"OLMo",
     "INFO\t[step=1/1000]\n    train/CrossEntropyLoss=11.5\n    optim/total_grad_norm=8.5\nINFO\t[step=2/1000]\n"
     "    train/CrossEntropyLoss=nan\n    optim/total_grad_norm=nan\n",
     {{1, 11.5, 8.5}, {2, nan, nan}}},
    {"nnU-Net",
     "2024-05-01 10:00:00.123456: Epoch 0 \n2024-05-01 10:00:00.123456: Current learning rate: 0.01 \n"
     "2024-05-01 10:02:00.123456: train_loss -0.5 \n2024-05-01 10:02:00.123456: val_loss -0.3 \n"
     "2024-05-01 10:02:01.123456: Epoch 1 \n2024-05-01 10:02:01.123456: Current learning rate: 0.00999 \n"
     "2024-05-01 10:04:00.123456: train_loss nan \n2024-05-01 10:04:00.123456: val_loss nan \n",
     {{0, -0.5}, {1, nan}}},
    {"Keras",
     "Epoch 1/10\n1381/1381 [==============================] - 1033s 748ms/step - loss: 1.25 - accuracy: 0.5\n"
     "Epoch 2/10\n   1/1381 [..............................] - ETA: 5:12 - loss: 1.0\b\b\b   2/1381 "
     "[..............................] - ETA: 5:12 - loss: nan\n"
     "Epoch 3/10\n1381/1381 - 1033s - loss: nan - accuracy: 0.01\n"
     "Epoch 4/10\n1381/1381 \xE2\x94\x81\xE2\x94\x81\xE2\x94\x81 1033s 748ms/step - accuracy: 0.01 - loss: nan\n",
     {{1, 1.25}, {2, nan}, {3, nan}, {4, nan}}},
    {"Hugging Face Trainer",  // ms-swift
     R"~({"loss": 1.25, "grad_norm": 2.5, "learning_rate": 1e-05, "memory(GiB)": 20.1, "epoch": 0.01, "global_step/max_steps": )~"
     R"("1/500", "percentage": "0.20%", "elapsed_time": "12s"})"
     "\n"
     R"({"loss": NaN, "grad_norm": NaN, "learning_rate": 1e-05, "epoch": 0.02, "global_step/max_steps": "5/500"})"
     "\n",
     {{1, 1.25, 2.5}, {5, nan, nan}}},
    {"a progress bar",  // Lightning
     "Epoch 0:   5%|#  | 1/18 [00:12<01:02,  4.47s/it, loss=10.5, v_num=1]Epoch 0:  11%|#  | 2/18 [00:16<01:02,  4.47s/it, "
     "loss=nan, v_num=1]Validation:  50%|#  | 3/4 [00:16<01:02,  4.47s/it, loss=0.5]Epoch 1:   5%|#  | 1/18 [00:12<01:02,  "
     "4.47s/it, loss=nan, v_num=1]\n",
     {{1, 10.5}, {2, nan}}},  // a mean of 20 steps, in which NaN of step 2 stays
    {"a script",
     "iter 0: loss 10.5, time 2345.11ms, mfu -100.00%\nstep 0: train loss 10.25, val loss 10.97\niter 10: loss nan, time 2ms\n",
     {{0, 10.5}, {10, nan}}},
    {"a script",
     "Epoch: 1 | Batch: 490/500 | Train Loss: 2.5 | Grad Norm: 1.5\nEpoch: 1 | Val Loss: 2.1\n"
     "Epoch: 2 | Batch: 10/500 | Train Loss: nan | Grad Norm: nan\n",
     {{490, 2.5, 1.5}, {510, nan, nan}}},
    {"a script",  // the MNIST example of PyTorch: samples
     "Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.25\nTrain Epoch: 1 [1280/60000 (2%)]\tLoss: nan\n",
     {{60640, 2.25}, {61280, nan}}},
    {"a script", "Epoch 1: train_loss=0.5 val_loss=0.6\nEpoch 2: train_loss=nan val_loss=nan\n", {{1, 0.5}, {2, nan}}},
    {"a script",  // of PaddleNLP
     "[INFO] - global step 10, epoch: 1, batch: 9, loss: 0.5, speed: 3.2 step/s\n"
     "[INFO] - loss: 0.25, learning_rate: 3e-05, global_step: 20, interval_runtime: 2.1\n",
     {{10, 0.5}, {20, 0.25}}},
};

}  // namespace

TEST_CASE("layouts: steps, losses and norms of each") {
  const playground place;
  for (const layout_case& l : layouts) {
    INFO(l.text);
    const contents log = place.open("train.log", l.text);
    CHECK(log.description.ends_with(" log of " + l.name));
    std::size_t logged = 0;
    for (const step& s : log.steps) {
      const bool has_values = !std::isnan(s.scalars.loss) || s.scalars.loss_is_nan || s.scalars.grad_norm_is_nan ||
                              !std::isnan(s.scalars.grad_norm);
      if (!has_values) continue;
      REQUIRE(logged < l.rows.size());
      const row& expected = l.rows[logged++];
      CHECK(s.key.step == expected.step);
      CHECK(is_logged(s.scalars.loss, s.scalars.loss_is_nan, expected.loss));
      CHECK(is_logged(s.scalars.grad_norm, s.scalars.grad_norm_is_nan, expected.norm));
    }
    CHECK(logged == l.rows.size());
    for (const std::string& note : log.notes) CHECK(note.find("could not be read") == std::string::npos);
  }
}

TEST_CASE("layouts: ESPnet's scale, by both names, is a mean") {
  const playground place;
  for (const std::string name : {"grad_scale", "loss_scale"}) {
    INFO(name);
    const auto line = [&](int first, const std::string& scale) {
      return "[gpu01] 2022-03-01 10:01:12,345 (trainer:732) INFO: 1epoch:train:" + std::to_string(first) + "-" +
             std::to_string(first + 9) + "batch: iter_time=1.0e-04, loss=85.013, grad_norm=44.152, " + name + "=" +
             scale + ", optim0_lr0=1e-4\n";
    };
    const contents log = place.open(
        "train.log", line(1, "6.554e+04") + line(11, "5.898e+04") + line(21, "3.277e+04") + line(31, "3.277e+04"));
    std::size_t skipped = 0;
    for (const step& s : log.steps) skipped += s.scalars.applied == false ? 1 : 0;
    CHECK(skipped == 1);
  }
}

TEST_CASE("layouts: overflows of Paddle and MindYOLO") {
  const playground place;
  const contents paddle = place.open("train.log",
                                     "Found inf or nan, current scale is: 1.0, decrease to: 1.0*0.5\n"
                                     "Found inf or nan, current scale is: 0.5, decrease to: 0.5*0.5\n");
  REQUIRE(paddle.steps.size() == 2);
  CHECK(paddle.steps[0].scalars.loss_scale == 1);
  CHECK(paddle.steps[1].scalars.loss_scale == 0.5);
  CHECK(paddle.steps[1].scalars.applied == false);

  const auto nlp = [](int step) {
    return "[2024-03-05 10:00:10,944] [    INFO] - loss: 8.25, learning_rate: 3e-05, global_step: " +
           std::to_string(step) + ", interval_runtime: 4.1, epoch: 0.01\n";
  };
  const contents not_run = place.open(
      "train.log",
      nlp(1) +
          "[2024-03-05 10:00:11,944] [ WARNING] - optimizer not run, scale_before: 32768.0, scale_after: 16384.0\n" +
          nlp(2) + nlp(3));
  REQUIRE(not_run.steps.size() == 3);
  CHECK(not_run.steps[1].scalars.applied == false);
  CHECK(not_run.steps[1].scalars.loss_scale == 32768);
  CHECK(not_run.steps[2].scalars.applied == true);

  // The update is applied all the same; only logged steps say whether they overflowed.
  const auto line = [](int step) {
    return "[INFO] Epoch 1/200, Step " + std::to_string(step) + "/3995, imgsize (640, 640), loss: 8.5, lbox: 3.6\n" +
           "[INFO] Epoch 1/200, Step " + std::to_string(step) + "/3995, step time: 654.40 ms\n";
  };
  const std::string overflow = "[WARNING] overflow, still update, loss scale adjust to 1024.0\n";
  const contents yolo = place.open("train.log", overflow + line(100) + overflow + line(200) + line(300) + line(400));
  REQUIRE(yolo.steps.size() == 4);
  CHECK(yolo.steps[1].key.step == 200);
  CHECK(yolo.steps[1].scalars.found_inf == true);
  CHECK(yolo.steps[1].scalars.applied == true);
  CHECK(yolo.steps[1].scalars.loss_scale == 1024);
  CHECK(yolo.steps[2].scalars.found_inf == false);
}

TEST_CASE("layouts: a script's own lines beside Apex's are its steps") {
  const playground place;
  const std::string apex = "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to ";
  const contents read =
      place.open("train.log", "| epoch   1 |   100/ 5000 batches | lr 0.002 | loss  0.83 | ppl 2.29\n" + apex +
                                  "16384.0\n" + apex +
                                  "8192.0\n| epoch   1 |   102/ 5000 batches | lr 0.002 | loss  0.5\n"
                                  "| epoch   1 |   103/ 5000 batches | lr 0.002 | loss   nan\n");
  CHECK(read.description == "loss-scale log of Apex");
  REQUIRE_FALSE(read.steps.empty());
  CHECK(read.steps.front().key.step == 100);
  CHECK(read.steps.back().key.step == 103);
  CHECK(read.steps.back().scalars.loss_is_nan);
}

TEST_CASE("layouts: numbers as Microsoft's C library and Python's arrays print them, and names in any case") {
  const playground place;
  // Microsoft's printf before Visual Studio 2015.
  const contents microsoft =
      place.open("a.log", "step 1 loss 2.5 grad_norm 1.#INF00\nstep 2 loss -1.#IND grad_norm 1.#QNAN\n");
  REQUIRE(microsoft.steps.size() == 2);
  CHECK(std::isinf(microsoft.steps[0].scalars.grad_norm));
  CHECK(microsoft.steps[1].scalars.loss_is_nan);
  CHECK(microsoft.steps[1].scalars.grad_norm_is_nan);

  for (const std::string word : {"NAN", "Nan", "-nan", "INF", "Inf", "-INF", "Infinity", "1.#INF", "1.#qnan"}) {
    INFO(word);
    const contents own = place.open("n.log", "step 1 loss 2.5\nstep 2 loss " + word + "\n");
    REQUIRE(own.steps.size() == 2);
    CHECK(own.steps[1].scalars.found_inf == true);
    const contents megatron = place.open(
        "m.log", " iteration 700/ 3000 | lm loss 6.5E+00 | loss scale 4.0 |\n iteration 701/ 3000 | lm loss " + word +
                     " | loss scale 4.0 |\n");
    REQUIRE_FALSE(megatron.steps.empty());
    CHECK(megatron.steps.back().scalars.found_inf == true);
  }

  const contents wrapped = place.open("b.log",
                                      "step 1 loss tensor(2.5, device='cuda:0')\n"
                                      "step 2 loss tensor(nan, device='cuda:0')\n"
                                      "step 3 loss np.float64(2.75)\n");
  REQUIRE(wrapped.steps.size() == 3);
  CHECK(wrapped.steps[0].scalars.loss == 2.5);
  CHECK(wrapped.steps[1].scalars.loss_is_nan);
  CHECK(wrapped.steps[2].scalars.loss == 2.75);

  for (const std::string name : {"Scale", "scaler", "Loss Scale", "AMP scale", "LOSS_SCALE"}) {
    INFO(name);
    const auto line = [&](int step, const std::string& scale) {
      return "step " + std::to_string(step) + " | loss 2.5 | " + name + " " + scale + "\n";
    };
    const contents scaled =
        place.open("c.log", line(1, "65536.0") + line(2, "65536.0") + line(3, "32768.0") + line(4, "32768.0"));
    CHECK(scaled.steps.size() == 4);
    CHECK(std::ranges::count_if(scaled.steps, [](const step& s) { return s.scalars.applied == false; }) == 1);
  }
}

TEST_CASE("layouts: guided-diffusion's boxes, and their steps of three digits") {
  const playground place;
  const auto box = [](const std::string& step, const std::string& loss) {
    return "----------------------------\n| grad_norm     | 0.2      |\n| lg_loss_scale | 20.3     |\n| loss          | " +
           loss + "    |\n| loss_q0       | 1.03     |\n| step          | " + step +
           "       |\n----------------------------\n";
  };
  const std::string overflow = "Found NaN, decreased lg_loss_scale to 19.25\n";
  const std::string from = box("980", "0.5") + box("990", "0.51");
  const contents read = place.open("a.log", from + box("1e+03", "0.52") + overflow + box("1.01e+03", "0.53"));
  CHECK(read.description == "loss-scale log of guided-diffusion");
  REQUIRE(read.steps.back().key.step == 1010);
  CHECK(read.steps.back().scalars.loss == 0.53);
  CHECK(std::ranges::count_if(read.steps, [](const step& s) { return s.scalars.applied == false; }) == 1);
  // Which of ten steps each is, only the lines before them tell.
  std::string many;
  for (int i = 0; i < 1100; ++i) {
    const int step = 10 * i;
    char text[16];
    std::snprintf(text, sizeof text, "%.3g", static_cast<double>(step));
    many += box(text, "0.5");
  }
  CHECK(place.open("b.log", many).steps.back().key.step == 10990);
  CHECK(place.error("c.log", box("1.01e+04", "0.5") + box("1.01e+04", "0.5")).find("progress.csv") !=
        std::string::npos);
}

TEST_CASE("layouts: a terminal broke the lines") {
  const playground place;
  const auto swin = [](int i, const std::string& norm) {
    return "[2021-10-22 10:00:0" + std::to_string(i) + " swin](main.py 177): INFO Train: [3/300][" + std::to_string(i) +
           "/1251] eta 0:08:57 lr 0.000166 time 0.6068 (0.6098) loss 6.3568 (6.1324) grad_norm " + norm +
           " (1.9) loss_scale 32768.0000 (37236.3636) mem 11818MB";
  };
  const auto mmcv = [](int i, const std::string& norm) {
    return "2021-08-26 10:27:2" + std::to_string(i) + ",123 - mmdet - INFO - Epoch [1][" +
           std::to_string(50 * (i + 1)) +
           "/5808] lr: 1.000e-02, eta: 1 day, 2:03:04, time: 0.6, data_time: 0.05, memory: 5000, loss_cls: 1.01, loss: 2.31, "
           "grad_norm: " +
           norm;
  };
  const auto broken = [](const std::string& line, std::size_t width) {
    std::string all;
    for (std::size_t at = 0; at < line.size(); at += width) all += line.substr(at, width) + "\n";
    return all;
  };
  for (const std::size_t width : {72U, 80U, 100U, 120U, 132U}) {
    INFO(width);
    std::string swins;
    std::string mmcvs;
    for (int i = 0; i < 6; ++i) swins += broken(swin(i, i == 3 ? "inf" : "2.0382"), width);
    for (int i = 0; i < 6; ++i) mmcvs += broken(mmcv(i, i == 3 ? "nan" : "2.0382"), width);
    const contents of_swin = place.open("a.log", swins);
    REQUIRE(of_swin.steps.size() == 6);
    for (const step& s : of_swin.steps) CHECK(s.scalars.loss == 6.3568);
    CHECK(std::isinf(of_swin.steps[3].scalars.grad_norm));
    const contents of_mmcv = place.open("b.log", mmcvs);
    CHECK(of_mmcv.steps.back().scalars.loss == 2.31);
    CHECK(of_mmcv.steps.back().scalars.grad_norm == 2.0382);
    CHECK(std::ranges::count_if(of_mmcv.steps, [](const step& s) { return s.scalars.grad_norm_is_nan; }) == 1);
  }
}

TEST_CASE("layouts: the steps of an evaluation are none of the training") {
  const playground place;
  for (const std::string words : {"[val] step ", "Val: step ", "step ", "epoch 0 | valid | step "}) {
    INFO(words);
    std::string log;
    for (int i = 100; i < 130; ++i) {
      log += "step " + std::to_string(i) + " | loss 2.5 | grad_norm 1.1\n";
      for (int j = 0; i % 10 == 9 && j < 3; ++j) log += words + std::to_string(j) + " | loss 2.7\n";
    }
    const contents read = place.open("a.log", log);
    CHECK(read.steps.size() == 30);
    CHECK(std::ranges::all_of(read.steps, [](const step& s) { return s.scalars.loss == 2.5; }));
  }
  // A run that was started again from its beginning is refused, as ever.
  std::string again;
  for (int i = 0; i < 30; ++i) again += "step " + std::to_string(i % 20) + " | loss 2.5 | grad_norm 1.1\n";
  CHECK(place.error("b.log", again).find("begin again") != std::string::npos);
}

TEST_CASE("layouts: epochs whose steps are counted from 0 lose none") {
  const playground place;
  std::string log;
  for (int i = 0; i < 30; ++i)
    log += "epoch " + std::to_string(i / 10) + " | step " + std::to_string(i % 10) + " | loss 2.5 | grad_norm 1.1\n";
  const contents read = place.open("a.log", log);
  CHECK(read.steps.size() == 30);
  CHECK(read.steps.back().key.step == 29);
}

TEST_CASE("layouts: steps of all epochs together that no number holds") {
  const playground place;
  std::string log;
  for (int e = 1; e < 1500; ++e)
    log += "epoch " + std::to_string(e) + " step 9007199254740991 loss 1.5 grad_norm 0.5\nepoch " +
           std::to_string(e + 1) + " step 0 loss 1.5 grad_norm 0.5\n";
  CHECK(place.error("a.log", log).find("counts more steps over its epochs than can be numbered") != std::string::npos);
}

TEST_CASE("layouts: numbers of lines in front of them are no ranks, and nothing of the lines") {
  const playground place;
  const auto log = [](const std::string& before, const std::string& behind) {
    std::string text;
    for (int i = 1; i < 100; ++i)
      text +=
          before + std::to_string(i + 4) + behind + "iteration " + std::to_string(i) +
          "/ 400 | lm loss: 9.0 | loss scale: 65536.0 | number of skipped iterations: 0 | number of nan iterations: 0 |\n";
    return text;
  };
  for (const auto& [before, behind] :
       {std::pair{"", ": "}, std::pair{"", ":"}, std::pair{"L", ": "}, std::pair{"  ", "\t"}}) {
    INFO(before << "1" << behind);
    const contents read = place.open("a.log", log(before, behind));
    CHECK(read.steps.size() == 99);
    CHECK(read.unread == 0);
  }
  // The ranks of srun --label repeat.
  const contents ranks = place.open("b.log",
                                    "0: step 1 loss 2.5 grad_norm 1\n1: step 1 loss 2.5 grad_norm 1\n"
                                    "0: step 2 loss 2.5 grad_norm 1\n1: step 2 loss 2.5 grad_norm 1\n");
  CHECK(ranks.steps.size() == 2);
  CHECK(std::ranges::any_of(ranks.notes,
                            [](const std::string& n) { return n.find("other ranks") != std::string::npos; }));
  // Of steps, not of lines.
  CHECK(place.open("c.log", "10:\t2.5\n20:\tnan\n30:\tnan\n40:\tnan\n").steps.back().key.step == 40);
}

TEST_CASE("layouts: of a bar with several losses, that of the training counts") {
  const playground place;
  const auto bar = [](int step, const std::string& loss) {
    const std::string n = std::to_string(step);
    return "Epoch 0:   3%|#         | " + n +
           "/201 [2:12:20<76:15:08, 14.05s/it, loss=nan, v_num=, reduced_train_loss=" + loss +
           ", gradient_norm=1.063]\r";
  };
  const contents read = place.open("a.log", bar(1, "4.003") + bar(2, "3.967") + bar(3, "nan") + "\n");
  REQUIRE(read.steps.size() == 3);
  CHECK(read.steps[0].scalars.loss == 4.003);
  CHECK(read.steps[1].scalars.loss == 3.967);
  CHECK(read.steps[2].scalars.loss_is_nan);
}

TEST_CASE("layouts: scales in thousands, gradients that are finite or not, blanks of other widths") {
  const playground place;
  for (const auto& [high, low] :
       {std::pair{"64k", "32k"}, std::pair{"65,536", "32,768"}, std::pair{"65,536.0", "32,768.0"}}) {
    INFO(high);
    const contents read = place.open("a.log", "step 1 loss 2.5 grad_norm 1 scale " + std::string(high) +
                                                  "\nstep 2 loss 2.5 grad_norm inf scale " + high +
                                                  "\nstep 3 loss 2.5 grad_norm 1 scale " + low + "\n");
    REQUIRE(read.steps.size() == 3);
    CHECK(read.steps[1].scalars.loss_scale == 65536);
    CHECK(read.steps[1].scalars.applied == false);
  }
  for (const std::string name : {"is_fin", "all_finite", "grads_finite"}) {
    INFO(name);
    const contents read = place.open("b.log", "step 1 loss 2.5 " + name + ": True\nstep 2 loss 2.5 " + name +
                                                  ": False\nstep 3 loss 2.5 " + name + ": True\n");
    REQUIRE(read.steps.size() == 3);
    CHECK(read.steps[0].scalars.applied == true);
    CHECK(read.steps[1].scalars.applied == false);
  }
  const contents blanks = place.open("c.log",
                                     "step\xC2\xA0"
                                     "1 loss\xC2\xA0"
                                     "2.5\nstep\xC2\xA0"
                                     "2 loss\xC2\xA0nan\n");
  REQUIRE(blanks.steps.size() == 2);
  CHECK(blanks.steps[1].scalars.loss_is_nan);
}

TEST_CASE("layouts: a last line without a break is whole if it is as long as the others") {
  const playground place;
  const std::string lines = "step 1 loss 2.51 scale 65536\nstep 2 loss 2.52 scale 65536\n";
  CHECK(place.open("a.log", lines + "step 3 loss 2.53 scale 65536").steps.size() == 3);
  CHECK(place.open("a.log", lines + "step 3 loss 2.53 scale 65536").steps.back().scalars.loss_scale == 65536);
  CHECK_FALSE(place.open("b.log", lines + "step 3 loss 2.53 scale 6553").steps.back().scalars.loss_scale == 6553);
  CHECK_FALSE(place.open("c.log", "step 9 loss 2.51 scale 65536\nstep 10 loss 2.53 scale 6553")
                  .steps.back()
                  .scalars.loss_scale == 6553);
}

TEST_CASE("layouts: words say that the step of their line was skipped") {
  const playground place;
  for (const std::string words :
       {"(skipped: inf grads)", "skipped: nan gradients", "[SKIPPED]", "(skipped)", "skipped (overflow)"}) {
    INFO(words);
    const contents read = place.open(
        "a.log", "step 1 loss 2.5 lr 1e-4\nstep 2 loss 2.5 lr 1e-4 " + words + "\nstep 3 loss 2.5 lr 1e-4\n");
    REQUIRE(read.steps.size() == 3);
    CHECK(read.steps[1].scalars.applied == false);
    CHECK(read.steps[1].scalars.found_inf == true);
    CHECK_FALSE(read.steps[0].scalars.applied == false);
    CHECK_FALSE(read.steps[2].scalars.applied == false);
  }
  for (const std::string words : {"skipped: none", "skipped 0", "(skipped_tokens: 3)", "unskipped (all)"}) {
    INFO(words);
    const contents read = place.open(
        "b.log", "step 1 loss 2.5 lr 1e-4\nstep 2 loss 2.5 lr 1e-4 " + words + "\nstep 3 loss 2.5 lr 1e-4\n");
    REQUIRE(read.steps.size() == 3);
    CHECK_FALSE(read.steps[1].scalars.applied == false);
  }
}

TEST_CASE("layouts: steps in thousands go on as the whole ones did") {
  const playground place;
  const contents read =
      place.open("a.log",
                 "Step 900 | loss 2.5\nStep 950 | loss 2.5\nStep 1.0k | loss 2.5\nStep 1.1k | loss 2.5\n"
                 "Step 1.1k/10k | loss nan\nStep 1.2k | loss 2.5\n");
  std::vector<std::int64_t> steps;
  for (const step& s : read.steps) steps.push_back(s.key.step);
  CHECK(steps == std::vector<std::int64_t>{900, 950, 1000, 1050, 1100, 1150});
  CHECK(read.steps[4].scalars.loss_is_nan);
  const contents first = place.open("b.log", "Step 12k | loss 2.5\nStep 13k | loss 2.5\n");
  REQUIRE(first.steps.size() == 2);
  CHECK(first.steps[0].key.step == 12000);
}

TEST_CASE("layouts: an excerpt with equal steps in thousands loses no line") {
  const playground place;
  std::string text;
  for (int step = 1000; step < 2000; step += 50) {  // as "%.1f" prints them
    const int tenths = (step + 50) / 100;
    text += "step: " + std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + "k | loss: 2." +
            std::to_string(step) + "\n";
  }
  const contents read = place.open("a.log", text);
  REQUIRE(read.steps.size() == 20);
  for (std::size_t i = 1; i < 20; ++i) CHECK(read.steps[i].key.step - read.steps[i - 1].key.step == 50);
  const contents equal = place.open("b.log", "step: 3K loss: 2.5\nstep: 3K loss: 2.25\nstep: 3K loss: nan\n");
  REQUIRE(equal.steps.size() == 3);
  CHECK(equal.steps[2].scalars.loss_is_nan);
}

TEST_CASE("layouts: lines of epochs are none of steps") {
  const playground place;
  const auto numbers = [](const contents& of) {
    std::vector<std::int64_t> all;
    for (const step& s : of.steps) all.push_back(s.key.step);
    return all;
  };
  using steps = std::vector<std::int64_t>;
  const contents it =
      place.open("a.log", "epoch 0 it 3 loss 2.5 scale 8\nepoch 0 it 4 loss 2.5 scale 4\nepoch 0 it 5 loss nan\n");
  CHECK(numbers(it) == steps{3, 4, 5});
  CHECK(it.steps[2].scalars.loss_is_nan);
  const contents bar = place.open(
      "g.log",
      "Epoch 2: 7it [00:01,  4.50it/s, loss=2.5]\rEpoch 2: 8it [00:02,  4.50it/s, loss=2.25]\rEpoch 2: 9it [00:03, 4.5it/s, loss=nan]");
  CHECK(numbers(bar) == steps{7, 8, 9});
  CHECK(bar.steps[2].scalars.loss_is_nan);
  std::string same;
  for (int i = 0; i < 20; ++i) same += "update 3 loss 2." + std::to_string(i) + "\n";
  CHECK(numbers(place.open("h.log", same)).size() == 20);
  // A summary behind each epoch is no step that goes back.
  const std::string both =
      "step 10 loss 2.5\nstep 20 loss 2.25\nEpoch 0 done: train loss 2.4\nstep 30 loss 2\nEpoch 1 done: train loss 2.1\n";
  CHECK(numbers(place.open("b.log", both)) == steps{10, 20, 30});
  CHECK(has_note(place.open("b.log", both), "2 lines of whole epochs, beside those of steps: left out"));
  const contents lost = place.open("c.log", both + "Epoch 2 done: train loss nan\n");
  CHECK(has_note(lost, "the first in line 6"));
  CHECK(has_note(lost, "a loss or a norm that is not finite stands in lines that were left out: in 1 line"));
  // Alone, each is a step.
  const contents alone =
      place.open("d.log", "Epoch 1: train_loss=2.5\nEpoch 2: train_loss=2.25\nEpoch 3: train_loss=nan\n");
  CHECK(numbers(alone) == steps{1, 2, 3});
  CHECK(has_note(alone, "each line is of an epoch"));
  // Many of one epoch are steps without a number; of several ranks only where none is lost.
  std::string many;
  for (int i = 0; i < 20; ++i) many += "epoch 3 loss 2.5\n";
  const contents numbered = place.open("e.log", many + "epoch 3 loss nan\n");
  CHECK(numbers(numbered).size() == 21);
  CHECK(numbered.steps[20].scalars.loss_is_nan);
  CHECK(has_note(numbered, "21 lines are numbered from 1 in their order"));
  CHECK(numbers(place.open("f.log", "epoch 3 loss 2.5\nepoch 3 loss nan\n")) == steps{1, 2});
}

TEST_CASE("layouts: norms that are all -1 were not computed") {
  const playground place;
  const contents read = place.open("a.log", "step 1 loss 2.5 grad_norm -1.0\nstep 2 loss 2.5 grad_norm -1.0\n");
  for (const step& s : read.steps) {
    CHECK_FALSE(s.scalars.found_inf == true);
    CHECK_FALSE(s.scalars.grad_norm_is_nan);
  }
  const contents table = place.open("a.csv", "step,loss,grad_norm\n1,2.5,-1.0\n2,2.4,-1.0\n3,2.3,-1.0\n");
  for (const step& s : table.steps) CHECK_FALSE(s.scalars.found_inf == true);
}
