// Pins replays of a recording that is being written: in the end they are those of the whole recording, a signal ends them
// with what there is, and a job that dies or resumes does not.
#include "support/catch.hpp"

#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <future>
#include <span>
#include <thread>

#include <nlohmann/json.hpp>
#include <ulp/io/recording/recording.hpp>
#include <ulp/model/cells/cell_counter.hpp>

#include "support/files.hpp"
#include "support/program.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

const std::vector<tensor_info> tensors{
    {.name = "w", .kind = tensor_kind::weight_grad, .role = tensor_role::low, .through = "float16"}};

step row_of(std::int64_t n, std::int32_t attempt = 0) {
  step now;
  now.key = {n, attempt, -1};
  now.scalars.loss_scale = 1024;
  now.scalars.loss = 2.5;
  now.scalars.found_inf = n % 20 == 7;
  const std::vector<float> values{n % 20 == 7 ? INFINITY : std::ldexp(1.5F, static_cast<int>(n % 12)), 0x1p-20F};
  now.tensors = {{.tensor = 0, .type = dtype::float32, .factor = 1024, .table = count_cells(std::span{values})}};
  return now;
}

const std::string replay_as = " --scaler pytorch --set growth_interval=10 --format fp16";

void sleep_ms(int n) { std::this_thread::sleep_for(std::chrono::milliseconds(n)); }

// A job in a process of its own, which records these steps and then, where it `lives`, waits to be killed.
pid_t job(const std::string& path, std::int64_t steps) {
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    recording_writer writer(path, recording_writer::mode::create);
    for (std::int64_t n = 0; n < steps; ++n) writer.write(row_of(n), tensors);
    if (::write(ready[1], "x", 1) != 1) _exit(1);
    pause();
  }
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  close(ready[0]);
  close(ready[1]);
  return child;
}

void kill_job(pid_t child) {
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace

TEST_CASE("a replay that follows a job ends as a replay of its recording does") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  const std::string csv = (dir / "live.csv").string();
  auto text = std::async([&] { return run_ulp("replay " + path + replay_as + " --follow --csv " + csv); });
  auto json = std::async([&] { return run_ulp("replay " + path + replay_as + " --follow --json"); });
  auto rows = std::async([&] { return run_ulp("replay " + path + replay_as + " --follow --csv -"); });
  sleep_ms(700);
  bool closed = false;
  std::string while_running;
  {
    recording_writer writer(path, recording_writer::mode::create);
    for (std::int64_t n = 0; n < 60; ++n) {
      writer.write(row_of(n), tensors);
      if (n == 30) {
        for (int i = 0; i < 100 && std::ranges::count(while_running, '\n') < 31; ++i) {
          sleep_ms(100);
          while_running = std::filesystem::exists(csv) ? read_file(csv) : "";
        }
      }
    }
    closed = writer.close();
  }
  const auto shown = text.get();
  const auto object = json.get();
  const auto streamed = rows.get();
  CHECK(closed);
  CHECK(std::ranges::count(while_running, '\n') == 32);
  const std::string plain = run_ulp("replay " + path + replay_as + " --csv -").out;
  REQUIRE(std::ranges::count(plain, '\n') == 61);
  CHECK(shown.exit_code == 0);
  CHECK(read_file(csv) == plain);
  CHECK(plain.starts_with(while_running));
  CHECK(streamed.out == plain);
  CHECK(streamed.err.find("ulp: waiting for " + path + " to be created; Ctrl-C ends\n") != std::string::npos);
  CHECK(object.out == run_ulp("replay " + path + replay_as + " --json").out);
  const std::string summary = run_ulp("replay " + path + replay_as).out;
  const auto end_of_summary = summary.find("\n\n");
  CHECK(shown.out.find("\n\n" + summary.substr(0, end_of_summary)) != std::string::npos);
  CHECK(shown.out.starts_with("step  skipped"));
  CHECK(std::filesystem::exists(path));
  CHECK_FALSE(std::filesystem::exists(path + "-wal"));
}

TEST_CASE("Ctrl-C ends following with all that was read") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  const std::string csv = (dir / "live.csv").string();
  const pid_t child = job(path, 25);
  const auto run = run_shell("env --default-signal=INT ulp replay " + path + replay_as + " --follow --csv " + csv +
                             " & child=$!\nfor i in $(seq 100); do [ $(grep -c . " + csv +
                             " 2>/dev/null || echo 0) -eq 26 ] && break; sleep 0.1; done\n"
                             "(sleep 30; kill -9 $child) 2>/dev/null & watcher=$!\n"
                             "kill -INT $child; wait $child; code=$?; kill $watcher; exit $code");
  CHECK(run.exit_code == 130);
  CHECK(run.err.find("ulp: interrupted\n") != std::string::npos);
  CHECK(run.out.find("steps        25, of which") != std::string::npos);
  CHECK(std::ranges::count(read_file(csv), '\n') == 26);
  kill_job(child);
}

TEST_CASE("a job may die and resume while it is followed") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  const std::string csv = (dir / "live.csv").string();
  const pid_t child = job(path, 25);
  auto followed = std::async([&] { return run_ulp("replay " + path + replay_as + " --follow --csv " + csv); });
  sleep_ms(1000);
  kill_job(child);
  sleep_ms(2000);
  {
    recording_writer writer(path, recording_writer::mode::append);
    for (std::int64_t n = 20; n < 40; ++n) writer.write(row_of(n, n < 25 ? 1 : 0), tensors);
  }
  const auto result = followed.get();
  CHECK(result.exit_code == 0);
  CHECK(result.err.find("its writer is gone without having closed it; waiting for a resumed run; Ctrl-C ends\n") !=
        std::string::npos);
  CHECK(result.err.find("the replay begins anew") != std::string::npos);
  CHECK(result.err.find("5 steps were recorded more than once") != std::string::npos);
  CHECK(result.out.find("steps        40, of which") != std::string::npos);
  CHECK(read_file(csv) == run_ulp("replay " + path + replay_as + " --csv -").out);
}

TEST_CASE("a job that resumes step by step is begun again once, where a second header says so") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  kill_job(job(path, 50));
  auto rows = std::async([&] { return run_ulp("replay " + path + replay_as + " --follow --csv -"); });
  auto text = std::async([&] { return run_ulp("replay " + path + replay_as + " --follow"); });
  auto first = std::async([&] { return run_ulp("replay " + path + replay_as + " --follow --csv - --attempts first"); });
  sleep_ms(1500);
  {
    recording_writer writer(path, recording_writer::mode::append);
    for (std::int64_t n = 30; n < 54; ++n) {
      writer.write(row_of(n, n < 50 ? 1 : 0), tensors);
      sleep_ms(150);
    }
  }
  const auto count = [](const std::string& all, const std::string& part) {
    std::size_t n = 0;
    for (auto at = all.find(part); at != std::string::npos; at = all.find(part, at + 1)) ++n;
    return n;
  };
  const auto streamed = rows.get();
  CHECK(streamed.exit_code == 0);
  CHECK(count(streamed.err, "the replay begins anew") == 1);
  CHECK(std::ranges::count(streamed.out, '\n') == 1 + 50 + 1 + 54);
  const std::string plain = run_ulp("replay " + path + replay_as + " --csv -").out;
  REQUIRE(std::ranges::count(plain, '\n') == 1 + 54);
  CHECK(streamed.out.ends_with("\n" + plain));
  CHECK(count(text.get().out, "step  skipped") == 2);
  const auto of_first = first.get();
  CHECK(count(of_first.err, "the replay begins anew") == 0);
  CHECK(std::ranges::count(of_first.out, '\n') == 1 + 54);
}

TEST_CASE("only a recording is followed") {
  const auto error = [](const std::string& arguments) {
    const auto result = run_ulp("replay " + arguments + replay_as + " --follow");
    CHECK(result.exit_code == 2);
    return result.err;
  };
  CHECK(error("tests/data/golden/inputs/loop_walk.csv").find("is not a recording") != std::string::npos);
  CHECK(error("-").find("is not a recording") != std::string::npos);
  CHECK(error("examples/digits.ulp examples/digits.ulp").find("only one recording can be followed") !=
        std::string::npos);
  CHECK(error("examples/digits.ulp --per-tensor /tmp/t.csv").find("--per-tensor") != std::string::npos);
}
