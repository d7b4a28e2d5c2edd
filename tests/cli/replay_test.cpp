// Pins the trajectory on the command line: its CSV, golden traces through it, standard input, start states.
#include "support/catch.hpp"

#include <nlohmann/json.hpp>

#include "model/golden.hpp"
#include "support/program.hpp"

using namespace ulp::test;

namespace {

std::vector<std::vector<std::string>> csv_rows(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  std::stringstream in(text);
  for (std::string line; std::getline(in, line);) rows.push_back(fields_of(line));
  return rows;
}

}  // namespace

TEST_CASE("trajectories of the three scalers are the golden ones") {
  struct run {
    std::string arguments;
    std::string trace;
  };
  for (const auto& [arguments, trace_name] :
       {run{"pytorch", "pytorch_gradscaler/loop_walk__default"}, run{"tf_keras", "tf_keras_dynamic/loop_walk__default"},
        run{"cerebras --set fp16_type=cbfloat16", "cerebras_dls/loop_walk__cbfloat16_default"}}) {
    CAPTURE(arguments);
    const auto result =
        run_ulp("replay tests/data/golden/inputs/loop_walk.csv --format float16 --csv - --scaler " + arguments);
    REQUIRE(result.exit_code == 0);
    const auto rows = csv_rows(result.out);
    REQUIRE(rows.size() == 10001);
    CHECK(result.out.starts_with("step,found_inf,scale_used,scale_next,skipped"));
    const auto trace = read_events(source_dir() / "tests/data/golden" / (trace_name + ".events"));
    std::vector<std::pair<std::size_t, double>> changes;
    for (std::size_t i = 1; i < rows.size(); ++i)
      if (rows[i].at(2) != rows[i].at(3)) changes.emplace_back(i - 1, number_of(rows[i].at(3)));
    CHECK(changes == trace.changes);
  }
}

TEST_CASE("a log on standard input, and a state to start from") {
  const auto run =
      run_ulp("replay - --scaler pytorch --start scale=4 --start _growth_tracker=1999 --format fp16 --csv -",
              "step,found_inf\n5,0\n6,1\n");
  REQUIRE(run.exit_code == 0);
  const auto rows = csv_rows(run.out);
  CHECK(rows.at(1) == std::vector<std::string>(rows.at(1)));
  CHECK((rows.at(1).at(0) == "5" && rows.at(1).at(2) == "4" && rows.at(1).at(3) == "8"));
  CHECK((rows.at(2).at(1) == "1" && rows.at(2).at(3) == "4" && rows.at(2).at(4) == "1"));
}

TEST_CASE("what was left out of a recording is not taken for checked") {
  const temporary_dir dir;
  const std::string run = (dir / "r.ulp").string();
  REQUIRE(run_ulp("record examples/digits.ulp --kind activation_grad --steps 0:3 -o " + run).exit_code == 0);
  const auto replay = run_ulp("replay " + run + " --scaler pytorch --format fp16");
  CHECK(replay.out.find("checked      all 5 tensors") != std::string::npos);
  CHECK(run_ulp("replay " + run + " --scaler pytorch --format fp16 --check conv1.weight").exit_code == 2);
}

TEST_CASE("estimates are marked") {
  const temporary_dir dir;
  const std::string run = (dir / "r.ulp").string();
  REQUIRE(run_ulp("record tests/data/digits.step00100.safetensors --no-sums -o " + run).exit_code == 0);
  const std::string replay = run_ulp("replay " + run + " --scaler pytorch --set growth_interval=1 --format fp16").out;
  CHECK(replay.find("  ~0.4") != std::string::npos);
}

TEST_CASE("a person is told the open loop, what was checked, and how often clipping applied") {
  const auto run =
      run_ulp("replay examples/digits.ulp --scaler pytorch --set growth_interval=50 --format fp16 --clip-norm 1");
  CHECK(run.exit_code == 0);
  CHECK(run.out.find("(taken to have applied every step)") != std::string::npos);
  CHECK(run.out.find(
            "open loop    diverged from what was recorded (taken to have applied every step) from step 480 on") !=
        std::string::npos);
  CHECK(run.out.find("checked      all 13 weight gradients") != std::string::npos);
  CHECK(run.out.find("clipping     58 of 800 steps") != std::string::npos);
  CHECK(run.err.find("note: roles are not known") != std::string::npos);
}

TEST_CASE("a sweep ranks scenarios and prints what each replay gives") {
  const auto sweep = run_ulp(
      "sweep examples/digits.ulp --scaler pytorch,tf_keras --set growth_interval=50,200 --format fp16,bf16 --json");
  REQUIRE(sweep.exit_code == 0);
  const auto rows = nlohmann::json::parse(sweep.out);
  REQUIRE(rows.size() == 6);
  int compared = 0;
  for (const auto& row : rows) {
    if (row.at("scaler") != "pytorch") continue;
    const auto replay =
        run_ulp("replay examples/digits.ulp --scaler pytorch --set " + row.at("parameters").get<std::string>() +
                " --format " + row.at("format").get<std::string>() + " --json");
    std::int64_t skipped = 0;
    const auto steps = nlohmann::json::parse(replay.out);
    for (const auto& step : steps) skipped += step.at("skipped").get<bool>() ? 1 : 0;
    CHECK(row.at("skipped").get<std::int64_t>() == skipped);
    CHECK(row.at("last_scale").get<double>() == steps.back().at("scale_next").get<double>());
    ++compared;
  }
  CHECK(compared == 4);
  CHECK(rows.at(0).at("pareto").get<bool>());
  CHECK(run_ulp("sweep examples/digits.ulp --scaler pytorch --set grow=1,2 --format fp16").exit_code == 2);
}
