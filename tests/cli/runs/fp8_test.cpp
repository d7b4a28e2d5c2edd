// Pins FP8 scales on the command line: golden traces through it, tables of amaxes, recipes over a recording, refusals.
#include "support/catch.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "io/builders.hpp"
#include "model/machines/fp8/golden.hpp"
#include "support/files.hpp"
#include "support/program.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

const std::string digits = "examples/digits.ulp";

std::vector<std::vector<std::string>> rows_of(const std::string& csv) {
  std::vector<std::vector<std::string>> rows;
  std::stringstream in(csv);
  for (std::string line; std::getline(in, line);) rows.push_back(fields_of(line));
  return rows;
}

// As --set has them.
std::string settings_of(const fp8_trace& trace) {
  std::string all;
  for (const auto& [key, text] : trace.header)
    if (key != "source" && key != "format" && key != "scale" && key != "value_for_inf" && key != "rule")
      all += " --set " + key + "=" + text;
  return all;
}

}  // namespace

TEST_CASE("scales of the run itself beside those of the replay") {
  // Eight steps of te_delayed_bulk_max_h4_m1_e5m2 through a Recorder; in step 5 the run had the scale 3 for one tensor.
  const auto run = run_ulp(
      "replay tests/data/live_scales.ulp --recipe te_delayed:e5m2 --set amax_history_len=4 --set margin=1 --json");
  REQUIRE(run.exit_code == 0);
  const auto summary = nlohmann::json::parse(run.out).at("summary");
  CHECK(summary.at("live_steps") == 8);
  CHECK(summary.at("live_equal_steps") == 7);
  CHECK(summary.at("live_tensor_steps") == 24);
  CHECK(summary.at("live_equal_tensor_steps") == 23);
  CHECK(summary.at("first_difference_step") == 5);
  CHECK(summary.at("first_difference_tensor") == "1.GEMM1_WEIGHT");
  CHECK(summary.at("first_difference_live") == 3);
}

TEST_CASE("golden traces through the command line, in hexadecimal") {
  std::size_t compared = 0;
  for (const auto& file : std::filesystem::directory_iterator(source_dir() / "tests/data/golden_fp8")) {
    if (file.path().extension() != ".csv") continue;
    const fp8_trace trace(file.path());
    const auto format = trace.header.find("format");
    const bool is_wide = format != trace.header.end() && format->second == "e5m2";
    const auto run =
        run_ulp("replay " + file.path().string() + " --scaler " + std::string{policy_of_file(file.path()).name} +
                settings_of(trace) + " --format " + (is_wide ? "float8_e5m2" : "float8_e4m3fn") + " --hex --csv -");
    CAPTURE(file.path().string(), run.err);
    REQUIRE(run.exit_code == 0);
    const auto rows = rows_of(run.out);
    REQUIRE(rows.size() == trace.rows.size() + 1);
    CHECK(rows.front() ==
          std::vector<std::string>{"step", "tensor", "amax", "scale_before", "scale_used", "scale_after"});
    std::map<std::string, std::size_t> column;
    for (std::size_t i = 0; i < rows.front().size(); ++i) column[rows.front()[i]] = i;
    for (std::size_t r = 0; r < trace.rows.size(); ++r)
      for (std::size_t c = 0; c < trace.columns.size(); ++c) {
        if (!column.contains(trace.columns[c])) continue;
        ++compared;
        if (rows[r + 1][column[trace.columns[c]]] != trace.rows[r][c])
          FAIL(trace.columns[c] << " of row " << r << " is " << rows[r + 1][column[trace.columns[c]]] << ", not "
                                << trace.rows[r][c]);
      }
  }
  CHECK(compared > 30'000);
}

TEST_CASE("a table of amaxes on standard input, its columns in any order, and tensors that appear late") {
  const auto run = run_ulp("replay - --scaler te --set amax_history_len=1 --format float8_e4m3fn --csv -",
                           "# made by hand\namax,note,step,tensor\n2,x,0,a\n0x1p-1,x,1,a\n4,y,1,late\nnan,x,2,a\n");
  REQUIRE(run.exit_code == 0);
  CHECK(run.out ==
        "step,tensor,amax,scale_before,scale_used,scale_after\n"
        "0,a,2,1,1,224\n1,a,0.5,224,224,896\n1,late,4,1,1,112\n2,a,nan,896,896,896\n");
}

TEST_CASE("tables of amaxes are refused by the line that is wrong") {
  const std::string asked = "replay - --scaler te --format float8_e4m3fn";
  for (const auto& [text, why] :
       {std::pair{"step,tensor,amax\n0,a,-1\n", "line 2, column 'amax': '-1' is not a largest magnitude"},
        {"step,tensor,amax\n0,a,1\n0,a,1\n", "step 0 of 'a' does not come after step 0"},
        {"step,tensor,amax\n0,a,1e60\n", "is not a largest magnitude: a float32 number"},
        {"step,tensor,amax\n", "holds no steps"},
        {"step,scale\n0,1\n", "no table with the columns step, tensor, amax"}}) {
    const auto run = run_ulp(asked, text);
    CAPTURE(text, run.err);
    CHECK(run.exit_code == 2);
    CHECK_THAT(run.err, Contains(why));
  }
}

TEST_CASE("a recipe over a recording: rows, summary, and what is not cast") {
  const auto run = run_ulp("replay " + digits + " --recipe te_delayed:hybrid --json");
  REQUIRE(run.exit_code == 0);
  const auto all = nlohmann::json::parse(run.out);
  CHECK(all["summary"]["recipe"] == "te_delayed:hybrid");
  CHECK(all["summary"]["gradient_format"] == "float8_e5m2");
  CHECK(all["summary"]["tensors"] == 3);
  CHECK_THAT(all["notes"].dump(), Contains("not cast, as what products give is not: conv1.weight"));
  CHECK_THAT(all["notes"].dump(), Contains("5 steps have infinities that the run's own 16-bit format"));
  const auto csv = rows_of(run_ulp("replay " + digits + " --recipe te_delayed:hybrid --csv -").out);
  CHECK(csv.size() - 1 == all["summary"]["tensor_steps"].get<std::size_t>());
}

TEST_CASE("a report tells how a run goes under a recipe, with the parameters that its policy has") {
  const temporary_dir dir;
  const std::string page = (dir / "r.html").string();
  const std::string recipe =
      "tests/data/live_scales.ulp --recipe te_delayed:e5m2 --set amax_history_len=4 --set margin=1";
  const auto made = run_ulp("report " + recipe + " --set growth_interval=7 -o " + page);
  INFO(made.err);
  REQUIRE(made.exit_code == 0);
  const std::string html = read_file(page);
  for (const std::string part : {"A scale for each tensor: te_delayed:e5m2 amax_history_len=4 margin=1",
                                 "in 23 of 24 steps of a tensor", "kept the scale of 1 of 3 tensors for up to 3 steps",
                                 "By tensor and step: steps in which values saturate", "growth_interval=7"}) {
    INFO(part);
    CHECK(html.find(part) != std::string::npos);
  }
  // That of the configuration, where none is named.
  const auto configured = run_ulp("report " + digits + " --config tests/data/configs/accelerate_fp8.yaml -o " + page);
  INFO(configured.err);
  REQUIRE(configured.exit_code == 0);
  CHECK(read_file(page).find("A scale for each tensor: te_delayed:e4m3 amax_history_len=1024") != std::string::npos);
  // A parameter that nothing has is refused.
  CHECK(run_ulp("report " + recipe + " --set nonsense=1 -o " + page).exit_code == 2);
}

TEST_CASE("a sweep of recipes has what each replay has") {
  const auto swept = nlohmann::json::parse(
      run_ulp("sweep " + digits + " --recipe te_delayed,te_current:e5m2 --set amax_history_len=1,16 --json").out);
  REQUIRE(swept.size() == 3);
  for (const auto& row : swept) {
    std::string asked = "replay " + digits + " --recipe " + row["recipe"].get<std::string>();
    if (const auto set = row["parameters"].get<std::string>(); !set.empty()) asked += " --set " + set;
    const auto alone = nlohmann::json::parse(run_ulp(asked + " --json").out)["summary"];
    for (const auto& [key, of] : {std::pair{"saturating_steps", "saturating_tensor_steps"},
                                  {"stale_steps", "stale_tensor_steps"},
                                  {"underflow_low", "underflow_low"},
                                  {"saturated_high", "saturated_high"}})
      CHECK(row[key] == alone[of]);
  }
}

TEST_CASE("configurations of FP8 training are replayed and swept") {
  const temporary_dir dir;
  const auto path = [&](const std::string& name, const std::string& text) {
    write_file(dir / name, text);
    return (dir / name).string();
  };
  const std::string print =
      path("recipe.txt", "recipe_type=DelayedScaling, margin=1, format=E4M3, amax_history_len=16, reduce_amax=True\n");
  const auto summary = [&](const std::string& arguments) {
    const auto run = run_ulp("replay " + digits + " " + arguments + " --json");
    CAPTURE(arguments, run.err);
    REQUIRE(run.exit_code == 0);
    return nlohmann::json::parse(run.out)["summary"];
  };
  const std::string parameters = " --set margin=1 --set amax_compute_algo=";
  CHECK(summary("--config " + print) ==
        summary("--recipe te_delayed:e4m3 --set amax_history_len=16" + parameters + "max"));
  // What --set says counts before the file.
  CHECK(summary("--config " + print + " --set amax_history_len=2 --set amax_compute_algo=most_recent") ==
        summary("--recipe te_delayed:e4m3 --set amax_history_len=2" + parameters + "most_recent"));
  const std::string current = path("current.py", "r = Float8CurrentScaling(fp8_format=Format.HYBRID)\n");
  CHECK(summary("--config " + current) == summary("--recipe te_current:hybrid"));
  const std::string torchao = path("ao.py", "c = Float8LinearConfig(round_scales_to_power_of_2=True)\n");
  CHECK(summary("--config " + torchao) ==
        summary("--recipe torchao_tensorwise:hybrid --set round_scales_to_power_of_2=true"));
  CHECK(summary("--config tests/data/configs/accelerate_fp8.yaml")["recipe"] == "te_delayed:e4m3");

  const auto swept = nlohmann::json::parse(
      run_ulp("sweep " + digits + " --config " + print + " --recipe te_current --set amax_history_len=1,16 --json")
          .out);
  REQUIRE(swept.size() == 3);
  for (const auto& row : swept)
    if (row["recipe"] == "te_delayed:e4m3")
      CHECK(row["saturating_steps"] ==
            summary("--config " + print + " --set " +
                    row["parameters"].get<std::string>().substr(
                        row["parameters"].get<std::string>().find("amax_history_len")))["saturating_tensor_steps"]);

  for (const auto& [arguments, why] :
       {std::pair{"replay " + digits + " --config " + path("b.py", "r = MXFP8BlockScaling()\n"),
                  std::string{"recipe te_mxfp8: it has a scale for each block"}},
        {"sweep " + digits + " --config " + path("b.py", "r = MXFP8BlockScaling()\n"), "a scale for each block"},
        {"replay " + digits + " --config " + path("n.py", "r = NVFP4BlockScaling()\n"),
         "NVFP4, with a scale for each block"},
        {"replay " + digits + " --config " +
             path("r.yaml", "recipe_name: rowwise\nenable_fsdp_float8_all_gather: false\n"),
         "a scale for each row"},
        {"replay " + digits + " --config " + path("o.py", "r = DelayedScaling(amax_history_len=args.n)\n"),
         "--set amax_history_len=N"},
        {"replay " + digits + " --config " + print + " --clip-norm 1", "--clip-norm: not with a scale for each"},
        {"sweep " + digits + " --config " +
             path("ds.json", R"({"zero_optimization": {"stage": 1}, "bf16": {"enabled": true}})") +
             " --recipe te_current",
         "does not train with a scale for each tensor"}}) {
    const auto run = run_ulp(arguments);
    CAPTURE(arguments, run.err);
    CHECK(run.exit_code == 2);
    CHECK_THAT(run.err, Contains(why));
  }
}

TEST_CASE("what has no meaning with a scale for each tensor is refused by name") {
  for (const auto& [arguments, why] :
       {std::pair{"replay " + digits + " --recipe te_delayed --clip-norm 1", "--clip-norm: not with a scale for each"},
        {"replay " + digits + " --recipe te_delayed --format fp16", "--format: a recipe has its own formats"},
        {"replay " + digits + " --recipe deepseek_v3", "a scale for each block"},
        {"replay " + digits + " --recipe te_delay", "near: te_delayed"},
        {"replay " + digits + " --scaler te", "--format is required with --scaler te_delayed_bulk"},
        {"replay " + digits + " --scaler te --format e4m3fn --set amax_history_len=0",
         "amax_history_len must be at least 1"},
        {"replay " + digits + " --scaler pytorch --format fp16 --hex", "--hex: only with a scale for each tensor"},
        {"replay tests/data/golden/inputs/loop_walk.csv --scaler te --format e4m3fn", "knows no tensors"},
        {"sweep " + digits + " --scaler te,pytorch --format e4m3fn", "pytorch scales the whole run"},
        {"replay " + digits + " --recipe te", "'te' is a policy, no recipe: --scaler te with --format"},
        {"replay " + digits, "--scaler, --recipe or --config is required"},
        {"replay " + digits + " --recipe te_delayed --set margin=1 --set margin=2", "--set: margin is given twice"},
        {"replay " + digits + " --recipe te_delayed --set margin=1 amax_history_len=2",
         "a parameter has a --set of its own: --set amax_history_len=2"},
        {"sweep " + digits + " --recipe te_delayed,te_current,te_delayed:hybrid", "is asked for twice"},
        {"sweep " + digits + " --recipe te_delayed --set amax_history_len=4,4.0", "is asked for twice"},
        {"sweep " + digits + " --scaler te,te_delayed_bulk --format float8_e4m3fn", "is asked for twice"}}) {
    const auto run = run_ulp(arguments);
    CAPTURE(arguments, run.err);
    CHECK(run.exit_code == 2);
    CHECK_THAT(run.err, Contains(why));
  }
}

TEST_CASE("advice of formats of 8 bits speaks of scales of tensors, of bfloat16 of none") {
  const auto in_8_bits = run_ulp("advise " + digits + " --format float8_e4m3fn");
  CHECK_THAT(in_8_bits.out, Contains("a scale for each tensor (te_current:"));
  CHECK_THAT(in_8_bits.out, Contains("E4M3 or E5M2, with a scale for each tensor?"));
  CHECK_THAT(in_8_bits.out, !Contains("GradScaler"));
  CHECK_THAT(in_8_bits.out, !Contains("init_scale"));
  const auto in_bfloat16 = run_ulp("advise " + digits + " --format bf16");
  CHECK_THAT(in_bfloat16.out, Contains("bf16 without a loss scale"));
  CHECK_THAT(in_bfloat16.out, !Contains("init_scale"));
}

TEST_CASE("advice on a configuration that trains in 8-bit floats is of these, in the words of its program") {
  const playground place;
  const std::string file = place.write("run.sh",
                                       "torchrun pretrain_gpt.py --bf16 --num-layers 12 --fp8-format hybrid "
                                       "--fp8-amax-history-len 64 --fp8-amax-compute-algo max\n");
  const std::string asked = "advise " + digits + " --config '" + file + "'";
  const auto run = run_ulp(asked);
  REQUIRE(run.exit_code == 0);
  CHECK_THAT(run.out, Contains("--fp8-format hybrid --fp8-recipe tensorwise"));
  CHECK_THAT(run.out, Contains("Delayed scaling, and with how long a history?"));
  CHECK_THAT(run.out, Contains("The run has 245 steps: every history that is as long, or longer, is the same."));
  CHECK_THAT(run.out, !Contains("--fp16"));
  CHECK_THAT(run_ulp(asked + " --format fp16").out, Contains("--fp16"));
}

TEST_CASE("advice leaves what goes forward in E4M3, whatever its range: no product takes E5M2 on both sides") {
  const playground place;
  std::string text = "step,tensor,kind,n,zero,nan,inf,max_abs,e_min,counts\n";
  for (int step = 0; step < 20; ++step) {
    text += std::to_string(step) + ",x,activation,3100,0,0,0,1,-30,";
    for (int octave = 0; octave < 30; ++octave) text += "100 ";
    text += "100\n" + std::to_string(step) + ",g,agrad,200,0,0,0,1,-1,100 100\n";
  }
  const auto run = run_ulp("advise '" + place.write("x.csv", text) + "' --factor 1 --format float8_e4m3fn");
  REQUIRE(run.exit_code == 0);
  CHECK_THAT(run.out, Contains("activations: E5M2 keeps more"));
  CHECK_THAT(run.out, Contains("Float8CurrentScaling(fp8_format=Format.E4M3)"));
  CHECK_THAT(run.out, Contains("blocks with a scale each keep it"));
  CHECK_THAT(run.out, !Contains("Format.E5M2"));
  CHECK_THAT(run_ulp("replay " + digits + " --recipe te_current:e5m2").err, Contains("te_current:e5m2 is a what-if"));
}

TEST_CASE("what vanishes in steps whose amax is not finite is told apart") {
  const std::string asked = digits + " --recipe te_current";
  const auto rows = rows_of(run_ulp("replay " + asked + " --csv -").out);
  const auto column = [&](const char* name) {
    return static_cast<std::size_t>(std::ranges::find(rows.front(), name) - rows.front().begin());
  };
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (rows[i][column("amax")] != "inf" && rows[i][column("amax")] != "nan") continue;
    low += std::stoull(rows[i][column("underflow_low")]);
    high += std::stoull(rows[i][column("underflow_high")]);
  }
  CHECK(low > 100000);
  const auto replayed = nlohmann::json::parse(run_ulp("replay " + asked + " --json").out)["summary"];
  CHECK(replayed["not_finite_underflow_low"] == low);
  CHECK(replayed["not_finite_underflow_high"] == high);
  const auto swept = nlohmann::json::parse(run_ulp("sweep " + asked + " --json").out);
  REQUIRE(swept.size() == 1);
  CHECK(swept[0]["not_finite_underflow_low"] == low);
  CHECK(swept[0]["not_finite_underflow_high"] == high);
}

TEST_CASE("a sweep compares recipes of the same formats, and shows the noise that the formats differ in") {
  const auto swept =
      nlohmann::json::parse(run_ulp("sweep " + digits + " --recipe te_current:hybrid,te_current:e4m3 --json").out);
  REQUIRE(swept.size() == 2);
  for (const auto& row : swept) CHECK(row["pareto"] == true);
  const auto& hybrid = swept[swept[0]["recipe"] == "te_current:hybrid" ? 0 : 1];
  const auto& e4m3 = swept[swept[0]["recipe"] == "te_current:hybrid" ? 1 : 0];
  CHECK(hybrid["underflow_high"] < e4m3["underflow_low"]);
  CHECK(hybrid["sqnr_db"].get<double>() + 3 < e4m3["sqnr_db"].get<double>());
}

TEST_CASE("amaxes: kinds by the ends of names, no factor, and no other question") {
  const playground place;
  const std::string file =
      place.write("a.csv",
                  "step,tensor,amax\n0,l.fc1.activation,1\n0,l.fc1.gradient,1\n0,l.fc1.dgrad,1\n0,l.grad_output0,1\n"
                  "0,l.upgradient,1\n0,l.fc1.weight,1\n");
  const auto run = run_ulp("replay '" + file + "' --recipe te_delayed:hybrid --json");
  REQUIRE(run.exit_code == 0);
  const auto all = nlohmann::json::parse(run.out);
  REQUIRE(all["tensors"].size() == 6);
  for (const auto& row : all["tensors"]) {
    const std::string name = row["tensor"];
    const bool is_gradient = name == "l.fc1.gradient" || name == "l.fc1.dgrad" || name == "l.grad_output0";
    CHECK(row["format"] == (is_gradient ? "float8_e5m2" : "float8_e4m3fn"));
  }
  CHECK_THAT(run.err, Contains("forward tensors: l.upgradient, l.fc1.weight;"));
  const auto scaled = run_ulp("replay '" + file + "' --recipe te_delayed --factor 8");
  CHECK(scaled.exit_code == 2);
  CHECK_THAT(scaled.err, Contains("--factor: not with"));
  for (const std::string question : {"advise", "info", "replay --scaler pytorch --format fp16"}) {
    const auto other = run_ulp(question + " '" + file + "'");
    CHECK(other.exit_code == 2);
    CHECK_THAT(other.err, Contains("holds largest magnitudes alone: ulp replay and ulp sweep take these"));
  }
}

TEST_CASE("every row of a CSV has the columns of its header, whatever the first tensors hold") {
  const auto run = run_ulp("replay tests/data/octaves/digits.ulp --scaler te --format float8_e4m3fn --csv -");
  const auto rows = rows_of(run.out);
  REQUIRE(rows.size() > 2);
  std::size_t odd = 0;
  for (const auto& row : rows) odd += row.size() == rows.front().size() ? 0 : 1;
  CHECK(odd == 0);
  CHECK_THAT(run.out.substr(0, run.out.find('\n')), Contains("zero_low,zero_high"));
}

TEST_CASE("advice in formats that no loss scaler is tried in") {
  for (const std::string format : {"bf16", "fp32", "float8_e5m2", "float4_e2m1fn", "float6_e3m2fn"}) {
    CAPTURE(format);
    const auto run = run_ulp("advise tests/data/octaves/digits.ulp --format " + format);
    CHECK(run.exit_code == 0);
    CHECK_THAT(run.out, !Contains("init_scale"));
  }
  CHECK_THAT(run_ulp("advise " + digits + " --format float4_e2m1fn").out, Contains("ask with --format mxfp4 or nvfp4"));
}

TEST_CASE("names that are nearly those of FP8 policies are met with these") {
  CHECK_THAT(run_ulp("scalers te_delyed").err, Contains("te_delayed"));
  CHECK_THAT(run_ulp("replay " + digits + " --scaler te_curent --format e4m3fn").err, Contains("te_current"));
  CHECK_THAT(run_ulp("report " + digits + " --scaler te -o -").err, Contains("scales each tensor, not the run"));
}

TEST_CASE("histories in a checkpoint and statistics say by their names what they are of") {
  const auto run = run_ulp("replay tests/data/framework_dumps/delayed_scaling.pt --recipe te_delayed:hybrid --json");
  REQUIRE(run.exit_code == 0);
  std::size_t gradients = 0;
  const auto all = nlohmann::json::parse(run.out);
  for (const auto& row : all["tensors"]) {
    const bool is_gradient = row["tensor"].get<std::string>().find("GRAD_") != std::string::npos;
    gradients += is_gradient ? 1 : 0;
    CHECK(row["format"] == (is_gradient ? "float8_e5m2" : "float8_e4m3fn"));
  }
  CHECK(gradients > 0);
}
