// Pins what somebody else can do to a recording in a folder that both may write: nothing. Whatever he puts beside it, the
// commands of its owner read what she wrote or refuse it, and neither delete nor change what is hers.
#include "support/catch.hpp"

#include <fcntl.h>
#include <grp.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <ulp/io/inputs/open.hpp>
#include <ulp/io/recording/recording.hpp>

#include "io/mended.hpp"
#include "support/dumps.hpp"
#include "support/files.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

namespace fs = std::filesystem;

// Who has a recording, and who is up to something; neither is known to the system.
constexpr uid_t owner = 54321;
constexpr uid_t other = 54322;

// Runs `work` in a process of this user; its exit code. `before` is called here, with the number of that process.
int as(uid_t user, const std::function<void()>& work, const std::function<void(pid_t)>& before = {}) {
  int gate[2] = {-1, -1};
  REQUIRE(pipe2(gate, O_CLOEXEC) == 0);
  const pid_t child = fork();
  if (child == 0) {
    char ready = 0;
    if (read(gate[0], &ready, 1) != 1) _exit(126);
    if (setgroups(0, nullptr) != 0 || setgid(user) != 0 || setuid(user) != 0) _exit(126);
    try {
      work();
    } catch (const std::exception& problem) {
      std::cerr << problem.what() << "\n";
      _exit(125);
    }
    _exit(0);
  }
  if (before) before(child);
  REQUIRE(write(gate[1], "x", 1) == 1);
  close(gate[0]);
  close(gate[1]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct result {
  int exit_code = -1;
  std::string out;
  std::string err;
};

// All files below a folder with their kinds, owners, permissions and contents, or where links lead.
std::map<std::string, std::string> state_of(const fs::path& folder) {
  std::map<std::string, std::string> all;
  for (const auto& file : fs::recursive_directory_iterator(folder)) {
    struct stat is {};
    REQUIRE(lstat(file.path().c_str(), &is) == 0);
    std::string& text = all[file.path().string()];
    text = std::to_string(is.st_mode) + " " + std::to_string(is.st_uid) + " ";
    if (S_ISREG(is.st_mode)) text += read_file(file.path());
    if (S_ISLNK(is.st_mode)) text += fs::read_symlink(file.path()).string();
  }
  return all;
}

class two_users {
 public:
  explicit two_users(mode_t mode) {
    umask(022);
    chmod(dir_.path().c_str(), 0755);
    make_folder(shared(), 0, mode);
    make_folder(home(), owner, 0755);
    make_folder(den(), other, 0755);
    for (const uid_t user : {owner, other}) make_folder(temporary(user), user, 0700);
    write_dumps(dir_.path(), 5);
    fs::copy_file(std::getenv("ULP_PROGRAM"), program());
    write_file(thesis(), "years of work");
    write_file(empty(), "");
    for (const std::string& file : {thesis(), empty()}) REQUIRE(chown(file.c_str(), owner, owner) == 0);
  }

  // Where everybody writes; hers and his.
  [[nodiscard]] fs::path shared() const { return dir_ / "shared"; }
  [[nodiscard]] fs::path home() const { return dir_ / "home"; }
  [[nodiscard]] fs::path den() const { return dir_ / "den"; }
  [[nodiscard]] fs::path temporary(uid_t user) const { return dir_ / ("tmp" + std::to_string(user)); }
  [[nodiscard]] std::string program() const { return (dir_ / "ulp").string(); }
  [[nodiscard]] std::string thesis() const { return (home() / "thesis.tex").string(); }
  [[nodiscard]] std::string empty() const { return (home() / "lock").string(); }
  [[nodiscard]] std::string path(const std::string& name = "r.ulp") const { return (shared() / name).string(); }
  [[nodiscard]] std::string dump(int step) const {
    return (dir_ / "whole" / ("step0000" + std::to_string(step) + ".safetensors")).string();
  }

  // Whether other users can be had here, and run the program.
  [[nodiscard]] bool work() const {
    return geteuid() == 0 && run(owner, {"--version"}).exit_code == 0 && run(other, {"--version"}).exit_code == 0;
  }

  // `before`: as above.
  [[nodiscard]] result run(uid_t user, std::vector<std::string> arguments,
                           const std::function<void(pid_t)>& before = {}, mode_t mask = 022) const {
    const std::string out = (dir_ / "out").string();
    const std::string err = (dir_ / "err").string();
    for (const std::string& file : {out, err}) {
      write_file(file, "");
      chmod(file.c_str(), 0666);
    }
    const int code = as(
        user,
        [&] {
          umask(mask);
          setenv("TMPDIR", temporary(user).c_str(), 1);
          if (std::freopen(out.c_str(), "w", stdout) == nullptr || std::freopen(err.c_str(), "w", stderr) == nullptr)
            _exit(124);
          arguments.insert(arguments.begin(), program());
          std::vector<char*> pointers;
          for (std::string& a : arguments) pointers.push_back(a.data());
          pointers.push_back(nullptr);
          execv(pointers[0], pointers.data());
          _exit(127);
        },
        before);
    return {.exit_code = code, .out = read_file(out), .err = read_file(err)};
  }

 private:
  static void make_folder(const fs::path& folder, uid_t user, mode_t mode) {
    fs::create_directory(folder);
    REQUIRE(chown(folder.c_str(), user, user) == 0);
    REQUIRE(chmod(folder.c_str(), mode) == 0);
  }

  temporary_dir dir_;
};

bool skipped(const two_users& here) {
  if (here.work()) return false;
  std::cout << "SKIPPED: only root can be two users, where programs in temporary folders run" << std::endl;
  return true;
}

// Every command that reads a recording, without what it writes.
std::vector<std::vector<std::string>> readings(const std::string& path) {
  return {{"info", path},
          {"info", "--digest", path},
          {"check", path},
          {"outcomes", path, "--format", "fp16"},
          {"replay", path, "--scaler", "pytorch", "--format", "fp16"},
          {"sweep", path, "--scaler", "pytorch", "--format", "fp16"},
          {"advise", path, "--format", "fp16"},
          {"export", path},
          {"report", path, "-o", "-"}};
}

// Changes a copy of her recording, and is killed with that in a log or, as what is to be taken back, in a journal beside it:
// companions that fit her file.
void leave_beside(const std::string& recording, bool as_log) {
  alter(recording, "UPDATE meta SET value='forged' WHERE key='run_id'");
  const pid_t child = fork();
  if (child == 0) {
    sqlite3* db = nullptr;
    sqlite3_open(recording.c_str(), &db);
    const char* const sql =
        as_log ? "PRAGMA journal_mode=WAL; UPDATE meta SET value='forged again' WHERE key='run_id'"
               : "PRAGMA cache_size=1; BEGIN IMMEDIATE; UPDATE meta SET value='true' WHERE key='run_id'; "
                 "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<50) "
                 "INSERT INTO meta SELECT 'k' || i, hex(zeroblob(20000)), x'' FROM n";
    sqlite3_exec(db, sql, nullptr, nullptr, nullptr);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  REQUIRE(fs::file_size(recording + (as_log ? "-wal" : "-journal")) > 1000);
}

std::string big_endian(std::size_t n) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(n >> shift & 0xFF);
  return bytes;
}

// What a journal ends with that tells SQLite to delete another file (src/pager.c, writeSuperJournal).
std::string naming(const std::string& file) {
  std::size_t sum = 0;
  for (const char c : file) sum += static_cast<unsigned char>(c);
  return big_endian(0x40000000 / 8192 + 1) + file + big_endian(file.size()) + big_endian(sum) +
         "\xD9\xD5\x05\xF9\x20\xA1\x63\xD7";
}

// Something that is put where she has, or will have, a file.
struct trap {
  std::string name;
  std::function<void(const two_users&, const std::string& path)> lay;
  uid_t by = other;
};

std::vector<trap> links() {
  const auto symbolic = [](const std::string& name, auto target) {
    return trap{name, [=](const two_users& at, const std::string& path) { fs::create_symlink(target(at), path); }};
  };
  // He may do that where the system is not told to forbid it (fs.protected_hardlinks).
  const auto hard = [](const std::string& name, auto target) {
    return trap{name, [=](const two_users& at, const std::string& path) { fs::create_hard_link(target(at), path); }, 0};
  };
  const auto thesis = [](const two_users& at) { return at.thesis(); };
  const auto empty = [](const two_users& at) { return at.empty(); };
  return {symbolic("a link to her file", thesis), symbolic("a link to her empty file", empty),
          symbolic("a link to nothing", [](const two_users& at) { return (at.home() / "new").string(); }),
          hard("another name of her file", thesis), hard("another name of her empty file", empty)};
}

// What he can put beside a recording.
std::vector<std::pair<std::string, trap>> companions() {
  const auto copy = [](const std::string& from, bool super = false) {
    return trap{super ? "his own that names a super-journal" : "his own",
                [=](const two_users& at, const std::string& path) {
                  write_file(path, read_file(at.den() / from) + (super ? naming(at.thesis()) : ""));
                }};
  };
  const auto link = [](const std::string& to) {
    return trap{"a link to his own",
                [=](const two_users& at, const std::string& path) { fs::create_symlink(at.den() / to, path); }};
  };
  std::vector<std::pair<std::string, trap>> all{{"-journal", copy("rolled.ulp-journal", true)}};
  for (const auto& [suffix, own] :
       {std::pair{"-journal", "rolled.ulp-journal"}, {"-wal", "logged.ulp-wal"}, {"-shm", "logged.ulp-shm"}}) {
    all.emplace_back(suffix, copy(own));
    all.emplace_back(suffix, link(own));
    for (const trap& t : links()) all.emplace_back(suffix, t);
  }
  return all;
}

bool is_one_line(const std::string& text) { return text.ends_with('\n') && std::ranges::count(text, '\n') == 1; }

std::uint64_t steps_in(const std::string& path) { return open_recording(path)->step_count(); }

}  // namespace

TEST_CASE("what somebody else puts beside a recording is not taken for a part of it") {
  for (const mode_t mode : {0777, 01777}) {
    const two_users at(mode);
    if (skipped(at)) return;
    const std::string path = at.path();
    REQUIRE(at.run(owner, {"record", at.dump(0), at.dump(1), at.dump(2), "--run-id", "hers", "-o", path}).exit_code ==
            0);
    for (const std::string name : {"rolled.ulp", "logged.ulp"}) {
      const std::string copy = (at.den() / name).string();
      REQUIRE(as(other, [&] {
                fs::copy_file(path, copy);
                leave_beside(copy, name == "logged.ulp");
              }) == 0);
    }
    std::vector<result> truth;
    for (const auto& command : readings(path)) truth.push_back(at.run(owner, command));
    const std::string bytes = read_file(path);
    const auto home = state_of(at.home());
    int refused = 0;
    int read = 0;
    for (const auto& [suffix, t] : companions()) {
      REQUIRE(as(t.by, [&] { t.lay(at, path + suffix); }) == 0);
      const auto before = state_of(at.shared());
      for (std::size_t i = 0; i < truth.size(); ++i) {
        const auto command = readings(path)[i];
        const result now = at.run(owner, command);
        INFO(suffix << " is " << t.name << ": " << command[0] << " ends with " << now.exit_code << " " << now.err);
        if (now.exit_code == truth[i].exit_code) {
          CHECK(now.out == truth[i].out);
          ++read;
        } else {
          CHECK(now.exit_code == 2);
          CHECK(is_one_line(now.err));
          ++refused;
        }
        CHECK(state_of(at.shared()) == before);
      }
      const result appended = at.run(owner, {"record", at.dump(3), "--append", "-o", path});
      INFO(suffix << " is " << t.name << ": --append ends with " << appended.exit_code << " " << appended.err);
      CHECK((appended.exit_code == 0 || (appended.exit_code == 2 && is_one_line(appended.err))));
      for (const char* const each : {"-journal", "-wal", "-shm"}) fs::remove(path + each);
      CHECK(steps_in(path) == (appended.exit_code == 0 ? 4 : 3));
      CHECK(open_recording(path)->header().run_id == "hers");
      CHECK(state_of(at.home()) == home);
      CHECK(fs::is_empty(at.temporary(owner)));
      for (const auto& file : fs::directory_iterator(at.shared())) fs::remove(file);
      write_file(path, bytes);
      REQUIRE(chown(path.c_str(), owner, owner) == 0);
    }
    std::cout << "  beside a recording, in a folder that is " << (mode == 0777 ? "not " : "") << "sticky: " << refused
              << " commands refused, " << read << " read what is hers" << std::endl;
  }
}

TEST_CASE("what the superuser reads gives away none of her files") {
  const two_users at(0777);
  if (skipped(at)) return;
  const std::string path = (at.den() / "r.ulp").string();
  const std::string out = (at.home() / "merged.ulp").string();
  REQUIRE(at.run(other, {"record", at.dump(0), "-o", path}).exit_code == 0);
  for (const bool is_logged : {false, true}) {
    if (is_logged) REQUIRE(as(other, [&] { leave_beside(path, true); }) == 0);
    // His folder: he may move there what others left in one that both may write.
    for (const char* const suffix : {"-wal", "-shm", "-journal"}) {
      const std::string secret = is_logged && fs::exists(path + suffix) ? read_file(path + suffix) : "root's own";
      write_file(path + suffix, secret);
      REQUIRE(chown((path + suffix).c_str(), 0, 0) == 0);
      REQUIRE(chmod((path + suffix).c_str(), 0600) == 0);
      auto commands = readings(path);
      commands.push_back({"merge", path, "-o", out});
      commands.push_back({"record", at.dump(1), "--append", "-o", path});
      for (const auto& command : commands) {
        const result now = at.run(0, command);
        INFO(command[0] << " with root's " << suffix << " ends with " << now.exit_code << " " << now.err);
        struct stat is {};
        if (lstat((path + suffix).c_str(), &is) == 0) CHECK((is.st_uid == 0 || read_file(path + suffix) != secret));
        fs::remove(out);
      }
      fs::remove(path + suffix);
    }
  }
}

TEST_CASE("outputs are not written through what somebody else puts in their place") {
  for (const mode_t mode : {0777, 01777}) {
    const two_users at(mode);
    if (skipped(at)) return;
    const std::string in = (at.home() / "in.ulp").string();
    REQUIRE(at.run(owner, {"record", at.dump(0), "-o", in}).exit_code == 0);
    const auto home = state_of(at.home());
    const std::string out = at.path("out");
    for (const std::vector<std::string>& command :
         std::vector<std::vector<std::string>>{{"record", at.dump(0), "-o", out},
                                               {"record", at.dump(0), "--append", "-o", out},
                                               {"merge", in, "-o", out},
                                               {"export", in, "-o", out},
                                               {"outcomes", in, "--format", "fp16", "--csv", out},
                                               {"report", in, "-o", out}})
      for (const trap& t : links()) {
        std::vector<std::string> suffixes{""};
        if (command[0] == "record") suffixes.insert(suffixes.end(), {"-journal", "-wal", "-shm"});
        for (const std::string& suffix : suffixes) {
          REQUIRE(as(t.by, [&] { t.lay(at, out + suffix); }) == 0);
          const result now = at.run(owner, command);
          INFO(command[0] << " -o, with " << t.name << " as OUT" << suffix << ", ends with " << now.exit_code << " "
                          << now.err);
          CHECK((now.exit_code == 0 || (now.exit_code == 2 && is_one_line(now.err))));
          CHECK(state_of(at.home()) == home);
          struct stat is {};
          if (now.exit_code == 0 && lstat(out.c_str(), &is) == 0) CHECK((is.st_uid == owner && S_ISREG(is.st_mode)));
          for (const auto& file : fs::directory_iterator(at.shared())) fs::remove(file);
        }
      }
    // He may know the number of her next process.
    for (const trap& t : links()) {
      const auto plant = [&](pid_t process) {
        static_cast<void>(as(t.by, [&] { t.lay(at, out + ".part" + std::to_string(process)); }));
      };
      const result now = at.run(owner, {"merge", in, "-o", out}, plant);
      INFO("merge -o, with " << t.name << " as OUT.partN, ends with " << now.exit_code << " " << now.err);
      CHECK(state_of(at.home()) == home);
      for (const auto& file : fs::directory_iterator(at.shared())) fs::remove(file);
    }
  }
}

TEST_CASE("what a killed recorder left is read by somebody who may not write there, and nothing is left behind") {
  const two_users at(0777);
  if (skipped(at)) return;
  const std::string path = (at.home() / "killed.ulp").string();
  for (const bool with_shared_memory : {false, true}) {
    REQUIRE(as(owner, [&] {
              const auto from = open_source({at.dump(0), at.dump(1), at.dump(2)});
              auto& writer = *new recording_writer(path, recording_writer::mode::create);
              step now;
              while (from->next(now)) writer.write(now, from->tensors());
              kill(getpid(), SIGKILL);
            }) == 128 + SIGKILL);
    REQUIRE(fs::file_size(path + "-wal") > 0);
    if (!with_shared_memory) fs::remove(path + "-shm");
    const auto before = state_of(at.home());
    for (const auto& command : readings(path)) {
      const result now = at.run(other, command);
      INFO(command[0] << " ends with " << now.exit_code << " " << now.err);
      CHECK(now.exit_code == 0);
      if (command.size() == 2 && command[0] == "info") CHECK(now.out.find("3") != std::string::npos);
      CHECK(state_of(at.home()) == before);
      CHECK(fs::is_empty(at.temporary(other)));
    }
    CHECK(steps_in(path) == 3);
    for (const char* const suffix : {"", "-wal", "-shm"}) fs::remove(path + suffix);
  }
}

TEST_CASE("who may read a new recording is what umask says") {
  const two_users at(0777);
  if (skipped(at)) return;
  for (const mode_t mask : {0, 02, 022, 027, 077}) {
    const std::string path = at.path();
    const std::string merged = at.path("m.ulp");
    REQUIRE(at.run(owner, {"record", at.dump(0), "-o", path}, {}, mask).exit_code == 0);
    REQUIRE(at.run(owner, {"merge", path, "-o", merged}, {}, mask).exit_code == 0);
    for (const std::string& file : {path, merged}) {
      struct stat is {};
      REQUIRE(stat(file.c_str(), &is) == 0);
      CHECK((is.st_mode & 07777) == (0666 & ~mask));
      fs::remove(file);
    }
  }
}
