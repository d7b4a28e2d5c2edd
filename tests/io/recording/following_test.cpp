// Pins what is read of a recording that is being written: every step once, in order, from before the file exists until it is
// closed; that the writer is not disturbed; that steps which are recorded again are read again; and a writer that dies.
#include "support/catch.hpp"

#include <ulp/io/inputs/open.hpp>
#include <ulp/io/recording/recording.hpp>
#include <ulp/model/cells/cell_counter.hpp>

#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <span>
#include <thread>

#include "io/mended.hpp"
#include "support/files.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

using state = recording_writer_state;

const std::vector<tensor_info> tensors{{.name = "w", .kind = tensor_kind::weight_grad, .role = tensor_role::low},
                                       {.name = "later", .kind = tensor_kind::weight_grad, .role = tensor_role::low}};

step row_of(const step_key& key) {
  step s;
  s.key = key;
  const std::vector<float> values{static_cast<float>(key.step + 1)};
  s.tensors = {{.tensor = 0, .type = dtype::float32, .factor = 1, .table = count_cells(std::span{values})}};
  if (key.step > 5) s.tensors.push_back({.tensor = 1, .type = dtype::float32, .factor = 1});
  return s;
}

struct read_key {
  std::int64_t step;
  std::int32_t attempt;
  friend bool operator==(const read_key&, const read_key&) = default;
};
using keys = std::vector<read_key>;

// What is read where `at_end` says what happens whenever the end is reached.
keys follow(const std::string& path, const source_options& how, const std::function<bool(state)>& at_end) {
  keys all;
  const auto from = follow_recording(path, how, at_end);
  step now;
  while (from->next(now)) {
    all.push_back({now.key.step, now.key.attempt});
    CHECK(now.key.microbatch == -1);
    for (const tensor_row& row : now.tensors) CHECK(row.tensor < from->tensors().size());
  }
  return all;
}

source_options last_attempts(bool merged) {
  source_options how;
  how.merged = merged;
  how.attempts = which_attempts::last;
  return how;
}

}  // namespace

TEST_CASE("a recording is followed from before it exists until it is closed") {
  for (const bool merged : {false, true}) {
    CAPTURE(merged);
    const temporary_dir dir;
    const std::string path = (dir / "run.ulp").string();
    std::unique_ptr<recording_writer> writer;
    std::vector<state> states;
    std::int64_t next = 0;
    const keys read = follow(path, last_attempts(merged), [&](state now) {
      states.push_back(now);
      if (states.size() == 1) {
        writer = std::make_unique<recording_writer>(path, recording_writer::mode::create);
      } else if (next < 10) {
        for (const std::int32_t microbatch : {0, 1, -1}) writer->write(row_of({next, 0, microbatch}), tensors);
        if (++next == 10) CHECK(writer->close());
      }
      return states.size() < 100;
    });
    CHECK(read.size() == 10);
    CHECK(std::ranges::is_sorted(read, {}, &read_key::step));
    CHECK(states.size() < 40);
    CHECK(states.at(0) == state::awaited);
    CHECK(std::ranges::find(states, state::at_work) != states.end());
    CHECK(std::ranges::find(states, state::gone) == states.end());
    CHECK(std::distance(std::filesystem::directory_iterator(dir.path()), {}) == 1);
  }
}

TEST_CASE("a writer in another thread loses no step and is not kept from closing") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  bool closed = false;
  std::thread job([&] {
    recording_writer writer(path, recording_writer::mode::create);
    for (std::int64_t n = 0; n < 300; ++n) writer.write(row_of({n, 0, -1}), tensors);
    closed = writer.close();
  });
  int waits = 0;
  const keys read = follow(path, last_attempts(true), [&](state) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return ++waits < 10'000;
  });
  job.join();
  CHECK(closed);
  REQUIRE(read.size() == 300);
  for (std::int64_t n = 0; n < 300; ++n) CHECK(read[static_cast<std::size_t>(n)] == read_key{n, 0});
}

TEST_CASE("where a resumed run repeats steps, all is read again") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  const auto write = [&](recording_writer::mode how, std::int64_t first, std::int64_t end, std::int32_t attempt) {
    recording_writer writer(path, how);
    for (std::int64_t n = first; n < end; ++n) writer.write(row_of({n, attempt, -1}), tensors);
  };
  write(recording_writer::mode::create, 0, 4, 0);
  alter(path, "DELETE FROM meta WHERE key='closed'");  // as after a kill
  std::vector<state> states;
  const keys read = follow(path, last_attempts(false), [&](state now) {
    states.push_back(now);
    if (states.size() == 1) write(recording_writer::mode::append, 3, 6, 1);
    return states.size() < 10;
  });
  CHECK(read == keys{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {0, 0}, {1, 0}, {2, 0}, {3, 1}, {4, 1}, {5, 1}});
  CHECK(states == std::vector<state>{state::gone});
}

TEST_CASE("a resumed run that is followed is begun again once, not at each of its steps") {
  struct expectation {
    which_attempts which;
    std::size_t again;  // how often it begins again
    std::size_t read;
    std::size_t in_the_end;
  };
  for (const bool merged : {false, true})
    for (const expectation& e : {expectation{which_attempts::last, 1, 10 + 12, 12},
                                 {which_attempts::first, 0, 12, 12},
                                 {which_attempts::all, 1, 10 + 18, 18}}) {
      CAPTURE(merged, e.which);
      const temporary_dir dir;
      const std::string path = (dir / "run.ulp").string();
      {
        recording_writer writer(path, recording_writer::mode::create);
        for (std::int64_t n = 0; n < 10; ++n) writer.write(row_of({n, 0, -1}), tensors);
      }
      alter(path, "DELETE FROM meta WHERE key='closed'");  // as after a kill
      source_options how = last_attempts(merged);
      how.attempts = e.which;
      std::unique_ptr<recording_writer> writer;
      std::int64_t next = 4;
      const keys read = follow(path, how, [&](state) {
        if (!writer) writer = std::make_unique<recording_writer>(path, recording_writer::mode::append);
        writer->write(row_of({next, next < 10 ? 1 : 0, -1}), tensors);
        if (++next == 12) CHECK(writer->close());
        return next < 100;
      });
      CHECK(read.size() == e.read);
      const auto goes_back = [](const read_key& a, const read_key& b) {
        return b.step < a.step || (b.step == a.step && b.attempt <= a.attempt);
      };
      std::size_t again = 0;
      auto begun = read.begin();
      for (auto at = std::ranges::adjacent_find(read, goes_back); at != read.end();
           at = std::adjacent_find(at + 1, read.end(), goes_back)) {
        ++again;
        begun = at + 1;
      }
      CHECK(again == e.again);
      CHECK(static_cast<std::size_t>(read.end() - begun) == e.in_the_end);
    }
}

TEST_CASE("what was held back for a resumed run is read once its job is gone") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  {
    recording_writer writer(path, recording_writer::mode::create);
    for (std::int64_t n = 0; n < 6; ++n) writer.write(row_of({n, 0, -1}), tensors);
  }
  source_options how = last_attempts(true);
  how.attempts = which_attempts::all;
  auto writer = std::make_unique<recording_writer>(path, recording_writer::mode::append);
  writer->write(row_of({2, 1, -1}), tensors);
  std::vector<state> states;
  const keys read = follow(path, how, [&](state now) {
    states.push_back(now);
    writer.reset();
    return states.size() < 10;
  });
  CHECK(states.front() == state::at_work);
  CHECK(read == keys{{0, 0}, {1, 0}, {2, 0}, {2, 1}, {3, 0}, {4, 0}, {5, 0}});
}

TEST_CASE("who does not wait is told what is wrong with a recording") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  write_file(path, std::string("SQLite format 3\0 begun", 22));
  CHECK_THROWS_AS(follow(path, {}, [](state) { return false; }), input_error);
}

TEST_CASE("a recording is awaited for as long as it is copied") {
  const temporary_dir dir;
  const std::string whole = (dir / "whole.ulp").string();
  {
    recording_writer writer(whole, recording_writer::mode::create);
    for (std::int64_t n = 0; n < 20; ++n) writer.write(row_of({n, 0, -1}), tensors);
  }
  const std::string bytes = read_file(whole);
  const std::string path = (dir / "run.ulp").string();
  std::size_t copied = 0;
  const keys read = follow(path, last_attempts(true), [&](state) {
    copied = std::min(bytes.size(), copied + bytes.size() / 12);
    write_file(path, bytes.substr(0, copied));
    return true;
  });
  CHECK(read.size() == 20);
}

TEST_CASE("a writer that dies is told from one that is at work") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    recording_writer writer(path, recording_writer::mode::create);
    for (std::int64_t n = 0; n < 20; ++n) writer.write(row_of({n, 0, -1}), tensors);
    if (::write(ready[1], "x", 1) != 1) _exit(1);
    pause();
  }
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  std::vector<state> states;
  const keys read = follow(path, last_attempts(true), [&](state now) {
    states.push_back(now);
    if (states.size() == 1) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
    return states.size() < 3;
  });
  close(ready[0]);
  close(ready[1]);
  CHECK(read.size() == 20);
  CHECK(states == std::vector<state>{state::at_work, state::gone, state::gone});
}

TEST_CASE("what cannot be followed is refused, and what only looks so for a moment is not") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  const auto wait = [](state) { return true; };
  write_file(path, "step,found_inf\n1,0\n");
  CHECK_THROWS_WITH(follow_recording(path, {}, wait), path + ": is not a recording: only recordings can be followed");
  std::filesystem::remove(path);

  int waits = 0;
  const keys read = follow(path, {}, [&](state) {
    ++waits;
    if (waits == 1) write_file(path, std::string("SQLite format 3\0 begun", 22));
    if (waits == 3) std::filesystem::remove(path);
    if (waits == 4) {
      recording_writer writer(path, recording_writer::mode::create);
      writer.write(row_of({0, 0, -1}), tensors);
    }
    return waits < 20;
  });
  CHECK(read == keys{{0, 0}});

  write_file(path, std::string("SQLite format 3\0 begun", 22));
  CHECK_THROWS_AS(follow(path, {}, wait), input_error);
}
