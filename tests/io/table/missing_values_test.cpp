// Pins which NaN of a table stands for a value that was not logged, and which for one that was not finite. What is right follows from how
// each table is made: a run whose numbers are known is written as pandas and loggers write it, with NaN in the holes.
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <ulp/io/inputs/open.hpp>

#include "io/builders.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

using texts = std::vector<std::string>;

std::string table_of(const std::string& header, int rows, const std::function<std::string(int)>& row) {
  std::string all = header + "\n";
  for (int i = 0; i < rows; ++i) all += row(i) + "\n";
  return all;
}

std::vector<std::int64_t> lost_steps(const contents& read) {
  std::vector<std::int64_t> all;
  for (const step& s : read.steps)
    if (s.scalars.found_inf == true) all.push_back(s.key.step);
  return all;
}

std::string falling(int i) { return std::to_string(4 - 0.01 * i); }

}  // namespace

TEST_CASE("missing values: rows of one step complete each other") {
  const playground place;
  // Lightning's table, as pandas fills it: a row of training every 50 steps, and behind each sixth one of validation and one of the epoch.
  const auto lightning = [](int lost_from) {
    std::string text = "epoch,step,train_loss_step,train_loss_epoch,val_loss,val_acc\n";
    for (int i = 0; i < 36; ++i) {
      const std::string start = std::to_string(i / 6) + "," + std::to_string(50 * i + 49) + ",";
      text += start + (i < lost_from ? falling(i) : "nan") + ",nan,nan,nan\n";
      if (i % 6 == 5) text += start + "nan,nan,2.5,0.5\n" + start + "nan,3.5,nan,nan\n";
    }
    return text;
  };
  const contents whole = place.open("a.csv", lightning(36));
  CHECK(lost_steps(whole).empty());
  CHECK(whole.steps.size() == 36);
  CHECK(whole.unread == 0);
  // A loss that is lost stays so, with and without numbers of validation.
  CHECK(lost_steps(place.open("b.csv", lightning(33))) == std::vector<std::int64_t>{1699, 1749, 1799});

  // Of columns without a meaning, too.
  const auto accuracy = [](const std::string& behind) {
    return table_of("step,loss,accuracy", 6, [&](int i) {
      const std::string number = std::to_string(i);
      return number + "," + falling(i) + ",nan" + (i == 3 ? "\n" + number + "," + behind : "");
    });
  };
  CHECK(lost_steps(place.open("c.csv", accuracy("nan,0.5"))).empty());
  // A row that adds nothing is one of the step: of several microbatches one was not finite.
  CHECK(place.open("d.csv", accuracy("nan,nan")).unread > 0);
}

TEST_CASE("missing values: a norm that is logged each n-th step") {
  const playground place;
  const auto table = [&](const std::function<std::string(int)>& norm, const std::string& more = "",
                         const std::function<std::string(int)>& of_more = {}) {
    return lost_steps(place.open("a.csv", table_of("step,loss,grad_norm" + more, 100, [&](int i) {
                                   return std::to_string(10 * i) + "," + falling(i) + "," + norm(i) +
                                          (of_more ? "," + of_more(i) : "");
                                 })));
  };
  const auto each_fifth = [](int i) { return std::string{i % 5 == 0 ? "0.5" : "NaN"}; };
  CHECK(table(each_fifth).empty());
  CHECK(table(each_fifth, ",eval_loss", each_fifth).empty());
  // Behind a scale that falls twice, as it does with the norms left out.
  const auto scale = [](int i) { return std::to_string(i < 20 ? 65536 : i < 60 ? 32768 : 16384); };
  CHECK(table(each_fifth, ",loss_scale", scale) ==
        table([](int i) { return std::string{i % 5 == 0 ? "0.5" : ""}; }, ",loss_scale", scale));
  // At odd distances, where a validation is.
  const auto odd = [](int i) { return std::string{i % 7 == 0 || i % 11 == 0 ? "0.5" : "NaN"}; };
  CHECK(table(odd, ",eval_loss", odd).empty());

  // One number between is missing, or more are in the end than between two; infinities; a scale that falls with each of them.
  CHECK(table([&](int i) { return i == 50 ? "NaN" : each_fifth(i); }).size() == 81);
  CHECK(table([&](int i) { return i > 80 ? "NaN" : each_fifth(i); }).size() == 83);
  CHECK(table([&](int i) { return i == 51 ? "inf" : each_fifth(i); }).size() == 80);
  CHECK(table(each_fifth, ",loss_scale", [](int i) { return std::to_string(std::exp2(90 - i + i / 5)); }).size() >= 80);
  CHECK(table([](int i) { return std::string{i % 2 == 0 ? "0.5" : "NaN"}; }).size() == 50);
  CHECK(table([](int i) { return std::string{i == 40 ? "NaN" : "0.5"}; }) == std::vector<std::int64_t>{400});
  CHECK(table([](int i) { return std::string{i > 70 ? "NaN" : "0.5"}; }, ",eval_loss",
              [](int i) { return std::string{i > 70 ? "NaN" : "2.5"}; })
            .size() == 29);
}

TEST_CASE("missing values: a loss that is lost with that of validation stays lost") {
  const playground place;
  const contents read = place.open("results.csv", table_of("step,loss,val_loss", 30, [](int i) {
                                     return std::to_string(i) + (i < 12 ? ",2.5,2.6" : ",nan,nan");
                                   }));
  CHECK(lost_steps(read).size() == 18);
  CHECK(open_source({place.write("a.csv", "step,loss,val_loss\n0,2,2\n1,2,2\n2,nan,nan\n")})->lost_elsewhere().empty());
}

TEST_CASE("missing values: losses of validation that are not finite are told") {
  const playground place;
  const auto told = [&](const std::string& header, const std::function<std::string(int)>& row) {
    return open_source({place.write("a.csv", table_of(header, 12, row))})->lost_elsewhere();
  };
  const auto loss = [](int i) { return std::to_string(i) + "," + falling(i) + ","; };
  const texts all{"the validation loss 'val_loss' is not finite in 12 of 12 rows, from epoch 0 on"};
  CHECK(told("epoch,train_loss,val_loss", [&](int i) { return loss(i) + "nan"; }) == all);
  CHECK(told("epoch,loss,val_loss,val_acc", [&](int i) { return loss(i) + "nan,0.1"; }) == all);
  CHECK(told("epoch,loss,val_loss", [&](int i) { return loss(i) + (i < 5 ? "2.5" : "inf"); }) ==
        texts{"the validation loss 'val_loss' is not finite in 7 of 12 rows, from epoch 5 on"});
  CHECK(told("epoch,loss,val_loss", [&](int i) { return loss(i) + (i == 5 ? "nan" : "2.5"); }) ==
        texts{"the validation loss 'val_loss' is not finite in 1 of 12 rows, first in epoch 5"});
  CHECK(told("epoch,train/box_loss,val/box_loss,val/cls_loss", [&](int i) { return loss(i) + "nan,nan"; }) ==
        texts{"the validation losses 'val/box_loss', 'val/cls_loss' are not finite in 12 of 12 rows, from epoch 0 on"});
  // Fields are left empty where nothing was validated.
  CHECK(told("step,loss,val_loss", [&](int i) { return loss(i) + (i % 4 == 3 ? "nan" : ""); }) ==
        texts{"the validation loss 'val_loss' is not finite in 3 of 3 rows, from step 3 on"});

  // NaN that fills holes, or columns of what was never done.
  for (const std::string header : {"epoch,loss,val_loss,val_acc", "step,loss,val_loss,val_acc"}) {
    INFO(header);
    CHECK(told(header, [&](int i) { return loss(i) + (i % 5 == 0 ? "2.5,0.1" : "nan,nan"); }).empty());
  }
  CHECK(told("epoch,loss,val_loss", [&](int i) { return loss(i) + (i % 5 == 0 ? "2.5" : "nan"); }).empty());
  CHECK(told("epoch,loss,val_loss,val_acc", [&](int i) {
          return loss(i) + (i % 3 == 0 ? "2.5,0.1" : "nan,0.1");
        }).empty());
  CHECK(told("step,loss,val_loss", [&](int i) { return loss(i) + "nan"; }).empty());
  // The training itself is lost.
  CHECK(
      told("epoch,loss,val_loss", [](int i) { return std::to_string(i) + (i < 5 ? ",2.5,2.5" : ",nan,nan"); }).empty());
}
