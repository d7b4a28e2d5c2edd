// Pins ulp precision weights to counts of exact rational arithmetic (Python's Fraction over the same file), and recordings of
// joint tables to the dumps that they are of.
#include "support/catch.hpp"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/builders.hpp"
#include "support/files.hpp"
#include "support/program.hpp"

using namespace ulp::test;
using nlohmann::json;

namespace {

const std::string dump = "examples/weights.step00100.safetensors";

json rows(const std::string& arguments) {
  const auto run = run_ulp("precision weights " + arguments + " --json");
  CAPTURE(arguments, run.err);
  REQUIRE(run.exit_code == 0);
  return json::parse(run.out);
}

std::string error_of(const std::string& arguments) {
  const auto run = run_ulp("precision weights " + arguments);
  CAPTURE(arguments, run.out);
  CHECK(run.exit_code == 2);
  return run.err;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("updates that are lost, by exact rational arithmetic") {
  const std::map<std::string, std::map<std::string, int>> lost{
      {"bf16", {{"bn1.weight", 16}, {"bn2.weight", 32}, {"conv1.weight", 94}, {"fc2.bias", 6}, {"fc2.weight", 385}}},
      {"fp16", {{"bn1.weight", 13}, {"bn2.weight", 30}, {"conv1.weight", 24}, {"fc2.bias", 4}, {"fc2.weight", 284}}},
      {"cb16", {{"bn1.weight", 15}, {"bn2.weight", 32}, {"conv1.weight", 38}, {"fc2.bias", 4}, {"fc2.weight", 311}}}};
  const json all = rows(dump + " --lr 0.05 --format bf16,fp16,cb16");
  REQUIRE(all.size() == 15);
  for (const json& row : all) {
    CAPTURE(row.dump());
    CHECK(row.at("lost") == lost.at(row.at("format")).at(row.at("tensor")));
    CHECK(row.at("updates") == (row.at("tensor") == "fc2.weight" ? 488 : row.at("numel").get<int>()));
    CHECK(row.at("changed") == row.at("numel"));
    CHECK(row.at("origin") == "gradient");
    CHECK(row.at("step") == 100);
  }
}

TEST_CASE("a recording with joint tables says the same, to the count") {
  const temporary_dir folder;
  const std::string recording = (folder / "run.ulp").string();
  const auto made = run_ulp("record " + dump + " --joint --lr 0.05 --factor 1 -o " + recording);
  CAPTURE(made.err);
  REQUIRE(made.exit_code == 0);
  CHECK(run_ulp("check " + recording).exit_code == 0);
  for (const char* const rounding : {"", " --rounding stochastic:A,bits=8", " --rounding stochastic:C,bits=4"}) {
    const json of_dump = rows(dump + " --lr 0.05 --format bf16,fp16,cb16,e5m8" + rounding);
    const json of_recording = rows(recording + " --format bf16,fp16,cb16,e5m8" + rounding);
    REQUIRE(of_dump.size() == of_recording.size());
    for (std::size_t i = 0; i < of_dump.size(); ++i) {
      const json& exact = of_dump.at(i);
      const json* same = nullptr;
      for (const json& row : of_recording)
        if (row.at("tensor") == exact.at("tensor") && row.at("format") == exact.at("format")) same = &row;
      REQUIRE(same != nullptr);
      CAPTURE(exact.dump(), same->dump());
      CHECK(same->at("updates") == exact.at("updates"));
      CHECK(same->at("lost_at_one_low") <= exact.at("lost_at_one_low"));
      if (*rounding == '\0') CHECK(same->at("lost") == exact.at("lost"));
      CHECK(same->at("lost_low") <= exact.at("lost"));
      CHECK(exact.at("lost") <= same->at("lost_high"));
      if (*rounding == '\0') continue;
      CHECK(same->at("expected_lost_low").get<double>() <= exact.at("expected_lost_low").get<double>() + 1e-9);
      CHECK(exact.at("expected_lost_high").get<double>() <= same->at("expected_lost_high").get<double>() + 1e-9);
    }
  }
  // What older programs write of it stays: the digest is that of the recording without joint tables.
  const std::string plain = (folder / "plain.ulp").string();
  REQUIRE(run_ulp("record " + dump + " --factor 1 -o " + plain).exit_code == 0);
  CHECK(run_ulp("info --digest " + plain).out == run_ulp("info --digest " + recording).out);
  CHECK(contains(error_of(plain),
                 "holds no joint tables of weights and updates: record them (joint= of the Recorder, ulp "
                 "record --joint of dumps that hold both), or give the dumps"));
  // What was computed when it was recorded is not asked for again, and no row reports what was not used.
  for (const char* const option : {" --lr 100", " --lr 100 --curvature 4", " --factor 4", " --scalars lr.csv"})
    CHECK(contains(error_of(recording + " --format bf16" + option), "when it was recorded"));
  CHECK(contains(error_of(recording + " --rounding rz"), "joint tables tell of nearest-even and stochastic rounding"));
}

TEST_CASE("the mean under stochastic rounding with all bits is the sum of 1 - |update| / spacing") {
  const json nearest = rows(dump + " --lr 0.05 --format bf16 --by step");
  const json drawn = rows(dump + " --lr 0.05 --format bf16 --by step --rounding stochastic:A,bits=32");
  REQUIRE(drawn.size() == 1);
  // Unbiased: far fewer are lost for good, and not none on average.
  CHECK(drawn.at(0).at("lost").get<int>() < nearest.at(0).at("lost").get<int>() / 2);
  CHECK(drawn.at(0).at("expected_share_low").get<double>() > 0.1);
  CHECK(drawn.at(0).at("expected_share_low") == drawn.at(0).at("expected_share_high"));
}

TEST_CASE("the stall radius is spacing / (2 lr L)") {
  const json row = rows(dump + " --lr 0.05 --format bf16 --tensor bn1 --curvature 4").at(0);
  CHECK(row.at("stall_radius").get<double>() == row.at("spacing").get<double>() / 2 / 0.05 / 4);
  CHECK(row.at("learning_rate") == 0.05);
}

TEST_CASE("the configuration says what weights are kept in, and is not believed against the file") {
  const temporary_dir folder;
  const auto with = [&](const std::string& text) {
    write_file(folder / "c.yaml", text);
    const auto run = run_ulp("precision weights " + dump + " --lr 0.05 --config " + (folder / "c.yaml").string());
    CAPTURE(run.err);
    CHECK(run.exit_code == 0);
    return run.out;
  };
  // The weights are float32 numbers that bfloat16 does not hold.
  const std::string half = with("trainer:\n  precision: bf16-true\n");
  CHECK(contains(half,
                 "your configuration keeps weights in bfloat16 without a master copy, but these weights are not all"));
  CHECK(contains(half, "In bfloat16 they would lose"));
  const std::string mixed = with("trainer:\n  precision: bf16-mixed\n");
  CHECK(contains(mixed, "your configuration keeps float32 weights, or a master copy of them"));
  CHECK(!contains(mixed, "were lost"));
  CHECK(contains(with("optimizer_config:\n  zero_one_enabled: true\n"), "or a master copy"));
  CHECK(contains(with("optimizer_config:\n  zero_one_enabled: false\n"), "keeps weights in bfloat16 without"));
  // What it says is not said of another format that was asked for.
  const auto other =
      run_ulp("precision weights " + dump + " --lr 0.05 --format fp16 --config " + (folder / "c.yaml").string());
  CHECK(contains(other.out,
                 "your configuration keeps weights in bfloat16 without a master copy, which --format leaves out"));
}

TEST_CASE("layers and the step from which on they lose are named, where the file does not say otherwise") {
  const temporary_dir folder;
  // bfloat16 weights of 1 and their gradients: a step of 0.1 * 1/2 moves them, one of 0.1 * 2^-10 does not.
  const auto dump_of = [&](int step, float of_first) {
    const auto values = raw(std::vector<float>{of_first, of_first, 0.5F, 0.5F});
    const std::string path = (folder / ("step" + std::to_string(step) + ".safetensors")).string();
    write_file(path, safetensors(R"({"weight/a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},)"
                                 R"("weight/b":{"dtype":"BF16","shape":[2],"data_offsets":[4,8]},)"
                                 R"("wgrad/a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]},)"
                                 R"("wgrad/b":{"dtype":"F32","shape":[2],"data_offsets":[16,24]}})",
                                 "\x80\x3f\x80\x3f\x80\x3f\x80\x3f" + values));
    return path;
  };
  const std::string inputs = dump_of(0, 0.5F) + " " + dump_of(400, 0x1p-10F) + " " + dump_of(500, 0x1p-10F);
  write_file(folder / "lr.csv", "step,lr\n0,0.1\n400,0.1\n500,0.1\n");
  write_file(folder / "half.yaml", "trainer:\n  precision: bf16-true\n");
  write_file(folder / "mixed.yaml", "trainer:\n  precision: bf16-mixed\n");
  const std::string logged = " --scalars " + (folder / "lr.csv").string();
  const std::string half = " --config " + (folder / "half.yaml").string();
  const std::string recording = (folder / "run.ulp").string();
  REQUIRE(run_ulp("record " + inputs + logged + " --joint -o " + recording).exit_code == 0);
  for (const std::string& from : {inputs + logged, recording}) {
    const auto run = run_ulp("precision weights " + from + half);
    CAPTURE(run.out, run.err);
    CHECK(contains(run.out,
                   "your configuration keeps weights in bfloat16 without a master copy: 100 % of the updates of a (of "
                   "2 layers) from step 400 on were lost\n"));
    // The type says it without a configuration, and a configuration with a master copy says otherwise.
    const std::string lost = "100 % of the updates of a (of 2 layers) from step 400 on are lost";
    const auto said = run_ulp("advise " + from + half);
    CHECK(contains(said.out,
                   "What happened   " + lost + ": the Lightning configuration keeps weights in bfloat16 without"));
    CHECK(contains(said.out, "weights kept in bfloat16 without a master copy lose 100 % of the updates of a"));
    const auto open = run_ulp("advise " + from);
    const std::string where_none = "if the optimizer keeps no float32 copy of the bfloat16 weights";
    const std::string few = "3 steps are too few to judge a run by";
    CHECK(contains(open.out, "What happened   " + lost + " " + where_none + "; all 3 steps are finite as recorded; " +
                                 few + "\n"));
    CHECK(contains(open.out, where_none + ", 100 % of the updates of a"));
    CHECK(contains(open.out, "does not show whether the optimizer keeps a float32 copy"));
    for (const std::string& out : {said.out, open.out}) {
      CHECK(!contains(out, "no fault found"));
      CHECK(!contains(out, "What to change  nothing"));
    }
    const auto mixed = run_ulp("advise " + from + " --config " + (folder / "mixed.yaml").string());
    CHECK(mixed.exit_code == 0);
    CHECK(!contains(mixed.out, "master copy"));
    CHECK(contains(mixed.out,
                   "What happened   all 3 steps are finite as recorded; " + few + "\nWhat to change  nothing\n"));
    const std::string page = (folder / "page.html").string();
    CHECK(run_ulp("report " + from + " -o " + page).exit_code == 0);
    CHECK(contains(read_file(page), lost + " " + where_none));
    CHECK(!contains(read_file(page), "no fault found"));
  }
}

TEST_CASE("a last step of zero differences does not hide a layer that loses before it") {
  const temporary_dir folder;
  // a: bfloat16 of 2^-20, to which 2^-27 is added, which float16 loses; then `last`. b doubles.
  const auto conclusion_of = [&](const std::string& last) {
    const std::string least("\x80\x35", 2);
    const std::string more("\x81\x35", 2);
    const std::string doubled("\x80\x3f\x00\x40\x80\x40", 6);
    std::string inputs;
    for (int step = 0; step < 3; ++step) {
      const std::string path = (folder / ("w.step" + std::to_string(step) + ".safetensors")).string();
      write_file(path, safetensors(R"({"weight/a":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]},)"
                                   R"("weight/b":{"dtype":"BF16","shape":[1],"data_offsets":[2,4]}})",
                                   (step == 0   ? least
                                    : step == 1 ? more
                                                : last) +
                                       doubled.substr(2 * static_cast<std::size_t>(step), 2)));
      inputs += path + " ";
    }
    write_file(folder / "half.yaml", "trainer:\n  precision: 16-true\n");
    return run_ulp("precision weights " + inputs + " --config " + (folder / "half.yaml").string()).out;
  };
  CHECK(contains(conclusion_of(std::string("\x81\x35", 2)), "of the updates of a (of 2 layers)"));
  CHECK(contains(conclusion_of(std::string("\x80\x3f", 2)), "of the updates of all layers"));
}

TEST_CASE("what a configuration keeps in another type than the weights' was not lost") {
  const temporary_dir folder;
  std::string inputs;
  for (int step = 0; step < 2; ++step) {
    const std::string path = (folder / ("w.step" + std::to_string(step) + ".safetensors")).string();
    write_file(path, safetensors(R"({"weight/a":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]}})", "\x80\x3f"));
    inputs += path + " ";
  }
  const auto conclusion_of = [&](const std::string& precision) {
    write_file(folder / "c.yaml", "trainer:\n  precision: " + precision + "\n");
    return run_ulp("precision weights " + inputs + " --config " + (folder / "c.yaml").string()).out;
  };
  CHECK(contains(conclusion_of("16-true"), "recorded in another type of 16 bits, so they are of another run"));
  CHECK(contains(conclusion_of("bf16-true"), "master copy: [0, 100] % of the updates of the layer were lost"));
}

TEST_CASE("a sentence and a last row say it of all weights, to people") {
  const std::string arguments = "precision weights " + dump + " --lr 0.05 --format bf16,fp16";
  const std::string text = run_ulp(arguments).out;
  // Of 690 updates 16 + 32 + 94 + 6 + 385 and 13 + 30 + 24 + 4 + 284; float16 loses most in bn2, 30 of 32.
  CHECK(
      text.starts_with("bf16: 77.2 % of the updates are lost, most in bn1.weight (100 % of 16)\n"
                       "fp16: 51.4 % of the updates are lost, most in bn2.weight (93.8 % of 32)\n\n"));
  CHECK(contains(text, "\n(all)         bf16         842      690   533          77.2        152"));
  CHECK(contains(text, "\n(all)         fp16         842      690   355          51.4        152"));
  const std::string one = run_ulp(arguments + " --tensor conv1").out;
  CHECK(one.starts_with("bf16: 65.3 % of the updates of conv1.weight are lost\n"));
  CHECK(!contains(one, "(all)"));
  CHECK(contains(run_ulp(arguments + " --rounding sr").out, "% of the updates are lost, most in"));
  CHECK(rows(dump + " --lr 0.05 --format bf16,fp16").size() == 10);
  CHECK(contains(run_ulp(arguments + " --sort lost --top 1").out, "(all)"));
}

TEST_CASE("what does not count is shown, and 100 % are all") {
  const temporary_dir folder;
  const std::string file = (folder / "step1.safetensors").string();
  const auto write = [&](const std::vector<float>& weights, const std::vector<float>& updates) {
    const std::size_t n = 4 * weights.size();
    write_file(file, safetensors(R"({"weight/a":{"dtype":"F32","shape":[)" + std::to_string(weights.size()) +
                                     R"(],"data_offsets":[0,)" + std::to_string(n) +
                                     R"(]},"update/a":{"dtype":"F32","shape":[)" + std::to_string(weights.size()) +
                                     R"(],"data_offsets":[)" + std::to_string(n) + "," + std::to_string(2 * n) + "]}}",
                                 raw(weights) + raw(updates)));
  };
  write({1e6F, NAN, 1e6F, 1e5F}, {1, 1, 0, 1});
  const std::string text = run_ulp("precision weights " + file + " --format fp16").out;
  CHECK(
      text.starts_with("fp16: no update counts: 1 weight or its update is infinite or NaN, 2 weights are beyond "
                       "fp16, 1 update is zero\n"));
  CHECK(contains(text, "no update  not finite  beyond format"));
  CHECK(!contains(run_ulp("precision weights " + dump + " --lr 0.05").out, "beyond format"));
  // One of 20,000 moves.
  std::vector<float> updates(20000, 0x1p-20F);
  updates.front() = 1;
  write(std::vector<float>(20000, 1), updates);
  const std::string most = run_ulp("precision weights " + file + " --format bf16").out;
  CHECK(contains(most, "bf16: 99.995 % of the updates of a are lost"));
  CHECK(contains(most, " 99.995 "));
  CHECK(!contains(most, "100 % of"));
  // A folder of dumps is what is in it.
  CHECK(run_ulp("precision weights " + folder.path().string() + " --format bf16").out == most);
  CHECK(run_ulp("precision random-bits " + folder.path().string() + " --format bf16").exit_code == 0);
}

TEST_CASE("recorded with their joint tables, names without prefix are weights") {
  const temporary_dir folder;
  const std::string file = (folder / "step1.safetensors").string();
  write_file(file, safetensors(R"({"a.w+1":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                               R"("wgrad/a.w+1":{"dtype":"F32","shape":[2],"data_offsets":[8,16]},)"
                               R"("xa.w+1":{"dtype":"F32","shape":[2],"data_offsets":[16,24]}})",
                               raw(std::vector<float>{1, 2, 0.5F, 0.25F, 3, 4})));
  const std::string recording = (folder / "run.ulp").string();
  REQUIRE(run_ulp("record " + file + " --joint --lr 0.1 --factor 1 -o " + recording).exit_code == 0);
  std::map<std::string, std::string> kinds;
  const json info = json::parse(run_ulp("info " + recording + " --json").out);
  for (const json& t : info.at("tensors")) kinds[t.at("tensor")] = t.at("kind");
  CHECK(kinds ==
        std::map<std::string, std::string>{{"a.w+1", "weight"}, {"wgrad/a.w+1", "weight_grad"}, {"xa.w+1", "unknown"}});
  CHECK(rows(recording + " --format bf16").size() == 1);
  const std::string other = (folder / "other.ulp").string();
  REQUIRE(run_ulp("record " + file + " --joint --lr 0.1 --factor 1 --kind '^a=weight' -o " + other).exit_code == 0);
}

TEST_CASE("advice on 16-bit weights is right where no update counts, and where none is lost") {
  const temporary_dir folder;
  // One weight a of bfloat16 bits w, and its gradient g, in three steps.
  const auto advice_of = [&](const std::string& w, float g) {
    std::string inputs;
    for (int step = 0; step < 3; ++step) {
      const std::string path = (folder / ("step" + std::to_string(step) + ".safetensors")).string();
      write_file(path, safetensors(R"({"weight/a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},)"
                                   R"("wgrad/a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                                   w + w + raw(std::vector<float>{g, g})));
      inputs += path + " ";
    }
    write_file(folder / "lr.csv", "step,lr\n0,0.1\n1,0.1\n2,0.1\n");
    const auto run = run_ulp("advise " + inputs + " --factor 1 --scalars " + (folder / "lr.csv").string());
    CAPTURE(run.err);
    CHECK(run.exit_code == 0);
    CHECK(!contains(run.out, "nan %"));
    return run.out;
  };
  const std::string one("\x80\x3f", 2);
  const std::string moved = advice_of(one, 0.5F);
  CHECK(contains(moved, "What happened   none of 3 steps overflowed as recorded; 3 steps are too few"));
  CHECK(contains(moved, "bfloat16 weights, 0 % of the updates of the layer are lost"));
  const std::string lost = advice_of(one, 0x1p-10F);
  CHECK(contains(lost, "What happened   100 % of the updates of a are lost if the optimizer keeps no float32 copy"));
  CHECK(contains(advice_of(one, 0), "no: every update is zero as recorded"));
  const std::string nan = advice_of("\xc0\x7f", 0.5F);
  CHECK(contains(nan, "What happened   weights are infinite or NaN: all 2 elements of weight/a in step 0"));
  CHECK(contains(nan, "not answered: no weight has an update that counts\n    all 6 weights or their updates are "));
}

TEST_CASE("16-bit weights alone leave open why they did not move, and the first line says so") {
  const temporary_dir folder;
  // bfloat16: of 20 ones so many are 2 in the next step.
  const auto advice_of = [&](int moved, const std::string& more = "") {
    std::string inputs;
    for (int step = 0; step < 2; ++step) {
      std::string bits;
      for (int i = 0; i < 20; ++i)
        bits += step == 1 && i < moved ? std::string("\0\x40", 2) : std::string("\x80\x3f", 2);
      const std::string path = (folder / ("step" + std::to_string(step) + ".safetensors")).string();
      write_file(path, safetensors(R"({"weight/a":{"dtype":"BF16","shape":[20],"data_offsets":[0,40]},)"
                                   R"("wgrad/b":{"dtype":"F32","shape":[1],"data_offsets":[40,44]}})",
                                   bits + raw(std::vector<float>{1})));
      inputs += path + " ";
    }
    return run_ulp("advise " + inputs + " --factor 1" + more).out;
  };
  const auto configured = [&](const std::string& text) {
    write_file(folder / "c.yaml", text);
    return " --config " + (folder / "c.yaml").string();
  };
  const std::string unless =
      ", unless the optimizer keeps a float32 copy, rounds stochastically or sums with Kahan's compensation";
  const std::string two_are_well = "none of 2 steps overflowed as recorded; 2 steps are too few";
  const std::string few = advice_of(17);
  CHECK(
      contains(few,
               "What happened   15 % of the bfloat16 weights of a did not move in a step: their updates were zero, or "
               "lost" +
                   unless +
                   "; none of 2 steps overflowed as recorded; 2 steps are too few to judge a run by\n"
                   "What to change  see that the optimizer keeps a float32 copy of the weights; where it keeps none, "
                   "round updates stochastically, or add them with Kahan summation\n"
                   "How sure        open: "));
  CHECK(contains(few,
                 "15 % of the bfloat16 weights of a did not move in a step; updates that were lost are among these"));
  // Little: well, but not certain.
  const std::string most = advice_of(19);
  CHECK(contains(most, "What happened   " + two_are_well));
  CHECK(contains(most, "; of the weights: open: up to 5 % of the updates may be lost"));
  const std::string all = advice_of(20);
  CHECK(contains(all, "What happened   " + two_are_well));
  CHECK(!contains(all, "of the weights:"));
  // A learning rate of 0 says that the updates are zero.
  write_file(folder / "none.csv", "step,lr\n0,0\n1,0\n");
  const std::string stood = advice_of(0, " --scalars " + (folder / "none.csv").string());
  CHECK(contains(stood, "What happened   " + two_are_well));
  CHECK(contains(stood, "no: every update is zero as recorded"));
  write_file(folder / "some.csv", "step,lr\n0,0.1\n1,0.1\n");
  CHECK(
      contains(advice_of(0, " --scalars " + (folder / "some.csv").string()), "What happened   100 % of the bfloat16"));
  // Draws leave weights where they are; nearest-even loses their updates.
  const std::string neuron = "distributed_strategy:\n  zero1: false\nprecision:\n  master_weights: false\n  type: ";
  const std::string drawn = advice_of(4, configured(neuron + "bf16SR\n"));
  CHECK(contains(drawn, "What happened   " + two_are_well));
  CHECK(contains(drawn, "no: updates are rounded stochastically"));
  CHECK(!contains(drawn, "keep a float32 copy"));
  const std::string half = "trainer:\n  precision: ";
  const std::string kept = advice_of(4, configured(half + "bf16-true\n"));
  CHECK(contains(kept,
                 "What happened   80 % of the bfloat16 weights of a did not move in a step: their updates were "
                 "zero, or lost; "));
  // The format of the configuration is not the weights'.
  const std::string other = advice_of(4, configured(half + "16-true\n"));
  CHECK(!contains(other, "of the float16 weights"));
  CHECK(contains(other,
                 "What happened   up to 80 % of the updates of a may be lost with weights in float16 without a "
                 "master copy, as the Lightning configuration keeps them; the recorded weights were not kept so"));
  CHECK(!contains(advice_of(4, configured(half + "bf16-mixed\n")), "did not move"));
}

TEST_CASE("advice names the layers that did not move, and asks of the 16-bit ones beside others") {
  const temporary_dir folder;
  // a and b of bfloat16, c of float32; a stands still.
  std::string inputs;
  for (int step = 0; step < 2; ++step) {
    const std::string path = (folder / ("step" + std::to_string(step) + ".safetensors")).string();
    const std::string one("\x80\x3f", 2);
    write_file(path, safetensors(R"({"weight/a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},)"
                                 R"("weight/b":{"dtype":"BF16","shape":[2],"data_offsets":[4,8]},)"
                                 R"("weight/c":{"dtype":"F32","shape":[2],"data_offsets":[8,16]},)"
                                 R"("wgrad/d":{"dtype":"F32","shape":[1],"data_offsets":[16,20]}})",
                                 one + one + (step == 0 ? one + one : std::string("\0\x40\0\x40", 4)) +
                                     raw(std::vector<float>{1, 1, 1})));
    inputs += path + " ";
  }
  const std::string both = run_ulp("advise " + inputs + " --factor 1").out;
  CHECK(contains(both, "What happened   100 % of the bfloat16 weights of a (of 2 layers) did not move in a step"));
  // A float32 weight that stands still is no question.
  CHECK(!contains(run_ulp("advise " + inputs + " --factor 1 --tensor '^(weight/c|wgrad)'").out, "did not move"));
}

TEST_CASE("updates that are recorded exactly are no differences of 16-bit weights") {
  const temporary_dir folder;
  // bfloat16 weights of 1, and float32 updates.
  const auto advice_of = [&](const std::vector<float>& updates) {
    const std::string path = (folder / "u.step0.safetensors").string();
    const std::string one("\x80\x3f", 2);
    write_file(path, safetensors(R"({"weight/a":{"dtype":"BF16","shape":[4],"data_offsets":[0,8]},)"
                                 R"("update/a":{"dtype":"F32","shape":[4],"data_offsets":[8,24]},)"
                                 R"("wgrad/b":{"dtype":"F32","shape":[1],"data_offsets":[24,28]}})",
                                 one + one + one + one + raw(updates) + raw(std::vector<float>{1})));
    return run_ulp("advise " + path + " --factor 1").out;
  };
  const std::string exact = advice_of({0.1F, 0, 0, 0});
  CHECK(!contains(exact, "did not move"));
  CHECK(contains(exact, "What happened   the one recorded step did not overflow; 1 step is too few"));
  CHECK(!contains(exact, "of the weights:"));
  // What leads from a number of bfloat16 to another may be a difference.
  CHECK(contains(advice_of({0.5F, 0, 0, 0}), "What happened   75 % of the bfloat16 weights of a did not move"));
}

TEST_CASE("updates that are modelled from gradients are not called certain, recorded ones are") {
  const temporary_dir folder;
  const auto advice_of = [&](const std::string& kind, float value, const std::string& more) {
    const std::string path = (folder / "m.step0.safetensors").string();
    write_file(path, safetensors(R"({"weight/a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},")" + kind +
                                     R"(/a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]},)" +
                                     R"("wgrad/b":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}})",
                                 "\x80\x3f\x80\x3f" + raw(std::vector<float>{value, value, 1})));
    return run_ulp("advise " + path + " --factor 1" + more).out;
  };
  write_file(folder / "lr.csv", "step,lr\n0,0.1\n");
  const std::string logged = " --scalars " + (folder / "lr.csv").string();
  const std::string lost = "What happened   100 % of the updates of a are lost if";
  const std::string modelled = advice_of("wgrad", 0x1p-10F, logged);
  CHECK(contains(modelled, lost));
  CHECK(contains(modelled, "How sure        not certain: updates were modelled as plain SGD, -lr times the gradient"));
  CHECK(
      contains(advice_of("wgrad", 0.5F, logged), "; of the weights: not certain: updates were modelled as plain SGD"));
  const std::string recorded = advice_of("update", 0x1p-10F, "");
  CHECK(contains(recorded, lost));
  CHECK(contains(recorded, "How sure        certain of these updates if"));
}

TEST_CASE("recorded updates of 16-bit weights are asked for their zeros where no joint table is") {
  const temporary_dir folder;
  int recordings = 0;
  const auto advice_of = [&](const std::string& type, const std::vector<float>& updates, const std::string& more = "") {
    const std::string path = (folder / "z.step0.safetensors").string();
    const std::string one = type == "BF16" ? std::string("\x80\x3f", 2) : std::string("\0\0\x80\x3f", 4);
    const auto place = [&](std::size_t from, std::size_t n) {
      return R"(,"data_offsets":[)" + std::to_string(from) + "," + std::to_string(from + n) + "]}";
    };
    const std::size_t n = 2 * one.size();
    write_file(path, safetensors(R"({"weight/a":{"dtype":")" + type + R"(","shape":[2])" + place(0, n) +
                                     R"(,"update/a":{"dtype":"F32","shape":[2])" + place(n, 8) +
                                     R"(,"wgrad/b":{"dtype":"F32","shape":[1])" + place(n + 8, 4) + "}",
                                 one + one + raw(updates) + raw(std::vector<float>{1})));
    const std::string recording = (folder / ("z" + std::to_string(recordings++) + ".ulp")).string();
    const auto made = run_ulp("record " + path + " --factor 1 -o " + recording);
    CAPTURE(made.err);
    CHECK(made.exit_code == 0);
    return run_ulp("advise " + recording + more).out;
  };
  const std::string still = advice_of("BF16", {0, 1});
  CHECK(contains(still,
                 "What happened   50 % of the bfloat16 weights of a did not move in a step: their updates were zero"));
  CHECK(!contains(still, "no fault found"));
  const std::string well = "What happened   the one recorded step did not overflow; 1 step is too few";
  CHECK(contains(advice_of("BF16", {1, 1}), well));
  CHECK(contains(advice_of("F32", {0, 1}), well));
  write_file(folder / "mixed.yaml", "trainer:\n  precision: bf16-mixed\n");
  CHECK(contains(advice_of("BF16", {0, 1}, " --config " + (folder / "mixed.yaml").string()), well));
}

TEST_CASE("a recording of tensors without elements is no log in which nothing is wrong") {
  const temporary_dir folder;
  const std::string path = (folder / "e.step0.safetensors").string();
  write_file(path, safetensors(R"({"wgrad/a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})", ""));
  const std::string empty = run_ulp("advise " + path + " --factor 1").out;
  CHECK(contains(empty, "What happened   the recorded tensors have no elements"));
  write_file(
      path, safetensors(R"({"wgrad/a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", raw(std::vector<float>{1})));
  CHECK(contains(run_ulp("advise " + path + " --factor 1").out,
                 "What happened   the one recorded step did not overflow; 1 step is too few"));
}

TEST_CASE("a zero difference of 16-bit weights may be a lost update, a zero update is none") {
  const temporary_dir folder;
  // bfloat16: 1, 1, 1 and 1, then 2, 1, 1 and 1.
  const std::string weights = R"({"weight/a":{"dtype":"BF16","shape":[4],"data_offsets":[0,8]})";
  const std::string ones("\x80\x3F\x80\x3F\x80\x3F\x80\x3F", 8);
  const std::string first = (folder / "w.step0.safetensors").string();
  write_file(first, safetensors(weights + "}", ones));
  const std::string second = (folder / "w.step1.safetensors").string();
  write_file(second, safetensors(weights + "}", std::string("\0\x40", 2) + ones.substr(2)));
  const json of_weights = rows(first + " " + second + " --format bf16");
  CHECK(of_weights.at(0).at("lost_low") == 0);
  CHECK(of_weights.at(0).at("lost_high") == 3);
  CHECK(of_weights.at(0).at("lost_share_low") == 0);
  CHECK(of_weights.at(0).at("lost_share_high") == 0.75);
  // Recorded updates of which bfloat16 loses one, 2^-10, are no differences of its numbers; 1 is kept, and 0 and 0 are none.
  write_file(folder / "u.safetensors",
             safetensors(weights + R"(,"update/a":{"dtype":"F32","shape":[4],"data_offsets":[8,24]}})",
                         ones + std::string("\0\0\x80\x3F\0\0\x80\x3A\0\0\0\0\0\0\0\0", 16)));
  const json exact = rows((folder / "u.safetensors").string() + " --format bf16");
  CHECK(exact.at(0).at("updates") == 2);
  CHECK(exact.at(0).at("lost") == 1);
  CHECK(exact.at(0).at("lost_share_high") == 0.5);
}

TEST_CASE("what cannot be answered is refused in one line that says what to do") {
  CHECK(contains(error_of(dump), "no learning rate: give --lr X, or --scalars FILE.csv with the column lr"));
  CHECK(contains(error_of("examples/digits.step00100.safetensors --lr 0.1"), "holds no weight with its update"));
  CHECK(contains(error_of(dump + " --lr 0"), "--lr"));
  CHECK(contains(error_of(dump + " --lr nan"), "--lr"));
  CHECK(contains(error_of(dump + " --lr 0.05 --curvature -1"), "--curvature"));
  CHECK(contains(error_of(dump + " --lr 0.05 --format bf17"), "bf17"));
  CHECK(contains(error_of(dump + " --lr 0.05 --steps 5:6"), "select no weights"));
  CHECK(contains(error_of(dump + " --lr 0.05 --by group"), "--group"));
  CHECK(contains(error_of(dump + " --lr 0.05 --sort nothing"), "nothing"));
  CHECK(contains(error_of(dump + " --lr 0.05 --rounding sr --ftz result"), "--ftz"));
  CHECK(contains(error_of("tests/data/sums"), "sums"));
  CHECK(contains(run_ulp("record " + dump + " --lr 1 -o /tmp/none.ulp").err, "--lr: is used with --joint"));
}
