// Pins that output files are whole or absent, whatever lies at their place, whoever put it there, and whenever writing ends.
#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <ulp/io/bytes/error.hpp>
#include <ulp/io/output/atomic_file.hpp>
#include <ulp/io/recording/recording.hpp>
#include <vector>

#include "output/locks.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

using namespace ulp;
using namespace ulp::test;
namespace fs = std::filesystem;

namespace {

void write_whole(const fs::path& path, const std::string& text) {
  atomic_file file(path.string());
  file.write(text);
  file.finish();
}

std::string error_of(const fs::path& path) {
  try {
    write_whole(path, "new");
  } catch (const input_error& problem) {
    return problem.what();
  }
  return "";
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> all;
  for (const auto& entry : fs::directory_iterator(folder)) all.push_back(entry.path().filename().string());
  std::ranges::sort(all);
  return all;
}

mode_t mode_of(const fs::path& path) {
  struct stat now {};
  REQUIRE(stat(path.c_str(), &now) == 0);
  return now.st_mode & 07777;
}

constexpr uid_t somebody = 12345;

}  // namespace

TEST_CASE("nothing but a recording takes the place of a recording") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  auto writer = std::make_optional<recording_writer>(path, recording_writer::mode::create);
  CHECK(error_of(path).find("it is a recording, which other output never replaces") != std::string::npos);
  writer.reset();
  const std::string whole = read_file(path);
  fs::create_symlink(path, dir / "link");
  CHECK(error_of(dir / "link").find("it is a recording, which other output never replaces") != std::string::npos);
  CHECK(read_file(path) == whole);
  {
    write_file(dir / "empty", "");
    const io::writer_lock begun((dir / "empty").string(), io::writer_lock::file::made);
    CHECK(error_of(dir / "empty").find("a recording is being written there") != std::string::npos);
  }
  CHECK(error_of(dir / "empty").empty());
}

TEST_CASE("what is there stays until a file is finished, and where it is not") {
  const temporary_dir dir;
  write_file(dir / "r", "old");
  {
    atomic_file file((dir / "r").string());
    file.write(std::string(1 << 20, 'x'));
    CHECK(names_in(dir.path()).size() == 2);
    CHECK(read_file(dir / "r") == "old");
  }
  CHECK(names_in(dir.path()) == std::vector<std::string>{"r"});
  CHECK(read_file(dir / "r") == "old");
  write_whole(dir / "r", "new");
  CHECK(read_file(dir / "r") == "new");
  CHECK(names_in(dir.path()) == std::vector<std::string>{"r"});
}

TEST_CASE("a link under the name that could be guessed is not written through") {
  const temporary_dir dir;
  write_file(dir / "victim", "mine");
  const std::string guess = (dir / "r").string() + ".part" + std::to_string(getpid());
  fs::create_symlink(dir / "victim", guess);
  write_whole(dir / "r", "new");
  CHECK(read_file(dir / "r") == "new");
  CHECK(read_file(dir / "victim") == "mine");
  CHECK(fs::is_symlink(guess));
}

TEST_CASE("a 0600 file stays 0600, and a new one is as the umask says") {
  const temporary_dir dir;
  const mode_t before = umask(027);
  for (const mode_t mode : {0600U, 0640U, 0666U, 0444U}) {
    CAPTURE(mode);
    write_file(dir / "r", "old");
    REQUIRE(chmod((dir / "r").c_str(), mode) == 0);
    {
      atomic_file file((dir / "r").string());
      for (const std::string& name : names_in(dir.path())) CHECK((mode_of(dir / name) & ~mode & 0077U) == 0);
      file.finish();
    }
    CHECK(mode_of(dir / "r") == mode);
    fs::remove(dir / "r");
  }
  write_whole(dir / "n", "new");
  CHECK(mode_of(dir / "n") == 0640);
  umask(before);
}

TEST_CASE("owner and group stay as far as they may be set") {
  if (geteuid() != 0) return;
  const temporary_dir dir;
  write_file(dir / "r", "old");
  REQUIRE(chown((dir / "r").c_str(), somebody, somebody) == 0);
  write_whole(dir / "r", "new");
  struct stat now {};
  REQUIRE(stat((dir / "r").c_str(), &now) == 0);
  CHECK(now.st_uid == somebody);
  CHECK(now.st_gid == somebody);
}

TEST_CASE("another user's file does not say who may read what takes its place") {
  if (geteuid() != 0) return;
  const temporary_dir dir;
  constexpr uid_t colleague = somebody + 1;
  write_file(dir / "r", "old");
  REQUIRE(mkfifo((dir / "pipe").c_str(), 0666) == 0);
  for (const std::string file : {"r", "pipe", ""}) {
    REQUIRE(chown((dir / file).c_str(), colleague, somebody) == 0);
    REQUIRE(chmod((dir / file).c_str(), file.empty() ? 0770 : 0666) == 0);
  }
  const pid_t child = fork();
  if (child == 0) {
    if (setgroups(0, nullptr) != 0 || setgid(somebody) != 0 || setuid(somebody) != 0) _exit(2);
    umask(077);
    write_whole(dir / "r", "new");
    _exit(error_of(dir / "pipe").find("is another user's pipe: give another name") == std::string::npos ? 1 : 0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  struct stat now {};
  REQUIRE(stat((dir / "r").c_str(), &now) == 0);
  CHECK(now.st_uid == somebody);
  CHECK((now.st_mode & 0777) == 0600);
  CHECK(read_file(dir / "r") == "new");
}

TEST_CASE("what lies beside a recording is no place for an output") {
  const temporary_dir dir;
  write_file(dir / "run.ulp", "");
  for (const std::string suffix : {"-wal", "-shm", "-journal"}) {
    CHECK(error_of(dir / ("run.ulp" + suffix))
              .ends_with("is the name of a part of 'run.ulp', which lies there: give another name"));
    write_whole(dir / ("none" + suffix), "new");
  }
  CHECK(names_in(dir.path()).size() == 4);
}

TEST_CASE("an access control list stays") {
  const temporary_dir dir;
  write_file(dir / "r", "old");
  // Version 2; the user rw, user 12345 r, the group nothing, mask r, others nothing.
  const auto entry = [](unsigned tag, unsigned may, unsigned id) {
    std::string bytes;
    for (const unsigned value : {tag | (may << 16U), id})
      for (unsigned shift = 0; shift < 32; shift += 8) bytes += static_cast<char>((value >> shift) & 0xFFU);
    return bytes;
  };
  constexpr unsigned nobody = 0xFFFFFFFF;
  const std::string acl = std::string{"\2\0\0\0", 4} + entry(1, 6, nobody) + entry(2, 4, somebody) +
                          entry(4, 0, nobody) + entry(16, 4, nobody) + entry(32, 0, nobody);
  constexpr const char* name = "system.posix_acl_access";
  if (setxattr((dir / "r").c_str(), name, acl.data(), acl.size(), 0) != 0) return;  // a file system without
  write_whole(dir / "r", "new");
  std::string after(acl.size() + 64, '\0');
  const ssize_t size = getxattr((dir / "r").c_str(), name, after.data(), after.size());
  REQUIRE(size > 0);
  CHECK(after.substr(0, static_cast<std::size_t>(size)) == acl);
}

TEST_CASE("a link stays, and what it points to is replaced") {
  const temporary_dir dir;
  fs::create_directories(dir / "a/b");
  write_file(dir / "a/b/r", "old");
  fs::create_symlink("a", dir / "folder");
  fs::create_symlink("folder/../folder/./b/r", dir / "link");
  write_whole(dir / "link", "new");
  CHECK(fs::is_symlink(dir / "link"));
  CHECK(read_file(dir / "a/b/r") == "new");
  fs::create_symlink("a/b/fresh", dir / "dangling");
  write_whole(dir / "dangling", "made");
  CHECK(read_file(dir / "a/b/fresh") == "made");
  fs::create_symlink("loop", dir / "loop");
  CHECK(error_of(dir / "loop").find("symbolic links") != std::string::npos);
}

TEST_CASE("in a folder that all may write nothing of another user is followed or replaced") {
  if (geteuid() != 0) return;  // else nothing can be made another user's
  const temporary_dir dir;
  fs::create_directories(dir / "tmp");
  REQUIRE(chmod((dir / "tmp").c_str(), 01777) == 0);
  write_file(dir / "victim", "mine");
  fs::create_symlink(dir / "victim", dir / "tmp/link");
  fs::create_symlink(dir.path(), dir / "tmp/folder");
  write_file(dir / "tmp/file", "theirs");
  REQUIRE(mkfifo((dir / "tmp/pipe").c_str(), 0666) == 0);
  for (const std::string name : {"link", "folder", "file", "pipe"})
    REQUIRE(lchown((dir / "tmp" / name).c_str(), somebody, somebody) == 0);
  for (const std::string name : {"link", "folder/victim", "file", "pipe"}) {
    CAPTURE(name);
    const std::string error = error_of(dir / "tmp" / name);
    CHECK(error.find("another user's") != std::string::npos);
    CHECK_THROWS_AS(whole_database((dir / "tmp" / name).string()), input_error);
    CHECK_THROWS_AS(refuse_planted((dir / "tmp" / name).string()), input_error);
  }
  CHECK(read_file(dir / "victim") == "mine");
  CHECK(read_file(dir / "tmp/file") == "theirs");
  CHECK(names_in(dir / "tmp").size() == 4);
  // Its owner's are: /tmp and its links are root's.
  fs::create_symlink(dir / "victim", dir / "tmp/own");
  write_whole(dir / "tmp/own", "new");
  CHECK(read_file(dir / "victim") == "new");
}

TEST_CASE("descriptors of the program itself are written where they stand") {
  const temporary_dir dir;
  const int file = open((dir / "log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  REQUIRE(file >= 0);
  REQUIRE(write(file, "first ", 6) == 6);
  write_whole("/proc/self/fd/" + std::to_string(file), "second");
  write_whole("/dev/fd/" + std::to_string(file), " third");
  close(file);
  CHECK(read_file(dir / "log") == "first second third");
  CHECK(names_in(dir.path()).size() == 1);
}

TEST_CASE("a full disk is one error, and what was there stays") {
  CHECK(error_of("/dev/full") == "/dev/full: cannot be written: No space left on device");
  const temporary_dir dir;
  CHECK(error_of(dir / "").ends_with(": cannot be written: Is a directory"));
  CHECK(error_of(dir / "none/r").ends_with(": cannot be written: there is no folder 'none' in " + dir.path().string()));
  CHECK(error_of("").ends_with(": cannot be written: No such file or directory"));
  write_file(dir / "r", "old");
  CHECK(error_of(dir / "r/x").ends_with(": cannot be written: Not a directory"));
  CHECK(names_in(dir.path()).size() == 1);
}

TEST_CASE("names may be as long as the file system has them") {
  const temporary_dir dir;
  const std::string name(255, 'n');
  write_whole(dir / name, "new");
  CHECK(read_file(dir / name) == "new");
  CHECK(error_of(dir / (name + "n")).ends_with(": cannot be written: File name too long"));
}

TEST_CASE("a signal's handler removes what is unfinished") {
  const temporary_dir dir;
  write_file(dir / "r", "old");
  atomic_file file((dir / "r").string());
  whole_database recording((dir / "d").string());
  write_file(recording.path(), "half");
  write_file(recording.path() + "-wal", "half");
  CHECK(names_in(dir.path()).size() == 3);
  remove_unfinished();
  CHECK(names_in(dir.path()) == std::vector<std::string>{"r"});
  CHECK(read_file(dir / "r") == "old");
}

TEST_CASE("a database is made where no other user can enter, and takes no file's place") {
  const temporary_dir dir;
  {
    whole_database recording((dir / "d").string());
    CHECK(mode_of(fs::path(recording.path()).parent_path()) == 0700);
    write_file(recording.path(), "whole");
    recording.finish();
  }
  CHECK(read_file(dir / "d") == "whole");
  CHECK(names_in(dir.path()) == std::vector<std::string>{"d"});
  CHECK_THROWS_AS(whole_database((dir / "d").string()), input_error);
  write_file(dir / "empty", "");
  {
    whole_database recording((dir / "empty").string());
    write_file(recording.path(), "whole");
    recording.finish();
  }
  CHECK(read_file(dir / "empty") == "whole");
  {
    whole_database recording((dir / "late").string());
    write_file(recording.path(), "whole");
    write_file(dir / "late", "came meanwhile");
    CHECK_THROWS_AS(recording.finish(), input_error);
  }
  CHECK(read_file(dir / "late") == "came meanwhile");
  CHECK(names_in(dir.path()).size() == 3);
}

TEST_CASE("a database takes the place of a recording that nobody writes to, and of nothing else") {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  constexpr auto wanted = whole_database::takes_place_of::a_recording;
  recording_writer(path, recording_writer::mode::create).close();
  const std::string old = read_file(path);
  {
    recording_writer at_work(path, recording_writer::mode::append);
    CHECK_THROWS_WITH(whole_database(path, wanted), Contains("is being written"));
  }
  {
    whole_database recording(path, wanted);
    write_file(recording.path(), "new");
    CHECK(read_file(path) != "new");
    {
      recording_writer meanwhile(path, recording_writer::mode::append);
      CHECK_THROWS_AS(recording.finish(), input_error);
    }
  }
  CHECK(read_file(path).starts_with(old.substr(0, 16)));
  CHECK(names_in(dir.path()) == std::vector<std::string>{"run.ulp"});
  {
    whole_database recording(path, wanted);
    write_file(recording.path(), "new");
    recording.finish();
  }
  CHECK(read_file(path) == "new");
  CHECK(names_in(dir.path()) == std::vector<std::string>{"run.ulp"});
  CHECK_THROWS_WITH(whole_database(path, wanted), Contains("is not a recording"));
}
