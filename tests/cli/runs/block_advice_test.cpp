// Pins what ulp advise and ulp sweep say of formats of blocks: yes, no, in part, not decided, each with its reason; and what they
// refuse.
#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "io/builders.hpp"
#include "support/files.hpp"
#include "support/program.hpp"

using namespace ulp::test;
using nlohmann::json;

namespace {

const std::string block_dump = "examples/digits.step00100.safetensors";

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

json advice(const std::string& arguments) {
  const auto run = run_ulp("advise " + arguments + " --json");
  CAPTURE(arguments, run.err);
  REQUIRE(run.exit_code == 0);
  return json::parse(run.out);
}

json topic(const json& findings, const std::string& name) {
  for (const json& f : findings)
    if (f.at("topic") == name) return f;
  return {};
}

std::string conclusion(const json& findings, const std::string& name) {
  const json f = topic(findings, name);
  return f.is_null() ? "" : f.at("conclusion").get<std::string>();
}

// A dump of one float32 matrix of 1 x 128.
std::string matrix(const temporary_dir& dir, const std::string& name, const std::vector<float>& x) {
  const std::string path = (dir / (name + ".safetensors")).string();
  write_file(path, safetensors("{\"" + name + R"(":{"dtype":"F32","shape":[1,128],"data_offsets":[0,512]}})",
                               std::string(reinterpret_cast<const char*>(x.data()), 512)));
  return path;
}

}  // namespace

TEST_CASE("advice on a format of blocks: that it holds, in which elements, by which rule, and above its noise") {
  const json all = advice(block_dump + " --format mxfp8");
  CHECK(holds(conclusion(all, "block_format"), "yes, with E4M3 elements: none of 5 tensors loses more than 0.1 %"));
  CHECK(conclusion(all, "block_elements") == "weight gradients: E4M3");
  CHECK(conclusion(all, "block_scale_rule").starts_with("rceil: nothing saturates"));
  CHECK(conclusion(all, "block_noise").starts_with("no: "));
  // The same figures as ulp outcomes counts.
  const auto counted =
      run_ulp("outcomes " + block_dump +
              " --format torchao_mxe4m3_floor --tensor 'conv[123].weight|fc[12].weight' --by kind --json");
  REQUIRE(counted.exit_code == 0);
  const json row = json::parse(counted.out).at(0);
  const double share =
      row.at("overflow").get<double>() / (row.at("numel").get<double>() - row.at("zero").get<double>());
  const json rules = topic(all, "block_scale_rule").at("numbers").at("rules");
  CHECK(rules.at("floor").at("saturating_share").get<double>() == share);
  CHECK(rules.at("rceil").at("saturating_share").get<double>() == 0);
  CHECK(holds(all.at(0).at("numbers").at("configuration").get<std::string>(),
              "MXFP8BlockScaling(fp8_format=Format.E4M3)"));
}

TEST_CASE("a matrix most of whose energy vanishes beside one element of each block is drowned") {
  const temporary_dir dir;
  // 0.751 makes the scale 1/4, in which all that lies below 1/16 becomes zero.
  std::vector<float> x(128, 0.0624F);
  x[0] = 0.751F;
  const json all = advice(matrix(dir, "w", x) + " --format mxfp4,block=128");
  CHECK(holds(conclusion(all, "block_format"), "no, with E2M1 elements: w loses"));
  CHECK(conclusion(all, "block_noise").starts_with("1 of 1 gradient: in step"));
  CHECK(holds(all.at(0).at("numbers").at("change").get<std::string>(),
              "1 of 1 tensor loses a third of the energy or more"));
  CHECK(all.at(0).at("numbers").at("configuration") == "");
}

TEST_CASE("what a recording does not tell of blocks is not decided, and it says what to record") {
  const temporary_dir dir;
  const std::string plain = (dir / "plain.ulp").string();
  const std::string blocks = (dir / "blocks.ulp").string();
  REQUIRE(run_ulp("record " + block_dump + " -o " + plain).exit_code == 0);
  REQUIRE(run_ulp("record " + block_dump + " --blocks 32 --with-errors -o " + blocks).exit_code == 0);
  // Without a table the rule is not told; with one, MXFP8 is judged without being asked for.
  CHECK(holds(conclusion(advice(plain + " --format mxfp8"), "block_scale_rule"), "record with --blocks 32"));
  CHECK(holds(conclusion(advice(plain + " --format mxfp8"), "block_format"), "record with --blocks 32 --with-errors"));
  CHECK(topic(advice(plain), "block_format").is_null());
  CHECK(conclusion(advice(blocks), "block_format").starts_with("yes, with E4M3 elements"));
  const json two_levels = advice(blocks + " --format nvfp4");
  CHECK(holds(conclusion(two_levels, "block_format"), "not decided"));
  CHECK(holds(topic(two_levels, "block_format").at("evidence").get<std::string>(), "give the dumps"));
  // A log has no values.
  write_file((dir / "log.csv").string(), "step,loss,scale\n1,2,65536\n2,2,65536\n");
  CHECK(conclusion(advice((dir / "log.csv").string() + " --format mxfp8"), "block_format").starts_with("not answered"));
}

TEST_CASE("a configuration that trains in blocks asks for them") {
  const temporary_dir dir;
  const std::string path = (dir / "train.sh").string();
  write_file(path, "torchrun pretrain_gpt.py --bf16 --fp8-format e4m3 --fp8-recipe mxfp8\n");
  CHECK(conclusion(advice(block_dump + " --config " + path), "block_format").starts_with("yes"));
}

TEST_CASE("a sweep of formats of blocks ranks them by what they do not hold") {
  const auto run = run_ulp("sweep " + block_dump + " --recipe mxfp4,mxfp8,nvfp4 --json");
  REQUIRE(run.exit_code == 0);
  const json rows = json::parse(run.out);
  REQUIRE(rows.size() == 4);
  CHECK(rows.at(0).at("row") == "torchao_mxe4m3_rceil");
  CHECK(rows.at(0).at("held") == 5);
  CHECK(rows.at(3).at("row") == "torchao_mxe2m1_rceil");
  CHECK(rows.at(3).at("lose_more") == 5);
  for (std::size_t i = 1; i < rows.size(); ++i)
    CHECK(rows.at(i - 1).at("worst_lost_share").get<double>() <= rows.at(i).at("worst_lost_share").get<double>());
}

TEST_CASE("what a sweep and advice on blocks refuse") {
  for (const auto& [command, reason] : std::vector<std::pair<std::string, std::string>>{
           {"sweep " + block_dump + " --recipe mxfp8,te_delayed", "ask for them one after the other"},
           {"sweep " + block_dump + " --recipe mxfp8 --scaler pytorch", "--scaler: not with formats of blocks"},
           {"sweep " + block_dump + " --recipe mxfp8 --clip-norm 1", "--clip-norm: not with"},
           {"sweep " + block_dump + " --recipe mxfp8 --tensor nothing",
            "has no values of the selected tensors; there are"},
           {"sweep " + block_dump + " --recipe mxint8", "its elements are integers"},
           {"sweep " + block_dump + " --recipe mxfp8 --tensor bias", "no matrix with a finite value"},
           {"advise " + block_dump + " --format mxfp8 --rounding rz", "remove it"},
           {"advise " + block_dump + " --format mxint8", "its elements are integers"}}) {
    const auto run = run_ulp(command);
    CAPTURE(command, run.err);
    CHECK(run.exit_code == 2);
    CHECK(holds(run.err, reason));
  }
}

TEST_CASE("what a rule makes infinite or NaN is not to its merit") {
  const temporary_dir dir;
  std::vector<float> x(128, 1.0F);
  std::fill(x.begin(), x.begin() + 32, 3.3e38F);
  const std::string path = matrix(dir, "w", x);
  const json all = advice(path + " --format mxfp4");
  CHECK(holds(conclusion(all, "block_format"), "no, with E2M1 elements: w becomes infinite or NaN"));
  CHECK(holds(conclusion(all, "block_scale_rule"), "none is safe: "));
  CHECK(topic(all, "block_scale_rule").at("numbers").at("rules").at("even").at("worst_lost_share").is_null());
  CHECK(holds(conclusion(all, "block_noise"), "not answered for 1 of 1 gradient"));
  const auto swept = run_ulp("sweep " + path + " --recipe mxfp4 --json");
  CHECK(json::parse(swept.out).at(0).at("worst_lost_share").is_null());
  CHECK(json::parse(swept.out).at(0).at("nonfinite") == 1);
  // Tables do not tell of the largest numbers, and nothing is called safe then.
  const std::string recording = (dir / "run.ulp").string();
  REQUIRE(run_ulp("record " + path + " --blocks 32 --with-errors -o " + recording).exit_code == 0);
  CHECK(holds(conclusion(advice(recording + " --format mxfp4"), "block_scale_rule"), "none is safe: "));
}

TEST_CASE("steps that are not finite are said to be left out, and those after a run was lost") {
  const temporary_dir dir;
  std::vector<std::string> paths;
  std::string names;
  for (int step = 0; step < 12; ++step) {
    std::vector<float> x(128);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = step < 6 ? 1 + static_cast<float>(i % 7) / 8 : std::nanf("");
    write_file((dir / ("step" + std::to_string(100 + step) + ".safetensors")).string(), read_file(matrix(dir, "w", x)));
    names += " " + (dir / ("step" + std::to_string(100 + step) + ".safetensors")).string();
  }
  const auto swept = run_ulp("sweep" + names + " --recipe mxfp8");
  CHECK(swept.exit_code == 0);
  CHECK(holds(swept.err, "6 steps of a tensor with infinities or NaN left out"));
  CHECK(holds(swept.err, "the run was lost from step 106 on"));
  CHECK(holds(conclusion(advice(names + " --format mxfp8"), "block_format"), "in any step"));
}

TEST_CASE("tiny numbers, of which tables bound nothing, are not said to become infinite") {
  const temporary_dir dir;
  const std::string recording = (dir / "run.ulp").string();
  REQUIRE(run_ulp("record " + matrix(dir, "w", std::vector<float>(128, 0x1p-90F)) + " --blocks 32 --with-errors -o " +
                  recording)
              .exit_code == 0);
  CHECK_FALSE(holds(conclusion(advice(recording + " --format mxfp8"), "block_scale_rule"), "infinite"));
}

TEST_CASE("a rule that saturates is not a format that fails") {
  const json all = advice(block_dump + " --format torchao_mxe4m3_floor");
  CHECK(holds(all.at(0).at("numbers").at("change").get<std::string>(), "round scales up (RCEIL)"));
  CHECK(conclusion(all, "block_format").starts_with("not without loss: none of 5 tensors loses a third"));
}
