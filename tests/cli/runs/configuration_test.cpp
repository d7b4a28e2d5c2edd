// --config on the command line: what it stands in for, what goes before it, where its meanings are printed.
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/program.hpp"

using namespace ulp::test;

namespace {

const std::string log_of_steps = "step,found_inf\n0,0\n1,1\n2,0\n";

class folder {
 public:
  [[nodiscard]] program_result replay(const std::string& config, const std::string& options = "") const {
    write_file(dir_ / "c", config);
    return run_ulp("replay - --config " + (dir_ / "c").string() + " " + options, log_of_steps);
  }

 private:
  temporary_dir dir_;
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::string grad_scaler = "trainer:\n  precision: 16-mixed\n";
const std::string clipping = grad_scaler + "  gradient_clip_val: 1\n";

}  // namespace

TEST_CASE("a configuration is a scaler with its parameters and a format") {
  const folder dir;
  const program_result run = dir.replay(grad_scaler);
  CHECK(run.exit_code == 0);
  CHECK(has(run.out, "c: Lightning\n"));
  CHECK(has(run.out, "trainer.precision = 16-mixed -> autocast to float16"));
  CHECK(has(run.out, "scaler       pytorch_gradscaler init_scale=65536 growth_factor=2"));
  CHECK(has(run.out, "format       float16"));
  CHECK(has(run.out, "~1 [0, 3] skipped"));
}

TEST_CASE("what is given goes before the configuration") {
  const folder dir;
  const program_result run = dir.replay(clipping, "--set growth_interval=7 --format bf16");
  CHECK(run.exit_code == 0);
  CHECK(has(run.out, "init_scale=65536 growth_factor=2 backoff_factor=0.5 growth_interval=7"));
  CHECK(has(run.out, "format       bf16"));
}

TEST_CASE("meanings leave standard output to machines") {
  const folder dir;
  const program_result run = dir.replay(grad_scaler, "--csv -");
  CHECK(run.exit_code == 0);
  CHECK(run.out.starts_with("step,found_inf,scale_used"));
  CHECK(has(run.err, "c: Lightning: trainer.precision = 16-mixed -> "));
}

TEST_CASE("contradictions and mistakes are one line and exit 2") {
  const folder dir;
  const auto check = [&](const program_result& run, const std::string& part) {
    INFO(run.err);
    CHECK(run.exit_code == 2);
    CHECK(run.out.empty());
    CHECK(has(run.err, part));
  };
  check(dir.replay(clipping, "--clip-norm 2"), "--clip-norm: ");
  check(dir.replay(clipping, "--clip-value 2"), "clips already, to L2 norm 1; remove one of them");
  check(dir.replay(grad_scaler, "--scaler pytorch"), "--scaler excludes --config");
  check(dir.replay(grad_scaler, "--set grow=1"), "no parameter 'grow'");
  check(dir.replay("trainer:\n  precission: 16-mixed\n  max_epochs: 3\n"),
        "c: line 2: 'precission' is not a known Lightning key of 'trainer', and nearly 'precision'; correct it or "
        "remove it");
  check(dir.replay("what: ever\n"), "c: has no key of a configuration that is read");
  check(dir.replay("amp: true\n"), "c: has no key that only one program has, but amp, as ");
  check(dir.replay("amp: true\n", "--framework nosuch"),
        "c: --framework 'nosuch' is not known; there are Accelerate, ");
  check(dir.replay("amp: true\nclip_max: 1\n", "--framework timm --quiet"),
        "c: line 2: clip_max is not known in a configuration of timm, and may change that nothing is clipped");
  check(run_ulp("replay - --config /nowhere/c", log_of_steps), "/nowhere/c: ");
  check(run_ulp("replay - --scaler pytorch --format fp16 --framework timm", log_of_steps),
        "--framework: says whose --config");
  check(run_ulp("replay - --format fp16", log_of_steps), "--scaler, --recipe or --config is required");
  check(run_ulp("replay - --scaler pytorch", log_of_steps), "--format is required");
}

TEST_CASE("--framework says whose a configuration is") {
  const folder dir;
  const program_result run = dir.replay("amp: true\n", "--framework timm");
  CHECK(run.exit_code == 0);
  CHECK(has(run.out, "c: timm\n"));
  CHECK(has(run.out, "amp = true -> autocast to float16 with torch.amp.GradScaler's defaults"));
}

TEST_CASE("keys that are not known are one note") {
  const folder dir;
  const program_result run = dir.replay(grad_scaler + "  new_a: 1\n  new_b: 2\nnew_c: 3\n");
  CHECK(run.exit_code == 0);
  CHECK(has(run.err, "c: not known here, and left out: new_c, trainer.new_a, trainer.new_b\n"));
}

TEST_CASE("a script is a configuration") {
  const folder dir;
  const program_result run = dir.replay(
      "#!/bin/bash\n#SBATCH --nodes=2\nW=200\nARGS=(--fp16 --loss-scale-window $W)\nsrun -l torchrun --nnodes 2 "
      "pretrain_gpt.py ${ARGS[@]} --clip-grad 0 2>&1 | tee log\n");
  CHECK(run.exit_code == 0);
  CHECK(has(run.out, "c: Megatron-LM\n"));
  CHECK(has(run.out, "--loss-scale-window 200 -> good steps in a row before the scale doubles"));
  const program_result unset = dir.replay("#!/bin/bash\npython pretrain_gpt.py --fp16 --loss-scale-window $W\n");
  CHECK(unset.exit_code == 2);
  CHECK(has(unset.err, "c: line 2: --loss-scale-window is '$W', whose value this file does not say; write it"));
}

TEST_CASE("one growth interval for all policies of a sweep") {
  const program_result sweep =
      run_ulp("sweep - --scaler pytorch,deepspeed,jmp --set window=5,25 --format fp16 --csv -", log_of_steps);
  CHECK(sweep.exit_code == 0);
  for (const std::string set :
       {"growth_interval=5", "growth_interval=25", "scale_window=5", "scale_window=25", "period=5", "period=25"})
    CHECK(has(sweep.out, "," + set + ","));
  const program_result none = run_ulp("sweep - --scaler pytorch,static --set window=5 --format fp16", log_of_steps);
  CHECK(none.exit_code == 2);
  CHECK(has(none.err, "window is the growth interval of any policy, and static has none"));
  const program_result two =
      run_ulp("replay - --scaler pytorch --set growth_interval=5,25 --format fp16", log_of_steps);
  CHECK(two.exit_code == 2);
  CHECK(has(two.err, "growth_interval=5,25 is several values, and a replay takes one; ulp sweep takes several"));
}
