// Pins what ulp advise and ulp sweep say of formats of blocks: yes, no, in part, not decided, each with its reason; and what they
// refuse.
#include "support/catch.hpp"

#include <algorithm>
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

const std::string block_dump = "tests/data/digits.step00100.safetensors";

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
  CHECK(holds(conclusion(all, "block_format"), "yes, with E4M3 elements: of 5 tensors none loses more than 0.1 %"));
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
  CHECK(holds(conclusion(all, "block_format"), "not in 1 of 1 tensor, with E2M1 elements: w loses"));
  CHECK(conclusion(all, "block_noise").starts_with("1 of 1 gradient: w is at most"));
  CHECK(holds(all.at(0).at("numbers").at("change").get<std::string>(), "keep 1 of 1 tensor in 16 bits"));
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
           {"sweep " + block_dump + " --recipe mxfp8 --tensor nothing", "no values of the selected tensors"},
           {"sweep " + block_dump + " --recipe mxint8", "its elements are integers"},
           {"advise " + block_dump + " --format mxint8", "its elements are integers"}}) {
    const auto run = run_ulp(command);
    CAPTURE(command, run.err);
    CHECK(run.exit_code == 2);
    CHECK(holds(run.err, reason));
  }
}
