// Pins what is said of runs that went wrong, on the command line: each was once told a false cause.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/program.hpp"

using namespace ulp::test;

namespace {

bool has(const std::string& text, const std::string& part) {
  INFO(text);
  INFO(part);
  return text.find(part) != std::string::npos;
}

std::string written(const temporary_dir& dir, const char* name, const std::string& text) {
  const std::string path = (dir / name).string();
  std::ofstream(path) << text;
  return path;
}

}  // namespace

TEST_CASE("a start that is too high is not taken for NaN in the forward pass") {
  const auto run = run_ulp("replay examples/digits.ulp --scaler pytorch --set init_scale=2^60 --format fp16");
  REQUIRE(run.exit_code == 0);
  CHECK(has(run.err, "the initial scale 2^60 is too high: 42 steps (steps 0 to 41) are lost until it has fallen"));
  CHECK(has(run.err, "Start at 2^17"));
  CHECK_FALSE(has(run.err, "forward pass"));
  CHECK_FALSE(has(run.err, "NaN"));
  const auto right = run_ulp("replay examples/digits.ulp --scaler pytorch --set init_scale=2^17 --format fp16");
  CHECK_FALSE(has(right.err, "too high"));
  CHECK(has(right.out, "of which ~0 [0, 5] skipped"));
}

TEST_CASE("values that were recorded under a scale are not said to come from a forward pass that overflows") {
  const temporary_dir dir;
  std::string csv = "step,tensor,kind,n,zero,nan,inf,max_abs,e_min,counts\n";
  for (int step = 0; step < 60; ++step) csv += fmt::format("{},fc.weight,weight_grad,4,0,0,0,60000,14,2 2\n", step);
  const std::string path = written(dir, "scaled.csv", csv);
  const auto run = run_ulp("replay " + path + " --scaler pytorch --format fp16");
  REQUIRE(run.exit_code == 0);
  CHECK(has(run.err, "the factor of the recorded values is not known"));
  CHECK(has(run.err, "A factor of 2^16 or more would explain it"));
  CHECK(has(run.err, "--factor"));
  CHECK_FALSE(has(run.err, "forward pass"));
  CHECK_FALSE(has(run.err, "learning rate"));
  const auto told = run_ulp("replay " + path + " --scaler pytorch --format fp16 --factor 2^16");
  CHECK(has(told.out, "of which 0 skipped"));
  CHECK_FALSE(has(told.err, "factor of the recorded values"));
}

TEST_CASE("NaN without an infinity is not called gradient overflow") {
  const temporary_dir dir;
  std::string csv = "step,tensor,kind,n,zero,nan,inf,max_abs,e_min,counts\n";
  for (int step = 0; step < 60; ++step) {
    const bool lost = step >= 40;
    for (const char* const name : {"a.weight", "b.weight"})
      csv += lost ? fmt::format("{},{},weight_grad,4,0,4,0,0,0,\n", step, name)
                  : fmt::format("{},{},weight_grad,4,0,0,0,1,-1,2 2\n", step, name);
  }
  const auto run = run_ulp("advise " + written(dir, "nan.csv", csv) + " --factor 1");
  REQUIRE(run.exit_code == 0);
  CHECK_FALSE(has(run.out, "gradient overflow"));
  CHECK(has(run.out, "20 steps (steps 40 to 59) are not finite"));
  CHECK(has(run.out, "NaN only, no infinity was recorded"));
  CHECK(has(run.out, "Left out below  the steps from 40 on"));
}

TEST_CASE("the configuration is written in the words of the framework that is named") {
  const temporary_dir dir;
  std::string csv = "step,found_inf,scale\n";
  for (int step = 0; step < 80; ++step)
    csv += fmt::format("{},{},{}\n", step, step < 20 ? 1 : 0, std::ldexp(1.0, 32 - std::min(step, 20)));
  const std::string log = written(dir, "log.csv", csv);
  const std::string deepspeed =
      written(dir, "ds.json", R"({"train_batch_size": 8, "fp16": {"enabled": true, "initial_scale_power": 32}})");
  const auto run = run_ulp("advise " + log + " --config " + deepspeed);
  REQUIRE(run.exit_code == 0);
  CHECK(has(run.out, "the initial loss scale 2^32 was too high: 20 steps (steps 0 to 19) were lost"));
  CHECK(has(run.out, "\"initial_scale_power\": 12"));
  CHECK(has(run_ulp("advise " + log).out, "torch.amp.GradScaler(init_scale=2.0**12"));
}

TEST_CASE("of a framework's log a page and advice speak in its words") {
  const std::string log = "tests/data/logs/deepspeed_386.log";
  const std::string words = "initial_scale_power";
  CHECK(has(run_ulp("advise " + log).out, words));
  CHECK(has(run_ulp("report " + log + " -o -").out, words));
}

TEST_CASE("that no scale helps is an estimate where the overflows are") {
  std::string csv = "step,scale,found_inf\n";
  for (int step = 0; step < 40; ++step) csv += fmt::format("{},{},1\n", step, std::ldexp(1.0, 16 - step));
  const temporary_dir dir;
  const std::string replay = "replay " + written(dir, "log.csv", csv) + " --scaler pytorch --format fp16";
  CHECK(has(run_ulp(replay).err,
            "40 steps in a row overflow at every scale from 2^16 down to 2^-23 (steps 0 to 39): that is NaN"));
  // Whether what overflowed at 2^16 does at 2^15 is open.
  CHECK(has(
      run_ulp(replay + " --set init_scale=32768").err,
      "39 steps in a row overflow, by estimate, at every scale from 2^15 down to 2^-23 (steps 1 to 39): if they do, that is NaN"));
}

TEST_CASE("a run from a pipe is judged with all its steps") {
  std::string csv = "step,found_inf,scale\n";
  for (int step = 0; step < 80; ++step)
    csv += fmt::format("{},{},{}\n", step, step < 40 ? 0 : 1, std::ldexp(1.0, step < 40 ? 16 : 56 - step));
  const auto run = run_ulp("advise - --json", csv);
  REQUIRE(run.exit_code == 0);
  const auto rows = nlohmann::json::parse(run.out);
  CHECK(rows.at(0).at("numbers").at("cause") == "forward_overflow");
  CHECK(rows.at(0).at("numbers").at("left_out_from").is_null());
}
