// Pins that a log stays what it is when it is pasted: with its line breaks lost, with the lines of two ranks mixed, or with
// some lines of it alone. Each record is read or counted, and nothing that is certain contradicts the whole log.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include <ulp/io/bytes/error.hpp>
#include <ulp/io/inputs/open.hpp>

#include "io/builders.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

struct reading {
  std::map<step_key, step> steps;
  std::uint64_t unread = 0;
  bool by_order = false;  // numbered in the order of the lines
};

std::optional<reading> read_text(const playground& place, const std::string& text) {
  const std::string path = place.write("train.log", text);
  try {
    const auto log = open_source({path});
    reading r{.unread = log->unread_records()};
    for (const std::string& note : log->notes())
      r.by_order = r.by_order || note.starts_with("the log has no step numbers");
    for (const step& s : read_all(*log).steps) r.steps[s.key] = s;
    return r;
  } catch (const input_error&) {
    return std::nullopt;
  }
}

bool is_certain(const step& s) { return !s.bounds || s.bounds->certain; }

template <typename T>
bool contradict(const std::optional<T>& a, const std::optional<T>& b) {
  return a && b && *a != *b;
}

// What both say for certain of a step, but not alike.
std::string contradiction(const reading& whole, const reading& part) {
  for (const auto& [key, now] : part.steps) {
    const auto same = whole.steps.find(key);
    if (same == whole.steps.end() || !is_certain(now) || !is_certain(same->second)) continue;
    const step_scalars& a = same->second.scalars;
    const step_scalars& b = now.scalars;
    const bool scales = !std::isnan(a.loss_scale) && !std::isnan(b.loss_scale) && a.loss_scale != b.loss_scale;
    if (contradict(a.found_inf, b.found_inf) || contradict(a.applied, b.applied) || scales)
      return "step " + std::to_string(key.step);
  }
  return "";
}

struct log_file {
  std::string name;
  std::string text;
  std::vector<std::string> lines;
};

std::vector<log_file> logs() {
  std::vector<log_file> all;
  for (const auto& file : std::filesystem::directory_iterator(source_dir() / "tests" / "data" / "logs")) {
    if (file.path().extension() != ".log") continue;
    std::ifstream in(file.path());
    std::ostringstream text;
    text << in.rdbuf();
    log_file log{file.path().filename().string(), text.str(), {}};
    std::istringstream lines(log.text);
    for (std::string line; std::getline(lines, line);) log.lines.push_back(line);
    all.push_back(std::move(log));
  }
  std::ranges::sort(all, {}, &log_file::name);
  return all;
}

std::string joined(const std::vector<std::string>& lines, const std::string& by) {
  std::string text;
  for (const std::string& line : lines) text += line + by;
  return text + "\n";
}

}  // namespace

TEST_CASE("rearranged logs: lost line breaks lose no record") {
  const playground place;
  for (const log_file& log : logs()) {
    const auto whole = read_text(place, log.text);
    if (!whole) continue;
    for (const std::string by : {" ", ""}) {
      INFO(log.name << " joined by '" << by << "'");
      const auto glued = read_text(place, joined(log.lines, by));
      REQUIRE(glued);
      CHECK((glued->steps.size() >= whole->steps.size() || glued->unread > whole->unread));
      CHECK(contradiction(*whole, *glued) == "");
    }
  }
}

TEST_CASE("rearranged logs: the lines of two ranks, one behind the other, are one run's") {
  // Neither do equal lines say of how many ranks they are where they tell no scale and no step, or hold two words alone; nor
  // is a JSON text of several lines one, twice.
  const std::set<std::string> open{"colossal_3069.log", "learndeepspeed_1.log", "llamafactory_4850_trainer_state.log",
                                   "espnet_3170.log", "transformers_14531.log"};
  const playground place;
  std::size_t equal = 0;
  for (const log_file& log : logs()) {
    const auto whole = read_text(place, log.text);
    if (!whole || open.contains(log.name)) continue;
    std::vector<std::string> both;
    std::vector<std::string> late;  // of the second rank
    std::mt19937 random(1);
    for (const std::string& line : log.lines) {
      both.push_back(line);
      late.push_back(line);
      while (!late.empty() && (late.size() > 2 || random() % 5 < 3)) {
        both.push_back(late.front());
        late.erase(late.begin());
      }
    }
    both.insert(both.end(), late.begin(), late.end());
    INFO(log.name);
    const auto mixed = read_text(place, joined(both, "\n"));
    REQUIRE(mixed);
    CHECK(mixed->steps.size() == whole->steps.size());
    CHECK(contradiction(*whole, *mixed) == "");
    ++equal;
  }
  CHECK(equal >= 45);
}

TEST_CASE("rearranged logs: 5, 10 and 15 lines from anywhere contradict nothing") {
  const playground place;
  std::mt19937 random(2);
  for (const log_file& log : logs()) {
    const auto whole = read_text(place, log.text);
    if (!whole || whole->by_order) continue;
    for (const std::size_t count : {5U, 10U, 15U})
      for (int i = 0; i < 3; ++i) {
        const std::size_t last = log.lines.size() > count ? log.lines.size() - count : 0;
        const std::size_t from = random() % (last + 1);
        const std::size_t to = std::min(from + count, log.lines.size());
        INFO(log.name << " lines " << from + 1 << " to " << to);
        const auto part = read_text(place, joined({log.lines.begin() + static_cast<std::ptrdiff_t>(from),
                                                   log.lines.begin() + static_cast<std::ptrdiff_t>(to)},
                                                  "\n"));
        if (!part || part->by_order) continue;
        CHECK(contradiction(*whole, *part) == "");
      }
  }
}

TEST_CASE("rearranged logs: without line breaks flags and times stay with their steps") {
  const playground place;
  std::string log;
  for (int i = 1; i <= 6; ++i)
    log += "step " + std::to_string(i) + " loss 2.1 grad_norm 1.0 overflow " + (i == 3 ? "True " : "False ");
  const auto flags = read_text(place, log + "\n");
  REQUIRE(flags);
  for (const auto& [key, s] : flags->steps) CHECK(s.scalars.found_inf == (key.step == 3));

  std::string overflows;
  for (int i = 0; i < 3; ++i)
    overflows +=
        "2021-05-01 10:0" + std::to_string(i) +
        ":10 | INFO | fairseq.trainer | NOTE: gradient overflow detected, ignoring gradient, setting loss scale "
        "to: 64.0 ";
  const auto times = read_text(place, overflows +
                                          "2021-05-01 10:59:10 | INFO | train_inner | epoch 001: 1280 / 5000 loss=2.1, "
                                          "num_updates=1280, lr=1e-05, gnorm=1.2, loss_scale=128\n");
  REQUIRE(times);
  CHECK(times->steps.size() == 4);
  const auto paddle =
      read_text(place,
                "[INFO] - global step 10, epoch: 1, batch: 9, loss: 0.5, speed: 3.2 step/s [INFO] - loss: "
                "0.25, learning_rate: 3e-05, global_step: 20, interval_runtime: 2.1\n");
  REQUIRE(paddle);
  CHECK(std::isnan(paddle->steps.at({.step = 10}).scalars.learning_rate));
  CHECK(paddle->steps.at({.step = 20}).scalars.loss == 0.25);
  const auto nanogpt =
      read_text(place, "iter 0: loss 10.5, time 2ms step 0: train loss 10.25, val loss 10.97 iter 10: loss nan\n");
  REQUIRE(nanogpt);
  CHECK(nanogpt->steps.contains({.step = 10}));
}

TEST_CASE("rearranged logs: of a log that begins with its first step, what stood in front of it is not known") {
  const playground place;
  const auto read = read_text(place,
                              "iteration 1 loss 3.5\niteration 2 loss 3.4\n"
                              "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 16384.0\n"
                              "iteration 3 loss 3.4\niteration 4 loss 3.2\n");
  REQUIRE(read);
  CHECK_FALSE(read->steps.at({.step = 1}).scalars.found_inf);
  CHECK(read->steps.at({.step = 3}).scalars.found_inf == true);
}

TEST_CASE("rearranged logs: what looks like a record and is not read is counted") {
  const playground place;
  const std::string read = "step 1 loss 2.5\nstep 2 loss 2.25\n";
  const auto unread = [&](const std::string& text) {
    const auto r = read_text(place, text);
    REQUIRE(r);
    return r->unread;
  };
  CHECK(unread(read) == 0);
  CHECK(unread(read + "my own loss: 2.5, my grad_norm: 3\n") == 1);
  CHECK(unread(read + "loss: 2.5 loss: 2.25 loss: nan\n") == 3);
  CHECK(unread(read + "my OVERFLOW of today\n") == 1);
  CHECK(unread(read + "loss scale: 4\n") == 1);
  // Evaluations, arguments and words without a number are none.
  CHECK(unread(read + "val loss: 2.5\nValidation: loss 2.5\nargument loss_scale ..... 0\nthe loss is low\n") == 0);
  const std::string path = place.write("train.log", read + "loss: 7\n\nloss: 8\n");
  const auto log = open_source({path});
  const auto notes = log->notes();
  CHECK(std::ranges::any_of(notes, [](const std::string& n) {
    return n.starts_with("2 lines look like a record of a step and could not be read, the first in line 3");
  }));
}

TEST_CASE("rearranged logs: escape codes are none of the text, however they are written") {
  const playground place;
  for (const std::string escape : {"\x1B", "^[", "\\x1b", "\\033", "\\u001b"}) {
    INFO(escape);
    const auto r =
        read_text(place, escape + "[32mstep 1" + escape + "[0m loss" + escape + "[1;31m 2.5" + escape + "[0m\n");
    REQUIRE(r);
    REQUIRE(r->steps.size() == 1);
    CHECK(r->steps.begin()->second.scalars.loss == 2.5);
  }
}

TEST_CASE("rearranged logs: Apex's lines of two ranks that changed places") {
  const playground place;
  const auto overflows = [&](const std::vector<int>& exponents) {
    std::string text;
    for (const int e : exponents)
      text += "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to " +
              std::to_string(std::ldexp(1.0, e)) + "\n";
    const auto r = read_text(place, text);
    REQUIRE(r);
    return r->steps.size();
  };
  CHECK(overflows({14, 15, 12, 13, 11, 10, 9, 7, 8}) == 9);
  CHECK(overflows({15, 14, 15, 13, 14, 13}) == 3);
  // A scale that fell by halves and rose grew.
  CHECK(overflows({15, 14, 13, 15, 14}) == 5);
}

TEST_CASE("rearranged logs: a line that came late is not of a run that began again") {
  const playground place;
  const auto read = [&](const std::vector<int>& steps) {
    std::string text;
    for (const int step : steps)
      text += "[2023-05-01 10:00:00,000] [INFO] [logging.py:96:log_dist] [Rank 0] step=" + std::to_string(step) +
              ", skipped=" + std::to_string(step >= 40 ? 1 : 0) + ", lr=[0.0001], mom=[(0.9, 0.95)]\n";
    const auto log = open_source({place.write("train.log", text)});
    const std::vector<std::string> notes = log->notes();
    const bool again =
        std::ranges::any_of(notes, [](const std::string& n) { return n.find("goes back") != std::string::npos; });
    return std::pair{log->step_count(), again};
  };
  CHECK(read({10, 20, 40, 30, 50, 60}) == std::pair{std::uint64_t{60}, false});
  CHECK(read({10, 20, 40, 50, 30, 60}) == std::pair{std::uint64_t{60}, false});
  // From a checkpoint of step 25 or 30 on.
  CHECK(read({10, 20, 30, 40, 35, 45, 55}).second);
  CHECK(read({10, 20, 30, 40, 30, 40, 50}).second);
}

TEST_CASE("rearranged logs: the same steps of another program behind those of the first") {
  const playground place;
  std::string megatron;
  std::string own;
  for (int i = 1; i <= 4; ++i) {
    const std::string n = std::to_string(i);
    megatron += " iteration        " + n +
                "/     100 | consumed samples: 1 | lm loss: 2.0E+00 | loss scale: 65536.0 | grad norm: 1.0 |\n";
    own += "step " + n + " loss 2.5 grad_norm nan\n";
  }
  for (const auto& [first, second] : {std::pair{megatron, own}, std::pair{own, megatron}}) {
    std::string said;
    try {
      static_cast<void>(open_source({place.write("both.log", first + second)}));
    } catch (const input_error& e) {
      said = e.what();
    }
    CHECK(said.find("line 5: steps 1 to 4 of ") != std::string::npos);
    CHECK(said.find("give the log of each run for itself") != std::string::npos);
  }
  // Side by side they are of one run.
  std::string both;
  for (std::size_t at = 0, line = 0; line < 4; ++line) {
    const std::size_t end = megatron.find('\n', at) + 1;
    both += megatron.substr(at, end - at) + "step " + std::to_string(line + 1) + " loss 2.0\n";
    at = end;
  }
  CHECK_NOTHROW(open_source({place.write("beside.log", both)}));
}
