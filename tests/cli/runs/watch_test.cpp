// Pins ulp watch: what it says of a run, on a page, a line or in JSON; that it waits for a run, and outlives its job.
#include "support/catch.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <span>
#include <sstream>

#include <nlohmann/json.hpp>
#include <ulp/io/recording/recording.hpp>
#include <ulp/model/cells/cell_counter.hpp>

#include "support/files.hpp"
#include "support/program.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

const std::vector<tensor_info> tensors{{.name = "w", .kind = tensor_kind::weight_grad},
                                       {.name = "small", .kind = tensor_kind::weight_grad}};

step row_of(std::int64_t n) {
  step now;
  now.key.step = n;
  now.scalars = {.loss = 2.5, .loss_scale = 1024, .found_inf = n == 3};
  const std::vector<float> large{n == 3 ? INFINITY : 16.0F * 1024, 1.0F};
  const std::vector<float> small{0x1p-30F, 1.0F, 0.0F, 0x1p-31F};
  now.tensors = {{.tensor = 0, .type = dtype::float32, .factor = 1024, .table = count_cells(std::span{large})},
                 {.tensor = 1, .type = dtype::float32, .factor = 1024, .table = count_cells(std::span{small})}};
  return now;
}

std::vector<nlohmann::json> objects(const std::string& lines) {
  std::vector<nlohmann::json> all;
  std::stringstream in(lines);
  for (std::string line; std::getline(in, line);) all.push_back(nlohmann::json::parse(line));
  return all;
}

}  // namespace

TEST_CASE("a run that is over is shown once") {
  const auto page = run_ulp("watch examples/digits.ulp --once");
  CHECK(page.exit_code == 0);
  for (const char* const part :
       {"recording    examples/digits.ulp: closed\n", "steps        250, the last is step 249\n",
        "overflows    5 steps, the last in step 234\n", "\ntensor ", "skipped "})
    CHECK(page.out.find(part) != std::string::npos);
  CHECK(page.out.find('\033') == std::string::npos);
  const std::string line = run_ulp("watch examples/digits.ulp").out;
  CHECK(std::ranges::count(line, '\n') == 1);
  const auto json = objects(run_ulp("watch examples/digits.ulp --scaler pytorch --json").out);
  REQUIRE(json.size() == 1);
  CHECK(json[0].at("schema") == "ulp.watch/1");
  CHECK(json[0].at("summary").at("state") == "closed");
  CHECK(json[0].at("tensors").size() == 5);
  CHECK(run_ulp("watch nothing.ulp --once").exit_code == 2);
  CHECK(run_ulp("watch tests/data/golden/inputs/loop_walk.csv --once").exit_code == 2);
  CHECK(run_ulp("watch examples/digits.ulp --interval 0").exit_code == 2);
}

TEST_CASE("a recording that cannot be read is an error, not a run that has not begun") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  const std::string whole = read_file(source_dir() / "examples/digits.ulp");
  std::string overwritten = whole;
  overwritten.replace(whole.size() / 2, 30'000, std::string(30'000, 'x'));
  for (const std::string& content : {whole.substr(0, whole.size() / 2), overwritten, std::string{}}) {
    CAPTURE(content.size());
    write_file(path, content);
    for (const char* const how : {"", " --json"}) {
      const auto watched = run_ulp("watch " + path + " --once" + how);
      CHECK(watched.exit_code == 2);
      CHECK(watched.out.empty());
      CHECK(watched.err.starts_with("ulp: " + path + ": "));
    }
  }
}

TEST_CASE("of a run that has not begun it is said once what is waited for") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  const auto waited = run_shell("timeout -s INT 1 env --default-signal=INT ulp watch " + path + " --interval 0.1");
  CHECK(waited.err.starts_with("ulp: waiting for " + path + " to be created; Ctrl-C ends\n"));
  CHECK(waited.err.find("to be created") == waited.err.rfind("to be created"));
  CHECK(waited.out == "recording " + path + ": waiting for its first step\n");
  recording_writer writer(path, recording_writer::mode::create);
  const auto empty = run_ulp("watch " + path + " --once");
  CHECK(empty.exit_code == 0);
  CHECK(empty.out.starts_with("recording    " + path + ": waiting for its first step\n"));
  CHECK(empty.out.find("none") == std::string::npos);
}

TEST_CASE("a scale that never changed is no picture") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  {
    recording_writer writer(path, recording_writer::mode::create);
    for (std::int64_t n = 4; n < 10; ++n) writer.write(row_of(n), tensors);
  }
  CHECK(run_ulp("watch " + path + " --once").out.find("\nscale ") == std::string::npos);
  {
    recording_writer writer(path, recording_writer::mode::append);
    step halved = row_of(10);
    halved.scalars.loss_scale = 512;
    writer.write(halved, tensors);
  }
  CHECK(run_ulp("watch " + path + " --once").out.find("\nscale ") != std::string::npos);
}

TEST_CASE("where the terminal gets another width, what was shown is left") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  recording_writer writer(path, recording_writer::mode::create);
  writer.write(row_of(0), tensors);
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0) {
    WARN("this machine has no pseudo-terminals: /dev/pts is not mounted");
    return;
  }
  REQUIRE(grantpt(terminal) == 0);
  REQUIRE(unlockpt(terminal) == 0);
  const std::string name = ptsname(terminal);
  const int kept = open(name.c_str(), O_RDWR | O_NOCTTY);
  REQUIRE(kept >= 0);
  const auto set_columns = [&](unsigned short columns) {
    const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    REQUIRE(ioctl(terminal, TIOCSWINSZ, &size) == 0);
  };
  // What is shown until the page says so.
  const auto shown_until = [&](const std::string& part, int patience = 20'000) {
    std::string text;
    std::array<char, 4096> room;
    pollfd readable{.fd = terminal, .events = POLLIN, .revents = 0};
    while (text.find(part) == std::string::npos && poll(&readable, 1, patience) == 1) {
      const auto n = read(terminal, room.data(), room.size());
      if (n <= 0) break;
      text.append(room.data(), static_cast<std::size_t>(n));
    }
    return text;
  };
  set_columns(100);
  auto watched = std::async(
      [&] { return run_shell("timeout -s KILL 60 ulp watch " + path + " --interval 0.1 >" + name + " 2>&1"); });
  CHECK(shown_until("the last is step 0").find("\033[") == std::string::npos);
  writer.write(row_of(1), tensors);
  CHECK(shown_until("the last is step 1").find("\033[") != std::string::npos);
  shown_until("\n\n\n", 500);  // the rest of the page
  set_columns(60);
  writer.write(row_of(2), tensors);
  CHECK(shown_until("the last is step 2").find("\033[") == std::string::npos);
  CHECK(writer.close());
  shown_until(": closed");
  CHECK(watched.get().exit_code == 0);
  close(kept);
  close(terminal);
}

TEST_CASE("what is said of the last step follows from its values") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  {
    recording_writer writer(path, recording_writer::mode::create);
    for (std::int64_t n = 0; n < 10; ++n) writer.write(row_of(n), tensors);
  }
  // By totals, and by the tensors themselves.
  for (const char* const how : {"", " --tensor ."}) {
    CAPTURE(how);
    const auto json = objects(run_ulp("watch " + path + " --format fp16 --once --json" + how).out);
    REQUIRE(json.size() == 1);
    const auto& summary = json[0].at("summary");
    CHECK(summary.at("steps") == 10);
    CHECK(summary.at("overflow_steps") == 1);
    CHECK(summary.at("last_overflow_step") == 3);
    CHECK(summary.at("loss_scale") == 1024.0);
    CHECK(summary.at("largest") == 16.0);
    CHECK(summary.at("largest_tensor") == "w");
    CHECK(std::abs(summary.at("headroom_log2").get<double>() - std::log2(65520.0 / 16384)) < 1e-9);
    CHECK(summary.at("underflow_share") == 0.4);
    CHECK(json[0].at("tensors").at(0).at("tensor") == "small");
  }
}

TEST_CASE("a job is watched from before it begins, and its death is told") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  const std::string out = (dir / "out").string();
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    usleep(700'000);
    recording_writer writer(path, recording_writer::mode::create);
    for (std::int64_t n = 0;; ++n) {
      writer.write(row_of(n), tensors);
      usleep(20'000);
    }
  }
  const auto run = run_shell("env --default-signal=INT ulp watch " + path + " --json --interval 0.2 >" + out +
                             " & watch=$!\nsleep 3; kill -9 " + std::to_string(child) +
                             "; for i in $(seq 100); do grep -q stopped " + out +
                             " && break; sleep 0.1; done\n(sleep 20; kill -9 $watch) 2>/dev/null & watcher=$!\n"
                             "kill -INT $watch; wait $watch; code=$?; kill $watcher; exit $code");
  waitpid(child, nullptr, 0);
  CHECK(run.exit_code == 130);
  const auto seen = objects(read_file(out));
  REQUIRE(seen.size() >= 3);
  CHECK(seen.front().at("summary").at("state") == "awaited");
  CHECK(seen.back().at("summary").at("state") == "stopped");
  CHECK(seen.back().at("summary").at("last_step").get<int>() > 10);
  std::int64_t before = -1;
  for (const auto& one : seen) {
    const auto& summary = one.at("summary");
    const auto steps = summary.at("steps").get<std::int64_t>();
    CHECK(steps >= before);
    before = steps;
  }
  CHECK(run_ulp("check " + path).exit_code == 0);
}
