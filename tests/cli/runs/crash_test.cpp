// Pins that nothing is lost when a recorder dies: killed at random moments every step that others saw is there and equal to
// what an undisturbed recorder writes, and recording goes on; interrupted and on a full disk it says what is left.
#include "support/catch.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <random>
#include <thread>
#include <ulp/io/recording/recording.hpp>
#include <ulp/io/source/share.hpp>

#include "support/dumps.hpp"
#include "support/files.hpp"
#include "support/program.hpp"
#include "support/strides.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

constexpr std::int64_t steps = 150;

std::string program() {
  const char* const path = std::getenv("ULP_PROGRAM");
  REQUIRE(path != nullptr);
  return path;
}

// The bytes of the rows of each step; steps count from 0.
std::vector<std::string> rows_in(const std::string& recording) {
  std::vector<std::string> rows;
  const auto from = open_recording(recording);
  step now;
  while (from->next(now)) {
    REQUIRE(now.key.step == static_cast<std::int64_t>(rows.size()));
    rows.push_back(rows_to_bytes(now.tensors));
  }
  return rows;
}

// How many steps others see now.
std::uint64_t committed(const std::string& recording) {
  try {
    return open_recording(recording)->step_count();
  } catch (const input_error&) {
    return 0;  // not there yet
  }
}

class made_run {
 public:
  made_run() {
    write_dumps(dir_.path(), steps);
    REQUIRE(run_ulp("record " + dumps() + " -o " + path("truth.ulp")).exit_code == 0);
    truth_ = rows_in(path("truth.ulp"));
    REQUIRE(truth_.size() == steps);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return (dir_ / name).string(); }
  [[nodiscard]] std::string dumps() const { return path("whole") + "/*"; }
  [[nodiscard]] const std::vector<std::string>& truth() const { return truth_; }

  // Starts ulp with these arguments and the dumps.
  [[nodiscard]] pid_t start(const std::vector<std::string>& arguments, bool with_dumps) const {
    std::vector<std::string> all{program()};
    all.insert(all.end(), arguments.begin(), arguments.end());
    if (with_dumps)
      for (const auto& file : std::filesystem::directory_iterator(path("whole"))) all.push_back(file.path().string());
    std::vector<char*> pointers;
    for (std::string& a : all) pointers.push_back(a.data());
    pointers.push_back(nullptr);
    const pid_t child = fork();
    if (child != 0) return child;
    const int nothing = open("/dev/null", O_WRONLY);
    dup2(nothing, STDOUT_FILENO);
    dup2(nothing, STDERR_FILENO);
    execv(pointers[0], pointers.data());
    _exit(127);
  }

 private:
  temporary_dir dir_;
  std::vector<std::string> truth_;
};

// Waits until `enough` or the child's end; whether it still ran then.
template <typename Enough>
bool wait_until(pid_t child, Enough enough, int& status) {
  for (;;) {
    if (waitpid(child, &status, WNOHANG) == child) return false;
    if (enough()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

int code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

}  // namespace

TEST_CASE("killed at random moments a recorder loses no step that was there") {
  const made_run run;
  const std::string path = run.path("r.ulp");
  std::mt19937_64 random(20260);
  int killed = 0;
  int empty = 0;
  const int rounds = is_exhaustive() ? 50 : 12;
  for (int round = 0; round < rounds; ++round) {
    for (const char* const suffix : {"", "-wal", "-shm", "-journal"}) std::filesystem::remove(path + suffix);
    const std::uint64_t target = random() % steps;
    const pid_t child = run.start({"record", "-o", path}, true);
    int status = 0;
    std::uint64_t seen = 0;
    const bool running = wait_until(
        child, [&] { return target == 0 || (seen = committed(path)) >= target; }, status);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
    if (running) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      killed += code_of(status) == 128 + SIGKILL ? 1 : 0;
    }
    CAPTURE(round, target, seen);
    if (committed(path) == 0) {  // killed before its first step: one line says so, and recording starts anew
      ++empty;
      CHECK(seen == 0);
      std::error_code ignored;
      if (!std::filesystem::exists(path, ignored)) continue;
      const auto info = run_ulp("info " + path);
      const bool has_no_steps = info.exit_code == 0 && info.out.find("\nsteps        none") != std::string::npos;
      const bool is_refused = info.exit_code == 2 && std::ranges::count(info.err, '\n') == 1;
      CAPTURE(info.out, info.err);
      CHECK((has_no_steps || is_refused));
      continue;
    }
    const auto info = run_ulp("info " + path);
    CHECK(info.exit_code == 0);
    CHECK(run_ulp("check " + path).exit_code == 0);
    const std::vector<std::string> rows = rows_in(path);
    CHECK(rows.size() >= seen);
    CHECK(std::equal(rows.begin(), rows.end(), run.truth().begin()));
    if (rows.size() < steps) {
      const auto on =
          run_ulp("record " + run.dumps() + " --append --steps " + std::to_string(rows.size()) + ": -o " + path);
      CHECK(on.exit_code == 0);
      CHECK(rows_in(path) == run.truth());
      CHECK_FALSE(std::filesystem::exists(path + "-wal"));
    }
  }
  REQUIRE(killed > 0);  // the others had finished
  WARN(killed << " of " << rounds << " recorders were killed, " << empty << " before their first step");
}

TEST_CASE("interrupted, a recorder leaves the steps that are done, in one file") {
  const made_run run;
  const std::string path = run.path("r.ulp");
  int status = 0;
  for (int attempt = 0; attempt < 5 && code_of(status) != 130; ++attempt) {
    std::filesystem::remove(path);
    const pid_t child = run.start({"record", "-o", path}, true);
    if (!wait_until(
            child, [&] { return committed(path) >= 5; }, status))
      continue;
    kill(child, SIGINT);
    waitpid(child, &status, 0);
  }
  CHECK(code_of(status) == 130);
  const std::vector<std::string> rows = rows_in(path);
  CHECK(rows.size() >= 5);
  CHECK(std::equal(rows.begin(), rows.end(), run.truth().begin()));
  CHECK_FALSE(std::filesystem::exists(path + "-wal"));
}

namespace {

// In a folder of its own beside the place of what is merged; that place where there is none.
std::string unfinished_merge(const std::filesystem::path& path) {
  for (const auto& entry : std::filesystem::directory_iterator(path.parent_path()))
    if (entry.path().extension() == ".part") return entry.path() / path.filename();
  return path;
}

}  // namespace

TEST_CASE("interrupted, a merge leaves nothing") {
  const made_run run;
  REQUIRE(run_ulp("record " + run.path("truth.ulp") + " --steps :75 --run-id a -o " + run.path("a.ulp")).exit_code ==
          0);
  REQUIRE(run_ulp("record " + run.path("truth.ulp") + " --steps 75: --run-id b -o " + run.path("b.ulp")).exit_code ==
          0);
  const std::string path = run.path("m.ulp");
  int status = 0;
  for (int attempt = 0; attempt < 5 && code_of(status) != 130; ++attempt) {
    std::filesystem::remove(path);
    const pid_t child = run.start({"merge", run.path("a.ulp"), run.path("b.ulp"), "-o", path}, false);
    if (!wait_until(
            child, [&] { return committed(unfinished_merge(path)) >= 5; }, status))
      continue;
    kill(child, SIGINT);
    waitpid(child, &status, 0);
  }
  CHECK(code_of(status) == 130);
  for (const auto& file : std::filesystem::directory_iterator(std::filesystem::path(path).parent_path()))
    CHECK_FALSE(file.path().filename().string().starts_with("m.ulp"));
}

TEST_CASE("where files may not become that large the steps before stay, and recording goes on with more room") {
  const made_run run;
  const std::string path = run.path("r.ulp");
  const auto full = run_shell("ulimit -f 2048; ulp record " + run.dumps() + " -o " + path);
  CAPTURE(full.err);
  CHECK(full.exit_code == 2);
  CHECK(full.err.starts_with("ulp: " + path + ": the file would exceed the file size limit (see ulimit -f); the "));
  CHECK(full.err.ends_with("recorded before stay\n"));
  const std::vector<std::string> rows = rows_in(path);
  CHECK(!rows.empty());
  CHECK(std::equal(rows.begin(), rows.end(), run.truth().begin()));
  CHECK(run_ulp("record " + run.dumps() + " --append --steps " + std::to_string(rows.size()) + ": -o " + path)
            .exit_code == 0);
  CHECK(rows_in(path) == run.truth());
  // Merged output is whole or absent.
  const auto merged = run_shell("ulimit -f 1000; ulp merge " + path + " -o " + run.path("m.ulp"));
  CHECK(merged.exit_code == 2);
  CHECK(std::count(merged.err.begin(), merged.err.end(), '\n') == 1);
  for (const auto& file : std::filesystem::directory_iterator(std::filesystem::path(path).parent_path()))
    CHECK_FALSE(file.path().filename().string().starts_with("m.ulp"));
}

TEST_CASE("a full disk is said, and what was there stays") {
  const made_run run;
  const std::string disk = run.path("disk");
  std::filesystem::create_directory(disk);
  // A disk of its own, seen by these commands only.
  const auto on_small_disk = [&](const std::string& commands) {
    return run_shell("unshare --mount sh -c 'mount -t tmpfs -o size=400k tmpfs " + disk + " && { " + commands + "; }'");
  };
  if (on_small_disk("true").exit_code != 0) {
    std::cout << "SKIPPED: no small disk can be mounted here, which needs root" << std::endl;
    return;
  }
  const std::string file = disk + "/r.ulp";
  const auto recorded = on_small_disk("ulp record " + run.dumps() + " -o " + file + "; echo $?; ulp info " + file +
                                      " | grep ^steps; cp " + file + "* " + run.path("."));
  CAPTURE(recorded.out, recorded.err);
  CHECK(recorded.out.starts_with("2\nsteps "));
  CHECK(recorded.err.find("ulp: " + file + ": the disk is full; the ") == 0);
  CHECK(std::count(recorded.err.begin(), recorded.err.end(), '\n') == 1);
  const std::vector<std::string> rows = rows_in(run.path("r.ulp"));
  CHECK(!rows.empty());
  CHECK(std::equal(rows.begin(), rows.end(), run.truth().begin()));

  const auto merged =
      on_small_disk("ulp merge " + run.path("truth.ulp") + " -o " + disk + "/m.ulp; echo $?; ls " + disk);
  CAPTURE(merged.out, merged.err);
  CHECK(merged.out == "2\n");
  CHECK(merged.err.find("the disk is full") != std::string::npos);
  const auto replayed =
      on_small_disk("head -c 390000 /dev/zero >" + disk + "/fill; ulp replay " + run.path("truth.ulp") +
                    " --scaler pytorch --format fp16 --csv " + disk + "/t.csv >/dev/null; echo $?; ls " + disk);
  CAPTURE(replayed.out, replayed.err);
  CHECK(replayed.out == "2\nfill\n");
  CHECK(replayed.err.find(disk + "/t.csv: cannot be written: No space left on device") != std::string::npos);
}
