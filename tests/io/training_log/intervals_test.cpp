// Pins what is said where a killed run's lines stand before those of the run that was started again without a word, and where
// the counts of skipped steps and the lines of overflows do not agree. Lines are those of deepspeed/runtime/fp16/loss_scaler.py
// and runtime/engine.py, and of megatron/training/training.py; what a checkpoint restores is engine.py (load_checkpoint).
#include <algorithm>
#include <cmath>
#include <string>

#include "io/builders.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

std::string overflow(int scale) {
  return "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: " + std::to_string(scale) +
         ", reducing to " + std::to_string(scale / 2) + "\n";
}
std::string overflows(int scale, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += overflow(scale >> i);
  return all;
}
std::string line(int step, int skipped) {
  return "[Rank 0] step=" + std::to_string(step) + ", skipped=" + std::to_string(skipped) + ", lr=[0.1], mom=[0.9]\n";
}
std::string lines(int first, int last, int skipped) {
  std::string all;
  for (int step = first; step <= last; step += 10) all += line(step, skipped);
  return all;
}
std::string megatron(int iteration, int skipped) {
  return " iteration " + std::to_string(iteration) +
         "/ 1000 | learning rate: 1.0E-04 | lm loss: 2.5E+00 | loss scale: 1024.0 |" +
         " grad norm: 1.5 | number of skipped iterations: " + std::to_string(skipped) +
         " | number of nan iterations: 0 |\n";
}

struct account {
  std::size_t skipped = 0;
  std::size_t open = 0;
  std::size_t certain = 0;  // of the skipped ones
  std::int64_t last = 0;
  bool is_told = false;  // that lines and counts contradict each other
};
account account_of(const contents& read) {
  account a;
  for (const step& s : read.steps) {
    const bool skipped = s.scalars.applied == false;
    a.skipped += skipped ? 1 : 0;
    a.open += s.scalars.found_inf ? 0 : 1;
    a.certain += skipped && (!s.bounds || s.bounds->certain) ? 1 : 0;
    a.last = s.key.step;
  }
  for (const std::string& note : read.notes) a.is_told = a.is_told || note.starts_with("the counts of skipped steps");
  return a;
}
// The smallest of the bounds that are certain of applied steps.
double least_bound(const contents& read) {
  double least = std::numeric_limits<double>::infinity();
  for (const step& s : read.steps)
    if (s.bounds && s.bounds->certain && s.scalars.applied == true) least = std::min(least, s.bounds->high);
  return least;
}

}  // namespace

TEST_CASE("intervals: the last overflows of a killed run are not the new one's") {
  const playground place;
  const std::string killed = overflows(65536, 2) + lines(10, 40, 2) + overflows(16384, 3);
  // From the beginning: as many as the line counts, from the scale at which it starts.
  const contents again = place.open("a.log", killed + overflows(65536, 2) + lines(10, 60, 2));
  CHECK(account_of(again).skipped == 2);
  CHECK(account_of(again).open == 0);
  CHECK(least_bound(again) == 65520.0 / 16384);
  // None, though the killed run had skipped some there.
  const contents none = place.open("b.log", killed + lines(10, 60, 0));
  CHECK(account_of(none).skipped == 0);
  CHECK(account_of(none).last == 60);
  CHECK(std::isinf(least_bound(none)));
  // From a checkpoint of step 30 with its scale.
  const contents saved = place.open("c.log", killed + overflow(16384) + lines(40, 80, 3));
  CHECK(account_of(saved).skipped == 3);
  CHECK(account_of(saved).open == 0);
  CHECK(saved.steps.back().bounds == max_abs_bounds{.high = 65520.0 / 8192});
  // With fewer lines than before.
  CHECK(account_of(place.open("d.log", killed + overflows(65536, 2) + line(50, 2) + line(100, 2))).skipped == 2);
  for (const contents& read : {again, none, saved}) CHECK_FALSE(account_of(read).is_told);
}

TEST_CASE("intervals: where nothing tells whose overflows they are, their scales say nothing") {
  const playground place;
  // The killed run went through step 40 with one overflow, and fell by two more behind it; the new one skipped one up to there, or
  // started behind it.
  const contents read = place.open("a.log", lines(10, 30, 0) + overflow(1024) + lines(40, 40, 1) + overflow(512) +
                                                overflow(256) + overflow(256) + lines(40, 60, 1));
  CHECK(account_of(read).skipped == 1);
  CHECK(account_of(read).certain == 0);
  for (const step& s : read.steps)
    if (s.key.step > 30) CHECK(std::isnan(s.scalars.loss_scale));
}

TEST_CASE("intervals: a run that ended with an error has no overflows after it") {
  const playground place;
  const std::string error =
      "Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.\n";
  const contents read =
      place.open("a.log", lines(10, 20, 0) + overflow(2) + error + error + overflow(4) + lines(10, 30, 1));
  CHECK(account_of(read).skipped == 1);
  CHECK(account_of(read).open == 0);
  CHECK(read.steps.back().bounds == max_abs_bounds{.high = 65520.0 / 2});
}

TEST_CASE("intervals: more lines of overflows than are counted") {
  const playground place;
  // A run that was killed behind its checkpoint of step 45, say.
  const account more = account_of(place.open("a.log", lines(10, 40, 0) + overflows(1024, 5) + lines(50, 80, 2)));
  CHECK(more.is_told);
  CHECK(more.skipped == 2);
  CHECK(more.certain == 0);
  CHECK(more.open == 8);
  // Before the first line, which counts all since the beginning.
  CHECK(account_of(place.open("b.log", overflows(1024, 5) + lines(100, 120, 2))).is_told);
  // A count that falls.
  const account falls = account_of(place.open("c.log", lines(10, 20, 5) + overflow(64) + lines(30, 50, 3)));
  CHECK(falls.is_told);
  CHECK(falls.certain == 0);
  const account of_megatron =
      account_of(place.open("d.log", megatron(10, 0) + overflows(1024, 2) + megatron(20, 0) + megatron(30, 0)));
  CHECK(of_megatron.is_told);
  CHECK(of_megatron.skipped == 2);
  CHECK(of_megatron.certain == 0);
  // The same of several ranks, at a scale that stays.
  const std::string stays = "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 1, reducing to 1\n";
  CHECK_FALSE(account_of(place.open("e.log", lines(10, 20, 0) + stays + stays + lines(30, 40, 1))).is_told);
}

TEST_CASE("intervals: fewer lines of overflows than are counted") {
  const playground place;
  const contents read = place.open("a.log", lines(10, 20, 0) + overflow(1024) + lines(30, 40, 3));
  CHECK(account_of(read).skipped == 3);
  CHECK(account_of(read).certain == 0);
  CHECK(std::ranges::any_of(read.notes, [](const std::string& n) {
    return n == "the log counts 2 skipped steps more than it has lines of overflows: lines are missing";
  }));
}

TEST_CASE("intervals: the overflow that ended a run is not one of the run that goes on") {
  const playground place;
  const std::string error =
      "Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.\n";
  const auto steps = [](int first, int last) {
    std::string all;
    for (int i = first; i <= last; ++i)
      all += "steps: " + std::to_string(i) + " loss: 2.5 iter time (s): 0.5 samples/sec: 100\n";
    return all;
  };
  const auto says = [](const contents& read, const std::string& words) {
    return std::ranges::any_of(read.notes, [&](const std::string& n) { return n.starts_with(words); });
  };
  const contents read = place.open("a.log", steps(1, 20) + error + steps(21, 40) + error + error);
  REQUIRE(read.steps.size() == 41);
  CHECK(read.steps[20].scalars.found_inf == false);
  CHECK(read.steps[40].scalars.found_inf == true);
  CHECK(account_of(read).skipped == 1);
  CHECK(account_of(read).certain == 0);
  CHECK(says(read, "line 42 says that a run ended"));
  // Nor are those before it, which were behind its last line.
  const contents more = place.open("b.log", steps(1, 20) + overflow(2) + error + steps(21, 40));
  REQUIRE(more.steps.size() == 40);
  CHECK(account_of(more).skipped == 0);
  CHECK(more.steps[20].scalars.found_inf == false);
  // Lines that are the same as before the end are those of the steps that were done again.
  const contents again = place.open("c.log", lines(10, 40, 0) + error + lines(40, 60, 0));
  CHECK(says(again, "the log goes back to an earlier step"));
}

TEST_CASE("intervals: of what was cut out of a script's even lines nothing is known") {
  const playground place;
  const auto log = [](int from, int to) {
    std::string all;
    for (int step = from; step <= to; step += 10) all += "step " + std::to_string(step) + " loss 2.5\n";
    return all;
  };
  const std::string apex = "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 16384.0\n";
  const std::string begin =
      log(10, 60) + "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0\n";
  CHECK(place.open("a.log", begin + log(70, 120)).steps.back().key.step == 120);
  const contents cut = place.open("a.log", begin + log(70, 80) + log(210, 250));
  for (const step& s : cut.steps) CHECK_FALSE((s.key.step > 80 && s.key.step <= 200));
  // On which side of the hole the overflow was is not told.
  const contents beside = place.open("a.log", begin + log(70, 80) + apex + log(210, 250));
  for (const step& s : beside.steps)
    if (s.key.step > 80 && s.key.step <= 210 && s.scalars.applied == false)
      CHECK_FALSE((!s.bounds || s.bounds->certain));
}
