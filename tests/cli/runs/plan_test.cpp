// Pins what ulp plan says where there is little to say, what it refuses, and that what is not decided never holds.
#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
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

const std::string dump = "examples/digits.step00100.safetensors";
const std::string recording = "examples/digits.ulp";

json plan(const std::string& arguments) {
  const auto run = run_ulp("plan " + arguments + " --json");
  CAPTURE(arguments, run.err);
  REQUIRE(run.exit_code == 0);
  return json::parse(run.out);
}

const json& row(const json& plan, std::string_view tensor) {
  for (const json& r : plan.at("tensors"))
    if (r.at("tensor") == tensor) return r;
  FAIL("no row of " << tensor);
  return plan;
}

// Dumps of float32 matrices of 4 x 16, by name.
std::string matrices(const std::vector<std::pair<std::string, std::vector<float>>>& all) {
  std::string header;
  std::string values;
  for (const auto& [name, x] : all) {
    const std::string offsets = std::to_string(values.size()) + "," + std::to_string(values.size() + 4 * x.size());
    header += (header.empty() ? "{\"" : ",\"") + name + R"(":{"dtype":"F32","shape":[4,16],"data_offsets":[)" +
              offsets + "]}";
    values.append(reinterpret_cast<const char*>(x.data()), 4 * x.size());
  }
  return safetensors(header + "}", values);
}

std::vector<float> spread(float largest) {
  std::vector<float> x(64);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = largest * (1 + static_cast<float>(i)) / 64;
  return x;
}

}  // namespace

TEST_CASE("a plan of nothing that decides stays in float32, and says so") {
  const temporary_dir dir;
  const std::string path = (dir / "step000000.safetensors").string();
  std::vector<float> lost = spread(1);
  lost[5] = NAN;
  write_file(path, matrices({{"wgrad/zero.weight", std::vector<float>(64)},
                             {"wgrad/nan.weight", lost},
                             {"wgrad/usual.weight", spread(1)}}));
  for (const std::string hardware : {"hopper", "blackwell", "cs", "trainium", "any"}) {
    CAPTURE(hardware);
    const json told = plan(path + " --hardware " + hardware);
    CHECK(row(told, "wgrad/zero.weight").at("treatment") == "float32");
    CHECK(row(told, "wgrad/zero.weight").at("remark") == "zero in every step: nothing decides");
    CHECK(row(told, "wgrad/nan.weight").at("treatment") == "float32");
    CHECK(row(told, "wgrad/nan.weight").at("left_out") == 1);
    CHECK(row(told, "wgrad/nan.weight").at("remark") == "infinite or NaN in every step: nothing decides");
    CHECK(row(told, "wgrad/usual.weight").at("treatment") != "float32");
    CHECK(told.at("summary").at("left_out") == 1);
  }
}

TEST_CASE("what not even float32 holds stays in it, and the row says so") {
  const temporary_dir dir;
  const std::string path = (dir / "a.npy").string();
  const auto doubles = [&](double last) {
    const std::vector<double> x{1.0 / 3, 0.1, last, 0.7};
    write_file(path, npy(npy_dict("<f8", "(2, 2)"), {reinterpret_cast<const char*>(x.data()), 8 * x.size()}));
  };
  doubles(0.3);
  CHECK(plan(path).at("tensors").at(0).at("remark").is_null());
  const json fine = plan(path + " --lose 1e-20").at("tensors").at(0);
  CHECK(fine.at("treatment") == "float32");
  CHECK(fine.at("remark") == "loses more in float32, too");
  doubles(1e300);
  for (const std::string option : {" --lose 1e-3", " --budget 32/element"}) {
    const json told = plan(path + option);
    CHECK(told.at("tensors").at(0).at("treatment") == "float32");
    CHECK(told.at("tensors").at(0).at("remark") == "saturates in float32, too");
    CHECK(told.at("summary").at("lost_share") == "inf");
  }
}

TEST_CASE("a step with a NaN is left out, and the others decide") {
  const temporary_dir dir;
  std::string inputs;
  for (int step = 0; step < 3; ++step) {
    std::vector<float> x = spread(1);
    if (step == 1) x[0] = INFINITY;
    const std::string path = (dir / ("step00000" + std::to_string(step) + ".safetensors")).string();
    write_file(path, matrices({{"wgrad/a.weight", x}}));
    inputs += path + " ";
  }
  const json told = plan(inputs + "--hardware hopper");
  CHECK(told.at("tensors").at(0).at("treatment") == "fp8_e4m3");
  CHECK(told.at("tensors").at(0).at("steps") == 2);
  CHECK(told.at("tensors").at(0).at("left_out") == 1);
}

TEST_CASE("one bad step is enough, and it is named") {
  const temporary_dir dir;
  std::string inputs;
  for (int step = 0; step < 4; ++step) {
    std::vector<float> x = spread(1);
    // Between two numbers of FP8, all of them.
    if (step == 2)
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = i % 2 == 0 ? 1.0625F : 1.1875F;
    const std::string path = (dir / ("step00000" + std::to_string(step) + ".safetensors")).string();
    write_file(path, matrices({{"wgrad/a.weight", x}}));
    inputs += path + " ";
  }
  const json told = plan(inputs + "--hardware hopper").at("tensors").at(0);
  CHECK(told.at("treatment") == "bfloat16");
  CHECK(told.at("near_miss").get<std::string>().starts_with("fp8_e4m3"));
  CHECK(told.at("near_miss_reason").get<std::string>().ends_with("in step 2"));
  CHECK(told.at("near_miss_lost_share_low").get<double>() > 2e-3);
}

TEST_CASE("what saturates in float16 at every scale of the plan is not there, and bfloat16 is") {
  const temporary_dir dir;
  const std::string path = (dir / "step000000.safetensors").string();
  write_file(path, matrices({{"activation/a", spread(1e6F)}, {"wgrad/a.weight", spread(1e-9F)}}));
  const std::string kinds = " --kind activation/=activation --lose 1e-7";
  // Nothing but the range of bfloat16 would do, and it loses more.
  const json told = plan(path + kinds + " --hardware hopper");
  CHECK(told.at("summary").at("format_16") == "float16");
  CHECK(row(told, "activation/a").at("treatment") == "tf32");
  CHECK(row(told, "activation/a").at("near_miss") != "float16");
  const json& gradient = row(told, "wgrad/a.weight");
  CHECK(gradient.at("treatment") == "float16");
  // 2^15 <= 2^log2 * 1e-9 < 65520: from 2^44.8 to 2^45.9.
  CHECK(told.at("summary").at("loss_scale_highest_log2") == 45);
  CHECK(told.at("summary").at("loss_scale_log2") == 43);
  // cbfloat16 has room for both.
  const json wide = plan(path + " --kind activation/=activation --lose 5e-7 --hardware cs");
  CHECK(wide.at("summary").at("format_16") == "cbfloat16");
  CHECK(row(wide, "activation/a").at("treatment") == "cbfloat16");
}

TEST_CASE("what is modelled or bounded from both sides of the limit does not hold, and what to record is said") {
  const json modelled = plan(recording + " --hardware hopper");
  for (const json& r : modelled.at("tensors")) {
    CHECK(r.at("treatment") == "bfloat16");
    if (r.at("near_miss").is_null()) continue;
    CHECK(r.at("near_miss_lost_share_low").get<double>() <= 1e-3);
    CHECK(r.at("near_miss_lost_share_high").get<double>() > 1e-3);
    CHECK(r.at("near_miss_reason").get<std::string>().ends_with(" --with-errors"));
  }
  const temporary_dir dir;
  const std::string with_errors = (dir / "e.ulp").string();
  REQUIRE(run_ulp("record " + dump + " --with-errors -o " + with_errors).exit_code == 0);
  const json decided = plan(with_errors + " --hardware hopper");
  CHECK(row(decided, "wgrad/conv2.weight").at("treatment") == "fp8_e4m3");
  const json blackwell = plan(with_errors + " --hardware blackwell");
  CHECK(blackwell.at("summary").at("not_decided") == "nvfp4");
  CHECK(plan(dump + " --hardware blackwell").at("summary").at("not_decided").is_null());
  // Six bits may hold: dumps decide it.
  const json& open = row(blackwell, "wgrad/fc1.weight");
  CHECK(open.at("near_miss") == "mxfp6_e2m3");
  CHECK(open.at("near_miss_reason").get<std::string>().ends_with("record with --blocks 32"));
  CHECK(row(plan(dump + " --hardware blackwell"), "wgrad/fc1.weight").at("treatment") == "mxfp6_e2m3");
}

TEST_CASE("weights keep a float32 copy where their updates would be lost, or nothing tells") {
  const json told = plan("examples/weights.step00100.safetensors --hardware hopper");
  for (const json& r : told.at("tensors")) {
    CAPTURE(r.at("tensor"));
    CHECK(r.at("master_copy").is_null() == (r.at("kind") != "weight"));
    if (r.at("kind") == "weight") CHECK(r.at("master_copy") != "not_needed");
  }
  CHECK(told.at("summary").at("master_copy_bits") == 32 * (16 + 32 + 144 + 640 + 10));
  const temporary_dir dir;
  const std::string path = (dir / "step000000.safetensors").string();
  std::vector<float> half = spread(1);
  for (float& x : half) x /= 2;
  const std::string kinds = " --kind weight/=weight --kind update/=update --hardware cs";
  write_file(path, matrices({{"weight/a.weight", spread(1)}, {"update/a.weight", half}}));
  CHECK(row(plan(path + kinds), "weight/a.weight").at("master_copy") == "not_needed");
  write_file(path, matrices({{"weight/a.weight", spread(1)}, {"update/a.weight", spread(1e-6F)}}));
  const json lost = plan(path + kinds);
  CHECK(row(lost, "weight/a.weight").at("master_copy") == "needed");
  CHECK(row(lost, "weight/a.weight").at("lost_updates") == 1);
}

TEST_CASE("three plans of precision_opt_level, each with no more bits than the one before it") {
  const json summary = plan(dump + " --hardware cs --lose 1e-6").at("summary");
  std::vector<std::uint64_t> bits;
  for (const char* const level : {"level_0", "level_1", "level_2"}) bits.push_back(summary.at(level).at("bits"));
  CHECK(bits[0] >= bits[1]);
  CHECK(bits[1] >= bits[2]);
  CHECK(bits[1] == summary.at("bits"));
  CHECK(summary.at("level_0").at("lose").get<double>() < summary.at("level_1").at("lose").get<double>());
  CHECK_FALSE(plan(dump + " --hardware hopper").at("summary").contains("level_0"));
}

TEST_CASE("what cannot be planned is refused in one line") {
  const temporary_dir dir;
  const std::string log = (dir / "log.csv").string();
  write_file(log, "step,found_inf,scale\n0,0,64\n1,1,64\n");
  for (const auto& [arguments, word] :
       std::vector<std::pair<std::string, std::string>>{{log, "a log has none"},
                                                        {dump + " --budget 100", "the least take"},
                                                        {dump + " --budget 0.5/element", "the least take"},
                                                        {dump + " --budget 8/element --lose 1e-3", "--lose"},
                                                        {dump + " --budget nothing", "--budget"},
                                                        {dump + " --budget 1e300", "--budget"},
                                                        {dump + " --lose 1", "--lose"},
                                                        {dump + " --lose 0", "--lose"},
                                                        {dump + " --lose nan", "--lose"},
                                                        {dump + " --hardware tpu", "--hardware"},
                                                        {dump + " --tensor nosuch", "there are"},
                                                        {dump + " --steps 5000:", "step"},
                                                        {dump + " --for torchao", "--hardware hopper or blackwell"},
                                                        {dump + " --for cerebras --hardware hopper", "--hardware cs"},
                                                        {dump + " --for emulate --json", "--for"},
                                                        {dump + " --for jax", "--for"}}) {
    const auto run = run_ulp("plan " + arguments);
    CAPTURE(arguments, run.err);
    CHECK(run.exit_code == 2);
    CHECK(run.out.empty());
    CHECK(run.err.starts_with("ulp: "));
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
    CHECK(run.err.find(word) != std::string::npos);
  }
}

TEST_CASE("a recording through a pipe cannot be read twice, and is refused") {
  const auto run = run_shell("cat " + recording + " | ulp plan /dev/stdin");
  CHECK(run.exit_code == 2);
  CHECK(run.out.empty());
  CHECK(run.err.find("/dev/stdin: is a pipe, through which only text in UTF-8 is read") != std::string::npos);
}
