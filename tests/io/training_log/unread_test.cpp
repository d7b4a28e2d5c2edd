// Pins that what a log says in words of NaN is not passed over. The sentences are those of the programs' sources: facebookresearch
// deit engine.py, open-mmlab mmgeneration, NVIDIA Megatron-LM pretrain_gpt.py and rerun_state_machine.py, PyTorch
// anomaly_mode.cpp and clip_grad.py, Keras callbacks.py, Lightning utilities, k2-fsa icefall train.py, ESPnet, tensorboardX.
#include "training_log/overflow_words.hpp"

#include <memory>
#include <string>
#include <vector>

#include <ulp/io/inputs/open.hpp>

#include "bytes/text.hpp"
#include "io/builders.hpp"
#include "support/catch.hpp"
#include "training_log/evaluation_loss.hpp"
#include "training_log/left_out.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

std::string healthy(int steps, const std::string& loss = "2.5", int first = 0) {
  std::string all;
  for (int i = first; i < first + steps; ++i) all += "step " + std::to_string(i) + " loss " + loss + " grad_norm 1.1\n";
  return all;
}

std::uint64_t unread(const std::string& text) {
  const playground place;
  place.write("train.log", text);
  const auto from = open_source({place.path("train.log")});
  return from->unread_records() + from->lost_elsewhere().size();
}

}  // namespace

TEST_CASE("unread: the words of a run that died are no silence") {
  for (
      const std::string words : {
          "Loss is nan, stopping training",
          "AssertionError: loss become infinite or NaN!",
          "AssertionError: Rank 3: found NaN in local forward loss calculation. Device: 3, node: a",
          "RuntimeError: Rank 5, node a, device 5, iteration 24: Unexpected result nan (message='found NaN')",
          "RuntimeError: Function 'LogSoftmaxBackward0' returned nan values in its 0th output.",
          "Batch 123: Invalid loss, terminating training",
          "ValueError: The loss returned in `training_step` is nan.",
          "RuntimeError: The total norm of order 2.0 for gradients from `parameters` is non-finite, so it cannot be clipped.",
          "RuntimeError: grad_scale is too small, exiting: 4.76837158203125e-07",
          "RuntimeError: The loss is not finite: nan",
          "NaN or Inf found in input tensor.",
          "RuntimeError: probability tensor contains either `inf`, `nan` or element < 0",
          "tensorflow.python.training.basic_session_run_hooks.NanLossDuringTrainingError: NaN loss during training.",
      }) {
    INFO(words);
    CHECK(io::says_nonfinite(words));
    CHECK(unread(healthy(5) + words + "\n") == 1);
    CHECK(unread(healthy(5) + "step 5 loss nan grad_norm nan\n" + words + "\n") == 0);
  }
}

TEST_CASE("unread: what is too long overflows no gradient") {
  for (const std::string words :
       {"WARNING: skipping batch 9: sequence length 9123 > 8192 (overflow of max length)",
        "skipped 312 rows (overflow of sequence_len)", "Tokenizer: skipping samples that overflow max_length",
        "Dropping long samples: 312 rows, overflow of sequence_len",
        "Dataloader: skipped 3 corrupt images, NaN boxes removed", "Skipping batch: empty transcript (NaN duration)",
        "Found 3 samples with infinite length (inf), removed"}) {
    INFO(words);
    CHECK_FALSE(io::says_nonfinite(words));
  }
  CHECK(io::says_nonfinite("WARNING: skipping batch 9: overflow of the gradients"));
  CHECK(io::says_nonfinite("sample 17: loss is NaN, skipping the batch"));
}

TEST_CASE("unread: whoever leaves lines out of a log leaves doubts") {
  for (const std::string line :
       {"...", "[...]", "\xE2\x80\xA6", "> ...", "<snip>", "... many more lines ...", "(truncated)"}) {
    INFO(line);
    const playground place;
    place.write("a.log", healthy(5) + line + "\n" + healthy(5, "2.5", 90));
    const auto doubts = open_source({place.path("a.log")})->doubts();
    REQUIRE(doubts.size() == 1);
    CHECK(doubts.front() == "line 6, " + io::in_quotes(line) + ", stands for lines that were left out");
    place.write("b.log", line + "\n" + healthy(5) + line + "\n");
    CHECK(open_source({place.path("b.log")})->doubts().empty());
  }
  for (const std::string line : {"loading data ...", "...done in 3 s", "--------", "more", "3 lines ...", ""}) {
    INFO(line);
    CHECK_FALSE(io::leaves_lines_out(line));
  }
}

TEST_CASE("unread: lines with numbers behind the last overflow are said") {
  const std::string overflow = "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to ";
  const std::string gan = "[0/25][50/1583] Loss_D: 0.67 Loss_G: 3.81 D(x): 0.71\n";
  const auto doubts = [](const std::string& text) {
    const playground place;
    place.write("a.log", text);
    return open_source({place.path("a.log")})->doubts();
  };
  const std::string overflows = overflow + "32768.0\n" + overflow + "16384.0\n";
  CHECK(doubts(overflows + gan + gan + gan) ==
        std::vector<std::string>{"3 lines with numbers follow, from line 3 on, and are not read"});
  CHECK(doubts(gan + gan + gan + overflows).empty());
  CHECK(doubts(overflows + "Traceback (most recent call last):\n  File \"a.py\", line 3\nValueError: 1.5\n").empty());
  CHECK(doubts(healthy(5) + gan + gan + gan).empty());  // it does not end with an overflow
}

TEST_CASE("unread: a validation loss that is not finite is said of a run that is") {
  for (const auto& [line, name] : std::vector<std::pair<std::string, std::string>>{
           {"{'eval_loss': nan, 'eval_runtime': 3.1, 'epoch': 1.00}", "eval_loss"},
           {"Validation loss: inf, accuracy 0.1", "Validation loss"},
           {"epoch 3 | valid | loss nan | ppl nan", "valid | loss"},
           {" validation loss at iteration 10 | lm loss value: NAN", ""},
           {"782/782 [====] - 15ms/step - loss: 1.8 - val_loss: nan", "val_loss"},
           {"step 3 loss nan", ""},
           {"val_loss: 2.5, loss: nan", ""},
           {"best val_loss: nanosecond", ""}}) {
    INFO(line);
    CHECK(io::nonfinite_evaluation(line) == name);
  }
  const auto elsewhere = [](const std::string& text) {
    const playground place;
    place.write("a.log", text);
    return open_source({place.path("a.log")})->lost_elsewhere();
  };
  const std::string evaluation = "{'eval_loss': nan, 'eval_runtime': 3.1, 'epoch': 1.00}\n";
  CHECK(elsewhere(healthy(5) + evaluation + healthy(5, "2.5", 5) + evaluation) ==
        std::vector<std::string>{"the validation loss 'eval_loss' is not finite in 2 lines, the first in line 6"});
  CHECK(elsewhere(healthy(5) + healthy(5, "nan", 5) + evaluation).empty());
}

TEST_CASE("unread: an excerpt of such words alone is refused by what it says") {
  const playground place;
  CHECK(place.error("a.log",
                    "2024-01-14 01:03:00,826 INFO [checkpoint.py:75] (2/4) Saving checkpoint to exp/bad-model-2.pt\n"
                    "RuntimeError: grad_scale is too small, exiting: 1.2924697071141057e-26\n") ==
        "a.log: line 2: says that something was not finite, 'RuntimeError: grad_scale is too small, exiting: "
        "1.2924697071141057e-26', but no line of a step is known here: give more of the log");
}

TEST_CASE("unread: arguments, evaluations and tables of accuracies say nothing of a step") {
  for (const std::string words : {
           "check_for_nan_in_loss_and_grad ......... True",
           "terminate_on_nan=True, loss=mse",
           "number of nan iterations: 0 | loss ok",
           "val_loss improved from inf to 2.31, saving model",
           "{'eval_loss': nan, 'eval_runtime': 3.2}",
           "| road | nan | nan |",
           "financial tensor of information",
       }) {
    INFO(words);
    CHECK_FALSE(io::says_nonfinite(words));
  }
}

TEST_CASE("unread: numbers are not taken for their first digits") {
  for (const std::string number : {"0,553", "65,536", "1.2k", "3M", "2.0G"}) {
    INFO(number);
    CHECK(unread(healthy(5) + "step 5 loss " + number + "\n") == 1);
  }
  for (const std::string number : {"0.5, 4", "0.5,0.4", "2**3", "2^3", "2.5 kept", "1e3"}) {
    INFO(number);
    CHECK(unread(healthy(5) + "step 5 loss " + number + "\n") == 0);
  }
}

TEST_CASE("unread: NaN of a rank that is left out is said") {
  std::string text;
  for (int i = 0; i < 6; ++i) {
    const std::string step = "step " + std::to_string(i);
    text += "[rank0]: " + step + " loss 2.5 grad_norm 1.1\n[rank1]: " + step + " loss " + (i < 4 ? "2.5" : "nan") +
            " grad_norm 1.1\n";
  }
  const playground place;
  const contents read = place.open("train.log", text);
  CHECK(unread(text) == 1);
  bool is_said = false;
  for (const std::string& note : read.notes)
    is_said = is_said || note.find("the first in line 10") != std::string::npos;
  CHECK(is_said);
}

TEST_CASE("unread: NaN of steps that were done again is said") {
  const playground place;
  const contents read =
      place.open("train.log", healthy(40) + "step 40 loss nan grad_norm nan\nstep 41 loss nan grad_norm nan\n" +
                                  healthy(30, "2.25", 30));
  bool is_said = false;
  for (const std::string& note : read.notes) is_said = is_said || note.find("done again") != std::string::npos;
  CHECK(is_said);
}

TEST_CASE("unread: a full line is not joined to an unrelated one") {
  const playground place;
  const auto full = [](int step, const std::string& end) {
    std::string line = "[train] step " + std::to_string(step) + " lr 1.000e-04 grad_norm 1.25 ";
    line.resize(80 - end.size(), '.');
    return line + end + "\n";
  };
  for (const std::string between :
       {"77 workers alive\n", "2024-05-01 10:00:00 INFO saved checkpoint\n", "3 of 4 are up\n"}) {
    INFO(between);
    std::string log;
    for (int i = 8; i < 20; ++i) log += full(i, " loss 2.91") + between;
    const contents read = place.open("train.log", log);
    REQUIRE(read.steps.size() == 12);
    for (const step& s : read.steps) CHECK(s.scalars.loss == 2.91);
  }
  // Rules of one character, as wide as a terminal.
  std::string ruled;
  for (int i = 1; i < 20; ++i) ruled += std::string(80, '-') + "\nstep " + std::to_string(i) + " loss 2.5\n";
  const contents read = place.open("train.log", ruled);
  REQUIRE(read.steps.size() == 19);
  for (const step& s : read.steps) CHECK(s.scalars.loss == 2.5);
  // A number that the terminal broke is one.
  std::string broken;
  for (int i = 10; i < 20; ++i) broken += full(i, " loss 2.9") + "1 | scale 1024\n";
  for (const step& s : place.open("train.log", broken).steps) CHECK(s.scalars.loss == 2.91);
}
