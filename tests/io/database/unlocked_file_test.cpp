// Pins unlocked_file.hpp, and what becomes of a recording that is read without locks when a job resumes it meanwhile: whoever
// reads it gets a single state of it, or is told that it changed; nobody is told that it is damaged.
#include "database/unlocked_file.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>

#include <ulp/io/recording/check.hpp>
#include <ulp/io/recording/recorded_steps.hpp>
#include <ulp/io/recording/recording.hpp>
#include <ulp/model/cells/cell_counter.hpp>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t before_kill = 60;
constexpr std::int64_t resumed = 600;  // more than the log holds before it is taken into the file
const std::string changed = "changed while it was read: a job has resumed writing it; run this again";

const std::vector<tensor_info> tensors{{.name = "w", .kind = tensor_kind::weight_grad}};

step step_of(std::int64_t number) {
  const std::vector<float> values{1.0F, -0.5F, static_cast<float>(number)};
  step s;
  s.key.step = number;
  s.tensors.resize(1);
  s.tensors[0].type = dtype::float32;
  s.tensors[0].table = count_cells(std::span{values});
  return s;
}

// In a process of its own, which is then killed or closes the recording.
void write(const std::string& path, std::int64_t begin, std::int64_t end, recording_writer::mode how, bool is_killed) {
  const pid_t child = fork();
  if (child == 0) {
    auto* const writer = new recording_writer(path, how, {.run_id = "run"});
    for (std::int64_t n = begin; n < end; ++n) writer->write(step_of(n), tensors);
    if (is_killed) std::raise(SIGKILL);
    delete writer;
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status) == is_killed);
}

template <typename Work>
std::string error_of(Work work) {
  try {
    work();
  } catch (const input_error& problem) {
    return problem.what();
  }
  return "";
}

std::uint64_t steps_left(source& from) {
  step now;
  std::uint64_t steps = 0;
  while (from.next(now)) ++steps;
  return steps;
}

}  // namespace

TEST_CASE("a file was written to when its size or time changed, not when another took its place") {
  const temporary_dir dir;
  const std::string path = (dir / "a").string();
  write_file(path, "one");
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
  const io::unlocked_file file(path);
  CHECK_FALSE(file.was_written());
  SECTION("the same size") { write_file(path, "two"); }
  SECTION("another size") { write_file(path, "three"); }
  CHECK(file.was_written());
  write_file((dir / "b").string(), "four");
  fs::rename(dir / "b", path);
  CHECK_FALSE(file.was_written());
  fs::remove(path);
  CHECK_FALSE(file.was_written());
}

TEST_CASE("what changed is read again, a few times") {
  int tries = 0;
  const auto after = [&](int changes) {
    return io::read_steadily([&] {
      if (tries++ < changes) throw io::changed_error("run.ulp");
      return tries;
    });
  };
  CHECK(after(2) == 3);
  tries = 0;
  CHECK(error_of([&] { after(100); }) == "run.ulp: " + changed);
  CHECK(tries == 5);
}

TEST_CASE("a reader is told that a job resumed under it, and reads all of it the next time") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  const bool was_killed = GENERATE(true, false);
  const bool is_killed = GENERATE(true, false);
  INFO("the first writer was " << (was_killed ? "killed" : "closed") << ", the second "
                               << (is_killed ? "killed" : "closed"));
  write(path, 0, before_kill, recording_writer::mode::create, was_killed);
  const std::vector<std::function<std::unique_ptr<source>()>> ways{
      [&] { return open_recording(path); }, [&] { return open_recording(path, 0, 1000); },
      [&] { return open_totals(path, totals_with::cells); }, [&] { return open_without_tensors(path, {}); }};
  std::vector<std::unique_ptr<source>> readers;
  for (const auto& open : ways) readers.push_back(open());
  level_reader levels(path, 64);
  step first;
  for (const auto& reader : readers) REQUIRE(reader->next(first));

  write(path, before_kill, before_kill + resumed, recording_writer::mode::append, is_killed);
  for (const auto& reader : readers)
    CHECK(error_of([&] { static_cast<void>(steps_left(*reader)); }) == path + ": " + changed);
  level_block block;
  CHECK(error_of([&] {
          while (levels.next(block)) continue;
        }) == path + ": " + changed);

  for (const auto& open : ways) CHECK(steps_left(*open()) == before_kill + resumed);
  CHECK(read_totals(path).size() == before_kill + resumed);
  CHECK(check_recording(path).problems.empty());
}

TEST_CASE("a check during which a job resumes begins again, and finds nothing") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  write(path, 0, before_kill, recording_writer::mode::create, true);
  bool has_resumed = false;
  const recording_report report =
      check_recording(path, {.progress = [&] {
                        if (std::exchange(has_resumed, true)) return;
                        write(path, before_kill, before_kill + resumed, recording_writer::mode::append, true);
                      }});
  CHECK(has_resumed);
  CHECK(report.problems.empty());
  CHECK(report.steps == before_kill + resumed);
}
