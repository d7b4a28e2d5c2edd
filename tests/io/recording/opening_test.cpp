// Pins that reading a recording leaves no trace and does no harm, whatever lies beside it, and that one process at a time
// writes to it.
#include "support/catch.hpp"

#include <sqlite3.h>
#include <ulp/io/merge/merge.hpp>
#include <ulp/io/output/atomic_file.hpp>
#include <ulp/io/recording/check.hpp>
#include <ulp/io/recording/recording.hpp>
#include <ulp/model/cells/cell_counter.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <thread>

#include "database/journal.hpp"
#include "io/mended.hpp"
#include "recording/opening.hpp"
#include "recording/transactions.hpp"
#include "support/files.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

namespace fs = std::filesystem;

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

void write(const std::string& path, std::int64_t begin, std::int64_t end,
           recording_writer::mode how = recording_writer::mode::create) {
  recording_writer writer(path, how, {.run_id = path});
  for (std::int64_t n = begin; n < end; ++n) writer.write(step_of(n), tensors);
}

// Runs `work` in a process of its own, which is then killed.
void in_killed_process(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    std::raise(SIGKILL);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
}

// A recording whose writer was killed with pages in the file that its rollback journal takes back.
void write_hot(const std::string& path) {
  write(path, 0, 3);
  in_killed_process([&] {
    auto& db = *new io::database(io::open_for_appending(path));  // never closed
    auto& commits = *new io::transactions(db);
    commits.keep_by(io::journal::rollback);
    db.run("PRAGMA cache_size=1");  // pages go to the file before the end
    commits.run([&] {
      db.run("UPDATE meta SET value='during' WHERE key='layout'");
      db.run("UPDATE step SET lr=7");
      for (int i = 0; i < 50; ++i)
        db.run(("INSERT INTO meta VALUES('" + std::to_string(i) + "', hex(zeroblob(20000)), x'')").c_str());
      std::raise(SIGKILL);
    });
  });
  REQUIRE(read_file(path + "-journal").substr(8, 4) != std::string(4, '\0'));  // pages in it
}

// A recording whose writer was killed with all of its steps in the log.
void write_with_log(const std::string& path) {
  in_killed_process([&] {
    auto& writer = *new recording_writer(path, recording_writer::mode::create);  // never closed
    for (int n = 0; n < 5; ++n) writer.write(step_of(n), tensors);
  });
  REQUIRE(fs::file_size(path + "-wal") > 0);
}

std::string big_endian(std::uint32_t n) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(n >> shift & 0xFF);
  return bytes;
}

// What SQLite ends the journal of a database with that was changed together with others (src/pager.c, writeSuperJournal).
void name_super_journal(const std::string& journal, const std::string& name) {
  std::uint32_t sum = 0;
  for (const char c : name) sum += static_cast<std::uint32_t>(static_cast<signed char>(c));
  constexpr std::uint32_t page = 0x40000000 / 8192 + 1;
  std::string bytes = read_file(journal) + big_endian(page) + name +
                      big_endian(static_cast<std::uint32_t>(name.size())) + big_endian(sum) +
                      "\xD9\xD5\x05\xF9\x20\xA1\x63\xD7";
  write_file(journal, bytes);
}

// All files of a folder with their contents.
std::map<std::string, std::string> contents(const fs::path& folder) {
  std::map<std::string, std::string> all;
  for (const auto& file : fs::directory_iterator(folder)) all[file.path().filename().string()] = read_file(file.path());
  return all;
}

std::uint64_t steps_in(const std::string& path) {
  const auto from = open_recording(path);
  step now;
  std::uint64_t steps = 0;
  while (from->next(now)) ++steps;
  return steps;
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

// Every way in which a recording is read or appended to.
const std::vector<std::pair<std::string, std::function<void(const std::string&)>>> readings{
    {"steps", [](const std::string& path) { static_cast<void>(steps_in(path)); }},
    {"totals", [](const std::string& path) { static_cast<void>(read_totals(path)); }},
    {"levels", [](const std::string& path) { level_reader levels(path, 64); }},
    {"check", [](const std::string& path) { static_cast<void>(check_recording(path)); }},
    {"are totals as good", [](const std::string& path) { static_cast<void>(totals_are_as_good(path)); }}};

}  // namespace

TEST_CASE("a journal that names a super-journal deletes nothing, whoever reads") {
  const temporary_dir dir;
  const temporary_dir home;
  const std::string path = (dir / "run.ulp").string();
  const std::string victim = (home / "thesis.tex").string();
  write_file(victim, "years of work");
  write_hot(path);
  name_super_journal(path + "-journal", victim);
  const auto before = contents(dir.path());
  for (const auto& [name, read] : readings) {
    INFO(name);
    CHECK(error_of([&] { read(path); }).find("run.ulp-journal: tells SQLite to delete another file") !=
          std::string::npos);
  }
  CHECK_FALSE(error_of([&] { recording_writer(path, recording_writer::mode::append); }).empty());
  CHECK(read_file(victim) == "years of work");
  CHECK(contents(dir.path()) == before);
  // The attack is one: SQLite without a guard falls for it.
  damage(path, "SELECT 1 FROM meta");
  CHECK_FALSE(fs::exists(victim));
}

TEST_CASE("a link leads to the journal beside the file it names, which is looked at too") {
  const temporary_dir dir;
  const temporary_dir other;
  const std::string path = (dir / "run.ulp").string();
  const std::string victim = (dir / "victim").string();
  write_file(victim, "v");
  write_hot((other / "evil.ulp").string());
  name_super_journal((other / "evil.ulp-journal").string(), victim);
  fs::create_symlink(other / "evil.ulp", path);
  for (const auto& [name, read] : readings) CHECK_FALSE(error_of([&] { read(path); }).empty());
  CHECK_FALSE(error_of([&] { recording_writer(path, recording_writer::mode::append); }).empty());
  CHECK(fs::exists(victim));
}

TEST_CASE("what a killed writer had begun is taken back for who reads, and stays for who appends") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  write_hot(path);
  const auto before = contents(dir.path());
  CHECK(open_recording(path)->header().layout == "replica");
  for (const auto& [name, read] : readings) CHECK(error_of([&] { read(path); }) == "");
  CHECK(steps_in(path) == 3);
  CHECK(contents(dir.path()) == before);
  write(path, 3, 5, recording_writer::mode::append);
  CHECK(steps_in(path) == 5);
  CHECK(open_recording(path)->header().layout == "replica");
  CHECK(contents(dir.path()).size() == 1);
}

TEST_CASE("a killed writer's log is read without being touched, with and without its shared memory") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  write_with_log(path);
  SECTION("as it was left") {}
  SECTION("in a copy without shared memory") { fs::remove(path + "-shm"); }
  SECTION("with nonsense for shared memory") { write_file(path + "-shm", std::string(32768, 'x')); }
  const auto before = contents(dir.path());
  for (const auto& [name, read] : readings) CHECK(error_of([&] { read(path); }) == "");
  CHECK(steps_in(path) == 5);
  CHECK(check_recording(path).problems.empty());
  REQUIRE(open_recording(path)->notes().size() == 1);
  CHECK(open_recording(path)->notes()[0].find("its writer was killed") != std::string::npos);
  CHECK(contents(dir.path()) == before);
  write(path, 5, 6, recording_writer::mode::append);
  CHECK(steps_in(path) == 6);
  CHECK(open_recording(path)->notes().empty());
  CHECK(contents(dir.path()).size() == 1);
}

TEST_CASE("a recording in a folder that may not be written is read") {
  if (geteuid() == 0) return;  // may write everywhere; tests/cli/two_users_test.cpp does it as somebody else
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  write_with_log(path);
  fs::remove(path + "-shm");
  fs::permissions(dir.path(), fs::perms::owner_read | fs::perms::owner_exec);
  CHECK(steps_in(path) == 5);
  fs::permissions(dir.path(), fs::perms::owner_all);
}

TEST_CASE("a log without its recording's name is missed, and said to be") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  const std::string copy = (dir / "copy.ulp").string();
  recording_writer writer(path, recording_writer::mode::create);
  for (int n = 0; n < 5; ++n) writer.write(step_of(n), tensors);
  fs::copy_file(path, copy);
  const auto from = open_recording(copy);
  REQUIRE(from->notes().size() == 1);
  CHECK(from->notes()[0].find("its write-ahead log (FILE-wal) is not beside it") != std::string::npos);
  REQUIRE(check_recording(copy).problems.size() == 1);
  CHECK(check_recording(copy).problems[0].reason.starts_with("was not closed, and its write-ahead log"));
  CHECK(open_recording(path)->notes().empty());
  write_file(copy + "-wal", "");
  CHECK(open_recording(copy)->notes().size() == 1);  // that the last steps may be missing
  CHECK(check_recording(copy).problems.empty());
  CHECK_FALSE(check_recording(copy).missing.empty());
  fs::remove(copy + "-wal");
  writer.close();
  fs::copy_file(path, copy, fs::copy_options::overwrite_existing);
  CHECK(open_recording(copy)->notes().empty());
  // Opened again, and copied before the first step.
  recording_writer again(path, recording_writer::mode::append);
  again.write(step_of(5), tensors);
  fs::copy_file(path, copy, fs::copy_options::overwrite_existing);
  CHECK(open_recording(copy)->notes().size() == 1);
  // To append to such a copy does not hide it.
  write(copy, 9, 10, recording_writer::mode::append);
  REQUIRE(open_recording(copy)->notes().size() == 1);
  CHECK(open_recording(copy)->notes()[0].find("it was appended to when its write-ahead log") != std::string::npos);
}

TEST_CASE("another recording's log is not read as its own") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  write_with_log((dir / "other.ulp").string());
  write(path, 0, 3);
  fs::copy_file(dir / "other.ulp-wal", path + "-wal");
  const auto before = contents(dir.path());
  for (const auto& [name, read] : readings)
    CHECK(error_of([&] { read(path); }).find("lies beside it that is not its own") != std::string::npos);
  CHECK_FALSE(error_of([&] { recording_writer(path, recording_writer::mode::append); }).empty());
  CHECK(contents(dir.path()) == before);
  // The log of a recording that is there no more is not taken into a merged one.
  fs::remove(path);
  CHECK_FALSE(error_of([&] { static_cast<void>(whole_database(path)); }).empty());
}

TEST_CASE("another recording's log is not read as its own, where both are in the middle of being written") {
  const temporary_dir dir;
  const temporary_dir elsewhere;
  const std::string path = (dir / "run.ulp").string();
  const std::string other = (elsewhere / "other.ulp").string();
  SECTION("of another run") {
    write_with_log(path);
    write_with_log(other);
  }
  SECTION("of a copy that went on by itself") {
    write(path, 0, 3);
    fs::copy_file(path, other);
    for (const std::string& one : {path, other})
      in_killed_process([&] {
        auto& writer = *new recording_writer(one, recording_writer::mode::append);  // never closed
        writer.write(step_of(3), tensors);
      });
  }
  fs::copy_file(other + "-wal", path + "-wal", fs::copy_options::overwrite_existing);
  const auto before = contents(dir.path());
  for (const auto& [name, read] : readings)
    CHECK(error_of([&] { read(path); }).find("belongs to another recording, or to this one at another time") !=
          std::string::npos);
  CHECK_FALSE(error_of([&] { recording_writer(path, recording_writer::mode::append); }).empty());
  CHECK(contents(dir.path()) == before);
}

TEST_CASE("a file that a kill tore is compared with its log as far as it goes") {
  const temporary_dir dir;
  const temporary_dir elsewhere;
  const std::string path = (dir / "run.ulp").string();
  const std::string other = (elsewhere / "other.ulp").string();
  write_with_log(path);
  std::string bytes = read_file(path);
  std::uint64_t steps = 5;
  SECTION("it tells of more pages than it has") {
    bytes[31] = static_cast<char>(bytes[31] + 50);
    write_file(path, bytes);
    write_with_log(other);
    fs::copy_file(other + "-wal", path + "-wal", fs::copy_options::overwrite_existing);
    steps = 0;
  }
  SECTION("the page of meta is lost, and in the log") {
    bytes.replace(8192, 8192, 8192, '\0');
    write_file(path, bytes);
  }
  if (steps > 0)
    CHECK(steps_in(path) == steps);
  else
    CHECK(error_of([&] { static_cast<void>(steps_in(path)); }).find("belongs to another recording") !=
          std::string::npos);
}

TEST_CASE("a writer that cannot read what it is to append to leaves it as it is") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  write(path, 0, 3);
  damage(path, "UPDATE tensor SET numel=-1");
  const auto before = contents(dir.path());
  CHECK_FALSE(error_of([&] { recording_writer(path, recording_writer::mode::append); }).empty());
  CHECK(contents(dir.path()) == before);
}

TEST_CASE("a file and a log that were copied at different times are not put together") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  const auto take = [&](const std::string& name) {
    for (const char* const suffix : {"", "-wal"}) fs::copy_file(path + suffix, (dir / name).string() + suffix);
  };
  recording_writer writer(path, recording_writer::mode::create);
  std::int64_t n = 0;
  const auto write_until = [&](std::int64_t end) {
    for (; n < end; ++n) writer.write(step_of(n), tensors);
  };
  // The log is taken in every hundred steps or so.
  write_until(10);
  take("early.ulp");
  write_until(1000);
  take("late.ulp");
  write_until(1001);
  take("next.ulp");
  const auto with_log_of = [&](const std::string& file, const std::string& log) {
    const std::string both = (dir / "both.ulp").string();
    fs::copy_file(dir / file, both, fs::copy_options::overwrite_existing);
    fs::copy_file((dir / log).string() + "-wal", both + "-wal", fs::copy_options::overwrite_existing);
    return error_of([&] { static_cast<void>(steps_in(both)); });
  };
  for (const char* const name : {"early.ulp", "late.ulp", "next.ulp"}) CHECK(with_log_of(name, name) == "");
  CHECK(with_log_of("late.ulp", "next.ulp") == "");
  const std::string refused =
      (dir / "both.ulp").string() +
      ": the write-ahead log beside it belongs to another recording, or to this one at another time";
  CHECK(with_log_of("early.ulp", "late.ulp").substr(0, refused.size()) == refused);
  CHECK(with_log_of("late.ulp", "early.ulp").substr(0, refused.size()) == refused);
}

TEST_CASE("a log that was cut short is told of, forever after somebody appended") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  const std::string merged = (dir / "merged.ulp").string();
  write_with_log(path);
  const auto size = fs::file_size(path + "-wal");
  for (const std::uint64_t cut : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{31}, std::uint64_t{32},
                                  std::uint64_t{33}, std::uint64_t{5000}, size / 2, size - 1}) {
    INFO("cut to " << cut);
    const std::string copy = (dir / ("copy" + std::to_string(cut) + ".ulp")).string();
    fs::copy_file(path, copy);
    fs::copy_file(path + "-wal", copy + "-wal");
    fs::resize_file(copy + "-wal", cut);
    REQUIRE(open_recording(copy)->notes().size() == 1);
    CHECK(open_recording(copy)->notes()[0].find("is empty or was cut short") != std::string::npos);
    CHECK(check_recording(copy).problems.empty());  // a full disk leaves the same
    CHECK_FALSE(check_recording(copy).missing.empty());
    write(copy, 9, 10, recording_writer::mode::append);
    REQUIRE(open_recording(copy)->notes().size() == 1);
    CHECK(open_recording(copy)->notes()[0].find("steps may be missing: it was appended to") != std::string::npos);
  }
}

TEST_CASE("a log that was damaged is told of, and nothing is appended to it") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  const std::string merged = (dir / "merged.ulp").string();
  write_with_log(path);
  const std::string log = read_file(path + "-wal");
  for (const std::size_t at : {std::size_t{3}, std::size_t{9}, std::size_t{13}, std::size_t{17}, std::size_t{25},
                               std::size_t{40}, std::size_t{60}, std::size_t{300}, log.size() / 2}) {
    INFO("byte " << at);
    std::string bytes = log;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    write_file(path + "-wal", bytes);
    const auto before = contents(dir.path());
    const auto append = [&] { recording_writer(path, recording_writer::mode::append); };
    if (at < 32) {
      const std::string refused = "is not a write-ahead log, or its beginning is damaged: move " + path + "-wal away";
      for (const auto& [name, read] : readings) CHECK(error_of([&] { read(path); }).find(refused) != std::string::npos);
      CHECK(error_of(append).find(refused) != std::string::npos);
    } else {
      REQUIRE(check_recording(path).problems.size() == 1);
      CHECK(check_recording(path).problems[0].reason.starts_with("its write-ahead log (FILE-wal) is damaged"));
      CHECK(open_recording(path)->notes().size() == 1);
      CHECK(error_of(append).find("is damaged, and all steps behind the damage would be lost") != std::string::npos);
      if (at > 300) CHECK(open_merged({path})->header().incomplete);  // which has steps before the damage
    }
    CHECK(contents(dir.path()) == before);
  }
}

TEST_CASE("a log that is said to be very long is read as far as it goes") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  write_with_log(path);
  std::error_code has_no_holes;
  fs::resize_file(path + "-wal", std::uintmax_t{1} << 36, has_no_holes);
  if (has_no_holes) return;
  CHECK(steps_in(path) == 5);
  CHECK(check_recording(path).problems.empty());
}

TEST_CASE("an index that was cut short hides no steps of the log that somebody is connected to") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  write_with_log(path);
  std::array<int, 2> connected{};
  REQUIRE(pipe(connected.data()) == 0);
  const pid_t reader = fork();
  if (reader == 0) {
    sqlite3* db = nullptr;
    const bool is_read = sqlite3_open(path.c_str(), &db) == SQLITE_OK &&
                         sqlite3_exec(db, "SELECT * FROM step", nullptr, nullptr, nullptr) == SQLITE_OK;
    if (is_read && write(connected[1], "x", 1) == 1)
      for (;;) pause();
    _exit(1);
  }
  close(connected[1]);
  char told = 0;
  REQUIRE(read(connected[0], &told, 1) == 1);
  CHECK(steps_in(path) == 5);
  const std::string whole = read_file(path + "-shm");
  for (const std::uintmax_t size : {100}) {
    fs::resize_file(path + "-shm", size);
    for (const auto& [name, read] : readings)
      CHECK(error_of([&] { read(path); }).find("run.ulp-shm: was cut short") != std::string::npos);
    CHECK(error_of([&] { write(path, 5, 6, recording_writer::mode::append); }).find("-shm: was cut short") !=
          std::string::npos);
    write_file(path + "-shm", whole);
  }
  kill(reader, SIGKILL);
  REQUIRE(waitpid(reader, nullptr, 0) == reader);
  write(path, 5, 6, recording_writer::mode::append);
  CHECK(steps_in(path) == 6);
}

TEST_CASE("what a damaged page hides is missed, by all who read, merge or append") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  const std::string copy = (dir / "copy.ulp").string();
  constexpr std::size_t page = 8192;
  write(path, 0, 600);
  const std::string bytes = read_file(path);
  const std::string digest = digest_of(*open_recording(path));
  int found = 0;
  for (std::size_t at = page; at < bytes.size(); at += page)
    for (const auto& [offset, bits] : {std::pair{4, 0x10}, std::pair{4, 0x01}, std::pair{12, 4}, std::pair{0, 8}}) {
      std::string damaged = bytes;
      damaged[at + static_cast<std::size_t>(offset)] ^= static_cast<char>(bits);
      write_file(copy, damaged);
      INFO("page " << at / page << ", byte " << offset);
      std::string now;
      const std::string merged = error_of([&] { now = digest_of(*open_merged({copy})); });
      CHECK((!merged.empty() || now == digest));
      const std::string appended = error_of([&] { write(copy, 600, 601, recording_writer::mode::append); });
      if (appended.empty()) CHECK(check_recording(copy).problems.empty());
      found += static_cast<int>(!merged.empty());
    }
  CHECK(found > 50);
}

TEST_CASE("a header that lacks one of its keys is damaged, for all who read or append") {
  for (const std::string key : {"run_id", "rank", "world", "reduction", "layout"}) {
    const temporary_dir dir;
    const std::string path = (dir / "run.ulp").string();
    write(path, 0, 3);
    io::database({.shown = path, .file = path, .access = io::file_access::writing})
        .run(("DELETE FROM meta WHERE key='" + key + "'").c_str());
    const std::string missing = "'" + key + "' is missing: the file is damaged";
    CHECK(error_of([&] { steps_in(path); }).find(missing) != std::string::npos);
    CHECK(error_of([&] { static_cast<void>(open_totals(path, totals_with::cells)); }).find(missing) !=
          std::string::npos);
    const recording_report report = check_recording(path);
    REQUIRE(!report.problems.empty());
    CHECK(report.problems[0].reason.find(missing) != std::string::npos);
    CHECK(error_of([&] { write(path, 5, 6, recording_writer::mode::append); }).find(missing) != std::string::npos);
  }
}

TEST_CASE("a step whose number is no integer is found, for all who read") {
  for (const std::string number : {"'abc'", "x'00'"}) {
    const temporary_dir dir;
    const std::string path = (dir / "run.ulp").string();
    write(path, 0, 3);
    io::database({.shown = path, .file = path, .access = io::file_access::writing})
        .run(("UPDATE step SET step=" + number + " WHERE step=2; DELETE FROM total WHERE step=2").c_str());
    CHECK(!check_recording(path).problems.empty());
    CHECK(error_of([&] { steps_in(path); }) != "");
  }
}

TEST_CASE("an empty log with a journal that takes nothing back is read without a trace") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  write(path, 0, 3);
  std::string bytes = read_file(path);
  bytes[18] = bytes[19] = 2;  // it has a log, says the header
  write_file(path, bytes);
  write_file(path + "-wal", "");
  write_file(path + "-journal", "no journal");
  const auto before = contents(dir.path());
  for (const auto& [name, read] : readings) CHECK(error_of([&] { read(path); }).empty());
  CHECK(steps_in(path) == 3);
  CHECK(contents(dir.path()) == before);
}

TEST_CASE("a recording with a second name is not appended to where its log may be beside the first") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  const std::string second = (dir / "second.ulp").string();
  write_with_log(path);
  fs::create_hard_link(path, second);
  CHECK(error_of([&] { recording_writer(second, recording_writer::mode::append); }).find("has a second name") !=
        std::string::npos);
  write(path, 5, 6, recording_writer::mode::append);
  CHECK(steps_in(path) == 6);
}

TEST_CASE("a log is not taken in by a recording that cannot name it") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  const std::string other = (dir / "other.ulp").string();
  write_with_log(path);
  write_with_log(other);
  std::string bytes = read_file(path);
  const std::size_t meta = bytes.find("binding");
  REQUIRE(meta != std::string::npos);
  bytes[meta / 8192 * 8192] ^= 0x10;  // the kind of the page
  write_file(path, bytes);
  fs::copy_file(other + "-wal", path + "-wal", fs::copy_options::overwrite_existing);
  const auto before = contents(dir.path());
  CHECK_FALSE(error_of([&] { recording_writer(path, recording_writer::mode::append); }).empty());
  CHECK(contents(dir.path()) == before);
}

TEST_CASE("a file that is no log stays where a log would lie") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  write_with_log(path);
  write_file(path + "-wal", "notes on what this run was for, and on what came out\n");
  const auto before = contents(dir.path());
  CHECK(error_of([&] { recording_writer(path, recording_writer::mode::append); }).find("move ") != std::string::npos);
  CHECK(contents(dir.path()) == before);
}

TEST_CASE("what is made from a recording that may lack steps says so") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  const std::string copy = (dir / "copy.ulp").string();
  const std::string made = (dir / "made.ulp").string();
  write_with_log(path);
  fs::copy_file(path, copy);
  CHECK(open_recording(copy)->header().incomplete);
  write(copy, 0, 3, recording_writer::mode::append);
  const auto from = open_merged({copy});
  CHECK(from->header().incomplete);
  recording_writer(made, recording_writer::mode::create, from->header()).close();
  REQUIRE(open_recording(made)->notes().size() == 1);
  CHECK(open_recording(made)->notes()[0].find("it was made from a recording that was not closed") != std::string::npos);
  const std::string whole = (dir / "whole.ulp").string();
  write(whole, 0, 3);
  CHECK_FALSE(open_merged({whole})->header().incomplete);
  {
    const std::string open = (dir / "open.ulp").string();
    recording_writer writer(open, recording_writer::mode::create);
    writer.write(step_of(0), tensors);
    CHECK(open_recording(open)->notes().empty());
    CHECK(open_merged({open})->header().incomplete);
  }
  recording_writer(whole, recording_writer::mode::append, from->header()).close();
  CHECK(open_merged({whole})->header().incomplete);
}

TEST_CASE("another recording's journal is not played back, to read or to append") {
  const temporary_dir dir;
  const temporary_dir elsewhere;
  const std::string path = (dir / "run.ulp").string();
  const std::string other = (elsewhere / "other.ulp").string();
  SECTION("of one with fewer steps") {
    write(path, 0, 40);
    write_hot(other);
  }
  SECTION("of one that looks the same") {
    write(path, 0, 3);
    write_hot(other);
  }
  SECTION("of one that looks the same, and was stopped there too") {
    write_hot(path);
    write_hot(other);
  }
  SECTION("where the file lacks the pages at its end, since its writer was stopped too") {
    write(path, 0, 40);
    fs::resize_file(path, fs::file_size(path) - 8192);
    write_hot(other);
  }
  SECTION("of one that was being made") {
    write(path, 0, 3);
    in_killed_process([&] {
      auto& db = *new io::database({.shown = other, .file = other, .access = io::file_access::writing, .create = true});
      db.run("PRAGMA cache_size=1");
      db.run("BEGIN IMMEDIATE");
      db.run("CREATE TABLE t(x)");
      for (int i = 0; i < 50; ++i) db.run("INSERT INTO t VALUES(hex(zeroblob(20000)))");
    });
  }
  fs::copy_file(other + "-journal", path + "-journal", fs::copy_options::overwrite_existing);
  const auto before = contents(dir.path());
  for (const auto& [name, read] : readings)
    CHECK(error_of([&] { read(path); }).find("-journal away to read") != std::string::npos);
  CHECK(error_of([&] { recording_writer(path, recording_writer::mode::append); }).find("-journal away to read") !=
        std::string::npos);
  CHECK(contents(dir.path()) == before);
}

TEST_CASE("a recording's own journal from another time is not played back") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  const std::string journal = (dir / "kept").string();
  write_hot(path);
  fs::copy_file(path + "-journal", journal);
  write(path, 3, 8, recording_writer::mode::append);
  fs::copy_file(journal, path + "-journal");
  const auto before = contents(dir.path());
  for (const auto& [name, read] : readings)
    CHECK(error_of([&] { read(path); }).find("-journal away to read") != std::string::npos);
  CHECK_FALSE(error_of([&] { recording_writer(path, recording_writer::mode::append); }).empty());
  CHECK(contents(dir.path()) == before);
}

TEST_CASE("a recording is appended to only where its journal leaves it whole") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  write_hot(path);
  const std::string file = read_file(path);
  const std::string journal = read_file(path + "-journal");
  int appended = 0;
  int refused = 0;
  // The journal's checksums are of few of its bytes: one in 200.
  for (std::size_t at = 600; at < journal.size(); at += 601) {
    std::string bytes = journal;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x40);
    write_file(path, file);
    write_file(path + "-journal", bytes);
    const auto before = contents(dir.path());
    const std::string error = error_of([&] { write(path, 3, 4, recording_writer::mode::append); });
    INFO("byte " << at << ": " << error);
    if (error.empty()) {
      CHECK(check_recording(path).problems.empty());
      CHECK(steps_in(path) == 4);
    } else {
      CHECK(contents(dir.path()) == before);
    }
    ++(error.empty() ? appended : refused);
  }
  CHECK(appended > 0);
  CHECK(refused > 0);
}

TEST_CASE("a journal that was made to fill the disk is not copied") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  write_hot(path);
  fs::resize_file(path + "-journal", 2 * fs::file_size(path) + (1 << 20) + 1);
  const auto before = contents(dir.path());
  for (const auto& [name, read] : readings)
    CHECK(error_of([&] { read(path); }).find("is larger than its own can be: move ") != std::string::npos);
  CHECK_FALSE(error_of([&] { recording_writer(path, recording_writer::mode::append); }).empty());
  CHECK(contents(dir.path()) == before);
}

TEST_CASE("a living writer is read while it writes, and does not notice") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  recording_writer writer(path, recording_writer::mode::create);
  std::thread reader([&] {
    for (int i = 0; i < 40; ++i) static_cast<void>(error_of([&] { static_cast<void>(steps_in(path)); }));
  });
  for (int n = 0; n < 200; ++n) writer.write(step_of(n), tensors);
  reader.join();
  CHECK(steps_in(path) == 200);
  CHECK(writer.close());
  CHECK(contents(dir.path()).size() == 1);
}

TEST_CASE("who reads for long leaves the writer its log beside the recording") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  recording_writer writer(path, recording_writer::mode::create);
  writer.write(step_of(0), tensors);
  const auto from = open_recording(path);
  step now;
  REQUIRE(from->next(now));
  writer.write(step_of(1), tensors);
  CHECK_FALSE(writer.close());
  CHECK(steps_in(path) == 2);
  write(path, 2, 3, recording_writer::mode::append);
  CHECK(steps_in(path) == 3);
}

TEST_CASE("a rollback journal's writer is not hindered by readers, nor waits for them") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  write(path, 0, 3);
  // As the recorder of Python has it on network file systems.
  const pid_t child = fork();
  if (child == 0) {
    io::database db({.shown = path, .file = path, .access = io::file_access::writing});
    sqlite3_busy_timeout(db.get(), 1000);
    db.run("PRAGMA journal_mode=TRUNCATE");
    for (int i = 0; i < 300; ++i) db.run("UPDATE meta SET crc=crc WHERE key='rank'");
    _exit(0);
  }
  std::vector<std::unique_ptr<source>> open;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    static_cast<void>(error_of([&] {
      step now;
      open.push_back(open_recording(path));
      static_cast<void>(open.back()->next(now));  // stays in the middle of it
    }));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (open.size() > 20) open.clear();
  }
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("two writers: the second is refused at once, in this process and in another") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  recording_writer writer(path, recording_writer::mode::create);
  writer.write(step_of(0), tensors);
  CHECK(error_of([&] {
          recording_writer(path, recording_writer::mode::append);
        }).find("is being written by this program") != std::string::npos);
  const pid_t child = fork();
  if (child == 0) {
    // The parent's lock goes with the fork: another process does not have it.
    const std::string program =
        "exec \"$ULP_PROGRAM\" record \"$ULP_SOURCE_DIR\"/examples/digits.step00100.safetensors "
        "--append -o " +
        path + " 2>" + (dir / "err").string();
    execl("/bin/sh", "sh", "-c", program.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 2);
  CHECK(read_file(dir / "err").find("is being written by another process") != std::string::npos);
  writer.write(step_of(1), tensors);
  writer.close();
  CHECK(steps_in(path) == 2);
}

TEST_CASE("many at once make one recording, and the others leave it alone") {
  const temporary_dir dir;
  for (int round = 0; round < 10; ++round) {
    const std::string path = (dir / ("run" + std::to_string(round) + ".ulp")).string();
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
      children.push_back(fork());
      if (children.back() != 0) continue;
      const std::string error = error_of([&] { write(path, 0, 20); });
      _exit(error.empty() ? 0 : 1);
    }
    int winners = 0;
    for (const pid_t child : children) {
      int status = 0;
      REQUIRE(waitpid(child, &status, 0) == child);
      winners += WEXITSTATUS(status) == 0 ? 1 : 0;
    }
    CHECK(winners == 1);
    CHECK(steps_in(path) == 20);
    CHECK(check_recording(path).problems.empty());
  }
}

TEST_CASE("a writer discards the file that it made, and no other") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  recording_writer writer(path, recording_writer::mode::create);
  writer.write(step_of(0), tensors);
  fs::rename(path, dir / "moved.ulp");
  write_file(path, "somebody else's");
  writer.discard();
  CHECK(read_file(path) == "somebody else's");
}

TEST_CASE("what is left of another recording is not taken into a new one") {
  for (const char* const suffix : {"-wal", "-journal", "-shm"}) {
    const temporary_dir dir;
    const std::string path = (dir / "run.ulp").string();
    write_file(path + suffix, "x");
    CHECK(error_of([&] {
            recording_writer(path, recording_writer::mode::create);
          }).find(std::string{suffix} + ": exists without the recording") != std::string::npos);
    CHECK(contents(dir.path()) == std::map<std::string, std::string>{{std::string{"run.ulp"} + suffix, "x"}});
  }
}

TEST_CASE("a link is not written through when a recording is made") {
  const temporary_dir dir;
  fs::create_symlink(dir / "victim", dir / "run.ulp");
  CHECK_FALSE(error_of([&] { recording_writer((dir / "run.ulp").string(), recording_writer::mode::create); }).empty());
  CHECK_FALSE(fs::exists(dir / "victim"));
}

TEST_CASE("other people's files beside a recording are not read as its parts") {
  if (geteuid() != 0) return;  // nobody else can give files away
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  const std::string other = (dir / "other.ulp").string();
  write(path, 0, 3);
  write_with_log(other);
  for (const char* const suffix : {"-wal", "-journal", "-shm"}) {
    fs::copy_file(other + "-wal", path + suffix);
    REQUIRE(chown((path + suffix).c_str(), 12345, 12345) == 0);
    for (const auto& [name, read] : readings)
      CHECK(error_of([&] { read(path); }).find("belongs to another user than the recording") != std::string::npos);
    CHECK_FALSE(error_of([&] { recording_writer(path, recording_writer::mode::append); }).empty());
    fs::remove(path + suffix);
  }
  fs::create_symlink(other + "-wal", path + "-wal");
  CHECK(error_of([&] { static_cast<void>(steps_in(path)); }).find("is not a regular file") != std::string::npos);
}

TEST_CASE("a pipe is not waited for") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  CHECK_FALSE(error_of([&] { static_cast<void>(open_recording(path)); }).empty());
  CHECK_FALSE(error_of([&] { recording_writer(path, recording_writer::mode::append); }).empty());
  fs::remove(path);
  write(path, 0, 1);
  REQUIRE(mkfifo((path + "-wal").c_str(), 0600) == 0);
  CHECK_FALSE(error_of([&] { static_cast<void>(open_recording(path)); }).empty());
}
