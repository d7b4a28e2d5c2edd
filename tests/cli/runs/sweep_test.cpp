// Pins that whatever makes a replay is said to `ulp sweep` and `ulp report` in the same words: each row of a sweep and each
// policy of a page is what `ulp replay` gives for it.
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/program.hpp"

using namespace ulp::test;

namespace {

const std::string digits = " tests/data/octaves/digits.ulp ";

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells{""};
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      cells.emplace_back();
    else
      cells.back() += c;
  }
  return cells;
}

// Rows of a CSV text by their keys.
std::vector<std::map<std::string, std::string>> rows_of(const std::string& csv) {
  std::istringstream in(csv);
  std::vector<std::map<std::string, std::string>> rows;
  std::vector<std::string> keys;
  for (std::string line; std::getline(in, line);) {
    const std::vector<std::string> cells = cells_of(line);
    if (keys.empty()) {
      keys = cells;
      continue;
    }
    rows.emplace_back();
    for (std::size_t i = 0; i < keys.size(); ++i) rows.back()[keys[i]] = cells.at(i);
  }
  return rows;
}

std::string skipped_in(const std::vector<std::map<std::string, std::string>>& trajectory) {
  int n = 0;
  for (const auto& row : trajectory) n += row.at("skipped") == "1" ? 1 : 0;
  return std::to_string(n);
}

const std::vector<std::string> options{"--start scale=1e9",
                                       "--start scale=1e9 --saturate",
                                       "--start scale=1e9 --daz --ftz after",
                                       "--start scale=1e9 --check '^bn2'",
                                       "--start scale=1e9 --clip-value 2^-10",
                                       "--start scale=1e9 --clip-value 2^-10 --order clip,check,unscale",
                                       "--start scale=1e9 --clip-norm 2^3 --order clip,unscale,check",
                                       "--start scale=1e9 --rounding sr,bits=4 --seed 3",
                                       "--start scale=1e9 --kind weight_grad --every 3 --steps 10:200",
                                       "--start scale=1e9 --tensor fc --role fc=low",
                                       "--set init_scale=1e8 --rounding rz --tininess before"};

}  // namespace

TEST_CASE("every option of a scenario means in a sweep what it means in a replay") {
  for (const std::string& o : options) {
    const std::string said = digits + "--scaler pytorch --format fp16 --csv - " + o;
    INFO(o);
    const auto replay = run_ulp("replay" + said);
    const auto sweep = run_ulp("sweep" + said);
    REQUIRE(replay.exit_code == 0);
    REQUIRE(sweep.exit_code == 0);
    const auto trajectory = rows_of(replay.out);
    const auto swept = rows_of(sweep.out);
    REQUIRE(swept.size() == 1);
    CHECK(swept[0].at("steps") == std::to_string(trajectory.size()));
    CHECK(swept[0].at("skipped_low") == skipped_in(trajectory));
    CHECK(swept[0].at("last_scale") == trajectory.back().at("scale_next"));
  }
}

TEST_CASE("clamping before the check hides infinities from a sweep too") {
  const std::string said =
      "sweep" + digits + "--scaler pytorch --format fp16 --start scale=1e9 --clip-value 1 --csv - ";
  CHECK(rows_of(run_ulp(said).out)[0].at("skipped_low") != "0");
  CHECK(rows_of(run_ulp(said + "--order unscale,clip,check").out)[0].at("skipped_low") == "0");
}

TEST_CASE("every option of a scenario is taken by a page, whose commands repeat it") {
  for (const std::string& o : options) {
    if (has(o, "--rounding sr")) continue;
    INFO(o);
    const auto page = run_ulp("report" + digits + "--scaler pytorch --format fp16 -o - " + o);
    REQUIRE(page.exit_code == 0);
    const auto at = page.out.find("ulp replay ");
    REQUIRE(at != std::string::npos);
    std::string command = page.out.substr(at, page.out.find('<', at) - at);
    for (const auto& [code, text] : {std::pair{"&#39;", "'"}, {"&quot;", "\""}, {"&amp;", "&"}})
      for (auto p = command.find(code); p != std::string::npos; p = command.find(code))
        command.replace(p, std::string(code).size(), text);
    INFO(command);
    const auto printed = run_shell(command + " --csv -");
    REQUIRE(printed.exit_code == 0);
    CHECK(printed.out == run_ulp("replay" + digits + "--scaler pytorch --format fp16 --csv - " + o).out);
  }
}

TEST_CASE("a configuration is asked against other policies") {
  const temporary_dir dir;
  const std::string config = (dir / "ds.json").string();
  write_file(config, R"({"fp16":{"enabled":true,"initial_scale_power":24,"loss_scale_window":100}})");
  const auto mine = rows_of(run_ulp("replay" + digits + "--csv - --config " + config).out);
  const auto sweep = run_ulp("sweep" + digits + "--csv - --scaler pytorch,tf_keras --config " + config);
  REQUIRE(sweep.exit_code == 0);
  CHECK(has(sweep.err, "ds.json: DeepSpeed: fp16.initial_scale_power = 24 -> "));
  int found = 0;
  for (const auto& row : rows_of(sweep.out)) {
    CHECK(row.at("format") == "float16");
    if (!row.at("scaler").starts_with("deepspeed")) continue;
    ++found;
    CHECK(has(row.at("parameters"), "scale_window=100"));
    CHECK(row.at("skipped_low") == skipped_in(mine));
    CHECK(row.at("last_scale") == mine.back().at("scale_next"));
  }
  CHECK(found == 1);
  CHECK(rows_of(sweep.out).size() == 3);
  // Values of a parameter are for all that have it, the configuration's policy too.
  const auto grid =
      run_ulp("sweep" + digits + "--csv - --config " + config + " --set scale_window=50,200 --format fp16,bf16");
  CHECK(rows_of(grid.out).size() == 4);

  const auto page = run_ulp("report" + digits + "-o - --scaler pytorch --config " + config);
  REQUIRE(page.exit_code == 0);
  const auto first = page.out.find("ulp replay ");
  CHECK(page.out.find("--scaler deepspeed", first) < page.out.find("--scaler pytorch", first));
  CHECK(has(page.out, "--set scale_window=100"));
}

TEST_CASE("each policy has its distance to the best trajectory in hindsight, or the reason why it has none") {
  const std::string said = "sweep" + digits + "--scaler pytorch,megatron,layerwise,static --format fp16 ";
  for (const auto& row : rows_of(run_ulp(said + "--set loss_scale=1000 --csv -").out)) {
    CAPTURE(row.at("scaler"));
    if (row.at("scaler") == "layerwise") {
      CHECK(row.at("why_no_regret") == "a scale for each layer");
      CHECK(row.at("regret").empty());
    } else if (row.at("scaler") == "static") {
      CHECK(row.at("why_no_regret") == "the scale 1000 at step 0 is not a power of two");
    } else {
      CHECK(row.at("why_no_regret").empty());
      CHECK(std::stod(row.at("cost")) == Approx(std::stod(row.at("lost")) + std::stod(row.at("magnitude_cost"))));
      CHECK(std::stod(row.at("regret")) >= 0);
      CHECK(std::stod(row.at("free_regret")) >= std::stod(row.at("regret")));
    }
  }
  const std::string text = run_ulp(said).out;
  CHECK(has(text, "best of all in hindsight, fp16 nearest-even: cost "));
  CHECK(has(text, "why no regret"));
  // Dearer underflow never makes the best cheaper.
  const auto cost = [&](const std::string& weight) {
    const auto row = rows_of(run_ulp(said + "--csv - --magnitude-cost " + weight).out)[0];
    return std::stod(row.at("cost")) - std::stod(row.at("free_regret"));
  };
  CHECK(cost("2^40") > cost("1"));
  const auto refused = run_ulp(said + "--magnitude-cost -1");
  CHECK(refused.exit_code == 2);
  CHECK(has(refused.err, "--magnitude-cost: '-1' is not a positive"));
}

TEST_CASE("the best of a log is the largest scale that overflows in no step, and what all rows share is said") {
  const temporary_dir dir;
  const std::string log = (dir / "log.csv").string();
  const std::string best = (dir / "best.csv").string();
  write_file(log, "step,maxabs\n0,1\n1,2\n2,nan\n3,0.5\n4,255\n5,1\n");
  const std::string said =
      "sweep " + log + " --scaler pytorch,megatron --set init_scale=2^20 --set initial_scale=2^20 ";
  const auto sweep = run_ulp(said + "--format fp16 --hindsight " + best);
  REQUIRE(sweep.exit_code == 0);
  // 255 * 2^8 is below 65520; the step with NaN is lost to all, by estimate: the log has no scale.
  CHECK(
      has(sweep.out,
          "best of all in hindsight, fp16 nearest-even: cost ~1 [0, 1] (1 skipped, 0 for lost magnitude), scale 2^8"));
  CHECK(has(sweep.out, "1 step is skipped by every row: its gradients are not finite as recorded (step 2)"));
  const auto rows = rows_of(read_file(best));
  REQUIRE(rows.size() == 6);
  for (const auto& row : rows) CHECK(row.at("scale") == "256");
  CHECK(rows[5].at("step") == "5");
  // From 2^20 a halving in each step comes to 2^15 only: 2^20 to 2^16 overflow at 1, 2, NaN, 0.5 and 255, 2^15 holds 1.
  for (const auto& row : rows_of(run_ulp(said + "--format fp16 --csv -").out)) {
    CHECK(row.at("best_skipped") == "5");
    CHECK(row.at("free_best_skipped") == "1");
    CHECK(std::stod(row.at("free_regret")) == std::stod(row.at("lost")) - 1);
  }
  const auto refusal = [&](const std::string& options) {
    const auto refused = run_ulp(said + "--format fp16 --hindsight " + options);
    CHECK(refused.exit_code == 2);
    return refused.err;
  };
  CHECK(has(refusal("-"), "--hindsight: name a file"));
  CHECK(has(refusal(log), log + " is an input and would be overwritten"));
  const std::string none = log + ".none";
  CHECK(has(refusal(none + " --csv " + none), "--csv and --hindsight both write to " + none));
  CHECK_FALSE(std::filesystem::exists(none));
  CHECK(read_file(log).starts_with("step,maxabs"));
}

TEST_CASE("a sweep or page without policy or format, or with contradictions, is one line and exit code 2") {
  const temporary_dir dir;
  const std::string config = (dir / "c.yaml").string();
  write_file(config, "trainer:\n  precision: 16-mixed\n  gradient_clip_val: 1\n");
  const auto check = [](const program_result& run, const std::string& part) {
    INFO(run.err);
    CHECK(run.exit_code == 2);
    CHECK(run.out.empty());
    CHECK(has(run.err, part));
  };
  check(run_ulp("sweep" + digits + "--format fp16"), "--scaler, --recipe or --config is required");
  check(run_ulp("sweep" + digits + "--scaler pytorch"), "--format is required");
  check(run_ulp("sweep" + digits + "--scaler pytorch --format fp16 --rounding rne --rounding nearest-even"),
        "--rounding: rne and nearest-even are the same");
  check(run_ulp("sweep" + digits + "--scaler pytorch --format fp16 --rounding nvidia --rounding sr,bits=13"),
        "--rounding: nvidia and sr,bits=13 are the same");
  check(run_ulp("sweep" + digits + "--scaler pytorch --format fp16 --start x=1"), "--start: no state 'x' in pytorch");
  for (const std::string& command : {"sweep" + digits, "report -o -" + digits}) {
    check(run_ulp(command + "--config " + config + " --clip-norm 2"), "clips already, to L2 norm 1");
    check(run_ulp(command + "--config " + config + " --set nosuch=1"), "no parameter 'nosuch' in pytorch_gradscaler");
    check(run_ulp(command + "--scaler pytorch --format fp16 --order clip,unscale,check"), "nothing to order");
    check(run_ulp(command + "--scaler pytorch --format fp16 --clip-norm 1 --clip-value 1"), "--clip-");
  }
}
