// Pins what lines far apart do not say, and what says more than their scales: flags and counts of a script's own, time
// stamps, zeros. Expected rows are those of torch/amp/grad_scaler.py (a growth after 2000 good steps), of
// fairseq/optim/dynamic_loss_scaler.py, and of what the Trainer logs for NaN (transformers trainer.py, logging_nan_inf_filter).
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <ulp/io/bytes/error.hpp>
#include <ulp/io/inputs/open.hpp>

#include "io/builders.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

std::uint64_t overflows(const contents& read) {
  std::uint64_t n = 0;
  for (const step& s : read.steps) n += s.scalars.found_inf.value_or(false) ? 1 : 0;
  return n;
}
std::uint64_t open_steps(const contents& read) {
  std::uint64_t n = 0;
  for (const step& s : read.steps) n += s.scalars.found_inf ? 0 : 1;
  return n;
}

}  // namespace

TEST_CASE("between lines: equal scales leave the steps between them open") {
  const playground place;
  std::string text;
  for (int i = 4200; i <= 9000; i += 100)
    text += "step " + std::to_string(i) + " | loss 1.7 | grad_norm 1.2 | loss_scale 65536.0\n";
  const contents read = place.open("train.log", text);
  REQUIRE(read.steps.size() == 4801);
  CHECK(overflows(read) == 0);
  CHECK(open_steps(read) == 48 * 99);
  for (const step& s : read.steps) {
    const bool is_printed = s.key.step % 100 == 0;
    CHECK(s.scalars.found_inf.has_value() == is_printed);
    if (!is_printed) CHECK(std::isnan(s.scalars.loss_scale));
  }
}

TEST_CASE("between lines: with a count of skipped steps nothing is open") {
  const playground place;
  std::string text;
  for (int i = 10; i <= 100; i += 10)
    text +=
        "step " + std::to_string(i) + " loss 1.7 scale 1024.0 skipped_steps=" + std::to_string(i > 50 ? 1 : 0) + "\n";
  const contents read = place.open("train.log", text);
  CHECK(overflows(read) == 1);
  CHECK(open_steps(read) == 0);
}

TEST_CASE("between lines: flags of a script's own lines") {
  const playground place;
  std::string words;
  std::string numbers;
  for (int i = 0; i < 30; ++i) {
    const bool lost = i == 12 || i > 25;
    words += "step " + std::to_string(i) + " loss 2.1 grad_norm 1.0 overflow " + (lost ? "True" : "False") + "\n";
    numbers += "step " + std::to_string(i) + " loss 2.1 found_inf=" + (lost ? "1.0" : "0.0") + "\n";
  }
  CHECK(overflows(place.open("words.log", words)) == 5);
  CHECK(overflows(place.open("numbers.log", numbers)) == 5);
}

TEST_CASE("between lines: a logarithm of the scale") {
  const playground place;
  std::string text;
  for (int i = 0; i < 20; ++i)
    text += "step " + std::to_string(i) + " loss 2.1 lg_loss_scale " + std::to_string(i < 10 ? 20 : 19) + ".0\n";
  const contents read = place.open("train.log", text);
  CHECK(overflows(read) == 1);
  for (const step& s : read.steps)
    if (s.bounds) CHECK_FALSE(s.bounds->certain);
}

TEST_CASE("between lines: equal overflows of fairseq with time stamps apart are not of several ranks") {
  const playground place;
  const auto line = [](int minute) {
    const std::string two = (minute < 10 ? "0" : "") + std::to_string(minute);
    return "2021-05-01 10:" + two +
           ":10 | INFO | fairseq.trainer | NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: "
           "64.0\n";
  };
  const std::string progress =
      "2021-05-01 10:59:10 | INFO | train_inner | epoch 001: 1280 / 5000 loss=2.1, num_updates=1280, lr=1e-05, "
      "gnorm=1.2, loss_scale=128\n";
  CHECK(overflows(place.open("apart.log", line(0) + line(1) + line(2) + progress)) == 3);
  CHECK(overflows(place.open("ranks.log", line(0) + line(0) + line(0) + progress)) == 1);
}

TEST_CASE("between lines: a run that begins again prints the same, and is not another rank") {
  const playground place;
  std::string once;
  for (int i = 101; i <= 106; ++i)
    once += "iteration " + std::to_string(i) + " loss 2." + std::to_string(i) + " grad_norm 1.1\n";
  const contents read = place.open("train.log", once + once);
  CHECK(read.steps.size() == 6);
  bool says_replaced = false;
  for (const std::string& note : read.notes)
    says_replaced = says_replaced || note.find("goes back") != std::string::npos;
  CHECK(says_replaced);
}

TEST_CASE("between lines: the Trainer's loss of 0 to the end without a norm") {
  const playground place;
  std::string text;
  for (int i = 0; i < 30; ++i)
    text += std::string("{'loss': ") + (i < 20 ? "2.31" : "0.0") + ", 'learning_rate': 5e-05, 'epoch': 0." +
            std::to_string(10 + i) + "}\n";
  CHECK(overflows(place.open("train.log", text)) == 10);
  std::string small;
  for (int i = 0; i < 30; ++i)
    small += std::string("{'loss': ") +
             (i < 10   ? "2.31"
              : i < 20 ? "0.0002"
                       : "0.0") +
             ", 'learning_rate': 5e-05, 'epoch': 0." + std::to_string(10 + i) + "}\n";
  CHECK(overflows(place.open("small.log", small)) == 0);
}

TEST_CASE("between lines: a scale printed as 0") {
  const playground place;
  std::string text;
  for (int i = 0; i < 40; ++i)
    text += "step " + std::to_string(i) + " loss 2.1 loss_scale " + (i < 20 ? "1.0000" : "0.0000") + "\n";
  const contents read = place.open("train.log", text);
  CHECK(read.steps.back().scalars.loss_scale == 0);
}

TEST_CASE("between lines: six digits of a scale") {
  const playground place;
  const auto progress = [](int update, const std::string& scale) {
    return "epoch 001: 271 / 5000 loss=2.042, num_updates=" + std::to_string(update) +
           ", lr=1e-05, gnorm=0.021, loss_scale=" + scale + "\n";
  };
  const contents read = place.open(
      "train.log", progress(1, "1.04858e+06") + progress(2, "1.04858e+06") +
                       "NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: 524288.0\n" +
                       progress(3, "524288") + progress(4, "524288"));
  CHECK(overflows(read) == 1);
  CHECK(read.steps[1].scalars.loss_scale == 1048576);
}

TEST_CASE("between lines: an overflow in step 0 comes before its line") {
  const playground place;
  const contents read = place.open("train.log",
                                   "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0\n"
                                   "Epoch: [0][0/5004]\tTime 0.512 (0.6)\tLoss 6.9413 (6.8813)\n"
                                   "Epoch: [0][10/5004]\tTime 0.512 (0.6)\tLoss 6.9413 (6.8813)\n");
  REQUIRE(read.steps.size() == 11);
  CHECK(read.steps[0].key.step == 0);
  CHECK(overflows(read) == 1);
  CHECK(read.steps[0].scalars.found_inf == true);
}

TEST_CASE("between lines: an evaluation skips nothing, and has more than one line") {
  const playground place;
  const auto line = [](int step) { return "step " + std::to_string(step) + " loss 2.5\n"; };
  const std::string overflow =
      "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768\n";
  const std::string before = line(0) + line(10) + line(20);
  const contents read = place.open("eval.log", before + line(0) + line(5) + line(30) + overflow + line(40));
  CHECK(read.steps.back().key.step == 40);
  CHECK(overflows(read) == 1);
  // Started again: its numbers come back to those of the training by chance.
  for (const std::string& again : {line(0) + overflow + line(5), line(0)}) {
    INFO(again);
    CHECK_THROWS_AS(place.open("again.log", before + again + overflow + line(30) + line(40)), input_error);
  }
}

TEST_CASE("between lines: the Trainer's entries that come in blocks are not of the step that the bar shows then") {
  const playground place;
  const auto bar = [](int step) { return " 5%|#     | " + std::to_string(step) + "/400 [00:10<00:20,  3.1it/s]\n"; };
  const auto entry = [](int step, const std::string& norm) {
    const std::string hundredths = std::to_string(100 + step / 2).substr(1);  // 200 steps in an epoch
    return "{'loss': 2.5, 'grad_norm': " + norm + ", 'learning_rate': 5e-05, 'epoch': 0." + hundredths + "}\n";
  };
  std::string blocks;
  std::string above;  // of each entry, without a bar behind it
  std::string below;
  for (int step = 10; step <= 180; step += 10) {
    const std::string norm = step == 50 || step == 120 ? "nan" : "1.5";
    blocks += (step == 70 || step == 140 ? bar(step) : "") + entry(step, norm);
    above += bar(step) + entry(step, norm);
    below += entry(step, norm) + bar(step);
  }
  const auto lost = [&](const std::string& text) {
    std::vector<std::int64_t> all;
    for (const step& s : place.open("train.log", text).steps)
      if (s.scalars.found_inf.value_or(false)) all.push_back(s.key.step);
    return all;
  };
  CHECK(lost(above) == std::vector<std::int64_t>{50, 120});
  CHECK(lost(below) == std::vector<std::int64_t>{50, 120});
  const contents read = place.open("train.log", blocks + bar(190));
  CHECK(read.steps.size() == 18);
  CHECK(lost(blocks + bar(190)) == std::vector<std::int64_t>{5, 12});
  CHECK_FALSE(read.steps[3].bounds->certain);
  CHECK(std::ranges::any_of(read.notes, [](const std::string& note) {
    return note.find("contradict the epochs of the lines") != std::string::npos;
  }));
}
