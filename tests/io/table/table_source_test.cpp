// Tables of a run as tools write them: which steps they have, and what is known of these. The expected rows are worked out by
// hand from what the scalers do: each halves its scale behind a step that it skips.
#include "table/table_source.hpp"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <ulp/io/inputs/open.hpp>
#include <ulp/io/table/columns.hpp>

#include "io/builders.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

bool has_note(const contents& read, const std::string& words) {
  for (const std::string& note : read.notes)
    if (note.find(words) != std::string::npos) return true;
  return false;
}

std::vector<std::int64_t> steps_of(const contents& read) {
  std::vector<std::int64_t> all;
  for (const step& s : read.steps) all.push_back(s.key.step);
  return all;
}

std::vector<std::int64_t> skipped_in(const contents& read) {
  std::vector<std::int64_t> all;
  for (const step& s : read.steps)
    if (s.scalars.applied == false) all.push_back(s.key.step);
  return all;
}

std::vector<std::int64_t> nonfinite_in(const contents& read) {
  std::vector<std::int64_t> all;
  for (const step& s : read.steps)
    if (s.scalars.found_inf == true) all.push_back(s.key.step);
  return all;
}

using steps = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("table: the scale before the update falls behind the step that was skipped") {
  const playground place;
  const contents read = place.open(
      "a.csv", "step,loss_scale,grad_norm,loss\n0,65536,nan,2.3\n1,32768,nan,2.3\n2,16384,3,2.3\n3,16384,3,2\n");
  CHECK(skipped_in(read) == steps{0, 1});
  CHECK(read.steps[0].scalars.loss_scale == 65536);
  CHECK(read.steps[2].scalars.loss_scale == 16384);
  CHECK(read.steps[0].bounds->low == 65520.0 / 65536);
  CHECK(has_note(read, "before its step is over"));
}

TEST_CASE("table: the scale after the update falls in the step that was skipped") {
  const playground place;
  const contents read = place.open(
      "a.csv", "step,loss_scale,grad_norm,loss\n5,65536,1,2\n6,32768,inf,2\n7,16384,inf,2\n8,16384,1,2\n9,16384,1,2\n");
  CHECK(skipped_in(read) == steps{6, 7});
  CHECK(read.steps[1].scalars.loss_scale == 65536);
  CHECK(read.steps[2].scalars.loss_scale == 32768);
  CHECK(read.steps[1].bounds->certain);
}

TEST_CASE("table: a fall beside nothing that is not finite proves a skipped step, and not which") {
  const playground place;
  const contents read = place.open("a.csv", "step,loss,scale\n0,2,65536\n1,2,65536\n2,2,32768\n3,2,32768\n");
  CHECK(skipped_in(read) == steps{2});
  CHECK_FALSE(read.steps[2].bounds->certain);
  CHECK(has_note(read, "may be the one before"));
}

TEST_CASE("table: a fall by more than halves in as many steps is another scaler's, and proves nothing") {
  const playground place;
  const std::string begin = "step,loss,scale,grad_norm\n0,2,262144,1\n1,2,262144,1\n";
  const contents read = place.open("a.csv", begin + "2,2,65536,1\n3,2,65536,1\n4,2,32768,inf\n5,2,32768,1\n");
  CHECK(nonfinite_in(read) == steps{4});
  CHECK(has_note(read, "falls 1 time by more than the steps that lie there can halve it"));
  const contents no_norms = place.open("a.csv", "step,loss,scale\n0,2,262144\n1,2,262144\n2,2,65536\n3,2,65536\n");
  CHECK(skipped_in(no_norms).empty());
  CHECK_FALSE(no_norms.steps[2].scalars.found_inf);
  // As many as there are steps fit.
  CHECK(skipped_in(place.open("a.csv", "step,loss,scale\n0,2,262144\n2,2,262144\n4,2,65536\n6,2,65536\n")).size() == 2);
  // A step that was not finite itself needs no halves.
  CHECK(nonfinite_in(place.open("a.csv", begin + "2,2,65536,inf\n3,2,65536,1\n4,2,16384,inf\n")) == steps{2, 4});
}

TEST_CASE("table: between rows that are apart a fall proves as many skipped steps as halvings") {
  const playground place;
  const contents read = place.open("a.csv", "iter,loss_scale\n0,65536\n50,65536\n100,8192\n150,8192\n");
  CHECK(skipped_in(read).size() == 3);
  CHECK(has_note(read, "proves 3 skipped steps at least"));
  for (const step& s : read.steps)
    if (s.scalars.applied == false) CHECK_FALSE(s.bounds->certain);
}

TEST_CASE("table: flags and counts of skipped steps") {
  const playground place;
  const contents flags = place.open("a.jsonl",
                                    "{\"step\": 1, \"loss\": 2, \"skipped\": false}\n"
                                    "{\"step\": 2, \"loss\": 2, \"skipped\": true}\n"
                                    "{\"step\": 3, \"loss\": 2, \"skipped\": false}\n");
  CHECK(skipped_in(flags) == steps{2});
  const contents counts = place.open("a.csv", "iteration,loss,skipped_steps\n1,2,0\n2,2,1\n3,2,1\n4,2,2\n");
  CHECK(skipped_in(counts) == steps{2, 4});
}

TEST_CASE("table: Lightning's rows of training and validation") {
  const playground place;
  const contents read =
      place.open("metrics.csv",
                 "epoch,lr-AdamW,step,train_grad_norm,train_loss_epoch,train_loss_step,val_loss\r\n"
                 "0,,49,3.1,,6.2,\r\n,0.001,49,,,,\r\n0,,99,,,,5.9\r\n0,,99,,6.1,,\r\n1,,149,nan,,nan,\r\n");
  CHECK(steps_of(read) == steps{49, 149});
  CHECK(nonfinite_in(read) == steps{149});
  CHECK(read.steps[0].scalars.learning_rate == 0.001);
  CHECK(
      read.notes.front() ==
      "columns: step from 'step', loss from 'train_loss_step', grad_norm from 'train_grad_norm', lr from 'lr-AdamW'; not "
      "used: 'train_loss_epoch', 'val_loss' (validation)");
}

TEST_CASE("table: a row of an epoch is no step that was skipped") {
  const playground place;
  const contents read = place.open("results.csv",
                                   "   epoch,  train/box_loss,  train/cls_loss,  val/box_loss\n"
                                   "       1,             1.2,             1.1,           1.2\n"
                                   "       2,             1.1,             nan,           nan\n");
  CHECK(steps_of(read) == steps{1, 2});
  CHECK(nonfinite_in(read).empty());
  CHECK(read.steps[1].scalars.loss_is_nan);  // a sum with NaN in it
  CHECK_FALSE(read.steps[1].scalars.applied);
  CHECK(has_note(read, "each row is an epoch"));
  CHECK(has_note(read, "no loss but those of parts"));
}

TEST_CASE("table: other separators, commas, marks and compression") {
  const playground place;
  const contents german =
      place.open("a.csv", "\xEF\xBB\xBFStep;Train Loss;Loss Scale\r\n0;2,5;65536\r\n1;2,25;65536\r\n");
  CHECK(german.steps[1].scalars.loss == 2.25);
  const contents tabs = place.open("a.tsv", gzip("timestamp\tstep\tloss\n17\t0\t2.5\n18\t1\tNone\n19\t2\t2.25\n"));
  CHECK(steps_of(tabs) == steps{0, 2});
  const contents thousands = place.open("a.csv", "step,loss,grad_norm\n\"1,000\",2.5,\"1,234.5\"\n\"1,001\",2.5,1\n");
  CHECK(steps_of(thousands) == steps{1000, 1001});
  CHECK(thousands.steps[0].scalars.grad_norm == 1234.5);
}

TEST_CASE("table: as psql, pandas and boxes print them") {
  const playground place;
  const contents psql = place.open(
      "a.txt",
      " step | loss  | loss_scale \n------+-------+------------\n    0 | 2.500 |          4 \n    1 | 2.250 |          2 \n(2 rows)\n");
  CHECK(steps_of(psql) == steps{0, 1});
  CHECK(skipped_in(psql) == steps{1});
  const contents box = place.open(
      "b.txt",
      "+------+------+\n| step | loss |\n+------+------+\n| 0    | 2.5  |\n| 1    | 2.25 |\n+------+------+\n");
  CHECK(steps_of(box) == steps{0, 1});
  CHECK(box.steps[1].scalars.loss == 2.25);
  const contents pandas =
      place.open("c.txt", "    step  loss  loss_scale\n0     10   2.5        65536\n1     20  2.25        65536\n");
  CHECK(pandas.steps.front().scalars.loss == 2.5);
  CHECK(pandas.steps.back().key.step == 20);
  CHECK(pandas.steps.back().scalars.loss == 2.25);
}

TEST_CASE("table: what stands above the names of the columns") {
  const playground place;
  const contents excel =
      place.open("a.csv", "\xEF\xBB\xBFsep=;\r\nstep;loss;loss_scale\r\n0;2,5;65536\r\n1;2,25;65536\r\n");
  CHECK(excel.steps[1].scalars.loss == 2.25);
  const contents comments = place.open("a.csv", "# run 12, fp16\n# lr 1e-4\nstep,loss,loss_scale\n0,2.5,4\n1,2.25,2\n");
  CHECK(skipped_in(comments) == steps{1});
  CHECK(place.error("a.csv", "# run 12\nstep,loss,loss\n0,1,1\n").find("line 2: the column 'loss' appears twice") !=
        std::string::npos);
  CHECK(place.error("a.csv", "sep=;\n").find("is neither a table") != std::string::npos);
  // A log is read from its first line on.
  const contents log = place.open("a.log", "# step 7 loss 2.5 grad_norm 1\n# step 8 loss 2.5 grad_norm 1\n");
  CHECK(steps_of(log) == steps{7, 8});
}

TEST_CASE("table: resumed, descending and restarting steps") {
  const playground place;
  const contents resumed = place.open("a.csv", "step,loss\n0,5\n1,4\n2,3\nstep,loss\n1,4\n2,nan\n3,nan\n");
  CHECK(steps_of(resumed) == steps{0, 1, 2, 3});
  CHECK(nonfinite_in(resumed) == steps{2, 3});
  CHECK(has_note(resumed, "goes back to an earlier step"));
  const contents descending = place.open("a.csv", "step,loss\n2,3\n1,4\n0,5\n");
  CHECK(steps_of(descending) == steps{0, 1, 2});
  CHECK(descending.steps[0].scalars.loss == 5);
  const contents batches = place.open("a.csv", "epoch,batch,loss\n0,0,5\n0,1,4\n1,0,3\n1,1,2\n");
  CHECK(steps_of(batches) == steps{0, 1, 2, 3});
}

TEST_CASE("table: NaN that stands for nothing") {
  const playground place;
  const contents read =
      place.open("a.csv", "step,train_loss,val_loss\n0,5,nan\n1,4,nan\n1,nan,4.5\n2,3,nan\n3,2,nan\n3,nan,4.2\n");
  CHECK(nonfinite_in(read).empty());
  CHECK(has_note(read, "NaN stands for nothing in"));
}

TEST_CASE("table: JSON in its shapes") {
  const playground place;
  const auto check = [&](const std::string& name, const std::string& text, const std::string& form) {
    INFO(text);
    const contents read = place.open(name, text);
    CHECK(read.description == "table of a run (" + form + ")");
    CHECK(steps_of(read) == steps{0, 1, 2});
    CHECK(nonfinite_in(read) == steps{2});
  };
  check("a.json", R"([{"step":0,"loss":3},{"step":1,"loss":2},{"step":2,"loss":NaN}])", "JSON");
  check("a.json", R"({"config":{"lr":1},"history":[{"step":0,"loss":3},{"step":1,"loss":2},{"step":2,"loss":NaN}]})",
        "JSON");
  check("a.json", R"({"step":{"0":0,"1":1,"2":2},"loss":{"0":3,"1":2,"2":NaN}})", "JSON");
  check("a.json", R"({"step":[0,1,2],"loss":[3,2,NaN]})", "JSON");
  check("a.json", R"({"columns":["step","loss"],"index":[0,1,2],"data":[[0,3],[1,2],[2,NaN]]})", "JSON");
  check("a.json", R"({"train.loss":{"steps":[0,1,2],"values":[3,2,NaN]}})", "JSON");
  check("run-a-tag-Loss_train.json", "[[1.5,0,3],[2.5,1,2],[3.5,2,NaN]]", "JSON");
  check(
      "a.jsonl",
      "{\"_step\":0,\"train\":{\"loss\":3}}\n\n{\"_step\":1,\"train\":{\"loss\":2}}\n{\"_step\":2,\"train\":{\"loss\":\"NaN\"}}\n",
      "JSON lines");
  check("a.json",
        "{\n \"log_history\": [{\"step\":0,\"loss\":3},\n{\"step\":1,\"loss\":2},{\"step\":2,\"loss\":NaN}]}\n",
        "JSON, Hugging Face Trainer");
}

TEST_CASE("table: one metric in a file") {
  const playground place;
  CHECK(nonfinite_in(place.open("run-a-tag-train_loss.csv", "Wall time,Step,Value\n1.5,0,3\n2.5,100,nan\n")) ==
        steps{100});
  CHECK(nonfinite_in(place.open("metrics/loss", "1700000000000 3.5 0\n1700000001000 nan 7\n")) == steps{7});
  CHECK(place.error("a.csv", "Wall time,Step,Value\n1.5,0,3\n").find("say which with --columns") != std::string::npos);
  const contents long_rows = place.open(
      "a.csv", "run_id,key,value,step\nr,loss,3,0\nr,loss,2,1\nr,grad_norm,1,0\nr,grad_norm,inf,1\ns,loss,nan,0\n");
  CHECK(steps_of(long_rows) == steps{0, 1});
  CHECK(nonfinite_in(long_rows) == steps{1});
  CHECK(has_note(long_rows, "1 row of other runs than 'r'"));
}

TEST_CASE("table: several files of one run") {
  const playground place;
  place.write("metrics/train/loss", "1700000000000 3.5 0\n1700000001000 3.25 1\n1700000002000 3 2\n");
  place.write("metrics/loss_scale", "1700000000000 1024 0\n1700000001000 1024 1\n1700000002000 512 2\n");
  place.write("metrics/grad_norm", "1700000000000 1 0\n1700000001000 inf 1\n1700000002000 1 2\n");
  const contents read =
      place.open(std::vector<std::string>{"metrics/train/loss", "metrics/loss_scale", "metrics/grad_norm"});
  CHECK(steps_of(read) == steps{0, 1, 2});
  CHECK(skipped_in(read) == steps{1});
  CHECK(read.steps[1].scalars.loss == 3.25);
  CHECK(read.steps[1].scalars.loss_scale == 1024);
  place.write("a.log", "no table\n");
  CHECK(
      place.error(std::vector<std::string>{"metrics/grad_norm", "a.log"}).starts_with("a.log: is no table of a run;"));
}

TEST_CASE("table: columns that the user names") {
  const playground place;
  source_options options;
  options.columns = parse_columns("step=my steps,loss=a, b");
  const contents read = place.open("a.csv", "my steps,\"a, b\",loss\n0,3,9\n1,nan,9\n", options);
  CHECK(nonfinite_in(read) == steps{1});
  CHECK(read.notes.front() == "columns: step from 'my steps', loss from 'a, b'; not used: 'loss'");
  options.columns = parse_columns("loss=x");
  CHECK(place.error("a.csv", "step,loss\n0,1\n", options) ==
        "a.csv: has no column 'x', which --columns names; its columns are 'step', 'loss'");
  CHECK(place.error("a.log", "no table\n", options).find("a.log: ") == 0);
  CHECK_THROWS_WITH(parse_columns("los=x"), Contains("is not MEANING=NAME"));
}

TEST_CASE("table: each way it can be wrong") {
  const playground place;
  CHECK(place.error("a.csv", "step,loss\n") == "a.csv: holds no rows below its header");
  CHECK(place.error("a.csv", "step,loss\n0,1\n1,oops\n")
            .starts_with("a.csv: line 3, column 'loss': 'oops' is not a number"));
  CHECK(place.error("a.csv", "step,loss\n0,\"2,345\"\n").find("may be a thousand and more") != std::string::npos);
  CHECK(place.error("a.csv", "step,loss,lr\n0,1\n1,1,1\n") == "a.csv: line 2: has 2 fields, but the header names 3");
  CHECK(place.error("a.csv", "step,loss,loss\n0,1,1\n") == "a.csv: line 1: the column 'loss' appears twice");
  CHECK(has_note(place.open("a.csv", "step,loss,lr\n0,1,1\n1,1"), "the last row was cut short"));
  const contents cut = place.open("a.csv", "step,loss,grad_norm\n0,2,1.75\n1,2,1.5");
  CHECK(has_note(
      cut,
      "the last row has no line break and may be cut, as its last field is shorter than the one above: '1.5'; left out"));
  CHECK(cut.steps.size() == 1);
  for (const char* const whole :
       {"step,loss,grad_norm\n0,2,1.75\n1,2,1.25", "step,loss,grad_norm\n0,2,1.75\n1,2,1.5\n"})
    CHECK(place.open("a.csv", whole).steps.size() == 2);
  CHECK(place.error("a.json", "{\"step\": [0, 1], \"loss\": [1, }").starts_with("a.json: line 1: is not JSON"));
  CHECK(place.error("a.json", "{\"fp16\": {\"loss_scale\": 0, \"loss_scale_window\": 1000}}").find("has no rows") !=
        std::string::npos);
  std::string epochs = "epoch,step,loss\n";
  for (int e = 0; e < 1500; ++e) epochs += std::to_string(e) + ",0,1\n" + std::to_string(e) + ",9007199254740992,1\n";
  CHECK(place.error("a.csv", epochs) == "a.csv: counts more steps over its epochs than can be numbered");
  const std::string deep(100, '[');
  CHECK(place.error("a.json", "[" + deep).find("nested more than 32 deep") != std::string::npos);
}

TEST_CASE("table: NaN between finite losses, again and again, was not logged") {
  const playground place;
  std::string text = "step,loss,grad_norm\n";
  for (int i = 0; i < 12; ++i) text += std::to_string(i) + (i % 3 == 0 ? ",2.5,1.1\n" : ",nan,nan\n");
  const contents read = place.open("a.csv", text);
  CHECK(nonfinite_in(read).empty());
  CHECK(has_note(read, "was not logged in 8 rows"));

  // More of them than ever before at the end, or a norm that is infinite, are no missing values.
  CHECK_FALSE(nonfinite_in(place.open("b.csv", text + "12,2.5,1\n13,nan,nan\n14,nan,nan\n15,nan,nan\n")).empty());
  CHECK_FALSE(nonfinite_in(place.open("c.csv", text + "12,2.5,inf\n")).empty());
}

TEST_CASE("table: a counter that stays at 1 counts one skipped step") {
  const playground place;
  const contents read =
      place.open("a.csv", "step,loss,grad_norm,skipped_steps\n0,2,1,0\n1,2,1,0\n2,2,1,1\n3,2,1,1\n4,2,1,1\n5,2,1,1\n");
  CHECK(skipped_in(read) == steps{2});
}

TEST_CASE("table: the weight of a part of the loss is not the loss scale") {
  const playground place;
  for (const std::string name : {"kl_loss_scale", "aux_loss_scale", "z_loss_scale"}) {
    INFO(name);
    const contents read =
        place.open("a.csv", "step,loss,grad_norm," + name + "\n0,2,1,1\n1,2,1,1\n2,2,1,0.5\n3,2,1,0.5\n");
    CHECK(skipped_in(read).empty());
    CHECK(std::isnan(read.steps[0].scalars.loss_scale));
  }
  // An amplitude, say: each step has a row, and all norms are finite.
  const contents finite = place.open("b.csv", "step,loss,grad_norm,scale\n0,2,1,64\n1,2,1,64\n2,2,1,16\n3,2,1,16\n");
  CHECK(skipped_in(finite).empty());
  CHECK(has_note(finite, "which of them is right is not known, and the scale is not used"));
  for (const auto& step : finite.steps) CHECK_FALSE(step.scalars.found_inf.has_value());
  const contents small = place.open("c.csv", "step,loss,scale\n0,2,1\n1,2,1\n2,2,0.5\n3,2,0.5\n");
  CHECK(skipped_in(small).empty());
}

TEST_CASE("table: a loss of validation says nothing of the training's steps") {
  const playground place;
  const contents beside = place.open("a.csv", "step,grad_norm,val_loss\n0,1,2\n1,1,nan\n2,1,nan\n3,1,2\n");
  CHECK(nonfinite_in(beside).empty());
  CHECK(has_note(beside, "not used beside the norm"));
  const contents alone = place.open("b.csv", "epoch,acc,val_loss\n0,1,2\n1,1,nan\n2,1,nan\n");
  CHECK(nonfinite_in(alone).empty());
  CHECK(has_note(alone, "not finite in 2 rows"));
}

TEST_CASE("table: what is not used and holds a loss that is not finite is told") {
  const playground place;
  const auto lost = [&](const std::string& header, const std::function<std::string(int)>& fields) {
    std::string text = "step,loss," + header + "\n";
    for (int i = 0; i < 60; ++i) text += std::to_string(i) + ",2.5," + fields(i) + "\n";
    return open_source({place.write("lost.csv", text)})->lost_elsewhere();
  };
  const auto nan_from_40 = [](int i) { return std::string{i < 40 ? "0.1" : "nan"}; };
  const std::vector<std::string> told{
      "the column 'moe_loss', which is not used, is not finite in 20 rows from line 42 on"};
  CHECK(lost("moe_loss", nan_from_40) == told);
  CHECK(lost("moe_loss", [](int) { return "0.1"; }).empty());
  CHECK(lost("memory", nan_from_40).empty());
  // Every fifth field stands for one that is empty.
  CHECK(lost("moe_loss", [](int i) { return i % 5 == 1 ? "nan" : "0.1"; }).empty());
  // What is used tells of it itself.
  CHECK(lost("moe_loss,grad_norm", [&](int i) { return nan_from_40(i) + "," + nan_from_40(i); }).empty());

  std::string ranks = "step,rank,loss\n";
  for (int i = 0; i < 60; ++i)
    ranks += std::to_string(i) + ",0,2.5\n" + std::to_string(i) + ",1," + (i < 40 ? "2.5" : "nan") + "\n";
  CHECK(open_source({place.write("ranks.csv", ranks)})->lost_elsewhere() ==
        std::vector<std::string>{"the loss or the norm of other ranks, which are not used, is not finite in 20 rows"});
}

TEST_CASE("table: words of an overflow in a column that is not read are told, and the column is named") {
  const playground place;
  const auto table = [&](const std::string& name, const std::function<std::string(int)>& said) {
    std::string rows = "step,loss,grad_norm," + name + "\n";
    for (int i = 0; i < 20; ++i) rows += std::to_string(i) + ",2.5,1.5," + said(i) + "\n";
    return place.open("a.csv", rows);
  };
  const auto in_row = [](int row, const std::string& text, const std::string& others) {
    return [=](int i) { return i == row ? text : others; };
  };
  for (const std::string text :
       {"overflow", "skipped", "inf", "NaN found", "grad_overflow", "Infinite gradient", "nan", "step skipped",
        "skip: non-finite grads", "loss scale reduced to 1024", "found_inf=1", "has_inf=1"})
    for (const std::string others : {"", "ok"})
      for (const std::string name : {"note", "status", "event", "skip_reason"}) {
        CAPTURE(text, others, name);
        const contents read = table(name, in_row(10, text, others));
        CHECK(has_note(read, "line 12 says that something was not finite, or skipped, '" + text + "' in the column '" +
                                 name + "', and no step that is read tells of it"));
        CHECK(has_note(read, "not used: '" + name + "'"));
      }
  CHECK(has_note(table("note", [](int i) { return i % 5 == 0 ? "overflow" : "-"; }), "; so do 3 more"));
  for (const std::string text :
       {"no overflow", "0 overflows", "checkpoint saved", "skipped evaluation", "lr decayed", "overflow: False",
        "skipped 3 samples", "0 steps skipped", "overflow avoided", "NaN count 0", "clip inf", "inf-norm 2.1",
        "skip if nan", "skip eval", "bad shard skipped", "overflow rate 0.0", "resumed after NaN fix"}) {
    CAPTURE(text);
    const contents read = table("note", in_row(10, text, "ok"));
    CHECK_FALSE(has_note(read, "says that something"));
    CHECK(has_note(read, "not used: 'note'"));
  }
  // Settings and names are the same in each row, fields without a value may be NaN, and other columns may be infinite.
  CHECK_FALSE(has_note(table("on_overflow", [](int) { return "skip"; }), "says that something"));
  CHECK_FALSE(has_note(table("run_name", [](int) { return "fp16-overflow-test"; }), "says that something"));
  CHECK_FALSE(has_note(table("note", in_row(10, "saved", "nan")), "says that something"));
  CHECK_FALSE(has_note(table("perplexity", in_row(10, "inf", "12.5")), "says that something"));
  CHECK_FALSE(has_note(table("time", in_row(10, "12:30:01", "12:30:00")), "not used"));
  // The step itself tells of it, or the row is none of the training.
  const std::string told = "step,loss,note\n1,2.5,\n2,nan,loss is NaN\n3,2.5,\n4,2.5,\n";
  CHECK_FALSE(has_note(place.open("b.csv", told), "says that something"));
  const std::string others = "step,split,loss,note\n1,train,2.5,\n1,val,2.5,overflow\n2,train,2.5,\n3,train,2.5,\n";
  CHECK_FALSE(has_note(place.open("c.csv", others), "says that something"));
  CHECK(has_note(place.open("d.jsonl",
                            "{\"step\":1,\"loss\":2.5}\n{\"step\":2,\"loss\":2.5,\"status\":\"overflow\"}\n"
                            "{\"step\":3,\"loss\":2.5}\n"),
                 "'overflow' in the column 'status'"));
  CHECK(has_note(place.open("e.txt", "step loss note\n1 2.5 ok\n2 2.4 overflow\n3 2.4 ok\n4 2.4 ok\n"),
                 "'overflow' in the column 'note'"));
  CHECK(has_note(place.open("f.txt", "step loss note\n1 2.5\n2 2.4 NaN found here\n3 2.4\n4 2.4\n"),
                 "line 3 says that something was not finite, or skipped, 'NaN found here' in the column 'note'"));
}

TEST_CASE("table: seeds are runs of their own") {
  const playground place;
  const contents read = place.open("a.csv", "seed,step,loss\n0,0,2\n0,1,2\n1,0,nan\n1,1,nan\n");
  CHECK(nonfinite_in(read).empty());
  CHECK(has_note(read, "other runs than '0'"));
}

TEST_CASE("table: lines of logs in brackets are no JSON") {
  const playground place;
  const contents read = place.open("a.log", "[1,  2000] loss: 2.2\nstep 1 loss 2.5\nstep 2 loss nan\n");
  CHECK(read.steps.size() == 2);
}

TEST_CASE("table: logarithms are no scales, unless the name says so") {
  const playground place;
  const contents logarithms = place.open("a.csv", "step,loss,loss_scale\n0,4,16\n1,4,16\n2,4,15\n3,4,15\n");
  CHECK(skipped_in(logarithms).empty());
  CHECK(has_note(logarithms, "holds no loss scales, but perhaps their logarithms"));
  CHECK(logarithms.unread > 0);

  const contents natural = place.open("b.csv", "step,loss,log_loss_scale\n0,4,11.0904\n1,4,11.0904\n2,4,10.3972\n");
  CHECK(skipped_in(natural).empty());
  CHECK(natural.unread > 0);

  for (const std::string name : {"lg_loss_scale", "log2_scale", "loss_scale_log2"}) {
    INFO(name);
    const std::string text = "step,grad_norm," + name + "\n0,1,16\n1,1,16.001\n2,inf,16.002\n3,1,15.002\n4,1,15.003\n";
    const contents named = place.open("c.csv", text);
    CHECK(skipped_in(named) == steps{2});
    CHECK(named.unread == 0);
    source_options told;
    told.columns = parse_columns("scale=" + name);
    CHECK(skipped_in(place.open("c.csv", text, told)) == steps{2});
  }

  // Scales that are small from the first on, and one that is no power of two.
  CHECK(skipped_in(place.open("d.csv", "step,grad_norm,loss_scale\n0,1,8\n1,inf,8\n2,1,4\n3,1,4\n")) == steps{1});
  CHECK(skipped_in(place.open("e.csv", "step,grad_norm,loss_scale\n0,1,1000\n1,inf,1000\n2,1,500\n3,1,500\n")) ==
        steps{1});
}

TEST_CASE("table: a scale with few digits is the power of two that it stands for") {
  const playground place;
  for (const std::string name : {"loss_scale", "scale"}) {
    INFO(name);
    const contents six = place.open(
        "a.csv", "step,grad_norm," + name + "\n0,1,2.09715e+06\n1,inf,2.09715e+06\n2,1,1.04858e+06\n3,1,524288\n");
    CHECK(six.steps[0].scalars.loss_scale == 2097152);
    CHECK(six.steps[3].scalars.loss_scale == 524288);
    const contents three =
        place.open("b.csv", "step,grad_norm," + name + "\n0,1,2.10e+06\n1,inf,2.10e+06\n2,1,1.05e+06\n");
    CHECK(skipped_in(three) == steps{1});
    CHECK(three.steps[2].scalars.loss_scale == 1048576);
  }
}

TEST_CASE("table: of several runs whose steps repeat the first is read, told apart by a column of words or numbers") {
  const playground place;
  const auto table = [](const std::string& name, const std::string& a, const std::string& b) {
    std::string text = name + ",step,grad_norm,loss_scale\n";
    for (int i = 0; i < 4; ++i) {
      const std::string number = std::to_string(i);
      text += a + "," + number + (i == 1 ? ",inf" : ",1") + (i < 2 ? ",65536\n" : ",32768\n");
      text += b + "," + number + ",1,65536\n";
    }
    return text;
  };
  for (const std::string name : {"exp", "name", "id", "experiment_name", "anything"}) {
    INFO(name);
    const contents read = place.open("a.csv", table(name, "a", "b"));
    CHECK(steps_of(read) == steps{0, 1, 2, 3});
    CHECK(skipped_in(read) == steps{1});
    CHECK(has_note(read, "the column '" + name + "' parts them into 2 runs, of which only 'a' is read: 4 rows"));
    CHECK(read.unread == 4);
  }
  CHECK(place.open("b.csv", table("id", "7", "8")).unread == 4);
  // A run that goes on from an earlier step with another job is one.
  const contents resumed = place.open("c.csv", "job,step,grad_norm\n1,0,1\n1,1,1\n1,2,1\n2,1,1\n2,2,1\n2,3,1\n");
  CHECK(steps_of(resumed).back() == 3);
  CHECK(resumed.unread == 0);
  // Without such a column nothing is certain.
  CHECK(place.open("d.csv", "step,grad_norm\n0,1\n0,2\n1,inf\n1,2\n2,1\n2,2\n").unread > 0);
  CHECK(place.open("e.csv", "step,grad_norm\n0,1\n0,1\n1,inf\n1,inf\n2,1\n2,1\n").unread == 0);
}

TEST_CASE("table: a scale that stands still where every step overflows never moved") {
  const playground place;
  for (const std::string norm : {"nan", "inf"}) {
    std::string text = "step,loss,grad_norm,loss_scale\n";
    for (int i = 0; i < 10; ++i) text += std::to_string(i) + ",4.0," + norm + ",65536\n";
    const contents read = place.open("a.csv", text);
    REQUIRE(read.steps.size() == 10);
    for (const step& s : read.steps) CHECK(s.scalars.loss_scale == 65536);
  }
}

TEST_CASE("table: a fall behind a row that overflowed itself does not count twice where the scale's place is open") {
  const playground place;
  const contents once =
      place.open("a.csv", "step,grad_norm,loss_scale\n0,1,65536\n5,1,65536\n10,inf,131072\n15,1,65536\n20,1,65536\n");
  CHECK(nonfinite_in(once) == steps{10});
  CHECK(skipped_in(once).empty());
  const contents twice =
      place.open("b.log",
                 "step 0 loss 3.9 scale 65536.0 found_inf False\nstep 10 loss 4.0 scale 131072.0 found_inf True\n"
                 "step 20 loss 4.0 scale 32768.0 found_inf False\n");
  CHECK(nonfinite_in(twice).size() == 2);
}

TEST_CASE("table: rows that all say that they overflowed leave none open as the scale falls") {
  const playground place;
  const contents read = place.open("a.csv",
                                   "step,loss,grad_norm,loss_scale\n0,3,1,65536\n1,3,1,65536\n2,3,1,65536\n"
                                   "3,3,inf,65536\n4,3,inf,32768\n5,3,inf,16384\n6,3,inf,8192\n");
  CHECK(nonfinite_in(read) == steps{3, 4, 5, 6});
}

TEST_CASE("table: falls beside finite norms, and others beside infinite ones, leave the scale open") {
  const playground place;
  const contents read =
      place.open("a.csv",
                 "step,grad_norm,loss_scale\n0,1,65536\n1,inf,65536\n2,1,65536\n3,1,32768\n4,inf,32768\n"
                 "5,1,32768\n6,inf,16384\n7,1,16384\n8,1,8192\n");
  CHECK(nonfinite_in(read) == steps{1, 4, 6});
  CHECK(has_note(read, "the scale is not used"));
}

TEST_CASE("table: LLaMA-Factory's loss of 0 to the end stands for one that is not finite") {
  const playground place;
  std::string text;
  for (int i = 1; i <= 20; ++i)
    text += R"({"current_steps": )" + std::to_string(i) + R"(, "total_steps": 100, "loss": )" +
            (i < 10 ? "1.9" : "0.0") + R"(, "lr": 5e-05, "epoch": 0.1, "percentage": 1.0})" + "\n";
  const contents read = place.open("trainer_log.jsonl", text);
  CHECK(nonfinite_in(read).size() == 11);
  std::string notebook = "Step\tTraining Loss\tValidation Loss\n";
  for (int i = 1; i <= 20; ++i)
    notebook += std::to_string(100 * i) + (i < 10 ? "\t1.900000\t2.1\n" : "\t0.000000\tnan\n");
  CHECK(nonfinite_in(place.open("notebook.txt", notebook)).size() == 11);
}

TEST_CASE("table: what is finite says the opposite of found_inf") {
  const playground place;
  for (const std::string name : {"is_fin", "is_finite", "all_finite", "grads_finite"}) {
    INFO(name);
    CHECK(skipped_in(place.open("a.csv", "step,loss," + name + "\n0,4,1\n1,4,0\n2,4,1\n")) == steps{1});
    CHECK(skipped_in(place.open("b.csv", "step,loss," + name + "\n0,4,True\n1,4,False\n2,4,True\n")) == steps{1});
  }
}

TEST_CASE("table: a norm of -1 is DeepSpeed's for one that is not finite") {
  const playground place;
  const contents read = place.open(
      "a.csv", "step,loss,grad_norm,loss_scale\n0,2,1,65536\n1,2,-1.0,32768\n2,2,1,32768\n3,2,-3,32768\n4,2,1,32768\n");
  CHECK(skipped_in(read) == steps{1});
  CHECK(nonfinite_in(read) == steps{1});
  CHECK(has_note(read, "a gradient norm is negative in 2 rows"));
  const contents without_scale = place.open("b.csv", "step,loss,grad_norm\n0,2,1\n1,2,-3\n2,2,1\n");
  CHECK(nonfinite_in(without_scale).empty());
  CHECK_FALSE(without_scale.steps[1].scalars.found_inf);
}

TEST_CASE("table: what the first row counts as skipped is of the steps up to it, if the rows begin with the run") {
  const playground place;
  const auto table = [&](const std::string& name, int first, int apart, int at_first) {
    std::string text = "step,loss," + name + "\n";
    for (int i = 0; i < 40; ++i)
      text += std::to_string(first + apart * i) + ",2.5," + std::to_string(at_first + (i >= 20 ? 1 : 0)) + "\n";
    return place.open("a.csv", text);
  };
  for (const std::string name :
       {"total_skipped", "skipped_total", "skipped_steps", "cumulative_skipped_steps", "overflow_total"}) {
    INFO(name);
    CHECK(skipped_in(table(name, 1, 1, 1)) == steps{1, 21});
    CHECK(skipped_in(table(name, 0, 1, 1)) == steps{0, 20});
  }
  // Two of them until step 1: one is step 0.
  CHECK(skipped_in(table("skipped_total", 1, 1, 2)) == steps{0, 1, 21});
  // Of a hundred steps that lie before the first row it does not tell which.
  const contents apart = table("total_skipped", 100, 100, 2);
  CHECK(skipped_in(apart).size() == 3);
  CHECK(apart.steps.size() == 4000);
  // A table that begins later, or numbers that cannot be of its steps.
  for (const contents& read : {table("total_skipped", 500, 1, 7), table("total_skipped", 1, 1, 7)}) {
    CHECK(skipped_in(read).size() == 1);
    CHECK(has_note(read, "the first row counts 7 skipped steps, which are of none of the steps that the table has"));
  }
}

TEST_CASE("table: a loss by what it measures is the loss where there is no other") {
  const playground place;
  const auto table = [&](const std::string& names, const std::string& values, const std::string& values_behind) {
    std::string text = "step,grad_norm," + names + "\n";
    for (int i = 0; i < 40; ++i) text += std::to_string(i) + ",0.5," + (i < 30 ? values : values_behind) + "\n";
    return place.open("a.csv", text);
  };
  for (const std::string name : {"nll", "ce", "xent", "train_bpb", "bits_per_byte", "mse", "neg_elbo"}) {
    INFO(name);
    CHECK(std::ranges::count_if(table(name, "2.5", "-inf").steps,
                                [](const step& s) { return std::isinf(s.scalars.loss); }) == 10);
    // A loss, or parts of one, come before.
    CHECK(has_note(table(name + ",loss", "2.5,3.5", "2.5,3.5"), "loss from 'loss'"));
    CHECK(has_note(table(name + ",box_loss", "2.5,3.5", "2.5,3.5"), "loss from 'box_loss'"));
    // And what it holds is told.
    const std::string text = "step,loss," + name + "\n0,2,2\n1,2,2\n2,2,nan\n3,2,nan\n";
    CHECK(has_note(place.open("b.csv", text), "not used: '" + name + "'"));
    CHECK(open_source({place.write("b.csv", text)})->lost_elsewhere() ==
          std::vector<std::string>{"the column '" + name +
                                   "', which is not used, is not finite in 2 rows from line 4 on"});
  }
  for (const std::string name : {"perplexity", "accuracy", "teacher_mse"}) {
    INFO(name);
    CHECK(nonfinite_in(table(name, "2.5", "inf")).empty());
  }
  // A lower bound rises where a loss falls.
  CHECK(has_note(table("elbo", "170", "-1600"), "loss from 'elbo'"));
  CHECK(has_note(table("elbo", "-170", "-90"), "rises, as what is maximised does: it is not used as a loss"));
}

TEST_CASE("table: names in other languages, and names that only the user knows") {
  const playground place;
  const auto text = [](const std::string& names) {
    return names + "\n0;4,5;65536,0;0\n1;4,25;65536,0;1\n2;4,25;32768,0;0\n3;4;32768,0;0\n";
  };
  for (const std::string names :
       {"Schritt;Verlust;Verlustskalierung;\u00DCbersprungen", "paso;p\u00E9rdida;loss_scale;overflow",
        "\u00E9tape;perte;loss_scale;overflow", "\u6B65;\u635F\u5931;loss_scale;overflow"}) {
    INFO(names);
    const contents read = place.open("a.csv", text(names));
    CHECK(skipped_in(read) == steps{1});
    CHECK(read.steps[1].scalars.loss == 4.25);
    CHECK(read.steps[2].scalars.loss_scale == 32768);
  }
  const std::string unknown = "krok;strata;skala;nad";
  CHECK(
      place.error("a.csv", text(unknown)) ==
      "a.csv: line 1: names columns of a table that are not known as those of a run: 'krok', 'strata', 'skala', 'nad'; "
      "say which they are with --columns, such as step=NAME,loss=NAME");
  CHECK(place.error("a.csv", "krok,strata\n0,4.5\n1,4.25\n").ends_with("; they are 'krok', 'strata'"));
  source_options told;
  told.columns = parse_columns("step=krok,loss=strata,scale=skala,found_inf=nad");
  const contents read = place.open("a.csv", text(unknown), told);
  CHECK(skipped_in(read) == steps{1});
  CHECK(read.steps[1].scalars.loss == 4.25);
  told.columns = parse_columns("step=krok,loss=x");
  CHECK(place.error("a.csv", text(unknown), told).find("has no column 'x', which --columns names") !=
        std::string::npos);
  CHECK(
      place.error("a.csv", "loss\n4.5\n4.25\n") ==
      "a.csv: line 1: names one column, 'loss': a run needs the numbers of its steps and what is told of each, such as "
      "the loss, in columns of their own");
  // No table.
  CHECK(place.error("a.log", "one; two\nthree; four\nfive; six\n").find("is neither a table") != std::string::npos);
}

TEST_CASE("table: rows in no order are sorted, and those of a run that was resumed are not") {
  const playground place;
  const auto row = [](int step) {
    return std::to_string(step) + (step < 7 ? ",65536," : ",32768,") + (step == 6 ? "1" : "0") + "\n";
  };
  const auto table = [&](const std::vector<int>& order, const std::string& name = "scale") {
    std::string text = "iter," + name + ",overflow\n";
    for (const int step : order) text += row(step);
    return place.open("a.csv", text);
  };
  const auto is_sorted = [](const contents& read) { return has_note(read, "they are sorted"); };
  const contents shuffled = table({3, 9, 4, 1, 6, 0, 8, 2, 7, 5});
  CHECK(is_sorted(shuffled));
  CHECK(steps_of(shuffled) == steps{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(skipped_in(shuffled) == steps{6});
  CHECK(shuffled.steps[6].scalars.loss_scale == 65536);
  // As text is sorted.
  const contents as_text = table({0, 1, 10, 11, 12, 13, 14, 2, 20, 21, 22, 3, 30, 31, 32, 4, 5, 6, 7, 8, 9});
  CHECK(is_sorted(as_text));
  CHECK(skipped_in(as_text) == steps{6});

  // One that goes back, even again and again, where steps come twice, or epochs count them.
  const contents resumed = table({0, 10, 20, 30, 40, 15, 25, 35, 45, 55});
  CHECK_FALSE(is_sorted(resumed));
  CHECK(has_note(resumed, "goes back to an earlier step"));
  CHECK_FALSE(is_sorted(table({0, 1, 2, 3, 2, 3, 4, 3, 4, 5, 4, 5, 6, 5, 6, 7})));
  const contents batches =
      place.open("b.csv", "epoch,step,loss\n0,0,5\n0,50,4\n1,30,3\n1,80,2\n2,10,2\n2,60,2\n3,40,2\n4,20,2\n4,70,1\n");
  CHECK_FALSE(is_sorted(batches));
  CHECK(has_note(batches, "the steps begin again in each epoch"));
}

TEST_CASE("table: words in a column go with their row where rows are sorted") {
  const playground place;
  std::string text = "step,loss,note\n";
  for (const int step : {3, 9, 4, 1, 6, 0, 8, 2, 7, 5})
    text += std::to_string(step) + (step == 1 ? ",nan,overflow\n" : ",2.5,\n");
  const contents read = place.open("a.csv", text);
  CHECK(has_note(read, "they are sorted"));
  CHECK_FALSE(has_note(read, "says that something"));
}

TEST_CASE("table: where the steps of several tables begin again, the one is named in which they do") {
  const playground place;
  const std::string first = "step,loss,grad_norm\n1,2,1\n2,2,1\n3,2,1\n";
  place.write("a.csv", first);
  place.write("b.csv", first);
  CHECK(place.error({"a.csv", "b.csv"}).find("b.csv: line 2: the step numbers begin again") != std::string::npos);
}

TEST_CASE("table: empty lines may stand above it") {
  const playground place;
  const std::string csv = "step,loss\n1,2.5\n2,nan\n3,2.5\n";
  const std::string lines = "{\"step\":1,\"loss\":2.5}\n{\"step\":2,\"loss\":NaN}\n{\"step\":3,\"loss\":2.5}\n";
  for (const std::string above : {"", "\n", " \r\n\n"}) {
    CAPTURE(above);
    for (const std::string& text : {csv, lines, "[" + lines.substr(0, 21) + "," + lines.substr(22, 21) + "]"}) {
      const contents read = place.open("a.txt", above + text);
      CHECK(read.description.find("table of a run") != std::string::npos);
      CHECK(nonfinite_in(read) == steps{2});
    }
  }
  CHECK(place.error("b.csv", "\n\nstep,loss\n1,2.5\n2,x\n").find("line 5") != std::string::npos);
  CHECK(place.error("c.txt", "\n \n").find("is empty") != std::string::npos);
  CHECK(has_note(place.open("d.jsonl",
                            "{\"step\":1,\"loss\":2.5}\n{\"step\":2,\"loss\":2.5,\"notes\":[\"grad overflow\","
                            "\"step skipped\"]}\n{\"step\":3,\"loss\":2.5}\n"),
                 "in the column 'notes'"));
}
