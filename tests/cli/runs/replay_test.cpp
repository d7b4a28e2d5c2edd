// Pins the trajectory on the command line: its CSV, golden traces through it, standard input, start states.
#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

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
  REQUIRE(run_ulp("record tests/data/octaves/digits.ulp --kind activation_grad --steps 0:3 -o " + run).exit_code == 0);
  const auto replay = run_ulp("replay " + run + " --scaler pytorch --format fp16");
  CHECK(replay.out.find("checked      all 5 tensors") != std::string::npos);
  CHECK(run_ulp("replay " + run + " --scaler pytorch --format fp16 --check conv1.weight").exit_code == 2);
}

TEST_CASE("estimates are marked") {
  const temporary_dir dir;
  const std::string run = (dir / "r.ulp").string();
  REQUIRE(run_ulp("record examples/digits.step00100.safetensors --no-sums -o " + run).exit_code == 0);
  const std::string replay = run_ulp("replay " + run + " --scaler pytorch --set growth_interval=1 --format fp16").out;
  CHECK(replay.find("  ~0.4") != std::string::npos);
}

TEST_CASE("a person is told the open loop, what was checked, and how often clipping applied") {
  const auto run = run_ulp(
      "replay tests/data/octaves/digits.ulp --scaler pytorch --set growth_interval=50 --format fp16 --clip-norm 1");
  CHECK(run.exit_code == 0);
  CHECK(run.out.find("(taken to have applied every step)") != std::string::npos);
  CHECK(run.out.find("open loop    diverges from the recorded run (taken to have applied every step) at step 480") !=
        std::string::npos);
  CHECK(run.out.find("checked      all 13 weight gradients") != std::string::npos);
  CHECK(run.out.find("clipping     58 of 800 steps") != std::string::npos);
  CHECK(run.err.find("note: roles are unknown") != std::string::npos);
}

TEST_CASE("the critical scale of each step is where its overflow begins") {
  const auto run = run_ulp("replay - --scaler pytorch --format fp16 --csv -", "step,maxabs\n0,1\n1,2\n2,nan\n3,0\n");
  const auto rows = csv_rows(run.out);
  const auto& header = rows.at(0);
  const auto at = static_cast<std::size_t>(std::ranges::find(header, "critical_scale") - header.begin());
  CHECK(rows.at(1).at(at) == "65519.99999999999");  // 65520 overflows, the double before it does not
  CHECK(rows.at(2).at(at) == "32759.999999999996");
  CHECK(rows.at(3).at(at) == "");  // at which scale it was NaN is not known
  CHECK(rows.at(4).at(at) == "inf");
  const auto scaled = csv_rows(
      run_ulp("replay - --scaler pytorch --format fp16 --csv -", "step,maxabs,scale\n0,1,1024\n1,nan,1024\n").out);
  CHECK(scaled.at(1).at(at) == "65519.99999999999");
  CHECK(scaled.at(2).at(at) == "1023.9999999999999");  // where it was NaN
  const auto flags = run_ulp("replay - --scaler pytorch --format fp16 --json", "step,found_inf\n0,1\n");
  CHECK(nlohmann::json::parse(flags.out).at("steps").at(0).at("critical_scale").is_null());
  CHECK(flags.err.find("only shows whether a step overflowed") != std::string::npos);
}

TEST_CASE("a person is told what the run asks of a scale, and what the policy does of its own") {
  const auto run =
      run_ulp("replay tests/data/octaves/digits.ulp --scaler pytorch --set growth_interval=50 --format fp16");
  CHECK(run.out.find("critical     largest safe scale 2^16.08 (step 30); median 2^26.88\n") != std::string::npos);
  CHECK(run.out.find("recovery     after one overflow 50 good steps, after three in a row 150 good steps\n") !=
        std::string::npos);
  CHECK(run.out.find("expected     1.44 % of steps skipped in the long run, mean scale 2^17.19, ") !=
        std::string::npos);
  const auto constant = run_ulp("replay tests/data/octaves/digits.ulp --scaler static --format fp16");
  CHECK(constant.out.find("recovery") == std::string::npos);
  CHECK(constant.out.find("expected") == std::string::npos);
}

TEST_CASE("clipping that a log cannot tell is not known") {
  const std::string log = "step,maxabs\n0,1\n1,3\n";
  const std::string replay = "replay - --scaler pytorch --format fp16 ";
  CHECK(run_ulp(replay + "--clip-norm 1", log).out.find("clipping     unknown") != std::string::npos);
  CHECK(run_ulp(replay + "--clip-value 2", log).out.find("clipping     1 of 2 steps") != std::string::npos);
  const auto rows = nlohmann::json::parse(run_ulp(replay + "--clip-norm 1 --json", log).out).at("steps");
  CHECK(rows.at(0).at("clipped").is_null());
}

TEST_CASE("the order of clipping is chosen and printed") {
  const std::string replay =
      "replay tests/data/octaves/digits.ulp --scaler static --format fp16 --set loss_scale=2^10 ";
  const auto clipped = [&](const std::string& options) {
    const std::string out = run_ulp(replay + options).out;
    const std::size_t at = out.find("clipping     ");
    return at == std::string::npos ? "" : out.substr(at + 13, out.find('\n', at) - at - 13);
  };
  CHECK(clipped("--clip-norm 1") == "58 of 800 steps; the largest norm left is 1");
  CHECK(clipped("--clip-norm 1024 --order clip,unscale,check") ==
        "58 of 800 steps (in the order clip,unscale,check); the largest norm left is 1");
  CHECK(run_ulp(replay + "--clip-norm 1 --order clip,check").exit_code == 2);
  CHECK(run_ulp(replay + "--order clip,unscale,check").exit_code == 2);
}

TEST_CASE("rows of each tensor add up to the trajectory") {
  const temporary_dir dir;
  const std::string path = (dir / "tensors.csv").string();
  const auto run = run_ulp(
      "replay tests/data/octaves/digits.ulp --scaler pytorch --format fp16 --steps 0:5 --csv - --per-tensor " + path);
  REQUIRE(run.exit_code == 0);
  const auto tensors = csv_rows(read_file(path));
  const auto steps = csv_rows(run.out);
  REQUIRE(tensors.size() == 5 * 18 + 1);
  const auto column = [](const std::vector<std::string>& header, const std::string& name) {
    return static_cast<std::size_t>(std::ranges::find(header, name) - header.begin());
  };
  for (const char* const name : {"numel", "underflow_low", "underflow_high", "overflow_high"}) {
    double sum = 0;
    for (std::size_t i = 1; i <= 18; ++i) sum += number_of(tensors[i].at(column(tensors[0], name)));
    const std::size_t at = column(steps[0], name);
    CHECK(sum == number_of(steps[1].at(at)));
  }
  CHECK(run_ulp("replay tests/data/golden/inputs/p01.csv --scaler pytorch --format fp16 --per-tensor " + path)
            .exit_code == 2);
  CHECK(csv_rows(read_file(path)).size() == tensors.size());  // what was there stays
  const auto both = run_ulp("replay tests/data/octaves/digits.ulp --scaler pytorch --format fp16 --csv " + path +
                            " --per-tensor " + (dir / "." / path.substr(path.rfind('/') + 1)).string());
  CHECK(both.exit_code == 2);
  CHECK(csv_rows(read_file(path)).size() == tensors.size());
  // Nor where neither is there yet.
  const std::string none = (dir / "none.csv").string();
  std::filesystem::create_symlink("none.csv", dir / "link.csv");
  for (const std::string& other : {none, (dir / "." / "none.csv").string(), (dir / "link.csv").string()}) {
    const auto new_file = run_ulp("replay tests/data/octaves/digits.ulp --scaler pytorch --format fp16 --csv " + none +
                                  " --per-tensor " + other);
    CHECK(new_file.exit_code == 2);
    CHECK(new_file.err == "ulp: --csv and --per-tensor both write to " + none + "; name another file\n");
    CHECK_FALSE(std::filesystem::exists(none));
  }
}

TEST_CASE("groups have norms of their own") {
  const auto run = run_ulp(
      "replay tests/data/octaves/digits.ulp --scaler static --format fp16 --steps 0:3 --group 'fc=^fc' --group "
      "'rest=.' --csv -");
  REQUIRE(run.exit_code == 0);
  const auto rows = csv_rows(run.out);
  const auto column = [&](const std::string& name) {
    return static_cast<std::size_t>(std::ranges::find(rows.at(0), name) - rows.at(0).begin());
  };
  for (std::size_t i = 1; i <= 3; ++i) {
    const double norm = number_of(rows[i].at(column("norm")));
    const double fc = number_of(rows[i].at(column("norm_fc")));
    const double rest = number_of(rows[i].at(column("norm_rest")));
    CHECK(fc > 0);
    CHECK(rest > 0);
    CHECK(norm == Approx(std::sqrt(fc * fc + rest * rest)));
  }
  CHECK(run_ulp("replay tests/data/octaves/digits.ulp --scaler static --format fp16 --group fc=a --group fc=b")
            .exit_code == 2);
  const auto rows_of = [](const std::string& arguments) {
    return nlohmann::json::parse(
        run_ulp("outcomes tests/data/octaves/digits.ulp --format fp16 --json " + arguments).out);
  };
  const auto groups = rows_of("--by group --group 'fc=^fc' --group 'conv=^conv'");
  REQUIRE(groups.size() == 3);  // and what is in neither
  std::int64_t sum = 0;
  for (const auto& row : groups) sum += row.at("numel").get<std::int64_t>();
  CHECK(sum == 245'908'800);
  CHECK(run_ulp("outcomes tests/data/octaves/digits.ulp --format fp16 --by group").exit_code == 2);
}

TEST_CASE("a schedule that counts applied steps is behind by the skipped ones") {
  const temporary_dir dir;
  const std::string scalars = (dir / "s.csv").string();
  write_file(scalars, "step,lr\n0,0.4\n1,0.3\n2,0.2\n3,0.1\n");
  const auto run =
      run_ulp("replay - --scaler pytorch --format fp16 --scalars " + scalars, "step,maxabs\n0,0.1\n1,1e9\n2,0\n3,0\n");
  CHECK(run.out.find("schedule     counting applied steps only, the learning rate would be 0.2 at the end, 1 step "
                     "behind, not 0.1") != std::string::npos);
}

TEST_CASE("missing steps are told") {
  const auto run = run_ulp("replay - --scaler pytorch --format fp16", "step,maxabs\n0,1\n10,1\n20,1\n");
  CHECK(run.err.find("steps are missing (after 0 comes 10)") != std::string::npos);
  CHECK(run_ulp("replay - --scaler pytorch --format fp16", "step,maxabs\n7,1\n8,1\n").err.find("missing") ==
        std::string::npos);
}

TEST_CASE("layers of a log say what the run did, and are not recorded") {
  const std::string log = "step,layer,found_inf\n0,a,0\n0,b,1\n1,a,0\n1,b,0\n";
  CHECK(run_ulp("replay - --scaler pytorch --format fp16", log).out.find("open loop    no, by estimate: ") !=
        std::string::npos);
  const temporary_dir dir;
  const auto record = run_ulp("record - -o " + (dir / "r.ulp").string(), log);
  CHECK(record.exit_code == 2);
  CHECK(record.err.find("has no layers of a step log") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(dir / "r.ulp"));
}

TEST_CASE("what is read is not overwritten") {
  const temporary_dir dir;
  const std::string log = (dir / "log.csv").string();
  write_file(log, "step,maxabs\n0,1\n");
  for (const std::string command : {"replay", "sweep"}) {
    CAPTURE(command);
    const auto run = run_ulp(command + " " + log + " --scaler pytorch --format fp16 --csv " + log);
    CHECK(run.exit_code == 2);
    CHECK(run.err.find("would be overwritten") != std::string::npos);
  }
  CHECK(read_file(log) == "step,maxabs\n0,1\n");
}

TEST_CASE("a sweep counts what a raising policy leaves undone as lost") {
  // DeepSpeed raises at an overflow at its floor.
  const auto sweep = run_ulp("sweep - --scaler deepspeed_dynamic,pytorch --set init_scale=2 --format fp16 --json",
                             "step,found_inf\n0,1\n1,1\n2,0\n3,0\n");
  const auto rows = nlohmann::json::parse(sweep.out);
  CHECK(rows.at(0).at("scaler") == "pytorch");
  CHECK(rows.at(0).at("lost") == 2);
  CHECK(rows.at(1).at("skipped") == 2);
  CHECK(rows.at(1).at("lost") == 4);
}

TEST_CASE("a sweep ranks scenarios and prints what each replay gives") {
  const auto sweep = run_ulp(
      "sweep tests/data/octaves/digits.ulp --scaler pytorch,tf_keras --set growth_interval=50,200 --format fp16,bf16 "
      "--json");
  REQUIRE(sweep.exit_code == 0);
  const auto rows = nlohmann::json::parse(sweep.out);
  REQUIRE(rows.size() == 6);
  int compared = 0;
  for (const auto& row : rows) {
    if (row.at("scaler") != "pytorch") continue;
    const auto replay = run_ulp("replay tests/data/octaves/digits.ulp --scaler pytorch --set " +
                                row.at("parameters").get<std::string>() + " --format " +
                                row.at("format").get<std::string>() + " --json");
    std::int64_t skipped = 0;
    const auto steps = nlohmann::json::parse(replay.out).at("steps");
    for (const auto& step : steps) skipped += step.at("skipped").get<bool>() ? 1 : 0;
    CHECK(row.at("skipped").get<std::int64_t>() == skipped);
    CHECK(row.at("last_scale").get<double>() == steps.back().at("scale_next").get<double>());
    ++compared;
  }
  CHECK(compared == 4);
  CHECK(rows.at(0).at("pareto").get<bool>());
  CHECK(run_ulp("sweep tests/data/octaves/digits.ulp --scaler pytorch --set grow=1,2 --format fp16").exit_code == 2);
}

TEST_CASE("one of a thing is not called several") {
  const std::string one = "replay examples/digits.step00100.safetensors --scaler static --format fp16 --clip-norm 1 ";
  const std::string by_kind = run_ulp(one + "--kind 'fc1.bias$=weight_grad' --kind '^wgrad/=weight'").out;
  CHECK(by_kind.find("checked      the only weight gradient\n") != std::string::npos);
  const std::string by_name = run_ulp(one + "--tensor 'fc1.bias$'").out;
  CHECK(by_name.find("checked      1 tensor, by --tensor\n") != std::string::npos);
  CHECK(by_name.find("counted      1 tensor, checked or not") != std::string::npos);
  CHECK(by_name.find(" of 1 step;") != std::string::npos);
}
