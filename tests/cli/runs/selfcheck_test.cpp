// Pins that ulp selfcheck verifies this machine, what ulp selfcheck closed-loop tells and records, and that a recording that was killed goes on as if it had not been.
#include "support/catch.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>
#include <ulp/io/recording/recording.hpp>

#include "support/files.hpp"
#include "support/program.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

std::uint64_t steps_in(const std::string& recording) {
  try {
    return open_recording(recording)->step_count();
  } catch (const input_error&) {
    return 0;  // not there yet
  }
}

std::string digest_of_file(const std::string& recording) { return run_ulp("info --digest " + recording).out; }

// Starts ulp with these arguments and kills it once the recording has more than so many steps; whether it still ran.
bool killed_after(std::uint64_t steps, const std::string& recording, const std::string& arguments) {
  std::vector<std::string> words{std::getenv("ULP_PROGRAM")};
  std::istringstream in(arguments);
  for (std::string word; in >> word;) words.push_back(word);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    const int nothing = open("/dev/null", O_WRONLY);
    dup2(nothing, STDOUT_FILENO);
    dup2(nothing, STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  int status = 0;
  while (steps_in(recording) <= steps) {
    if (waitpid(child, &status, WNOHANG) == child) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

}  // namespace

TEST_CASE("selfcheck verifies this machine") {
  const auto run = run_ulp("selfcheck --json");
  CAPTURE(run.out, run.err);
  CHECK(run.exit_code == 0);
  const auto rows = nlohmann::json::parse(run.out);
  CHECK(rows.size() == 9);
  for (const auto& row : rows) {
    CHECK(row.at("passed") == true);
    CHECK(row.at("difference").is_null());
    CHECK(row.at("compared").get<std::uint64_t>() > 0);
  }
  const auto text = run_ulp("selfcheck");
  CHECK(std::count(text.out.begin(), text.out.end(), '\n') == 10);
  CHECK(text.out.find("FAILED") == std::string::npos);
}

// A folder for temporary files that is not there: a recording cannot be written.
TEST_CASE("a check that fails is told, and the exit code says so") {
  const temporary_dir dir;
  const auto run = run_shell("TMPDIR=" + (dir / "absent").string() + " ulp selfcheck");
  CAPTURE(run.out, run.err);
  CHECK(run.exit_code == 1);
  CHECK(run.out.find("FAILED") != std::string::npos);
  CHECK(run.out.find("\nSQLite: ") != std::string::npos);
  CHECK(run.out.find("set TMPDIR") != std::string::npos);
}

TEST_CASE("options of the closed loop are not taken for this machine") {
  CHECK(run_ulp("selfcheck --steps 3").exit_code == 2);
  CHECK(run_ulp("selfcheck --scaler pytorch").err.find("closed-loop") != std::string::npos);
}

TEST_CASE("killed three times and resumed, a recording of the closed loop is the uninterrupted one") {
  const temporary_dir dir;
  const std::string whole = (dir / "whole.ulp").string();
  const std::string broken = (dir / "broken.ulp").string();
  const std::string training = "selfcheck closed-loop --seeds 1 --steps 400 -o ";
  REQUIRE(run_ulp(training + whole).exit_code == 0);
  CHECK(killed_after(40, broken, training + broken));
  CHECK(killed_after(130, broken, training + broken + " --append"));
  CHECK(killed_after(250, broken, training + broken + " --append"));
  const std::uint64_t left = steps_in(broken);
  CHECK(left > 250);
  CHECK(left < 400);
  CHECK(run_ulp("check " + broken).exit_code == 0);

  const auto last = run_ulp(training + broken + " --append");
  CHECK(last.exit_code == 0);
  CHECK(last.out.starts_with(broken + ": " + std::to_string(400 - left) + " steps recorded after the " +
                             std::to_string(left) + " that were there\n"));
  CHECK(digest_of_file(broken) == digest_of_file(whole));
  const std::string replay = " --scaler pytorch --set growth_interval=20 --format fp16 --csv - ";
  const auto of_whole = run_ulp("replay " + whole + replay);
  const auto of_broken = run_ulp("replay " + broken + replay);
  CHECK(of_whole.exit_code == 0);
  CHECK(of_whole.out == of_broken.out);
  CHECK(std::ranges::count(of_whole.out, '\n') == 401);
}

TEST_CASE("a replay of the recording is the run that was recorded") {
  const temporary_dir dir;
  const std::string run = (dir / "run.ulp").string();
  const std::string twin = (dir / "twin.ulp").string();
  const auto checked =
      run_ulp("selfcheck closed-loop --model mlp --steps 120 --seeds 1 --json -o " + run + " --twin " + twin);
  REQUIRE(checked.exit_code == 0);
  const auto all = nlohmann::json::parse(checked.out);
  CHECK(all.at("summary").at("self_replay_identical") == true);
  const auto& closed = all.at("loops").at(0);
  const auto& open = all.at("loops").at(1);
  CHECK(closed.at("loop") == "closed");
  const auto replayed = [&](const std::string& recording) {
    return nlohmann::json::parse(
               run_ulp("replay " + recording + " --scaler pytorch --set growth_interval=20 --format fp16 --json").out)
        .at("summary");
  };
  CHECK(replayed(run).at("skipped") == closed.at("skipped"));
  CHECK(replayed(run).at("first_diverged_step").is_null());
  CHECK(replayed(run).at("mean_log2_scale") == closed.at("mean_log2_scale"));
  CHECK(replayed(twin).at("skipped") == open.at("skipped"));
  CHECK(replayed(twin).at("last_scale") == open.at("last_scale"));
}

TEST_CASE("joint tables of the closed loop answer which updates weights without a copy would lose") {
  const temporary_dir dir;
  const std::string run = (dir / "run.ulp").string();
  const std::string plain = (dir / "plain.ulp").string();
  const std::string training = "selfcheck closed-loop --model mlp --steps 40 --seeds 1 --json -o ";
  const auto made = run_ulp(training + run + " --joint");
  REQUIRE(made.exit_code == 0);  // the self-replay does not look at weights
  CHECK(made.out == run_ulp(training + plain).out);
  CHECK(run_ulp("check " + run).exit_code == 0);
  const auto lost = run_ulp("precision weights " + run + " --format bf16,fp16 --by step --json");
  REQUIRE(lost.exit_code == 0);
  const auto rows = nlohmann::json::parse(lost.out);
  double most = 0;
  for (const auto& row : rows) {
    CHECK(row.at("learning_rate") == 0.003);
    most = std::max(most, row.at("lost_share").get<double>());
  }
  CHECK(rows.size() > 60);  // skipped steps have none
  CHECK(most > 0.01);
  CHECK(run_ulp("precision weights " + plain).exit_code == 2);
  CHECK(run_ulp("advise " + run).out == run_ulp("advise " + plain).out);
  const auto low = run_ulp(training + (dir / "low.ulp").string() + " --joint --optimizer torch_adam:bf16");
  CHECK(low.exit_code == 2);
  CHECK(low.err.find("--joint: torch_adam:bf16 has no master copy") != std::string::npos);
  CHECK(!std::filesystem::exists(dir / "low.ulp"));
}

TEST_CASE("examples/transformer.ulp is what the command in its README writes") {
  const std::string readme = read_file(source_dir() / "examples/README.md");
  const std::size_t at = readme.find("ulp selfcheck closed-loop");
  REQUIRE(at != std::string::npos);
  std::string command = readme.substr(at, readme.find('\n', at) - at);
  const temporary_dir dir;
  const std::string made = (dir / "made.ulp").string();
  const std::string name = "transformer.ulp";
  command.replace(command.find(name), name.size(), made);
  REQUIRE(run_shell(command).exit_code == 0);
  CHECK(digest_of_file(made) == digest_of_file("examples/transformer.ulp"));
}

TEST_CASE("a recording of another training is not continued") {
  const temporary_dir dir;
  const std::string file = (dir / "a.ulp").string();
  const std::string training = "selfcheck closed-loop --model mlp --seeds 1 --steps 5 -o " + file;
  REQUIRE(run_ulp(training).exit_code == 0);
  const std::string before = digest_of_file(file);
  CHECK(run_ulp(training).err.find("a.ulp: ") != std::string::npos);  // there already
  CHECK(run_ulp(training).exit_code == 2);
  const auto other = run_ulp(training + " --append --seed 2");
  CHECK(other.exit_code == 2);
  CHECK(other.err == "ulp: " + file + ": step 0 is not the one of this training: it was recorded with other options\n");
  const auto shorter = run_ulp("selfcheck closed-loop --model mlp --seeds 1 --steps 3 --append -o " + file);
  CHECK(shorter.exit_code == 2);
  CHECK(shorter.err == "ulp: " + file + ": it holds 5 steps, which are more than were trained\n");
  CHECK(run_ulp(training + " --append").exit_code == 0);
  CHECK(digest_of_file(file) == before);
}

TEST_CASE("under an FP8 recipe the recordings' replays are the loops that were told of") {
  const temporary_dir dir;
  const std::string run = (dir / "run.ulp").string();
  const std::string twin = (dir / "twin.ulp").string();
  const std::string recipe = " --recipe te_delayed:hybrid --set amax_history_len=4 --json";
  const auto checked =
      run_ulp("selfcheck closed-loop --model mlp --steps 60 --seeds 1 -o " + run + " --twin " + twin + recipe);
  REQUIRE(checked.exit_code == 0);
  const auto all = nlohmann::json::parse(checked.out);
  CHECK(all.at("summary").at("self_replay_identical") == true);
  CHECK(all.at("summary").at("replayed_tensor_steps") == 60 * 9);
  CHECK(all.at("summary").at("identical_tensor_steps") == 60 * 9);
  REQUIRE(all.at("kinds").size() == 3);
  std::map<std::string, std::array<std::uint64_t, 2>> saturating;
  const auto replay = [&](const std::string& recording, std::size_t loop) {
    const auto replayed = nlohmann::json::parse(run_ulp("replay " + recording + recipe).out);
    CHECK(replayed.at("tensors").size() == 9);
    for (const auto& t : replayed.at("tensors"))
      saturating[t.at("kind").get<std::string>()].at(loop) += t.at("saturating_steps").get<std::uint64_t>();
  };
  replay(run, 0);
  replay(twin, 1);
  std::uint64_t any = 0;
  for (const auto& kind : all.at("kinds")) {
    const auto& [closed, open] = saturating.at(kind.at("kind").get<std::string>());
    CHECK(kind.at("closed_saturating_steps") == closed);
    CHECK(kind.at("open_saturating_steps") == open);
    CHECK(kind.at("tensor_steps") == 60 * 3);
    any += closed + open;
  }
  CHECK(any > 20);
  CHECK(run_ulp("check " + run).exit_code == 0);
  const auto text = run_ulp("selfcheck closed-loop --model mlp --steps 5 --seeds 2 --recipe te_current");
  CHECK(text.out.find("self-replay  identical in 90 of 90 steps of tensors: scales bit for bit") != std::string::npos);
}

TEST_CASE("under a recipe of blocks every tensor is told of, and what does not go with it is refused") {
  const auto told =
      nlohmann::json::parse(run_ulp("selfcheck closed-loop --model mlp --steps 5 --seeds 2 --recipe mxfp8 --json").out);
  CHECK(told["summary"]["recipe"] == "torchao_mxe4m3_floor");
  CHECK(told["summary"]["is_told_apart"].is_boolean());
  REQUIRE(told["tensors"].size() == 9);
  for (const auto& t : told["tensors"]) {
    CHECK(t["open_lost_share"].get<double>() > 0);
    CHECK(t["open_lost_share"].get<double>() < 0.01);
  }
  for (const auto& [arguments, words] :
       {std::pair<std::string, std::string>{"mxfp8 --set a=1", "--set: mxfp8 has blocks"},
        {"nvfp4 -o a.ulp", "are not recorded"},
        {"te_nvfp4_1x16_rht_columnwise", "transforms what it quantizes"},
        {"mxfp9", "near: mxfp"},
        {"mxfp9", "; in blocks: mxfp8, "},
        {"mxfp9", "all rows of ulp formats --blocks"}}) {
    const auto run = run_ulp("selfcheck closed-loop --model mlp --steps 2 --seeds 1 --recipe " + arguments);
    CHECK(run.exit_code == 2);
    CHECK(run.err.find(words) != std::string::npos);
  }
}

TEST_CASE("a training in blocks that is lost is told, and from which step on") {
  const std::string training = "selfcheck closed-loop --model mlp --steps 8 --seeds 1 --recipe mxfp8 --lr ";
  const auto lost = run_ulp(training + "1e30");
  CHECK(lost.exit_code == 0);
  CHECK(lost.out.find("no loss is finite there, and its shares say nothing") != std::string::npos);
  const auto summary = nlohmann::json::parse(run_ulp(training + "1e30 --json").out)["summary"];
  CHECK(summary["lost_from"].is_number());
  CHECK(summary["float32_lost_from"].is_number());
  const auto well = nlohmann::json::parse(run_ulp(training + "1e-3 --json").out)["summary"];
  CHECK(well["lost_from"].is_null());
  CHECK(well["float32_lost_from"].is_null());
}

TEST_CASE("what belongs to loss scaling is refused beside an FP8 recipe, by name") {
  for (const auto& [arguments, option] : {
           std::pair<std::string, std::string>{"--scaler pytorch", "--scaler: not with --recipe"},
           {"--format e4m3", "--format: not with --recipe"},
           {"--start scale=4", "--start: not with --recipe"},
           {"--rounding toward-zero", "--rounding: not with --recipe"},
           {"--saturate", "--saturate: not with --recipe"},
           {"--activations", "--activations: not with --recipe"},
           {"--joint -o a.ulp", "--joint: not with --recipe"},
           {"--accumulate 2", "--accumulate: with --recipe"},
           {"--modes torch_adam", "--modes"},
           {"--set nosuch=1", "no parameter 'nosuch'"},
       }) {
    CAPTURE(arguments);
    const auto run = run_ulp("selfcheck closed-loop --steps 2 --recipe te_delayed " + arguments);
    CHECK(run.exit_code == 2);
    CHECK(run.err.starts_with("ulp: " + option));
    CHECK(std::ranges::count(run.err, '\n') == 1);
  }
  CHECK(run_ulp("selfcheck closed-loop --recipe te_mxfp8").err.find("blocks") != std::string::npos);
  CHECK(run_ulp("selfcheck optimizers --recipe te_delayed").exit_code == 2);
  CHECK(run_ulp("selfcheck --recipe te_delayed").err.find("closed-loop") != std::string::npos);
}

TEST_CASE("what cannot be checked is said in one line, and leaves no file") {
  const temporary_dir dir;
  const std::string file = (dir / "a.ulp").string();
  for (const auto& [arguments, says] : {
           std::pair<std::string, std::string>{"--accumulate 0", "--accumulate: 0 is not from 1 to 1,000,000"},
           {"--width 7", "--width: 7 is not an even number from 2 to 256"},
           {"--append", "--append: name the recording with -o or --twin"},
           {"--scaler fairscale_layerwise",
            "fairscale_layerwise: a scale for each layer, where the loss is multiplied by one"},
           {"--format fp17", "unknown format 'fp17'"},
           {"--scaler nosuch", "nosuch"},
       }) {
    CAPTURE(arguments);
    const std::string to = arguments == "--append" ? "" : " -o " + file;
    const auto run = run_ulp("selfcheck closed-loop --steps 2 " + arguments + to);
    CHECK(run.exit_code == 2);
    CHECK(run.err.find(says) != std::string::npos);
    CHECK(std::ranges::count(run.err, '\n') == 1);
    CHECK_FALSE(std::filesystem::exists(file));
  }
  CHECK(run_ulp("selfcheck closed-loop --steps 2 -o " + file + " --twin " + file).exit_code == 2);
  CHECK(run_ulp("selfcheck nothing").exit_code == 2);
}
