// Pins that the first line tells of what had gone wrong in steps that were done again, and in lines that are none of the run.
#include <ulp/report/findings/advice.hpp>

#include <memory>
#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace ulp;

namespace {

// A log: finite steps up to `lost`, NaN from there on.
class made_log : public source {
 public:
  made_log(std::int64_t steps, std::int64_t lost, double loss_at_end = 2)
      : steps_(steps), lost_(lost), loss_at_end_(loss_at_end) {}

  std::vector<std::string> elsewhere;
  std::vector<std::string> reasons;
  std::int64_t restarted_from = -1;  // by one that had been lost

  [[nodiscard]] source_kind kind() const override { return source_kind::training_log; }
  [[nodiscard]] std::string description() const override { return "training log"; }
  [[nodiscard]] const std::vector<tensor_info>& tensors() const override { return none_; }
  [[nodiscard]] std::vector<std::string> lost_elsewhere() const override { return elsewhere; }
  [[nodiscard]] std::vector<std::string> doubts() const override { return reasons; }
  [[nodiscard]] std::vector<earlier_attempt> earlier_attempts() const override {
    std::vector<earlier_attempt> all;
    if (restarted_from < 0) return all;
    all.push_back({restarted_from, std::make_unique<made_log>(60, 55)});
    all.push_back({restarted_from, std::make_unique<made_log>(60, 60, 50)});  // which diverged
    all.push_back({restarted_from, std::make_unique<made_log>(60, 60)});
    return all;
  }
  [[nodiscard]] bool next(step& into) override {
    if (now_ == steps_) return false;
    const bool is_lost = now_ >= lost_;
    const bool rises = now_ >= 50 && loss_at_end_ != 2;
    into = {};
    into.key.step = now_++;
    into.scalars.found_inf = is_lost;
    into.scalars.loss = is_lost ? not_known : rises ? loss_at_end_ : 2 - 0.001 * static_cast<double>(now_);
    into.scalars.loss_is_nan = into.scalars.grad_norm_is_nan = is_lost;
    into.scalars.grad_norm = is_lost ? not_known : rises ? 300 : 1;
    return true;
  }

 private:
  std::int64_t steps_;
  std::int64_t lost_;
  double loss_at_end_;
  std::int64_t now_ = 0;
  std::vector<tensor_info> none_;
};

advice advice_of(made_log& log) {
  run_examination all({.how = {float16}}, {}, {});
  all.take_facts_of(log);
  for (step now; log.next(now);) all.add(now, log.tensors());
  return advice_on(all.result(log.tensors()));
}

bool says(const std::string& text, const std::string& part) {
  INFO(text);
  INFO(part);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the first line tells what had gone wrong before a restart, and what replaced it") {
  made_log log(100, 100);
  log.restarted_from = 40;
  const advice all = advice_of(log);
  CHECK(all.first.cause == "replaced");
  CHECK(says(all.first.happened,
             "the run was started again from step 40, and steps 41 to 59 of the attempt before that had gone wrong: "));
  CHECK(says(all.first.happened, "(steps 55 to 59)"));
  CHECK(says(all.first.happened, "so had 1 part of other attempts"));
  CHECK(says(all.first.happened, "what replaced it: no fault found in the log: none of 100 steps overflowed"));
  CHECK(says(all.first.change, "should it come again: "));
  CHECK(all.first.grade == finding_grade::notable);
  std::vector<std::string> told;
  for (const finding& f : all.findings)
    if (f.topic == "replaced") told.push_back(f.conclusion);
  REQUIRE(told.size() == 2);
  CHECK(says(told[1], "the training diverged from step 50 on"));
}

TEST_CASE("what came before the restart is the run's own") {
  made_log log(100, 100);
  log.restarted_from = 59;
  CHECK(advice_of(log).first.cause == "healthy");
}

TEST_CASE("a run that is lost itself keeps the first line") {
  made_log log(100, 70);
  log.restarted_from = 40;
  const advice_summary first = advice_of(log).first;
  CHECK(first.cause == "forward_overflow");
  CHECK(says(first.happened, "from step 70 on"));
  CHECK(says(first.happened, "besides, the run was started again from step 40"));
}

TEST_CASE("what was not finite in other lines comes first, and something is to be done") {
  made_log log(100, 100);
  log.elsewhere = {"rank3 printed NaN in 35 lines"};
  const advice_summary first = advice_of(log).first;
  CHECK(first.cause == "unknown");
  CHECK(first.happened.starts_with("rank3 printed NaN in 35 lines; in what was read: no fault found"));
  CHECK(says(first.change, "look at these lines"));
  CHECK(first.sure.starts_with("not sure, since the steps that were read do not show all that was not finite: "));
}

TEST_CASE("a doubt leaves nothing certain") {
  made_log log(100, 100);
  log.reasons = {"the loss is a running mean"};
  CHECK(advice_of(log).first.sure.starts_with("not sure, since the loss is a running mean: "));
}

TEST_CASE("a loss that came back is not said to be lost from there on") {
  class back : public made_log {
   public:
    back() : made_log(100, 100) {}
    [[nodiscard]] bool next(step& into) override {
      if (!made_log::next(into)) return false;
      const bool is_lost = into.key.step >= 30 && into.key.step < 40;
      into.scalars.loss_is_nan = is_lost;
      into.scalars.found_inf = is_lost;
      into.scalars.grad_norm = not_known;
      if (is_lost) into.scalars.loss = not_known;
      return true;
    }
  } log;
  const advice_summary first = advice_of(log).first;
  CHECK(first.cause == "forward_overflow");
  CHECK(says(first.happened,
             "and came back: the loss is NaN or infinite in all 10 steps that overflowed (steps 30 to 39)"));
  CHECK_FALSE(says(first.sure, "from there on"));
  CHECK_FALSE(says(first.sure, "very sure"));
}
