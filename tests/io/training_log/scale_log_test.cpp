// Pins loss-scale logs: the scale sequence, the skipped steps and the bounds on the largest gradient that follow from the
// lines of each framework, as it prints them, wrapped, prefixed, interleaved, cut and restarted. Expected rows are worked
// out by hand from what the lines say.
#include <algorithm>
#include <cmath>
#include <limits>

#include "io/builders.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

constexpr double none = not_known;  // a scale that the log does not tell
constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double overflow = 65520;

struct row {
  std::int64_t step = 0;
  std::int32_t attempt = 0;
  bool skipped = false;
  double scale = none;
  max_abs_bounds bounds;
};
// Overflow at a scale, or none: what it says of the largest gradient.
row skipped(std::int64_t step, double scale, std::int32_t attempt = 0) {
  return {step, attempt, true, scale, {.low = overflow / scale}};
}
row applied(std::int64_t step, double scale, std::int32_t attempt = 0) {
  return {step, attempt, false, scale, {.high = overflow / scale}};
}
row unsure(row r) {
  r.scale = none;
  r.bounds.certain = false;
  return r;
}
row unknown_scale(row r) {
  r.scale = none;
  return r;
}

void check_rows(const contents& read, const std::vector<row>& expected) {
  REQUIRE(read.steps.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const step& now = read.steps[i];
    INFO("row " << i);
    CHECK(now.key.step == expected[i].step);
    CHECK(now.key.attempt == expected[i].attempt);
    CHECK(now.scalars.found_inf == expected[i].skipped);
    CHECK(now.scalars.applied == !expected[i].skipped);
    if (std::isnan(expected[i].scale))
      CHECK(std::isnan(now.scalars.loss_scale));
    else
      CHECK(now.scalars.loss_scale == expected[i].scale);
    REQUIRE(now.bounds.has_value());
    CHECK(now.bounds->low == expected[i].bounds.low);
    CHECK(now.bounds->high == expected[i].bounds.high);
    CHECK(now.bounds->certain == expected[i].bounds.certain);
    CHECK_FALSE(now.max_abs);
  }
}

bool has_note(const contents& read, const std::string& words) {
  for (const std::string& note : read.notes)
    if (note.find(words) != std::string::npos) return true;
  return false;
}

// Lines as terminals of this width show them.
std::string wrapped(const std::string& text, std::size_t width) {
  std::string result;
  std::size_t column = 0;
  for (const char c : text) {
    if (column == width && c != '\n') {
      result += '\n';
      column = 0;
    }
    result += c;
    column = c == '\n' ? 0 : column + 1;
  }
  return result;
}

std::string with_prefix(const std::string& text, const std::string& prefix) {
  std::string result = prefix;
  for (std::size_t i = 0; i < text.size(); ++i) {
    result += text[i];
    if (text[i] == '\n' && i + 1 < text.size()) result += prefix;
  }
  return result;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

std::string padded(std::int64_t n, std::size_t width) {
  const std::string digits = std::to_string(n);
  return std::string(width > digits.size() ? width - digits.size() : 0, ' ') + digits;
}

std::string megatron(std::int64_t iteration, const std::string& scale, int skipped, int nans = 0) {
  return " [2025-01-31 10:00:0" + std::to_string(iteration % 10) + ".123456] iteration " + padded(iteration, 8) + "/" +
         padded(1000, 8) + " | consumed samples: " + padded(iteration * 16, 12) +
         " | elapsed time per iteration (ms): 612.5 | throughput per GPU (TFLOP/s/GPU): 120.3 | learning rate: " +
         "1.500000E-04 | global batch size:    16 |" + (skipped > 0 ? "" : " lm loss: 1.031250E+01 |") +
         " loss scale: " + scale +
         " | grad norm: 1.250 | num zeros: 12.0 | number of skipped iterations: " + padded(skipped, 3) +
         " | number of nan iterations: " + padded(nans, 3) + " |\n";
}
const std::string megatron_arguments =
    "using world size: 16, data-parallel size: 2\n"
    "------------------------ arguments ------------------------\n"
    "  bf16 ............................................ False\n"
    "  initial_loss_scale .............................. 65536.0\n"
    "  loss_scale ...................................... None\n"
    "  log_interval .................................... 1\n"
    "-------------------- end of arguments ---------------------\n";

// Hysteresis 2, window 2: the scale falls with the second overflow, and doubles after two steps.
const std::string megatron_log = megatron_arguments + megatron(1, "65536.0", 1) + megatron(2, "32768.0", 1) +
                                 megatron(3, "32768.0", 0) + megatron(4, "65536.0", 0) + megatron(5, "65536.0", 1) +
                                 megatron(6, "65536.0", 0);
const std::vector<row> megatron_rows{skipped(1, 65536), skipped(2, 65536), applied(3, 32768),
                                     applied(4, 32768), skipped(5, 65536), applied(6, 65536)};

std::string deepspeed(const std::string& before, const std::string& after) {
  return "[2023-04-28 06:51:30,648] [INFO] [loss_scaler.py:181:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping "
         "step. "
         "Attempted loss scale: " +
         before + ", reducing to " + after + "\n";
}
std::string deepspeed_step(int step, int skipped) {
  return "[2023-04-28 06:51:46,878] [INFO] [logging.py:96:log_dist] [Rank 0] step=" + std::to_string(step) +
         ", skipped=" + std::to_string(skipped) + ", lr=[9.65e-06, 9.65e-06], mom=[(0.9, 0.95), (0.9, 0.95)]\n";
}
const std::string deepspeed_hysteresis =
    "[2023-04-28 06:51:29,903] [INFO] [loss_scaler.py:188:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. "
    "Attempted loss scale: 65536, but hysteresis is 2. Reducing hysteresis to 1\n";
const std::string deepspeed_log =
    "[2023-04-28 06:51:20,000] [INFO] [config.py:957:print]   dynamic_loss_scale_args ...... {'init_scale': 65536, "
    "'scale_window': 1000, 'delayed_shift': 2, 'min_scale': 1}\n" +
    deepspeed_hysteresis + deepspeed("65536", "32768") + deepspeed("32768", "16384") + deepspeed_step(3, 3) +
    deepspeed_step(6, 3);
const std::vector<row> deepspeed_rows{skipped(1, 65536), skipped(2, 65536), skipped(3, 32768),
                                      applied(4, 16384), applied(5, 16384), applied(6, 16384)};

std::string apex(const std::string& scale) {
  return "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to " + scale + "\n";
}
const std::string apex_log = "Selected optimization level O1:  Insert automatic casts around Pytorch functions.\n" +
                             apex("32768.0") + "iteration 1 loss 3.5000\niteration 2 loss 3.4000\n" + apex("16384.0") +
                             "iteration 3 loss 3.4500\niteration 4 loss 3.2000\n";
const std::vector<row> apex_rows{skipped(1, 65536), applied(2, 32768), skipped(3, 32768), applied(4, 16384)};

std::string fairseq(const std::string& scale) {
  return "2021-03-08 12:33:12 | INFO | fairseq.trainer | NOTE: gradient overflow detected, ignoring gradient, setting "
         "loss scale to: " +
         scale + "\n";
}
std::string fairseq_json(int updates, const std::string& scale) {
  return "2021-03-08 12:33:36 | INFO | train_inner | {\"epoch\": 1, \"update\": 0.001, \"loss\": \"16.475\", \"ppl\": "
         "\"91120.8\", \"wps\": \"0\", \"num_updates\": \"" +
         std::to_string(updates) + "\", \"lr\": \"2e-05\", \"gnorm\": \"20.751\", \"loss_scale\": \"" + scale +
         "\", \"train_wall\": \"99\", \"gb_free\": \"9.3\", \"wall\": \"105\"}\n";
}
const std::string fairseq_log =
    "2021-03-08 12:30:00 | INFO | fairseq_cli.train | Namespace(fp16=True, fp16_init_scale=128, "
    "fp16_scale_window=None, min_loss_scale=0.0001)\n" +
    fairseq("64.0") + fairseq_json(1, "64") + fairseq_json(2, "64") + fairseq("32.0") + fairseq("16.0") +
    fairseq_json(3, "16") + fairseq_json(4, "16");
const std::vector<row> fairseq_rows{skipped(1, 128),   applied(1, 64, 1), applied(2, 64), skipped(3, 64),
                                    skipped(3, 32, 1), applied(3, 16, 2), applied(4, 16)};

struct framework {
  std::string name;
  std::string log;
  std::vector<row> rows;
};
const std::vector<framework> frameworks{{"Megatron-LM", megatron_log, megatron_rows},
                                        {"DeepSpeed", deepspeed_log, deepspeed_rows},
                                        {"Apex", apex_log, apex_rows},
                                        {"fairseq", fairseq_log, fairseq_rows}};

}  // namespace

TEST_CASE("scale log: the rows of each framework") {
  const playground place;
  for (const framework& f : frameworks) {
    INFO(f.name);
    const contents read = place.open("train.log", f.log);
    CHECK(read.description == "loss-scale log of " + f.name);
    CHECK(read.tensors.empty());
    CHECK(has_note(read, "known only within bounds"));
    check_rows(read, f.rows);
  }
}

TEST_CASE("scale log: line ends, colours, prefixes and compression change nothing") {
  const playground place;
  for (const framework& f : frameworks) {
    INFO(f.name);
    check_rows(place.open("train.log", replaced(f.log, "\n", "\r\n")), f.rows);
    check_rows(place.open("train.log", replaced(f.log, "\n", "\n\n")), f.rows);
    check_rows(place.open("train.log", replaced(f.log, "oss", "o\x1B[31ms\x1B[0ms")), f.rows);
    check_rows(place.open("train.log.gz", gzip(f.log)), f.rows);
    for (const std::string prefix : {"[rank0]:", "[default7]:", " 7: ", "worker-0: [1] "}) {
      INFO(prefix);
      check_rows(place.open("train.log", with_prefix(f.log, prefix)), f.rows);
    }
  }
}

TEST_CASE("scale log: wrapped lines read as one") {
  const playground place;
  for (const framework& f : frameworks)
    for (const std::size_t width : {40U, 72U, 79U, 80U, 100U, 117U, 120U, 132U, 160U}) {
      INFO(f.name << " at " << width);
      check_rows(place.open("train.log", wrapped(f.log, width)), f.rows);
      check_rows(place.open("train.log", with_prefix(wrapped(f.log, width), "[rank3]: ")), f.rows);
    }
}

TEST_CASE("scale log: other ranks' lines are left out") {
  const playground place;
  for (const framework& f : frameworks) {
    INFO(f.name);
    // Line by line, the second rank behind the first.
    std::string both;
    for (std::size_t at = 0; at < f.log.size();) {
      const std::size_t end = f.log.find('\n', at) + 1;
      const std::string line = f.log.substr(at, end - at);
      both += "[rank0]: " + line;
      both += "[rank1]: " + line;
      at = end;
    }
    const contents read = place.open("train.log", both);
    check_rows(read, f.rows);
    CHECK(has_note(read, "of other ranks"));
  }
  // Apex prints the same line from every rank.
  check_rows(place.open("train.log", replaced(apex_log, apex("16384.0"), apex("16384.0") + apex("16384.0"))),
             apex_rows);
}

TEST_CASE("scale log: a restart at an earlier step replaces what came after it") {
  const playground place;
  const auto check = [&](const std::string& log, const std::vector<row>& rows, const std::string& note) {
    const contents read = place.open("train.log", log);
    check_rows(read, rows);
    CHECK(has_note(read, note));
  };
  const std::string goes_back = "goes back to an earlier step 1 time: ";
  std::vector<row> again{megatron_rows.begin(), megatron_rows.begin() + 3};
  again.insert(again.end(), {applied(4, 32768), applied(5, 65536)});
  check(megatron_log + megatron(4, "65536.0", 0) + megatron(5, "65536.0", 0), again, goes_back + "3 steps");
  const std::string loaded = "  successfully loaded checkpoint from /ckpt/8 [ t 1/2, p 1/1 ] at iteration 3\n";
  check(megatron_log + loaded + megatron(4, "65536.0", 0) + megatron(5, "65536.0", 0), again, goes_back + "3 steps");

  again = {deepspeed_rows.begin(), deepspeed_rows.begin() + 3};
  again.push_back(skipped(4, 16384));
  for (const std::int64_t i : {5, 6, 7, 8, 9}) again.push_back(applied(i, 8192));
  again[3] = unsure(again[3]);
  again[4] = unsure(again[4]);
  again[5] = unsure(again[5]);
  check(deepspeed_log + deepspeed("16384", "8192") + deepspeed_step(6, 4) + deepspeed_step(9, 4), again,
        goes_back + "3 steps");

  again = {apex_rows.begin(), apex_rows.begin() + 1};
  // Apex need not have restored the scale; what the last overflow says of it holds from there on.
  again.insert(again.end(), {applied(2, 16384), skipped(3, 16384), applied(4, 8192)});
  again[1].bounds = {.high = overflow / 8192};
  again[1] = unknown_scale(again[1]);
  check(apex_log + "iteration 2 loss 3\n" + apex("8192.0") + "iteration 3 loss 3\niteration 4 loss 3\n", again,
        goes_back + "3 steps");

  again = {fairseq_rows.begin(), fairseq_rows.begin() + 3};
  again.insert(again.end(), {applied(3, 64), skipped(4, 64), applied(4, 32, 1)});
  check(fairseq_log +
            "2021-03-08 13:00:00 | INFO | fairseq.trainer | Loaded checkpoint c/checkpoint_last.pt (epoch 1 @ 2 "
            "updates)\n" +
            fairseq_json(3, "64") + fairseq("32.0") + fairseq_json(4, "32"),
        again, goes_back + "4 steps");
}

TEST_CASE("scale log: a run that begins again counts its skipped steps from its beginning") {
  const playground place;
  const contents read = place.open(
      "train.log", deepspeed_step(3, 1) + deepspeed_step(6, 1) + deepspeed_step(3, 2) + deepspeed_step(6, 2));
  CHECK(has_note(read, "does not tell which of 3 steps were the 2 skipped ones"));
  REQUIRE(read.steps.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) CHECK(read.steps[i].scalars.found_inf == (i < 2));
}

namespace {

// A script prints each step once DeepSpeed has made it or before, counted from 0 or 1; overflows in steps 17 and 18.
std::string with_own_lines(int first_step, bool is_before, int first_number, int skipped = 2, int lines_of_step = 1) {
  std::string text;
  for (int step = first_step; step <= 30; ++step) {
    std::string own;
    for (int i = 0; i < lines_of_step; ++i)
      own += "step: " + std::to_string(lines_of_step * (step - 1) + i + first_number) + " | loss: 2.5" +
             std::to_string(step) + "\n";
    if (is_before) text += own;
    if (step == 17 || step == 18) text += deepspeed(step == 17 ? "65536" : "32768", step == 17 ? "32768" : "16384");
    if (step % 10 == 0) text += deepspeed_step(step, step < 20 ? 0 : skipped);
    if (!is_before) text += own;
  }
  return text;
}

}  // namespace

TEST_CASE("scale log: a script's lines of each step tell more than those that DeepSpeed prints of some") {
  const playground place;
  const auto losses = [](const contents& of) {
    return std::ranges::count_if(of.steps, [](const step& s) { return std::isfinite(s.scalars.loss); });
  };
  for (const bool is_before : {false, true})
    for (const int first_number : {0, 1}) {
      CAPTURE(is_before, first_number);
      const contents each = place.open("train.log", with_own_lines(1, is_before, first_number));
      CHECK(losses(each) == 30);
      for (const step& s : each.steps) {
        INFO(s.key.step);
        const auto number = s.key.step + 1 - first_number;
        CHECK(s.scalars.found_inf.value_or(false) == (number == 17 || number == 18));
        CHECK((number == 1 || !s.bounds || s.bounds->certain));  // what came before the first line is not known
      }
    }
  // An excerpt does not tell whether lines are printed before their step and counted from 0, or after it and from 1.
  const contents part = place.open("train.log", with_own_lines(5, false, 1));
  CHECK(losses(part) == 26);
  std::vector<std::int64_t> open;
  for (const step& s : part.steps)
    if (s.bounds && !s.bounds->certain) open.push_back(s.key.step);
  CHECK(open == std::vector<std::int64_t>{5, 16, 18});
  // A skipped step without a line of its own.
  CHECK(losses(place.open("train.log", with_own_lines(1, false, 1, 3))) < 10);
  // Lines of micro-batches are none of steps.
  const contents micro = place.open("train.log", with_own_lines(1, false, 1, 2, 4));
  CHECK(losses(micro) == 0);
  CHECK(has_note(micro, "120 lines of the script's own, with losses, count otherwise than the lines of DeepSpeed"));
}

TEST_CASE("scale log: a loss scale that never moves proves nothing of overflow, one that moves somewhere does") {
  const playground place;
  const auto is_certain = [&](const std::string& last) {
    std::string text = "step,loss,scale\n";
    for (int i = 0; i < 10; ++i) text += std::to_string(i) + ",2.5,65536\n";
    const contents read = place.open("a.csv", text + last);
    CHECK(read.steps.back().scalars.loss_scale > 0);
    CHECK(read.steps[5].scalars.applied == true);
    return read.steps[5].bounds.value().certain;
  };
  CHECK_FALSE(is_certain("10,2.5,65536\n"));
  CHECK(is_certain("10,2.5,131072\n11,2.5,131072\n"));
}

TEST_CASE("scale log: a fall between lines without a scale is behind the one whose norm does not deny it") {
  const playground place;
  const auto read = [&](const std::string& third, const std::string& fourth) {
    return place.open(
        "a.csv", "step,loss,loss_scale,grad_norm\n0,2.9,32768,inf\n1,2.9,16384,1.5\n2,2.9,16384,1.4\n3,2.9,16384," +
                     third + "\n4,2.9,," + fourth + "\n5,2.9,8192,1.2\n6,2.9,8192,1.3\n7,2.9,8192,1.2\n");
  };
  const contents before = read("", "1.3");
  CHECK(before.steps[3].scalars.found_inf == true);
  CHECK(before.steps[3].scalars.loss_scale == 16384);
  CHECK(before.steps[4].scalars.found_inf == false);
  CHECK(before.steps[4].scalars.loss_scale == 8192);
  const contents behind = read("1.3", "");
  CHECK(behind.steps[3].scalars.found_inf == false);
  CHECK(behind.steps[4].scalars.found_inf == true);
  CHECK(behind.steps[4].bounds.value().certain);
  const contents open = read("", "");
  CHECK_FALSE(open.steps[3].bounds.value().certain);
  CHECK_FALSE(open.steps[4].bounds.value().certain);
}

TEST_CASE("scale log: steps between two lines whose order is not printed are marked") {
  const playground place;
  // 16 steps of 20, hysteresis 2: which they were is not told, how far the scale fell is.
  const contents read = place.open("train.log", replaced(megatron_arguments, "65536.0", "4294967296.0") +
                                                    megatron(20, "131072.0", 16) + megatron(40, "131072.0", 0));
  REQUIRE(read.steps.size() == 40);
  CHECK(has_note(read, "does not tell which of 20 steps were the 16 skipped ones"));
  std::size_t count = 0;
  for (std::size_t i = 0; i < 40; ++i) {
    const step& now = read.steps[i];
    count += *now.scalars.found_inf ? 1 : 0;
    REQUIRE(now.bounds);
    CHECK(now.bounds->certain == (i >= 20));
  }
  CHECK(count == 16);
  CHECK(read.steps[20].scalars.loss_scale == 131072);
  CHECK(read.steps[39].bounds->high == overflow / 131072);

  // All of an interval: the scale halved in each of its steps, or hysteresis kept it once.
  const contents all = place.open("train.log", megatron(2, "65536.0", 0) + megatron(4, "65536.0", 0) +
                                                   megatron(6, "16384.0", 2) + megatron(8, "8192.0", 2));
  REQUIRE(all.steps.size() == 8);
  CHECK(all.steps[4].bounds == max_abs_bounds{.low = overflow / 65536});
  CHECK(all.steps[5].bounds == max_abs_bounds{.low = overflow / 32768});
  CHECK(all.steps[5].scalars.loss_scale == 32768);
  CHECK(all.steps[6].bounds == max_abs_bounds{.low = overflow / 16384});
  CHECK(all.steps[7].bounds == max_abs_bounds{.low = overflow / 16384});
  CHECK(std::isnan(all.steps[7].scalars.loss_scale));

  check_rows(place.open("train.log", deepspeed_log + deepspeed("16384", "8192") + deepspeed_step(9, 4)),
             {deepspeed_rows[0], deepspeed_rows[1], deepspeed_rows[2], deepspeed_rows[3], deepspeed_rows[4],
              deepspeed_rows[5], unsure(skipped(7, 16384)), unsure(applied(8, 8192)), unsure(applied(9, 8192))});
}

TEST_CASE("scale log: the line of an overflow may come up to four lines behind that of a later step") {
  const playground place;
  const auto late_by = [&](int lines, const std::string& step, const std::string& before = "") {
    std::string between;
    for (int i = 1; i < lines; ++i) between += "noise\n";
    return place.open("train.log", deepspeed_log + before + step + between + deepspeed("16384", "8192"));
  };
  // Of the steps 7 to 9 one was skipped, by the count of their line: its overflow is told behind it, or is that of step 10.
  const std::vector<row> in_three{deepspeed_rows[0],         deepspeed_rows[1],        deepspeed_rows[2],
                                  deepspeed_rows[3],         deepspeed_rows[4],        deepspeed_rows[5],
                                  unsure(skipped(7, 16384)), unsure(applied(8, 8192)), unsure(applied(9, 8192))};
  for (const int lines : {1, 2, 3, 4}) {
    CAPTURE(lines);
    check_rows(late_by(lines, deepspeed_step(9, 4)), in_three);
  }
  for (const int lines : {5, 6}) {
    CAPTURE(lines);
    CHECK(late_by(lines, deepspeed_step(9, 4)).steps.size() == 10);
  }
  // Where all that were skipped have lines of their own it is that of the next step.
  CHECK(late_by(1, deepspeed_step(9, 3)).steps.size() == 10);
  const std::string other = deepspeed("32768", "16384");
  CHECK(late_by(1, deepspeed_step(9, 4), other).steps.size() == 10);
  CHECK(late_by(1, deepspeed_step(9, 5), other).steps.size() == 9);
}

TEST_CASE("scale log: scalars, and steps without a finite loss") {
  const playground place;
  const contents read =
      place.open("train.log", megatron(1, "65536.0", 0) + megatron(2, "32768.0", 1, 1) + megatron(3, "32768.0", 0));
  REQUIRE(read.steps.size() == 3);
  CHECK(read.steps[0].scalars.loss == 10.3125);
  CHECK(read.steps[0].scalars.grad_norm == 1.25);
  CHECK(read.steps[0].scalars.learning_rate == 1.5e-4);
  // The scale before the first line: this, or half of it.
  CHECK(std::isnan(read.steps[0].scalars.loss_scale));
  CHECK(read.steps[0].bounds == max_abs_bounds{.high = overflow / 32768});
  CHECK((read.steps[1].max_abs && std::isnan(*read.steps[1].max_abs)));
  CHECK_FALSE(read.steps[1].bounds);
  CHECK(read.steps[1].scalars.loss_scale == 65536);
  CHECK(std::isnan(read.steps[1].scalars.loss));
}

TEST_CASE("scale log: a mean over several steps is the loss of the last one") {
  const playground place;
  const contents read = place.open("train.log", megatron(10, "65536.0", 0) + megatron(20, "65536.0", 0));
  REQUIRE(read.steps.size() == 20);
  CHECK(read.steps[19].scalars.loss == 10.3125);
  CHECK(std::isnan(read.steps[18].scalars.loss));
}

TEST_CASE("scale log: Apex beside the lines of PyTorch's ImageNet example") {
  const playground place;
  const auto meters = [](const char* iteration, const char* loss) {
    return std::string("Epoch: [0][") + iteration + "/5004]\tTime 0.311 (0.320)\tLoss " + loss +
           " (6.8e+00)\tPrec@1 1.2 (0.9)\n";
  };
  const contents read = place.open("train.log", apex("32768.0") + apex("16384.0") + meters("10", "6.9413") +
                                                    meters(" 20", "6.3e+00") + apex("8192.0") + meters("30", "6.1"));
  CHECK(read.description == "loss-scale log of Apex and PyTorch's ImageNet example");
  REQUIRE(read.steps.size() == 30);
  CHECK(read.steps[9].scalars.loss == 6.9413);
  CHECK(read.steps[19].scalars.loss == 6.3);
  CHECK(has_note(read, "does not tell which of 20 steps were the 3 skipped ones"));
  REQUIRE(read.steps[20].bounds);
  CHECK_FALSE(read.steps[20].bounds->certain);
  CHECK(read.steps[20].scalars.applied == false);
}

TEST_CASE("scale log: other layouts of DeepSpeed") {
  const playground place;
  // Three lines for one overflow, in a step that the first of them names.
  const std::string fused =
      "[2024-09-23 10:11:00,021] [INFO] [fused_optimizer.py:344:_update_scale]\nGrad overflow on iteration 1\n"
      "[2024-09-23 10:11:00,021] [INFO] [fused_optimizer.py:345:_update_scale] Reducing dynamic loss scale from 65536 "
      "to "
      "32768.0\n"
      "[2024-09-23 10:11:00,021] [INFO] [logging.py:96:log_dist] [Rank 0] Overflow detected. Skipping step. Attempted "
      "loss "
      "scale: 65536, reducing to 32768.0\n" +
      deepspeed_step(4, 1) +
      "[2024-09-23 10:11:02,257] [INFO] [fused_optimizer.py:352:_update_scale] No Grad overflow for 4 iterations\n"
      "[2024-09-23 10:11:02,257] [INFO] [fused_optimizer.py:353:_update_scale] Increasing dynamic loss scale from "
      "32768.0 "
      "to 65536.0\n" +
      deepspeed_step(8, 1) +
      "[2024-09-23 10:11:03,021] [INFO] [fused_optimizer.py:344:_update_scale] Grad overflow on iteration: 8\n"
      "[2024-09-23 10:11:03,021] [INFO] [fused_optimizer.py:345:_update_scale] Reducing dynamic loss scale from "
      "65536.0 to "
      "32768.0\n" +
      deepspeed_step(9, 2);
  const contents read = place.open("train.log", fused);
  REQUIRE(read.steps.size() == 9);
  const std::vector<std::size_t> overflows{1, 8};
  for (std::size_t i = 0; i < 9; ++i)
    CHECK(read.steps[i].scalars.found_inf == (std::ranges::find(overflows, i) != overflows.end()));
  CHECK(read.steps[1].bounds == max_abs_bounds{.low = overflow / 65536});
  CHECK(read.steps[2].scalars.loss_scale == 32768);
  CHECK(read.steps[7].bounds == max_abs_bounds{.high = overflow / 32768});
  CHECK(read.steps[8].scalars.loss_scale == 65536);

  // With the steps of overflows only: up to the last of them.
  const auto on_iteration = [](int n, const std::string& before, const std::string& after) {
    return "[INFO] [fused_optimizer.py:344:_update_scale] Grad overflow on iteration " + std::to_string(n) +
           "\n[INFO] [fused_optimizer.py:345:_update_scale] Reducing dynamic loss scale from " + before + " to " +
           after + "\n";
  };
  check_rows(place.open("train.log", on_iteration(0, "65536", "32768.0") + on_iteration(3, "32768.0", "16384.0")),
             {skipped(1, 65536), applied(2, 32768), applied(3, 32768), skipped(4, 32768)});
  // Of the steps before the first, which may have overflowed, too, the log says nothing.
  check_rows(place.open("train.log", on_iteration(2, "8.0", "4.0")), {skipped(3, 8)});

  // At the least scale one overflow looks like the next; the same iteration is the same one, whenever it is printed.
  const contents least = place.open("train.log", deepspeed_step(3, 0) + on_iteration(3, "8.0", "8.0") +
                                                     on_iteration(4, "8.0", "8.0") + deepspeed_step(6, 2));
  REQUIRE(least.steps.size() == 6);
  for (const std::size_t i : {3U, 4U}) CHECK(least.steps[i].bounds == max_abs_bounds{.low = overflow / 8});
  CHECK(least.steps[5].bounds == max_abs_bounds{.high = overflow / 8});
  const contents twice =
      place.open("train.log", deepspeed_step(3, 0) + on_iteration(3, "16.0", "8.0") + deepspeed_step(6, 1) +
                                  on_iteration(3, "16.0", "8.0") + deepspeed_step(9, 1));
  REQUIRE(twice.steps.size() == 9);
  for (std::size_t i = 0; i < 9; ++i) CHECK(twice.steps[i].scalars.found_inf == (i == 3));

  // Under a progress bar, whose line the overflow goes on.
  const std::string bar =
      " 14%|\xE2\x96\x88    | 377/2724 [13:55:57<86:19:20, 132.41s/it]\r"
      " 14%|\xE2\x96\x88    | 378/2724 [13:58:09<86:18:35, 132.44s/it]" +
      deepspeed("64", "32") + "\n 14%|\xE2\x96\x88    | 379/2724 [14:00:21<86:09:52, 132.28s/it]" +
      deepspeed("32", "16") + "\r 14%|\xE2\x96\x88    | 380/2724 [14:02:33<86:01:24, 132.12s/it]\n" +
      "{'loss': 2.0491, 'learning_rate': 0.0001961913563176343, 'epoch': 0.28}\n"
      "100%|##########| 5/5 [00:01<00:00,  4.00it/s]\n"
      " 14%|\xE2\x96\x88    | 381/2724 [14:04:45<85:52:52, 131.96s/it]\n";
  const contents under = place.open("train.log", bar);
  REQUIRE(under.steps.size() == 5);
  CHECK(under.steps[0].key.step == 377);
  CHECK(under.steps[2].scalars.found_inf == true);
  CHECK(under.steps[2].scalars.loss_scale == 64);
  CHECK(under.steps[3].scalars.loss_scale == 32);
  CHECK(under.steps[4].key.step == 381);
  CHECK(under.steps[4].scalars.loss_scale == 16);

  // Megatron-DeepSpeed prints both; its own count of skipped iterations stays 0, and the lines come in any order.
  const contents both =
      place.open("train.log", deepspeed_step(1, 1) + deepspeed("65536", "32768") + megatron(1, "32768.0", 0) +
                                  deepspeed_step(2, 1) + megatron(2, "32768.0", 0));
  CHECK(both.description == "loss-scale log of Megatron-LM and DeepSpeed");
  check_rows(both, {skipped(1, 65536), applied(2, 32768)});
}

TEST_CASE("scale log: words that end in step are not the step") {
  const playground place;
  check_rows(place.open("train.log", replaced(apex_log, " loss 3", " microstep 9 loss 3")), apex_rows);
}

TEST_CASE("scale log: scripts that count their steps from 0") {
  const playground place;
  check_rows(place.open("train.log", apex("32768.0") + "step: 0 loss: nan\nstep: 1 loss: 3.5\n" + apex("16384.0") +
                                         "step: 2 loss: 3.4\nstep: 3 loss: 3.2\n"),
             {skipped(0, 65536), applied(1, 32768), skipped(2, 32768), applied(3, 16384)});
  // Printed every tenth step.
  const contents tenth =
      place.open("train.log", apex("32768.0") + "step: 0\nstep: 10\n" + apex("16384.0") + "step: 20\n");
  REQUIRE(tenth.steps.size() == 21);
  CHECK(tenth.steps[0].key.step == 0);
  CHECK(tenth.steps[0].scalars.found_inf == true);
  CHECK(tenth.steps[1].scalars.found_inf == false);
  // A bar begins with 0 before the first step.
  const std::string bar =
      "  0%|          | 0/9 [00:00<?, ?it/s]\r" + apex("32768.0") +
      " 11%|#         | 1/9 [00:01<00:08,  1.00it/s]\r 22%|##        | 2/9 [00:02<00:07,  1.00it/s]\n";
  check_rows(place.open("train.log", bar), {skipped(1, 65536), applied(2, 32768)});
}

TEST_CASE("scale log: other layouts of Megatron-LM and fairseq") {
  const playground place;
  // The first releases print no colons, and the overflow as it happens.
  check_rows(
      place.open("train.log",
                 "OVERFLOW! Skipping step. Attempted loss scale: 65536.0, reducing to 32768.0\n"
                 " iteration        1/  320000 | elapsed time per iteration (ms): 612.5 | learning rate 1.500E-04 "
                 "| lm loss 7.300000E+00 | loss scale 32768.0 |\n"
                 " iteration        2/  320000 | elapsed time per iteration (ms): 612.5 | learning rate 1.500E-04 "
                 "| lm loss 7.200000E+00 | loss scale 32768.0 |\n"),
      {skipped(1, 65536), applied(2, 32768)});
  // GPT-NeoX; scientific notation is read too.
  check_rows(place.open("train.log",
                        " samples/sec: 27.4 | iteration        1/  320000 | elapsed time per iteration (ms): 1167.1 | "
                        "learning rate: 2.000E-06 | approx flops per GPU: 58.7TFLOPS | lm_loss: 1.1E+01 | loss scale: "
                        "6.5536e+04 | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
                        " samples/sec: 27.4 | iteration        2/  320000 | elapsed time per iteration (ms): 1167.1 | "
                        "learning rate: 2.000E-06 | approx flops per GPU: 58.7TFLOPS | lm_loss: 1.1E+01 | loss scale: "
                        "65536.0 | number of skipped iterations:   0 | number of nan iterations:   0 |\n"),
             {unknown_scale(applied(1, 32768)), applied(2, 65536)});
  // 2019 and 2020; the printed loss scale is a rounded mean, which is no scale.
  const std::string old =
      "| WARNING: overflow detected, setting loss scale to: 64.0\n"
      "| epoch 001:    200 / 1374 loss=14.351, ppl=20899.56, wps=49604, ups=0, num_updates=1, lr=4.84525e-06, "
      "gnorm=3.901, "
      "clip=0.000, oom=0.000, loss_scale=64.000, wall=1061, train_wall=945\n"
      "2020-08-01 12:39:16 | INFO | fairseq.trainer | NOTE: overflow detected, setting loss scale to: 32.0\n"
      "2020-08-01 12:39:39 | INFO | train_inner | epoch 001:   3615 / 6547 loss=0.439, nll_loss=0.001, num_updates=2, "
      "lr=9e-06, gnorm=3.952, loss_scale=48, train_wall=38, wall=1353\n"
      "| epoch 001 | loss 6.343 | nll_loss 4.984 | num_updates 2 | lr 0.000626286 | gnorm 0.390 | clip 0% | oom 0 | "
      "loss_scale 0.062 | wall 23080 | train_wall 21383\n";
  check_rows(place.open("train.log", old), {skipped(1, 128), applied(1, 64, 1), skipped(2, 64), applied(2, 32, 1)});
}

TEST_CASE("scale log: runs that no float16 scaled have no bounds") {
  const playground place;
  const contents one = place.open("train.log", megatron(1, "1.0", 0) + megatron(2, "1.0", 0));
  REQUIRE(one.steps.size() == 2);
  CHECK_FALSE(one.steps[1].bounds);
  CHECK(one.steps[1].scalars.found_inf == false);
  CHECK(has_note(one, "no bounds on the largest gradient"));
  CHECK_FALSE(place.open("train.log", "  bf16 ....................... True\n" + megatron_log).steps[1].bounds);
}

TEST_CASE("scale log: gaps and ends") {
  const playground place;
  // Lines 4 to 6 are lost: nothing is said of these steps.
  const contents gap = place.open("train.log", megatron(1, "4.0", 0) + megatron(2, "4.0", 0) + megatron(3, "4.0", 0) +
                                                   megatron(7, "8.0", 0) + megatron(8, "8.0", 0));
  REQUIRE(gap.steps.size() == 5);
  CHECK(gap.steps[3].key.step == 7);
  CHECK(std::isnan(gap.steps[3].scalars.loss_scale));
  CHECK(gap.steps[4].scalars.loss_scale == 8);
  // The first line may be nearer to the second than all others: at 1, and then at each tenth step.
  const contents tenth =
      place.open("train.log", megatron(1, "4.0", 0) + megatron(10, "4.0", 0) + megatron(20, "4.0", 0));
  CHECK(tenth.steps.size() == 20);
  // The run goes on from a checkpoint of a later step: the scale before it says nothing of the overflow behind it.
  const contents later =
      place.open("train.log", megatron(1, "8.0", 0) + megatron(2, "8.0", 0) +
                                  "  successfully loaded checkpoint from /ckpt/8 [ t 1/2, p 1/1 ] at iteration 10\n" +
                                  megatron(11, "4.0", 1) + megatron(12, "4.0", 0));
  REQUIRE(later.steps.size() == 4);
  CHECK(later.steps[2].key.step == 11);
  CHECK(later.steps[2].scalars.found_inf == true);
  CHECK(std::isnan(later.steps[2].scalars.loss_scale));
  CHECK(later.steps[3].scalars.loss_scale == 4);
  // A run that ends skipping.
  const contents end = place.open("train.log", deepspeed_log + deepspeed("16384", "8192") + deepspeed("8192", "4096"));
  REQUIRE(end.steps.size() == 8);
  CHECK(end.steps[7].bounds == max_abs_bounds{.low = overflow / 8192, .certain = false});
  CHECK(has_note(end, "2 skipped steps at the end of the log"));
  // The last line was cut: a number without its end is none.
  CHECK(place.open("train.log", deepspeed_log + deepspeed("16384", "8192").substr(0, 150)).steps.size() == 6);
}

namespace {

// Without a count of skipped steps.
std::string uncounted(int iteration, const std::string& scale, const std::string& norm, const std::string& loss) {
  return " iteration " + std::to_string(iteration) + "/ 100 | learning rate 1.500E-04 | lm loss " + loss +
         " | loss scale " + scale + " | grad norm " + norm + " |\n";
}
struct verdict {
  std::optional<bool> found_inf;
  std::optional<bool> applied;
  friend bool operator==(const verdict&, const verdict&) = default;
};
const verdict was_applied{false, true};
const verdict was_skipped{true, false};
const verdict is_open{};
const verdict was_lost{true, std::nullopt};

std::vector<verdict> verdicts(const contents& read) {
  std::vector<verdict> all;
  for (const step& s : read.steps) all.push_back({s.scalars.found_inf, s.scalars.applied});
  return all;
}

}  // namespace

TEST_CASE("scale log: a fall of the scale without a line of an overflow proves one") {
  const playground place;
  const contents each =
      place.open("train.log", uncounted(1, "64.0", "1.2", "7.1") + uncounted(2, "64.0", "1.2", "7.1") +
                                  uncounted(3, "32.0", "1.2", "7.1") + uncounted(4, "4.0", "1.2", "7.1") +
                                  uncounted(5, "0.1", "nan", "nan") + uncounted(6, "0.1", "nan", "nan"));
  // By more than half in one step the scale was set anew, unless that step was not finite.
  CHECK(verdicts(each) == std::vector{was_applied, was_applied, was_skipped, was_applied, was_skipped, was_lost});
  CHECK(each.steps[2].bounds == max_abs_bounds{.low = overflow / 64});
  CHECK(each.steps[3].bounds->low == 0);
  CHECK(has_note(each, "the loss scale falls 1 time by more than the steps that lie there can halve it"));
  CHECK(each.steps[4].scalars.loss_is_nan);
  CHECK(each.steps[4].scalars.grad_norm_is_nan);
  CHECK(has_note(each, "that proves 2 skipped steps at least"));

  // 64, 8, 4: three of the first four steps, of which the last was not, one of the next; nothing tells that the others were
  // applied.
  const contents fourth =
      place.open("train.log", uncounted(4, "64.0", "1.2", "7.1") + uncounted(8, "8.0", "1.2", "7.1") +
                                  uncounted(12, "4.0", "inf", "7.1"));
  CHECK(verdicts(fourth) == std::vector{was_applied, was_skipped, was_skipped, was_skipped, was_applied, is_open,
                                        is_open, is_open, was_skipped});
  CHECK(fourth.steps[1].bounds->certain == false);
  // The norm is that of the last step: where only one was skipped, it is that one.
  CHECK(fourth.steps[8].bounds == max_abs_bounds{.low = overflow / 8});

  // The count of the line says otherwise.
  const contents counted =
      place.open("train.log", megatron(1, "64.0", 0) + megatron(2, "64.0", 0) + megatron(3, "8.0", 0));
  CHECK(verdicts(counted) == std::vector{was_applied, was_applied, is_open});
  // Without its overflows: tried again at half the scale each time, and then updated.
  const contents tried = place.open("train.log", fairseq_json(1, "64") + fairseq_json(2, "64") + fairseq_json(3, "16"));
  CHECK(verdicts(tried) == std::vector{was_applied, was_applied, was_skipped, was_skipped, was_applied});
  CHECK(tried.steps[3].key.attempt == 1);
  // Of a rounded scale it is none.
  const contents rounded = place.open("train.log", uncounted(1, "0.2", "1", "7") + uncounted(2, "0.2", "1", "7"));
  CHECK(verdicts(rounded) == std::vector{was_applied, was_applied});
}

TEST_CASE("scale log: the printed scale is that of the step that follows, whatever it did") {
  const playground place;
  const contents falling =
      place.open("train.log", fairseq_json(10, "64") + fairseq_json(20, "64") + fairseq_json(30, "32") +
                                  fairseq_json(40, "8") + fairseq_json(50, "4"));
  std::vector<double> scales;
  for (const step& s : falling.steps)
    if (s.scalars.found_inf == true && s.key.attempt == 0) scales.push_back(s.scalars.loss_scale);
  CHECK(scales == std::vector<double>{64, 32, 8});
  for (const step& s : falling.steps) CHECK((s.key.step <= 20) == s.bounds->certain);

  // A mean of 48 says no scale.
  const contents mean = place.open(
      "train.log", fairseq_json(10, "64") + fairseq_json(20, "64") + fairseq_json(30, "48") + fairseq_json(40, "16"));
  for (const step& s : mean.steps)
    if (s.key.step > 30 && s.scalars.found_inf == true) CHECK(std::isnan(s.scalars.loss_scale));
}

TEST_CASE("scale log: norms and losses that are not finite are no healthy run") {
  const playground place;
  std::string nan_norm = replaced(megatron(1, "1.0", 0) + megatron(2, "1.0", 0), "grad norm: 1.250", "grad norm: nan");
  const contents unscaled = place.open("train.log", nan_norm);
  CHECK(verdicts(unscaled) ==
        std::vector<verdict>{{true, true}, {true, true}});  // the count says that they were applied
  CHECK((unscaled.steps[0].max_abs && std::isnan(*unscaled.steps[0].max_abs)));
  CHECK(unscaled.steps[0].scalars.grad_norm_is_nan);
  const contents scaled = place.open("train.log", replaced(nan_norm, "scale: 1.0", "scale: 8.0"));
  CHECK(scaled.steps[1].bounds == max_abs_bounds{.low = overflow / 8});
  // Megatron-LM leaves out a loss that is NaN.
  const contents without =
      place.open("train.log", replaced(replaced(nan_norm, " lm loss: 1.031250E+01 |", ""), " grad norm: nan |", ""));
  CHECK(verdicts(without) == std::vector{is_open, is_open});
}

// Its optimizers return no norm where they do not step (NVIDIA/Megatron-LM, megatron/core/optimizer/optimizer.py).
TEST_CASE("scale log: Megatron-LM's line without a norm ends with a skipped step") {
  const playground place;
  const std::string norm = " grad norm: 1.250 |";
  const std::string two = megatron(4, "64.0", 0) + megatron(8, "32.0", 1);
  const contents last = place.open("train.log", megatron(4, "64.0", 0) + replaced(megatron(8, "32.0", 1), norm, ""));
  CHECK(verdicts(last) == std::vector{was_applied, was_applied, was_applied, was_applied, was_applied, was_applied,
                                      was_applied, was_skipped});
  CHECK(last.steps[7].bounds == max_abs_bounds{.low = overflow / 64});
  CHECK(verdicts(place.open("train.log", two))[4] == was_skipped);
  // Where no line has one, that it lacks says nothing.
  CHECK(verdicts(place.open("train.log", replaced(two, norm, "")))[4] == was_skipped);
}

TEST_CASE("scale log: what the Hugging Face Trainer logs") {
  const playground place;
  const auto entry = [](const std::string& loss, const std::string& norm, const std::string& epoch) {
    return "{'loss': " + loss + ", 'grad_norm': " + norm + ", 'learning_rate': 5e-05, 'epoch': " + epoch + "}\n";
  };
  const std::string three = entry("2.5", "1.5", "0.1") + entry("0.0", "nan", "0.2") + entry("0.0", "'nan'", "0.3");
  const contents read = place.open("train.log", three);
  CHECK(read.description == "training log of Hugging Face Trainer");
  CHECK(verdicts(read) == std::vector{was_applied, was_lost, was_lost});
  CHECK(has_note(read, "numbered from 1 in their order"));
  CHECK(read.row_unit == "line");
  CHECK(has_note(read, "a loss of 0 beside a norm that is NaN stands in 2 lines"));
  // The bar that is drawn again below an entry has its step.
  const auto bar = [](int step) {
    return " 14%|#    | " + std::to_string(step) + "/300 [13:58:09<86:18:35, 132.44s/it]\r";
  };
  const contents barred = place.open("train.log", bar(9) + "\n" + entry("2.5", "1.5", "0.1") + bar(10) + bar(11) +
                                                      "\n" + entry("0.0", "nan", "0.2") + bar(20));
  REQUIRE(barred.steps.size() == 2);
  CHECK(barred.steps[0].key.step == 10);
  CHECK(barred.steps[1].key.step == 20);
  CHECK(verdicts(barred) == std::vector{was_applied, was_lost});
  CHECK(barred.row_unit == "step");
  // Evaluations and summaries are no steps.
  CHECK(place
            .open("train.log", three + "{'eval_loss': nan, 'eval_runtime': 3.2, 'epoch': 0.3}\n"
                                       "{'train_runtime': 9.1, 'train_loss': 0.8, 'epoch': 0.3}\n")
            .steps.size() == 3);
}

TEST_CASE("scale log: an error that ends the run is one more overflow") {
  const playground place;
  const std::string ended = "Exception: Current loss scale already at minimum - cannot decrease scale anymore.\n";
  const contents read = place.open("train.log", deepspeed("4", "2") + deepspeed("2", "1") + ended + ended);
  REQUIRE(read.steps.size() == 3);
  CHECK(read.steps[2].scalars.loss_scale == 1);
  CHECK(read.steps[2].bounds == max_abs_bounds{.low = overflow, .certain = false});
  // A code line that raises it is none.
  CHECK(place.open("train.log", deepspeed("4", "2") + "    raise Exception(\n").steps.size() == 1);
}

TEST_CASE("scale log: equal lines of several ranks are one overflow") {
  const playground place;
  const auto times = [](const std::string& line, int n) {
    std::string all;
    for (int i = 0; i < n; ++i) all += line;
    return all;
  };
  CHECK(place.open("train.log", times(apex("32768.0"), 4) + times(apex("16384.0"), 4)).steps.size() == 2);
  // With one rank, a line that comes again tells of another overflow, after the scale has grown.
  const contents grown = place.open("train.log", apex("32768.0") + apex("32768.0") + apex("16384.0"));
  REQUIRE(grown.steps.size() == 3);
  CHECK(grown.steps[0].scalars.loss_scale == 65536);
  CHECK(std::isnan(grown.steps[1].scalars.loss_scale));  // or it stood at its least value
  CHECK(grown.steps[1].bounds == max_abs_bounds{.low = overflow / 65536, .certain = false});
  // Where the scale stands at its least, each line is one.
  CHECK(place.open("train.log", times(deepspeed("1", "1"), 5)).steps.size() == 5);
}

TEST_CASE("scale log: what stands between the lines is passed over") {
  const playground place;
  std::string noise = "\x01\x02\xFF\xFE|||iteration/|step=,num_updates<<[/[1:2<";
  noise += std::string(1, '\0') + std::string(5000, '|') + "\n" + std::string(3000, '9') + "\n";
  for (const framework& f : frameworks) {
    INFO(f.name);
    // Behind a beginning that is text.
    const std::string long_line = std::string(600, '#').append(1, '\n');
    check_rows(place.open("train.log", long_line + replaced(f.log, "\n", "\n" + noise)), f.rows);
  }
}

TEST_CASE("scale log: each way it can be wrong") {
  const playground place;
  const std::string neither =
      "train.log: is neither a table, whose line 1 names its columns, nor a training log with lines of a layout that "
      "is known: docs/inputs.md lists them";
  CHECK(place.error("train.log", "hello\n") == neither);
  CHECK(place.error("train.log", "step 1\nstep 2\nloss scale: 4\n") == neither);
  CHECK(place.error("train.log", replaced(megatron_log, "loss scale", "lost scale")) == "");  // skips alone are told
  CHECK(place.error("train.log", deepspeed_step(2, 0) + deepspeed("4", "2") + deepspeed("2", "1") +
                                     deepspeed("1", "1") + deepspeed_step(4, 3)) ==
        "train.log: line 5: 3 skipped steps are logged for the 2 steps up to step 4: the file holds two runs, several "
        "ranks print it, or lines are missing; give each run a file of its own, with the lines of one rank");
  CHECK(place.error("train.log", megatron(1, "4.0", 0) + megatron(900'000, "4.0", 0) + megatron(900'001, "4.0", 0)) ==
        "train.log: line 2: 899999 steps lie between this line and the one before; at most 100000 can be taken");
  // To the step: 100000 for each line.
  CHECK(place.error("train.log", megatron(1, "4.0", 0) + megatron(100'001, "4.0", 0)) == "");
  CHECK(place.error("train.log", megatron(1, "4.0", 0) + megatron(100'002, "4.0", 0)) ==
        "train.log: line 2: 100001 steps lie between this line and the one before; at most 100000 can be taken");
  CHECK(
      place.error("train.log", apex("4.0") + "step 1\nstep 2\nstep 9000000\n") ==
      "train.log: line 4: 8999999 steps lie between this line and the 2 before; at most 100000 for each can be taken");
  CHECK(place.error("train.log", apex("4.0") + "step 1\nstep 2\nstep 3\nstep 200003\n") == "");
  CHECK(place.error("train.log", apex("4.0") + "step 1\nstep 2\nstep 3\nstep 300002\n") ==
        "train.log: line 5: 300001 steps lie between this line and the 3 before; at most 100000 for each can be taken");
  CHECK(place.error("train.log", apex("4.0") + "step 1\nstep 2\nstep 3\nstep 300001\n") == "");
  CHECK(
      place.error("train.log", "step 1\nstep 2\n" + apex("4.0") + "step 3\nstep 1\nstep 2\n") ==
      "train.log: line 5: the step numbers begin again: the file holds two runs, or each epoch counts anew; give each "
      "run a file of its own, with numbers that go on from one epoch to the next");
  CHECK(place.error("train.log", megatron_log + std::string((1 << 20) + 1, 'x'))
            .ends_with("is longer than 1 MiB; this is not a training log"));
}

TEST_CASE(
    "training log: a norm of -1 is DeepSpeed's for one that is not finite, and another negative one says nothing") {
  const playground place;
  const auto line = [](int step, const std::string& norm) {
    return "step: " + std::to_string(step) + ", loss: 2.5, grad_norm: " + norm + "\n";
  };
  const contents read = place.open("train.log", line(0, "1.5") + line(1, "-1.0") + line(2, "-0.25") + line(3, "0.0"));
  REQUIRE(read.steps.size() == 4);
  CHECK(read.steps[0].scalars.found_inf == false);
  CHECK(read.steps[1].scalars.found_inf == true);
  CHECK(read.steps[1].scalars.grad_norm_is_nan);
  CHECK_FALSE(read.steps[2].scalars.found_inf);
  CHECK_FALSE(read.steps[2].bounds->certain);
  CHECK(std::isnan(read.steps[2].scalars.grad_norm));
  CHECK(read.steps[3].scalars.found_inf == false);
  CHECK(std::ranges::count_if(read.notes, [](const std::string& note) {
          return note.find("a gradient norm is negative in 2 lines") != std::string::npos;
        }) == 1);
}

TEST_CASE("training log: the scale falls behind norms of -1") {
  const playground place;
  const auto line = [](int step, const std::string& norm, const std::string& scale) {
    return "step: " + std::to_string(step) + ", loss: 2.5, grad_norm: " + norm + ", loss_scale: " + scale + "\n";
  };
  const contents read =
      place.open("train.log", line(0, "1.5", "65536") + line(1, "-1.0", "65536") + line(2, "-1.0", "32768") +
                                  line(3, "2.0", "16384") + line(4, "2.0", "16384"));
  REQUIRE(read.steps.size() == 5);
  for (const step& s : read.steps) {
    INFO(s.key.step);
    CHECK(s.scalars.applied == (s.key.step != 1 && s.key.step != 2));
  }
  CHECK(read.steps[2].scalars.loss_scale == 32768);
}

TEST_CASE("training log: every tenth step, the loss that is lost beside a falling scale is that of its line") {
  const playground place;
  const auto line = [](int step, const std::string& loss, const std::string& norm, const std::string& scale) {
    return "INFO Train: [0/300][" + std::to_string(step) + "/1251]\teta 0:10:01 lr 0.000125\ttime 0.31 (0.30)\tloss " +
           loss + " (2.5)\tgrad_norm " + norm + " (1.8)\tloss_scale " + scale + " (65536.0000)\tmem 9000MB\n";
  };
  const contents read =
      place.open("train.log", line(0, "2.5", "1.8", "65536.0000") + line(10, "2.5", "1.8", "65536.0000") +
                                  line(20, "nan", "nan", "4096.0000") + line(30, "nan", "nan", "4.0000"));
  REQUIRE(read.steps.size() == 31);
  for (const std::size_t at : {20, 30}) {
    INFO(at);
    CHECK(read.steps[at].scalars.found_inf == true);
    CHECK(read.steps[at].scalars.loss_is_nan);
  }
  CHECK_FALSE(read.steps[19].scalars.loss_is_nan);
}
