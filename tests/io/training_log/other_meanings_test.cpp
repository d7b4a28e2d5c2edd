// Pins that words and numbers which look like a loss scaler's are not taken for its own where they mean something else, in logs and in
// tables. What is right was written down with each input, before it was read.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "io/builders.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

bool notes_say(const contents& read, const std::string& words) {
  return std::ranges::any_of(read.notes, [&](const auto& note) { return note.find(words) != std::string::npos; });
}

std::vector<std::int64_t> steps_that(const contents& read, const std::function<bool(const step_scalars&)>& is_so) {
  std::vector<std::int64_t> all;
  for (const step& s : read.steps)
    if (is_so(s.scalars)) all.push_back(s.key.step);
  return all;
}
std::vector<std::int64_t> nonfinite_in(const contents& read) {
  return steps_that(read, [](const step_scalars& s) { return s.found_inf == true; });
}
bool has_scale(const contents& read) {
  return !steps_that(read, [](const step_scalars& s) { return !std::isnan(s.loss_scale); }).empty();
}

using steps = std::vector<std::int64_t>;

// A row or a line for each step, from what its number gives.
std::string each(int n, const std::function<std::string(int)>& line) {
  std::string all;
  for (int i = 0; i < n; ++i) all += line(i) + "\n";
  return all;
}
std::string loss(int i) { return std::to_string(5.0 - 0.02 * i); }

}  // namespace

TEST_CASE("other meanings: samples that are skipped are no steps") {
  const playground place;
  const contents table = place.open("a.jsonl", each(60, [](int i) {
                                      return R"({"step": )" + std::to_string(i) + R"(, "loss": )" + loss(i) +
                                             R"(, "skipped_samples": )" + std::to_string(i % 3) +
                                             R"(, "grad_norm": 0.6})";
                                    }));
  CHECK(nonfinite_in(table).empty());
  CHECK(table.unread == 0);
  for (const std::string words : {" skipped 2 samples", " samples skipped: 2", " skipped 2 tokens"}) {
    INFO(words);
    const contents log = place.open("a.log", each(60, [&](int i) {
                                      return "step " + std::to_string(i) + " loss " + loss(i) + words + " gnorm 0.8";
                                    }));
    CHECK(log.steps.size() == 60);
    CHECK(nonfinite_in(log).empty());
  }
  // Steps are.
  const contents steps_are = place.open("b.log", each(60, [](int i) {
                                          return "step " + std::to_string(i) + " loss " + loss(i) + " skipped " +
                                                 std::to_string(i == 30 ? 1 : 0) + " gnorm " +
                                                 (i == 30 ? "inf" : "0.8");
                                        }));
  CHECK(nonfinite_in(steps_are) == steps{30});
}

TEST_CASE("other meanings: a share of tokens is no flag, nor are skipped images steps") {
  const playground place;
  const contents share = place.open("a.log", each(60, [](int i) {
                                      return "step " + std::to_string(50 * i) + " | loss " + loss(i) +
                                             " | grad_norm 1.1 | overflow 0.0" + std::to_string(i % 7);
                                    }));
  CHECK(nonfinite_in(share).empty());
  CHECK(share.unread == 60);
  const contents flag = place.open("a.log", each(60, [](int i) {
                                     return "step " + std::to_string(i) + " | loss " + loss(i) + " | overflow " +
                                            (i == 7 ? "1.0" : "0.0");
                                   }));
  CHECK(nonfinite_in(flag) == steps{7});
  for (const std::string images : {" corrupt images", " (corrupt images)", " images", " (images)"}) {
    const contents skipped = place.open("a.log", each(60, [&](int i) {
                                          return "INFO step=" + std::to_string(100 * i) + " loss=" + loss(i) +
                                                 " skipped=" + std::to_string(i % 13) + images;
                                        }));
    INFO(images);
    CHECK(nonfinite_in(skipped).empty());
  }
  const contents of_steps = place.open("a.log", each(60, [](int i) {
                                         return "step=" + std::to_string(i) + " loss=" + loss(i) +
                                                " skipped=" + (i < 7 ? "0" : "1") + " steps of 60";
                                       }));
  CHECK(nonfinite_in(of_steps) == steps{7});
}

TEST_CASE("other meanings: what stands beside finite norms is not used, and counted") {
  const playground place;
  const auto table = [&](const std::string& name, const std::function<int(int)>& value, const std::string& norm_there) {
    return place.open("a.csv", "step,loss," + name + ",grad_norm\n" + each(60, [&](int i) {
                                 const bool rises = value(i) > (i == 0 ? 0 : value(i - 1));
                                 return std::to_string(i) + "," + loss(i) + "," + std::to_string(value(i)) + "," +
                                        (rises ? norm_there : "0.6");
                               }));
  };
  const auto tokens = [](int i) { return i % 7 == 3 ? 12 : 0; };
  const auto in_all = [](int i) { return i / 20; };
  const auto flag = [](int i) { return i % 20 == 3 ? 1 : 0; };
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::function<int(int)>>>{
           {"overflow", tokens}, {"skipped_batches", in_all}, {"overflow", flag}, {"skipped", in_all}}) {
    INFO(name);
    const contents read = table(name, value, "0.7");
    CHECK(nonfinite_in(read).empty());
    CHECK(read.unread > 0);
    CHECK(notes_say(read, "beside norms that are finite: it is not used"));
  }
  CHECK(nonfinite_in(table("overflow", flag, "inf")) == steps{3, 23, 43});
  CHECK(nonfinite_in(table("skipped_steps", in_all, "nan")) == steps{20, 40});
  // A name that says it is of steps or of gradients counts for more.
  CHECK(nonfinite_in(table("skipped_steps", in_all, "0.7")) == steps{20, 40});
  CHECK(nonfinite_in(table("found_inf", flag, "0.7")) == steps{3, 23, 43});
  // Without norms nothing contradicts them.
  const contents alone = place.open("b.csv", "step,loss,overflow\n" + each(60, [&](int i) {
                                               return std::to_string(i) + "," + loss(i) + "," + std::to_string(flag(i));
                                             }));
  CHECK(nonfinite_in(alone) == steps{3, 23, 43});
  // So in a script's own lines.
  const contents log = place.open("a.log", each(60, [&](int i) {
                                    return "step " + std::to_string(i) + " loss " + loss(i) + " overflow " +
                                           std::to_string(tokens(i)) + " grad_norm 0.7";
                                  }));
  CHECK(nonfinite_in(log).empty());
  CHECK(log.unread > 0);
}

TEST_CASE("other meanings: a scale below 64 may be a weight, or of images") {
  const playground place;
  const contents weight = place.open("a.csv", "it,loss,loss_scale,gnorm\n" + each(60, [](int i) {
                                                return std::to_string(i) + "," + loss(i) + "," +
                                                       std::to_string(1.0 - 0.015 * i).substr(0, 5) + ",2.5";
                                              }));
  CHECK_FALSE(has_scale(weight));
  CHECK(nonfinite_in(weight).empty());
  CHECK(notes_say(weight, "weights of a loss: it is not used"));

  const auto image = [](int i) { return std::to_string(i < 20 ? 8 : i < 40 ? 4 : 2); };
  const auto log = [&](const std::string& name, const std::string& norm) {
    return place.open("a.log", each(60, [&](int i) {
                        return "step " + std::to_string(20 * i) + " loss " + loss(i) + " " + name + " " + image(i) +
                               (i == 20 ? norm : "");
                      }));
  };
  CHECK_FALSE(has_scale(log("scale", "")));
  CHECK(nonfinite_in(log("scale", "")).empty());
  CHECK(notes_say(log("scale", ""), "it is not used"));
  // A name that says more, or an overflow beside it, makes it a loss scale.
  CHECK(has_scale(log("loss_scale", "")));
  CHECK(has_scale(log("scale", " gnorm inf")));
  const contents table = place.open("b.csv", "step,loss,scale\n" + each(60, [&](int i) {
                                               return std::to_string(i) + "," + loss(i) + "," + image(i);
                                             }));
  CHECK_FALSE(has_scale(table));
  CHECK(nonfinite_in(table).empty());
  // Small scales are rounded as they are printed.
  const contents rounded =
      place.open("c.csv", "step,loss,loss_scale\n0,2,0.5\n1,2,0.5\n2,2,0.2\n3,2,0.2\n4,2,0.1\n5,2,0.062\n6,2,0.062\n");
  CHECK(has_scale(rounded));
}

TEST_CASE("other meanings: a scale that rises again and again is the size of images") {
  const playground place;
  const auto drawn = [](int i) { return std::to_string(256 << (i * 7 / 3 % 3)); };
  const auto table = [&](const std::string& name, const std::string& loss_at_20) {
    return place.open("a.csv", "step,loss," + name + "\n" + each(90, [&](int i) {
                                 return std::to_string(i) + "," + (i == 20 ? loss_at_20 : loss(i)) + "," + drawn(i);
                               }));
  };
  CHECK_FALSE(has_scale(table("scale", "2.5")));
  CHECK(nonfinite_in(table("scale", "2.5")).empty());
  CHECK(notes_say(table("scale", "2.5"), "rises more often than a loss scale does"));
  CHECK(has_scale(table("scale", "nan")));
  CHECK(has_scale(table("loss_scale", "2.5")));
  const contents log = place.open("a.log", each(90, [&](int i) {
                                    return "step " + std::to_string(i) + " loss " + loss(i) + " scale " + drawn(i);
                                  }));
  CHECK_FALSE(has_scale(log));
  CHECK(nonfinite_in(log).empty());
  // As a scaler does: doubled after 20 steps, halved by an overflow.
  const auto grown = [](int i) { return std::to_string(256 << (i / 20 % 3)); };
  CHECK(has_scale(place.open("b.csv", "step,loss,scale\n" + each(200, [&](int i) {
                                        return std::to_string(i) + "," + loss(i) + "," + grown(i);
                                      }))));
}

TEST_CASE("other meanings: a bar of steps that are done begins with none") {
  const playground place;
  std::string all;
  for (int epoch = 0; epoch < 3; ++epoch)
    for (int i = 0; i <= 400; i += 50)
      all += "Epoch " + std::to_string(epoch) + ":  12%|#   | " + std::to_string(i) +
             "/400 [00:05<00:35, 9.87it/s, v_num=3, train_loss=" + loss(i / 50) + "]\n";
  const contents bar = place.open("a.log", all);
  REQUIRE(bar.steps.size() == 25);  // nine of the first epoch and eight of each other
  CHECK(bar.steps[9].key.step == 450);
  CHECK(bar.steps.back().key.step == 1200);
}

TEST_CASE("other meanings: epochs from 0 in a layout that begins with 1") {
  const playground place;
  for (const std::string between : {"][", "] Iter["})
    for (const int first : {0, 1}) {
      CAPTURE(between, first);
      std::string all;
      for (int epoch = 0; epoch < 3; ++epoch)
        for (int i = first; i < 20 + first; ++i)
          all += "Epoch [" + std::to_string(epoch) + between + std::to_string(i) +
                 "/20] lr: 1.0e-04, loss: " + loss(i) + "\n";
      const contents read = place.open("a.log", all);
      REQUIRE(read.steps.size() == 60);
      for (int i = 0; i < 60; ++i) CHECK(read.steps[static_cast<std::size_t>(i)].key.step == i + first);
    }
}

TEST_CASE("other meanings: an infinite scale is said") {
  const playground place;
  const contents read = place.open("a.csv", "step,loss,scale,grad_norm\n" + each(160, [](int i) {
                                              return std::to_string(i) + "," + loss(i) + "," +
                                                     (i < 112 ? std::to_string(std::exp2(16 + i)) : "inf") + "," +
                                                     (i < 112 ? "0.5" : "nan");
                                            }));
  CHECK(notes_say(read, "the loss scale is infinite in 48 rows, from step 112 on"));
  for (const step& s : read.steps)
    if (s.key.step >= 112) CHECK(std::isinf(s.scalars.loss_scale));
}

TEST_CASE("other meanings: a table of runs is refused") {
  const playground place;
  CHECK(
      place.error("a.csv",
                  "Name,State,Runtime,train/loss,_step\nrun-a,crashed,3600,NaN,1200\nrun-b,finished,7200,1.2,5000\n") ==
      "a.csv: has a row for each run, with its last values, and no steps: export the history of one run");
}

TEST_CASE("other meanings: steps may have commas between thousands") {
  const playground place;
  const contents read = place.open("a.log", each(50, [](int i) {
                                     const int step = 9'900 + 20 * i;
                                     const std::string rest = std::to_string(1000 + step % 1000).substr(1);
                                     return "| step " + std::to_string(step / 1000) + "," + rest +
                                            " / 100,000 | loss " + loss(i) + " | gnorm 0.5 | loss_scale " +
                                            (i < 25 ? "65,536" : "32,768");
                                   }));
  REQUIRE(!read.steps.empty());
  CHECK(read.steps.back().key.step == 10'880);
  CHECK(steps_that(read, [](const step_scalars& s) { return !std::isnan(s.loss); }).size() == 50);
  CHECK(nonfinite_in(read).size() == 1);
  // Numbers that a comma only parts are two.
  const contents two =
      place.open("b.log", each(30, [](int i) {
                   return "step " + std::to_string(i + 1) + ", 300 samples, loss " + loss(i) + " gnorm 0.5";
                 }));
  CHECK(two.steps.size() == 30);
}

TEST_CASE("other meanings: NaN that fills rows of another column is none of a loss") {
  const playground place;
  const auto table = [&](const std::string& name, bool is_filled_elsewhere) {
    return place.open("a.csv", "step,loss," + name + ",grad_norm\n" + each(100, [&](int i) {
                                 const bool is_hole = i % 5 == 4;
                                 const bool is_filled = is_hole || (is_filled_elsewhere && i % 5 == 1);
                                 return std::to_string(i) + "," + (is_hole ? "nan" : loss(i)) + "," +
                                        (is_filled ? "20.5" : "nan") + "," + (is_hole ? "nan" : "0.8");
                               }));
  };
  CHECK(nonfinite_in(table("gpu_mem", false)).empty());
  CHECK(table("gpu_mem", false).steps.size() == 80);
  CHECK(nonfinite_in(table("gpu_mem", true)).size() == 20);
  CHECK(nonfinite_in(table("nan_grads", false)).size() == 20);  // it may say just that
}

TEST_CASE("other meanings: what is measured in each row parts no runs") {
  const playground place;
  const auto rows = [](const std::string& time) {
    std::string all;
    for (int i = 1; i <= 30; ++i) {
      all += R"({"loss": )" + loss(i) + R"(, "grad_norm": )" + (i == 15 ? "NaN" : "6.5") + R"(, "time": )" + time +
             R"(, "step": )" + std::to_string(50 * i) + "}\n";
      if (i % 10 == 0) all += R"({"coco/bbox_mAP": 0.3, "time": 0.03, "step": )" + std::to_string(i / 10) + "}\n";
    }
    return all;
  };
  const contents read = place.open("a.jsonl", rows("0.21"));
  CHECK(read.steps.size() == 30);
  CHECK(read.unread == 0);
  CHECK(nonfinite_in(read) == steps{750});
  // A name does.
  std::string two = "step,job,loss\n";
  for (const std::string job : {"a", "b"})
    for (int i = 0; i < 20; ++i) two += std::to_string(i) + "," + job + ",2.5\n";
  CHECK(place.open("b.csv", two).unread == 20);
}

TEST_CASE("other meanings: each of several scalers has overflows") {
  const playground place;
  const contents read = place.open("a.log", each(60, [](int i) {
                                     const std::string front = "Gradient overflow.  Skipping step, loss scaler ";
                                     const std::string behind = " reducing loss scale to ";
                                     return (i == 3   ? front + "0" + behind + "32768.0\n"
                                             : i == 5 ? front + "1" + behind + "32768.0\n"
                                             : i == 9 ? front + "0" + behind + "16384.0\n"
                                                      : "") +
                                            "[" + std::to_string(i) + "/60] loss_D: 0.62 loss_G: 2.02";
                                   }));
  CHECK(read.steps.size() == 60);
  CHECK(nonfinite_in(read).size() == 2);
  CHECK(read.unread == 1);
  CHECK(notes_say(read, "overflows of other scalers"));
}

TEST_CASE("other meanings: fairseq2 tries a step again that overflowed") {
  const playground place;
  std::string text;
  for (int i = 20; i <= 200; i += 20) {
    if (i == 120)
      text +=
          "fairseq2 - Overflow detected at step 103, ignoring gradient, decreasing loss scale from 65536 to 32768.\n"
          "fairseq2 - Overflow detected at step 103, ignoring gradient, decreasing loss scale from 32768 to 16384.\n";
    text += "fairseq2 - Train Metrics (step " + std::to_string(i) + ") - CTC Loss: " + loss(i) +
            " | Gradient Norm: 31.7 | Learning Rate: 2e-06\n";
  }
  const contents read = place.open("a.log", text);
  CHECK(nonfinite_in(read) == steps{103, 103});
  CHECK(read.steps.back().key.step == 200);
  const contents ended = place.open(
      "b.log",
      text +
          "fairseq2 - Overflow detected at step 201, ignoring gradient, decreasing loss scale from 16384 to 8192.\n"
          "fairseq2 - Overflow detected at step 201, ignoring gradient, loss scale is already at minimum (8192). Your loss is "
          "probably exploding.\n");
  CHECK(nonfinite_in(ended) == steps{103, 103, 201, 201});
  CHECK(notes_say(ended, "says that a run ended"));
}

TEST_CASE("other meanings: numbers that are more than the steps between their rows count no steps") {
  const playground place;
  const auto table = [&](const std::string& names, int apart, const std::function<std::string(int)>& values) {
    return place.open("a.csv", "step,loss," + names + "\n" + each(60, [&](int i) {
                                 return std::to_string(apart * i) + "," + loss(i) + "," + values(i);
                               }));
  };
  const auto is_not_used = [](const contents& read) {
    return nonfinite_in(read).empty() && read.unread == 60 &&
           notes_say(read, "holds neither flags nor numbers of steps that fit between its rows");
  };
  for (const std::string name : {"overflow", "skipped", "skipped_batches", "overflows", "found_nan"}) {
    INFO(name);
    CHECK(is_not_used(table(name, 1, [](int i) { return std::to_string(i % 7 == 3 ? 12 : 0); })));
    CHECK(is_not_used(table(name, 1, [](int i) { return std::to_string(12 * i); })));
    CHECK(is_not_used(table(name, 1, [](int i) { return i % 2 == 0 ? "0" : "0.03"; })));
    CHECK(is_not_used(table(name, 10, [](int i) { return std::to_string(i % 7 == 3 ? 12 : 0); })));
    // They fit.
    CHECK(nonfinite_in(table(name, 100, [](int i) { return std::to_string(i == 3 ? 12 : 0); })).size() == 12);
    CHECK(nonfinite_in(table(name, 1, [](int i) { return std::to_string(i / 20); })) == steps{20, 40});
  }
  // Another column that can be one is taken.
  const contents both = table("overflow,skipped", 1, [](int i) {
    return std::to_string(i % 7 == 3 ? 12 : 0) + "," + std::to_string(i == 5 ? 1 : 0);
  });
  CHECK(nonfinite_in(both) == steps{5});
  // W&B's "_step" counts calls of log, between which there may be any number of steps.
  const contents calls = place.open("b.csv", "_step,loss,skipped_steps\n" + each(60, [](int i) {
                                               return std::to_string(i) + "," + loss(i) + (i == 9 ? ",3" : ",0");
                                             }));
  CHECK_FALSE(nonfinite_in(calls).empty());
}

TEST_CASE("other meanings: a scale that leaps, or falls by several factors, is none of a loss") {
  const playground place;
  const auto table = [&](const std::string& name, const std::function<int(int)>& scale, const std::string& rest = "") {
    return place.open("a.csv", "step,loss," + name + "\n" + each(400, [&](int i) {
                                 return std::to_string(i) + "," + loss(i) + "," + std::to_string(scale(i)) + rest;
                               }));
  };
  // Sizes of images, drawn each ten steps, and each forty.
  const auto drawn = [](int i) {
    return std::vector{512, 128, 256, 256, 128, 256, 512, 256, 512, 512, 256}[i / 10 % 11];
  };
  const auto far = [](int i) { return i / 40 % 2 == 0 ? 512 : 128; };
  for (const auto& sizes : {std::function<int(int)>{drawn}, std::function<int(int)>{far}}) {
    CHECK_FALSE(has_scale(table("scale", sizes)));
    CHECK(nonfinite_in(table("scale", sizes)).empty());
    CHECK(has_scale(table("loss_scale", sizes)));
  }
  // A scaler halves, doubles after a hundred steps, and begins anew from 65536 where the run was resumed.
  const auto halved = [](int i) { return i < 90 ? 65536 >> (i / 30) : i < 200 ? 8192 : i < 300 ? 16384 : 65536; };
  CHECK(has_scale(table("scale", halved)));
}

TEST_CASE("other meanings: a loss that is NaN beside a finite norm leaves its step open") {
  const playground place;
  const auto log = [&](const std::string& norm) {
    return place.open("a.log", each(60, [&](int i) {
                        return "step " + std::to_string(i) + " loss " + (i % 20 == 10 ? "nan" : loss(i)) +
                               " grad_norm " + (i % 20 == 10 ? norm : "0.8");
                      }));
  };
  const contents beside = log("0.7");
  CHECK(nonfinite_in(beside).empty());
  CHECK(steps_that(beside, [](const step_scalars& s) { return s.loss_is_nan; }) == steps{10, 30, 50});
  CHECK(steps_that(beside, [](const step_scalars& s) { return !s.found_inf; }) == steps{10, 30, 50});
  CHECK(notes_say(beside, "stands beside a finite gradient norm in 3 lines"));
  CHECK(nonfinite_in(log("nan")) == steps{10, 30, 50});
  const contents table = place.open("a.csv", "step,loss,grad_norm\n" + each(60, [](int i) {
                                               return std::to_string(i) + "," + (i == 30 ? "nan" : loss(i)) + ",0." +
                                                      std::to_string(70 + i % 9);
                                             }));
  CHECK(nonfinite_in(table).empty());
  CHECK(notes_say(table, "stands beside a finite gradient norm in 1 line"));
}

TEST_CASE("other meanings: a scale that is 0 from one line to the next proves no overflow beside finite norms") {
  const playground place;
  const auto zero_from_40 = [](const step_scalars& s) { return s.loss_scale == 0; };
  for (const std::string name : {"loss_scale", "scale"}) {
    INFO(name);
    const contents log = place.open("a.log", each(60, [&](int i) {
                                      return "step " + std::to_string(i) + " loss " + loss(i) + " grad_norm 0." +
                                             std::to_string(70 + i % 9) + " " + name + (i < 40 ? " 65536" : " 0.0");
                                    }));
    CHECK(nonfinite_in(log).empty());
    CHECK(steps_that(log, zero_from_40).size() == 20);
    CHECK(steps_that(log, [](const step_scalars& s) { return s.found_inf == false; }).size() == 60);
    const contents table = place.open("a.csv", "step,loss,grad_norm," + name + "\n" + each(60, [](int i) {
                                                 return std::to_string(i) + "," + loss(i) + ",0." +
                                                        std::to_string(70 + i % 9) + (i < 40 ? ",65536" : ",0");
                                               }));
    CHECK(nonfinite_in(table).empty());
    CHECK(steps_that(table, zero_from_40).size() == 20);
  }
}

TEST_CASE("other meanings: norms that are often equal, or of several steps, say nothing of a lost loss") {
  const playground place;
  const auto log = [&](int every, const std::function<std::string(int)>& norm) {
    return place.open("a.log", each(60, [&](int i) {
                        return "step " + std::to_string(every * i) + " loss " + (i >= 40 ? "nan" : loss(i)) +
                               " grad_norm " + norm(i);
                      }));
  };
  const auto moves = [](int i) { return "0." + std::to_string(70 + i % 9); };
  // As of the last step that was applied, which no line tells of.
  CHECK(nonfinite_in(log(1, [&](int i) { return i < 40 ? moves(i) : "0.6123"; })).size() == 20);
  // As after clipping: of its own, or not.
  CHECK(nonfinite_in(log(1, [](int) { return "1.0000"; })).empty());
  CHECK(nonfinite_in(log(1, moves)).empty());
  CHECK_FALSE(nonfinite_in(log(10, moves)).empty());
}

TEST_CASE("other meanings: words that only end in step") {
  const playground place;
  const contents log = place.open("a.log", each(60, [](int i) {
                                    return "step " + std::to_string(i) + ": loss " + loss(i) + "\noverstep " +
                                           std::to_string(i + 500) + ": loss 9.9";
                                  }));
  CHECK(log.steps.size() == 60);
  CHECK(log.steps.back().key.step == 59);
  const contents global =
      place.open("b.log", each(60, [](int i) { return "global_step " + std::to_string(i) + ": loss " + loss(i); }));
  CHECK(global.steps.size() == 60);
}

TEST_CASE("other meanings: a scale that is 0 for a while was never that") {
  const playground place;
  for (const bool has_norms : {false, true})
    for (const int first : {0, 20, 59}) {
      CAPTURE(has_norms, first);
      const contents log = place.open("a.log", each(60, [&](int i) {
                                        return "step " + std::to_string(i) + " loss " + loss(i) +
                                               (has_norms ? " grad_norm 0." + std::to_string(70 + i % 9) : "") +
                                               " loss_scale " + (i >= first && i < first + 5 ? "0.0" : "65536.0");
                                      }));
      if (first == 59 && !has_norms) continue;  // that is open
      CHECK(nonfinite_in(log).empty());
      CHECK(steps_that(log, [](const step_scalars& s) { return s.loss_scale == 0; }).size() == (first == 59 ? 1 : 5));
    }
  // In all lines.
  const auto all_zero = [&](const std::string& of_loss, const std::string& norm) {
    const contents log = place.open("c.log", each(60, [&](int i) {
                                      return "step " + std::to_string(i) + " loss " +
                                             (of_loss.empty() ? loss(i) : of_loss) + norm + " loss_scale 0";
                                    }));
    return notes_say(log, "logged as 0 in every line");
  };
  CHECK(all_zero("", ""));
  CHECK(all_zero("2.5", " grad_norm 0.7"));
  CHECK_FALSE(all_zero("2.5", ""));
  CHECK_FALSE(all_zero("2.5", " grad_norm 0.0"));
  // As many steps as halve it.
  const contents slow = place.open("b.log", each(40, [](int i) {
                                     return "step " + std::to_string(20 * i) + " loss " + loss(i) + " grad_norm 0." +
                                            std::to_string(70 + i % 9) + " loss_scale " + (i < 20 ? "128" : "0");
                                   }));
  CHECK(nonfinite_in(slow).size() == 8);
}

TEST_CASE(
    "other meanings: losses of 0 to the end stand for NaN where the norm is that of the last step that was applied") {
  const playground place;
  const auto log = [&](const std::string& norm) {
    return place.open("a.log", each(60, [&](int i) {
                        return "{'loss': " + (i < 40 ? loss(i) : "0.0") +
                               ", 'grad_norm': " + (i < 40 ? "0." + std::to_string(70 + i % 9) : norm) +
                               ", 'learning_rate': 5e-05, 'epoch': 0." + std::to_string(100 + i) + "}";
                      }));
  };
  CHECK(nonfinite_in(log("0.6123")).size() == 20);
}

TEST_CASE(
    "other meanings: a scale that is 0 at once beside norms that are NaN was that, and proves no large gradient") {
  const playground place;
  const auto log = [&](double before, const std::string& norm, const std::string& loss_there) {
    return place.open("a.log", each(60, [&](int i) {
                        const bool is_dead = i >= 40;
                        return "step " + std::to_string(i) + " loss " + (is_dead ? loss_there : "2.5") + " grad_norm " +
                               (is_dead ? norm : "0." + std::to_string(80 + i % 7)) + " loss_scale " +
                               std::to_string(is_dead ? 0.0 : before);
                      }));
  };
  const auto at_zero = [](const contents& read) {
    return steps_that(read, [](const step_scalars& s) { return s.loss_scale == 0; }).size();
  };
  const contents read = log(65536, "nan", "2.5");
  CHECK(at_zero(read) == 20);
  CHECK(nonfinite_in(read).size() == 20);
  CHECK(std::ranges::all_of(std::span(read.steps).subspan(40), [](const step& s) { return !s.bounds; }));
  CHECK(std::ranges::none_of(read.notes,
                             [](const auto& note) { return note.find("it is not used") != std::string::npos; }));
  // 0.5 may be halved to what is printed as 0; a loss that is lost is of the forward pass; an infinite norm is no 0 / 0.
  CHECK(at_zero(log(0.5, "nan", "2.5")) == 0);
  CHECK(at_zero(log(65536, "nan", "nan")) == 0);
  CHECK(at_zero(log(65536, "inf", "2.5")) == 0);
}

TEST_CASE("other meanings: a flag beside losses is one column of a run, and alone or beside a scale a step log") {
  const playground place;
  const auto table = [&](const std::string& names, const std::function<std::string(int)>& row) {
    return place.open("a.csv", names + "\n" + each(60, row));
  };
  const auto number = [](int i) { return std::to_string(i); };
  const contents run =
      table("step,loss,found_inf", [&](int i) { return number(i) + "," + (i < 40 ? loss(i) : "nan") + ",0"; });
  CHECK(run.steps.size() == 60);
  CHECK(run.steps[10].scalars.loss == Approx(4.8));
  CHECK(steps_that(run, [](const step_scalars& s) { return s.loss_is_nan; }).size() == 20);
  CHECK(table("step,found_inf", [&](int i) { return number(i) + ",0"; }).description == "step log");
  CHECK(table("step,found_inf,scale", [&](int i) { return number(i) + ",0,1024"; }).description == "step log");
  CHECK(table("step,loss,maxabs", [&](int i) { return number(i) + "," + loss(i) + ",1"; }).description == "step log");
}

TEST_CASE("other meanings: one fall of the scale before a row whose loss is NaN is that row's") {
  const playground place;
  std::string csv = "step,loss,loss_scale\n";
  for (int i = 0; i <= 700; i += 10)
    csv += std::to_string(i) + "," + (i == 400 ? "nan" : loss(i / 10)) + "," + (i < 400 ? "32768" : "16384") + "\n";
  CHECK(nonfinite_in(place.open("a.csv", csv)) == steps{400});
}

TEST_CASE("other meanings: the Trainer's loss beside a norm that is NaN is not of that step") {
  const playground place;
  const auto entry = [](const std::string& loss, const std::string& norm) {
    return "{'loss': " + loss + ", 'grad_norm': " + norm + ", 'learning_rate': 5e-05, 'epoch': 0.1}\n";
  };
  const contents read = place.open("a.log", entry("2.5", "1.5") + entry("2.4", "nan") + entry("2.3", "inf"));
  CHECK(read.steps[0].scalars.loss == 2.5);
  CHECK(std::isnan(read.steps[1].scalars.loss));
  CHECK(read.steps[2].scalars.loss == 2.3);
}

TEST_CASE("other meanings: the last overflow before a line whose loss is lost is that line's own") {
  const playground place;
  std::string log;
  double scale = 65536;
  for (int i = 0; i <= 70; i += 10) {
    for (int skipped = 0; i >= 50 && skipped < (i == 50 ? 3 : 10); ++skipped)
      log += "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to " + std::to_string(scale /= 2) +
             "\n";
    log += "Epoch: [0][" + std::to_string(i) + "/200]\tTime 0.31 (0.33)\tLoss " +
           (i < 50 ? "3.25 (3.25)" : "nan (nan)") + "\n";
  }
  const contents read = place.open("a.log", log);
  CHECK(nonfinite_in(read).size() == 23);
  CHECK(steps_that(read, [](const step_scalars& s) { return s.loss_is_nan; }) == steps{50, 60, 70});
  CHECK(steps_that(read, [](const step_scalars& s) { return s.loss_is_nan && s.applied.value_or(false); }).empty());
}
