// Pins what is kept of a run that was started again from an earlier step, and that no row is dropped without a word. The logs are
// made up, so that every step is known.
#include <cmath>
#include <string>
#include <vector>

#include <ulp/io/inputs/open.hpp>

#include "io/builders.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

std::string line(int step, const std::string& loss, const std::string& norm = "1.1") {
  return "step " + std::to_string(step) + " loss " + loss + " grad_norm " + norm + "\n";
}

std::vector<std::int64_t> numbers(const std::vector<step>& all) {
  std::vector<std::int64_t> steps;
  for (const step& s : all) steps.push_back(s.key.step);
  return steps;
}

std::vector<std::int64_t> not_finite(const std::vector<step>& all) {
  std::vector<std::int64_t> steps;
  for (const step& s : all)
    if (s.scalars.found_inf == true) steps.push_back(s.key.step);
  return steps;
}

struct attempt {
  std::int64_t from = 0;
  std::vector<step> steps;
};

struct told {
  std::vector<step> steps;
  std::vector<attempt> attempts;
  std::vector<std::string> elsewhere;
  std::vector<std::string> doubts;
};

told read(const std::string& name, const std::string& text) {
  const playground place;
  place.write(name, text);
  const auto from = open_source({place.path(name)});
  told all{
      .steps = read_all(*from).steps, .attempts = {}, .elsewhere = from->lost_elsewhere(), .doubts = from->doubts()};
  for (const earlier_attempt& a : from->earlier_attempts()) all.attempts.push_back({a.from, read_all(*a.steps).steps});
  return all;
}

using steps = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("restarts: what was done again is kept beside the run") {
  std::string text;
  for (int i = 10; i < 60; ++i) text += line(i, i < 57 ? "2.5" : "nan", i < 57 ? "1.1" : "nan");
  for (int i = 40; i < 70; ++i) text += line(i, "2.25");
  const told log = read("train.log", text);
  CHECK(log.steps.size() == 60);
  CHECK(not_finite(log.steps).empty());
  REQUIRE(log.attempts.size() == 1);
  CHECK(log.attempts[0].from == 39);
  CHECK(not_finite(log.attempts[0].steps) == steps{57, 58, 59});
  CHECK(log.attempts[0].steps.front().key.step == 10);
  CHECK(log.attempts[0].steps.back().key.step == 59);
}

TEST_CASE("restarts: epochs that go back are another attempt where steps have no numbers") {
  const auto entry = [](const std::string& loss, const std::string& epoch) {
    return "{'loss': " + loss + ", 'grad_norm': " + (loss == "nan" ? "nan" : "1.1") +
           ", 'learning_rate': 5e-05, 'epoch': " + epoch + "}\n";
  };
  std::string text;
  for (int i = 1; i <= 9; ++i) text += entry(i < 6 ? "2.5" : "nan", "0.0" + std::to_string(i));
  for (int i = 1; i <= 5; ++i) text += entry("2.25", "0.0" + std::to_string(i));
  const told log = read("train.log", text);
  CHECK(log.steps.size() == 5);
  CHECK(not_finite(log.steps).empty());
  REQUIRE(log.attempts.size() == 1);
  CHECK(log.attempts[0].from == 0);
  CHECK(log.attempts[0].steps.size() == 9);
  CHECK(not_finite(log.attempts[0].steps) == steps{6, 7, 8, 9});
  // From the middle on; and lines that are a little late are none.
  const told later = read("train.log", text.substr(0, 5 * entry("2.5", "0.01").size()) + entry("2.5", "0.09") +
                                           entry("nan", "0.10") + entry("2.5", "0.04") + entry("2.5", "0.05"));
  CHECK(later.steps.size() == 5);
  REQUIRE(later.attempts.size() == 1);
  CHECK(later.attempts[0].from == 3);
  CHECK(read("train.log", entry("2.5", "0.05") + entry("2.5", "0.04") + entry("2.5", "0.06")).attempts.empty());
}

TEST_CASE("restarts: each one keeps its own, of tables, too") {
  std::string text = "step,loss\n";
  const auto rows = [&](int from, int to, const std::string& last) {
    for (int i = from; i < to; ++i) text += std::to_string(i) + ",2.5\n";
    text += std::to_string(to) + "," + last + "\n";
  };
  rows(0, 50, "nan");
  rows(30, 60, "2.5");
  rows(45, 70, "inf");
  rows(61, 80, "2.5");
  const told table = read("a.csv", text);
  CHECK(table.steps.size() == 81);
  CHECK(not_finite(table.steps).empty());
  REQUIRE(table.attempts.size() == 3);
  CHECK(table.attempts[0].from == 29);
  CHECK(not_finite(table.attempts[0].steps) == steps{50});
  CHECK(not_finite(table.attempts[1].steps).empty());
  CHECK(not_finite(table.attempts[2].steps) == steps{70});
}

TEST_CASE("restarts: epochs that were run again") {
  std::string text = "epoch,train_loss\n";
  for (int i = 0; i < 8; ++i) text += std::to_string(i) + (i < 6 ? ",2.5\n" : ",nan\n");
  for (int i = 4; i < 12; ++i) text += std::to_string(i) + ",2.25\n";
  const told table = read("a.csv", text);
  CHECK(table.steps.size() == 12);
  REQUIRE(table.attempts.size() == 1);
  CHECK(table.attempts[0].from == 3);
  CHECK(table.attempts[0].steps.back().scalars.loss_is_nan);
}

TEST_CASE("restarts: batches of each epoch are counted on, and no other numbers may begin again") {
  const auto table = [](const std::string& name, int last_of_second) {
    std::string text = name + ",loss,grad_norm\n";
    for (int epoch = 0; epoch < 3; ++epoch)
      for (int i = 0; i < 10; ++i) {
        const bool is_lost = epoch == 1 && i > last_of_second;
        text += std::to_string(i) + (is_lost ? ",nan,nan\n" : ",2.5,1\n");
      }
    return text;
  };
  const told batches = read("a.csv", table("batch", 6));
  CHECK(batches.steps.size() == 30);
  CHECK(numbers(batches.steps).back() == 29);
  CHECK(not_finite(batches.steps) == steps{17, 18, 19});
  const playground place;
  const std::string error = place.error("a.csv", table("step", 6));
  CHECK(error.find("line 12: the step numbers begin again: the table holds two runs, or each epoch counts anew") !=
        std::string::npos);
}

TEST_CASE("restarts: a rank that printed NaN is named, and so is the one that is read") {
  std::string text;
  for (int i = 0; i < 6; ++i)
    for (int rank = 0; rank < 4; ++rank)
      text += "[rank" + std::to_string(rank) + "]: " + line(i, rank == 3 && i > 3 ? "nan" : "2.5");
  const told log = read("train.log", text);
  REQUIRE(log.elsewhere.size() == 1);
  CHECK(
      log.elsewhere[0] ==
      "rank3 printed a loss or a norm that is not finite in 2 lines, the first in line 20, of steps that are finite on "
      "rank0, which is read");
}

TEST_CASE("restarts: NaN in a running mean proves one step") {
  const auto table = [](const std::string& name, int last) {
    std::string text = "step," + name + "\n";
    for (int i = 0; i < 50; ++i) text += std::to_string(i) + (i >= 20 && i <= last ? ",nan\n" : ",2.5\n");
    return read("a.csv", text);
  };
  for (const std::string name :
       {"avg_loss", "train/loss_avg", "ema_loss", "running loss", "smoothed_loss", "mean_loss"}) {
    INFO(name);
    CHECK(not_finite(table(name, 49).steps) == steps{20});
    CHECK(table(name, 49).doubts.size() == 1);
  }
  CHECK(table("avg_loss", 20).doubts.empty());
  for (const std::string name : {"loss", "global_avg_loss"}) {  // that is an average over ranks
    INFO(name);
    CHECK(not_finite(table(name, 49).steps).size() == 30);
    CHECK(table(name, 49).doubts.empty());
  }
}

TEST_CASE("restarts: the bars of Lightning 1 and of kohya show means") {
  const auto bar = [](const std::string& before, const std::string& behind, int first, int last) {
    std::string text;
    for (int i = 1; i <= 90; ++i) {
      const std::string n = std::to_string(i);
      text += "Epoch 0:   5%|#  | " + n + "/90 [00:12<01:02,  4.47s/it, " + before +
              (i >= first && i <= last ? "nan" : "2.5") + behind + "]\n";
    }
    return not_finite(read("train.log", text).steps);
  };
  CHECK(bar("loss=", ", v_num=1", 30, 49) == steps{30});
  CHECK(bar("loss=", ", v_num=1", 30, 90) == steps{30, 50, 70, 90});  // a mean of 20
  CHECK(bar("v_num=1, loss=", "", 30, 33) == steps{30, 31, 32, 33});  // what Lightning 2 was told to log
  CHECK(bar("avr_loss=", "", 30, 90) == steps{30});
  CHECK(bar("loss=", "", 30, 33) == steps{30, 31, 32, 33});
}

TEST_CASE("restarts: a scale that jumped is that of the step it jumped in front of") {
  std::string text = "step,loss,grad_norm,loss_scale\n";
  const auto row = [&](int i, const std::string& norm, int scale) {
    text += std::to_string(i) + ",2.5," + norm + "," + std::to_string(scale) + "\n";
  };
  for (int i = 0; i < 60; ++i) row(i, "1.5", 256);
  for (int i = 0; i < 8; ++i) row(60 + i, "inf", 65536 >> i);
  for (int i = 68; i < 90; ++i) row(i, "1.5", 256);
  const std::vector<step> all = read("a.csv", text).steps;
  REQUIRE(all.size() == 90);
  CHECK(all[59].scalars.loss_scale == 256);
  CHECK(all[60].scalars.loss_scale == 65536);
  CHECK(all[67].scalars.loss_scale == 512);
}

TEST_CASE("restarts: where the scale is printed behind a skipped step, what it was before is bounded") {
  std::string text;
  const auto iteration = [&](int i, int scale, bool skipped) {
    text += " iteration " + std::to_string(i) +
            "/ 500 | consumed samples: 1 | elapsed time per iteration (ms): 1.0 | learning rate: "
            "1.0E-04 | global batch size: 256 |" +
            (skipped ? "" : " lm loss: 2.5E+00 |") + " loss scale: " + std::to_string(scale) + ".0 |" +
            (skipped ? "" : " grad norm: 1.5 |") + " number of skipped iterations: " + (skipped ? "1" : "0") +
            " | number of nan iterations: 0 |\n";
  };
  for (int i = 1; i < 60; ++i) iteration(i, 256, false);
  for (int i = 0; i < 8; ++i) iteration(60 + i, 32768 >> i, true);
  for (int i = 68; i < 90; ++i) iteration(i, 256, false);
  const std::vector<step> all = read("train.log", text).steps;
  REQUIRE(all.size() == 89);
  REQUIRE(all[59].bounds);
  CHECK(all[59].key.step == 60);
  CHECK(all[59].bounds->low == 65520.0 / 65536);
  CHECK(all[60].scalars.loss_scale == 32768);
}
