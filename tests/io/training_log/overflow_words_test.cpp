// Pins which lines outside of records tell in words of an overflow: each such line leaves the answer open. The sentences are made up in the
// ways that people write them, and no word of them is from a list of the program's.
#include "training_log/overflow_words.hpp"

#include <algorithm>
#include <string>

#include "io/builders.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

std::string healthy(int first, int end) {
  std::string all;
  for (int i = first; i < end; ++i) all += "step " + std::to_string(i) + " loss 2.5 grad_norm 1.1\n";
  return all;
}

// Whether a note names the line behind the first 20 steps for its words, or, with `or_unread`, as a record that could not be read.
bool is_told(const std::string& line, bool or_unread) {
  const playground place;
  const contents read = place.open("train.log", healthy(0, 20) + line + "\n" + healthy(20, 40));
  return std::ranges::any_of(read.notes, [&](const std::string& note) {
    return or_unread ? note.find("line 21") != std::string::npos : note.starts_with("line 21 says ");
  });
}

}  // namespace

TEST_CASE("overflow words: what a line says of an overflow is no silence") {
  for (
      const std::string line : {
          "FP16 overflow on this batch, lowering the scale",
          "WARNING: gradients contain infs, dropping this step",
          "scaler skipped the update (non-finite grads)",
          "Detected overflow in grads; the optimizer was not called",
          "Loss scale lowered to 8192",
          "grad scaler 16384 -> 8192",
          "Loss scaler halved",
          "amp scale 4096 (was 8192)",
          "num_overflows: 4",
          "nan_count=2",
          "skipped_steps=12 so far",
          "Iteration 51 skipped",
          "training diverged, stopping",
          "Gradient norm is NaN, this iteration is ignored",
          "rank 0: overflow in gradient of layer 3",
          "Found inf/nan in gradients",
          "\xE5\x8B\xBE\xE9\x85\x8D\xE3\x81\x8C\xE3\x82\xAA\xE3\x83\xBC\xE3\x83\x90\xE3\x83\xBC\xE3\x83\x95\xE3\x83\xAD\xE3\x83\xBC",  // the gradient, in Japanese
          "\xE6\x8D\x9F\xE5\xA4\xB1\xE6\xBA\xA2\xE5\x87\xBA",  // the loss, in Chinese
          "loss scale reached the minimum of 1",
          "NaN check failed for the loss",
          "gradient became infinite in layer 4",
          "Skipping batch, loss 1e9 is too large",
          "not updating, the gradients are bad",
          "the loss is not a number",
          "The loss scale fell from 4 to 2",
          "found_inf=1",
          "has_inf: 1.0",
          "any_nan=True in the gradients",
          "gradient inf-norm inf",
          "overflow at step 0",
          "skipped step: overflow rate 0.02",
      }) {
    INFO(line);
    CHECK(io::says_nonfinite(line));
    CHECK(is_told(line, true));
  }
}

TEST_CASE("overflow words: what denies an overflow, sets something or is of something else says nothing") {
  for (const std::string line : {
           "no overflow in the last 2000 iterations",
           "No NaN or Inf in gradients",
           "found_inf: 0",
           "overflow: False",
           "0 steps skipped, 0 overflows",
           "skipped steps: 0",
           "nan_guard enabled",
           "NaN guard enabled for gradients",
           "skip_nan_batches=True, check_overflow=True",
           "--skip-nan-steps --detect-overflow",
           "max_skipped_steps: 10, nan_patience=3",
           R"({"fp16": {"enabled": true, "loss_scale": 0, "min_loss_scale": 1, "hysteresis": 2}})",
           "GradScaler(init_scale=65536, growth_factor=2.0, backoff_factor=0.5)",
           "check_for_nan_in_loss_and_grad ......... True",
           "Checking gradients for NaN or Inf every 100 steps",
           "clip gradients at 1.0 to prevent overflow and NaN gradients",
           "loading /data/nan/overflow_skip_step.txt for the loss",
           "Prompt: What does gradient overflow in fp16 mean?",
           "question: why is my loss NaN and the step skipped",
           "Token overflow: 12 tokens over expert capacity, gradient unaffected",
           "skipped 3 samples longer than 2048 tokens",
           "after 12 iterations: 4 sequences skipped, optimizer state is kept",
           "Will skip the first 0 epochs then the first 500 steps in the first epoch.",
           "Skipping step 12: already done",
           "Warning: detected call of `lr_scheduler.step()` before `optimizer.step()`.",
           "RuntimeWarning: overflow encountered in exp",
           "loss scale window: 1000, minimum loss scale: 1",
           "Increasing loss scale from 32768 to 65536",
           "loss scale 32768 -> 65536",
           "epoch done, ppl inf, eta nan",
           "ReduceLROnPlateau reducing learning rate of group 0 to 1e-5",
           "reducing image scale to 0.5",
           "skip connections: 12, update gate on",
           "gradient overflow avoided",
           "grad overflow rate 0.0",
           "overflow count: N/A, loss 2.5",
           "NaN count 0 in the gradients",
           "gradient inf-norm 2.1",
           "clip inf, grad_norm 2.5",
           "optimizer will skip if nan",
           "step 12: eval skipped",
           "resumed at step 100 after NaN fix",
           "bad shard skipped, step 12",
           "has_nan_guard: 1, nan_count: 0.0",
       }) {
    INFO(line);
    CHECK_FALSE(io::says_nonfinite(line));
    CHECK_FALSE(is_told(line, false));
  }
}

TEST_CASE("overflow words: an overflow that is read is not told again by its own line") {
  for (const std::string line : {
           "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0",
           "NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: 64.0",
           "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768",
           "Grad overflow on iteration 20\nReducing dynamic loss scale from 65536 to 32768.0",
           "Found inf or nan, current scale is: 32768.0, decrease to: 32768.0*0.5",
           "Found NaN, decreased lg_loss_scale to 19.005",
       }) {
    INFO(line);
    CHECK_FALSE(is_told(line, false));
  }
}
