// Pins logs of the loss scale on the command line: the framework's own scaler replays what its log says, golden traces
// being the logged runs; a recording of a log replays as the log does.
#include "support/catch.hpp"

#include <nlohmann/json.hpp>

#include "model/golden.hpp"
#include "support/program.hpp"

using namespace ulp::test;

namespace {

struct pictured_step {
  bool skipped = false;
  double before = 0;
  double after = 0;
};

// The run that a golden trace stands for.
std::vector<pictured_step> logged_run(const std::string& trace_name, double start) {
  const auto golden = source_dir() / "tests/data/golden";
  const golden_input input = read_input(golden / "inputs/loop_walk.csv");
  const golden_trace trace = read_events(golden / (trace_name + ".events"));
  REQUIRE_FALSE(trace.error_step);
  std::vector<pictured_step> steps;
  double scale = start;
  std::size_t change = 0;
  for (std::size_t i = 0; i < input.values.size(); ++i) {
    pictured_step now{overflows(input, i, scale), scale, scale};
    if (change < trace.changes.size() && trace.changes[change].first == i) now.after = trace.changes[change++].second;
    steps.push_back(now);
    scale = now.after;
  }
  return steps;
}

std::string text(double x) { return ulp::to_string(ulp::parameter_value{x}); }
std::string decimal(double x) { return text(x) + (text(x).find('.') == std::string::npos ? ".0" : ""); }

std::string megatron_log(const std::vector<pictured_step>& run) {
  std::string log = "  initial_loss_scale .............................. " + decimal(run.front().before) + "\n";
  for (std::size_t i = 0; i < run.size(); ++i)
    log += " iteration " + std::to_string(i + 1) +
           "/   10000 | consumed samples: 160 | elapsed time per iteration (ms): " +
           "612.5 | learning rate: 1.500E-04 | global batch size: 16 | loss scale: " + decimal(run[i].after) +
           " | grad norm: 1.250 | number of skipped iterations: " + (run[i].skipped ? "  1" : "  0") +
           " | number of nan iterations:   0 |\n";
  return log;
}

std::string deepspeed_log(const std::vector<pictured_step>& run) {
  std::string log =
      "  dynamic_loss_scale_args ...... {'init_scale': 65536, 'scale_window': 1000, 'delayed_shift': 2}\n";
  int skipped = 0;
  for (std::size_t i = 0; i < run.size(); ++i) {
    const std::string overflow = "[INFO] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: ";
    if (run[i].skipped)
      log += overflow + text(run[i].before) +
             (run[i].after < run[i].before ? ", reducing to " + text(run[i].after)
                                           : ", but hysteresis is 2. Reducing hysteresis to 1") +
             "\n";
    skipped += run[i].skipped ? 1 : 0;
    log += "[INFO] [logging.py:96:log_dist] [Rank 0] step=" + std::to_string(i + 1) +
           ", skipped=" + std::to_string(skipped) + ", lr=[0.001], mom=[(0.9, 0.95)]\n";
  }
  return log;
}

std::string apex_log(const std::vector<pictured_step>& run) {
  std::string log;
  for (std::size_t i = 0; i < run.size(); ++i) {
    if (run[i].skipped)
      log += "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to " + decimal(run[i].after) + "\n";
    log += "iteration " + std::to_string(i + 1) + " loss 3.5\n";
  }
  return log;
}

std::string fairseq_log(const std::vector<pictured_step>& run) {
  std::string log = "Namespace(fp16=True, fp16_init_scale=" + text(run.front().before) + ")\n";
  int updates = 0;
  for (const pictured_step& now : run) {
    if (now.skipped)
      log += "| INFO | fairseq.trainer | NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: " +
             decimal(now.after) + "\n";
    else
      log += "| INFO | train_inner | {\"epoch\": 1, \"loss\": \"16.475\", \"num_updates\": \"" +
             std::to_string(++updates) + "\", \"lr\": \"2e-05\", \"gnorm\": \"2.5\", \"loss_scale\": \"" +
             text(now.after) + "\", \"train_wall\": \"99\"}\n";
  }
  return log;
}

}  // namespace

TEST_CASE("a framework's own scaler replays its log") {
  struct logged {
    std::string scaler;
    std::string trace;
    double start;
    std::string (*log)(const std::vector<pictured_step>& run);
  };
  for (const auto& [scaler, trace, start, log] :
       {logged{"megatron", "megatron_dynamic/loop_walk__default", 0x1p32, megatron_log},
        logged{"deepspeed", "deepspeed_dynamic/loop_walk__json_default", 0x1p16, deepspeed_log},
        logged{"apex_amp", "apex_amp/loop_walk__default", 0x1p16, apex_log},
        logged{"fairseq_cli", "fairseq_dynamic/loop_walk__cli_default_1gpu", 0x1p7, fairseq_log}}) {
    CAPTURE(scaler);
    const std::vector<pictured_step> run = logged_run(trace, start);
    const temporary_dir dir;
    const std::string path = (dir / "train.log").string();
    write_file(path, log(run));
    const std::string replay = "replay " + path + " --format fp16 --scaler " + scaler;
    const auto result = run_ulp(replay + " --json");
    REQUIRE(result.exit_code == 0);
    const auto rows = nlohmann::json::parse(result.out).at("steps");
    REQUIRE(rows.size() == run.size());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < run.size(); ++i)
      wrong += rows[i].at("scale_used") != run[i].before || rows[i].at("scale_next") != run[i].after ||
               rows[i].at("skipped") != run[i].skipped || rows[i].at("diverged") != false;
    CHECK(wrong == 0);
    CHECK(result.err.find("bounds the largest gradient") != std::string::npos);

    const auto person = run_ulp(replay);
    // By estimate where the log does not say every scale.
    CHECK(person.out.find("open loop    no") != std::string::npos);
    CHECK(person.out.find("the replay skips exactly what the recorded run skipped") != std::string::npos);

    const std::string recording = (dir / "run.ulp").string();
    REQUIRE(run_ulp("record " + path + " -o " + recording).exit_code == 0);
    CHECK(run_ulp("check " + recording).exit_code == 0);
    const auto recorded_rows =
        nlohmann::json::parse(run_ulp("replay " + recording + " --format fp16 --json --scaler " + scaler).out)
            .at("steps");
    const bool same = recorded_rows == rows;
    CHECK(same);
  }
}

TEST_CASE("a log of the loss scale is an input of every command that takes one") {
  const std::string log =
      " iteration 1/9 | loss scale: 8.0 | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
      " iteration 2/9 | loss scale: 4.0 | number of skipped iterations:   1 | number of nan iterations:   0 |\n"
      " iteration 3/9 | loss scale: 4.0 | number of skipped iterations:   0 | number of nan iterations:   0 |\n";
  const auto info = run_ulp("info -", log);
  CHECK(info.exit_code == 0);
  CHECK(info.out.find("input        -: loss-scale log of Megatron-LM\n") != std::string::npos);
  CHECK(info.out.find("steps        3: 1 to 3\n") != std::string::npos);
  CHECK(info.out.find("loss scale   logged in 2 of the steps: 4 to 8\n") != std::string::npos);
  CHECK(info.out.find("overflows    logged in 1 step, first in step 2\n") != std::string::npos);
  CHECK(info.out.find("largest      bounded by the overflows in 3 steps\n") != std::string::npos);
  CHECK(run_ulp("sweep - --scaler pytorch,megatron --format fp16", log).exit_code == 0);
  const auto advice = run_ulp("advise -", log);
  CHECK(advice.exit_code == 0);
  CHECK(advice.out.find("overflow in 1 step (step 2), skipped; at the scale 8 a gradient was >= 8190\n") !=
        std::string::npos);
  const temporary_dir dir;
  CHECK(run_ulp("report - -o " + (dir / "r.html").string(), log).exit_code == 0);

  // At a scale between, the log does not tell.
  const auto replay = run_ulp("replay - --scaler static --set loss_scale=6 --format fp16", log);
  CHECK(replay.out.find("steps        3, of which ~0 [0, 3] skipped") != std::string::npos);
  CHECK(replay.out.find("uncertain    ~ found_inf is estimated in 3 steps") != std::string::npos);

  const auto other = run_ulp("info -", "nothing of ours\n");
  CHECK(other.exit_code == 2);
  CHECK(other.err.find("nor a training log with lines of a layout that is known: docs/inputs.md lists them") !=
        std::string::npos);
}
