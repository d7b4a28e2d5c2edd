// Pins what calls of the system that fail leave: whichever call of a program it is, what was acknowledged can be read, what
// was there before stays, other outputs are whole or absent, and nothing else is left beside them.
#include "support/catch.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <ulp/io/recording/check.hpp>
#include <ulp/io/recording/recording.hpp>
#include <ulp/io/source/share.hpp>

#include "support/dumps.hpp"
#include "support/files.hpp"
#include "support/program.hpp"
#include "support/strides.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

namespace fs = std::filesystem;

// Where there is memory for files, waiting for the disk would take most of the test.
const bool in_memory = fs::is_directory("/dev/shm") && setenv("TMPDIR", "/dev/shm", 1) == 0;

// The first call fails with the first error, the second with the second, and so on.
struct fault {
  std::string call;
  std::vector<int> errors;  // 0: half of it is written
  bool lasting = false;     // all later ones fail too
};

// What is interrupted goes well when it is tried again.
const std::vector<fault> faults{{"write", {ENOSPC, EIO}},       {"write", {ENOSPC, EDQUOT, EIO}, true},
                                {"write", {0, EINTR, 0}},       {"sync", {EIO}},
                                {"sync", {EIO}, true},          {"truncate", {EIO}},
                                {"truncate", {ENOSPC}, true},   {"rename", {EACCES, EIO}},
                                {"open", {EACCES, EINTR, EIO}}, {"open", {ENOSPC, EACCES}, true},
                                {"close", {EIO, EINTR}}};

using contents = std::map<std::string, std::string>;

contents contents_of(const fs::path& folder) {
  contents all;
  for (const auto& file : fs::directory_iterator(folder)) all[file.path().filename().string()] = read_file(file.path());
  return all;
}

using rows = std::map<std::int64_t, std::string>;

rows rows_in(const std::string& recording) {
  rows all;
  const auto from = open_recording(recording);
  step now;
  while (from->next(now)) all[now.key.step] = rows_to_bytes(now.tensors);
  return all;
}

// Whether one has nothing that the other has not.
bool is_part(const rows& part, const rows& whole) {
  return std::ranges::all_of(part, [&](const auto& row) {
    const auto same = whole.find(row.first);
    return same != whole.end() && same->second == row.second;
  });
}

bool is_one_line(const std::string& text) { return text.ends_with('\n') && std::ranges::count(text, '\n') == 1; }

// What a command says besides its notes.
std::string without_notes(const std::string& text) {
  std::string rest;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    const std::string line = text.substr(begin, end - begin);
    if (!line.starts_with("ulp: note: ")) rest += line;
  }
  return rest;
}

// Inputs, and a folder in which a command is run with them.
class place {
 public:
  place() {
    write_dumps(dir_.path(), 6);
    for (const char* const part : {"a", "b"})
      REQUIRE(
          run_ulp("record " + dumps(part[0] == 'a' ? 0 : 3) + " --run-id " + part + " -o " + input(part)).exit_code ==
          0);
  }
  [[nodiscard]] std::string input(const std::string& name) const { return (dir_ / (name + ".ulp")).string(); }
  [[nodiscard]] std::string output(const std::string& name) const { return (dir_ / "out" / name).string(); }
  [[nodiscard]] fs::path folder() const { return dir_ / "out"; }
  [[nodiscard]] std::string dumps(int first) const {
    return (dir_ / "whole" / ("step0000[" + std::to_string(first) + "-" + std::to_string(first + 2) + "]*")).string();
  }

  void clear() const {
    fs::remove_all(folder());
    fs::create_directory(folder());
  }

  // Runs a command with each of its calls failing in turn, or every fifth of each kind, whose errors take turns all the same. `prepare` fills the empty folder, `judge` looks at it
  // afterwards.
  void run(const std::string& command, bool on_network, const std::function<void()>& prepare,
           const std::function<void(const program_result&, const fault&)>& judge) const {
    const contents inputs = contents_of(dir_.path() / "whole");
    const std::string a = read_file(input("a"));
    const std::string b = read_file(input("b"));
    int runs = 0;
    int bad = 0;
    for (const fault& f : faults) {
      const auto stride = static_cast<int>(every(5));
      for (int number = 1 + static_cast<int>(&f - faults.data()) % stride;; number += stride) {
        clear();
        prepare();
        const fs::path mark = dir_ / "mark";
        fs::remove(mark);
        const int error = f.errors[static_cast<std::size_t>(number) % f.errors.size()];
        const program_result result = run_shell(
            "LD_PRELOAD='" ULP_FAULTS "' ASAN_OPTIONS=verify_asan_link_order=0 ULP_FAULT_CALL=" + f.call +
            " ULP_FAULT_NUMBER=" + std::to_string(number) + (f.lasting ? "+" : "") +
            " ULP_FAULT_ERROR=" + std::to_string(error) + " ULP_FAULT_FOLDER=" + folder().string() +
            " ULP_FAULT_MARK=" + mark.string() + (on_network ? " ULP_FAULT_NETWORK=1" : "") + " ulp " + command);
        const bool failed = fs::exists(mark);
        INFO(command << (on_network ? ", on a network" : "") << ": " << f.call << " " << number
                     << (f.lasting ? " and all later ones" : "") << " fails with " << error << "; exit code "
                     << result.exit_code << " " << result.err);
        CHECK((result.exit_code == 0 || (failed && result.exit_code == 2)));
        const std::string said = without_notes(result.err);
        CHECK((result.exit_code == 0 || (said.starts_with("ulp: ") && is_one_line(said))));
        judge(result, f);
        if (!failed) break;
        ++runs;
        bad += result.exit_code == 0 ? 0 : 1;
      }
      CHECK(read_file(input("a")) == a);
      CHECK(read_file(input("b")) == b);
    }
    CHECK(contents_of(dir_.path() / "whole") == inputs);
    CHECK(runs > (is_exhaustive() ? 10 : 1));
    std::cout << "  " << command.substr(0, command.find(' ')) << (on_network ? " on a network" : "") << ": " << runs
              << " calls failed, " << bad << " of which it could not do without\n";
  }

 private:
  temporary_dir dir_;
};

// What a recorder left. `before`: what the recording had; `whole`: what it has without a fault.
void judge_recording(const std::string& path, const rows& before, const rows& whole, const program_result& result,
                     const fault& of) {
  rows found;
  if (fs::exists(path)) try {
      found = rows_in(path);
      const auto problems = check_recording(path).problems;
      INFO((problems.empty() ? "" : problems[0].reason));
      // Where nothing can be opened any more it cannot be said either that the log holds nothing.
      const bool no_log = of.call == "open" && of.lasting && result.exit_code == 2;
      CHECK(
          (problems.empty() || (no_log && problems[0].reason.starts_with("was not closed, and its write-ahead log"))));
    } catch (const input_error& problem) {
      INFO(problem.what());
      CHECK(before.empty());
      CHECK(result.exit_code == 2);
      CHECK(std::string{problem.what()}.find('\n') == std::string::npos);
    }
  else
    CHECK(contents_of(fs::path(path).parent_path()).empty());
  CHECK(is_part(found, whole));
  CHECK(is_part(before, found));
  if (result.exit_code == 0) {
    CHECK(found == whole);
    contents left = contents_of(fs::path(path).parent_path());
    std::erase_if(left, [](const auto& file) { return file.first.ends_with("-journal") && file.second.empty(); });
    CHECK(left.size() == 1);
  }
  // The number that it says is the one that is there.
  const std::string stay = " recorded before stay\n";
  if (result.err.ends_with(stay)) {
    const std::size_t from = result.err.rfind("; the ") + 6;
    CHECK(std::stoul(result.err.substr(from)) == found.size());
  }
}

}  // namespace

TEST_CASE("a recorder whose calls fail leaves what it acknowledged") {
  const place at;
  const std::string path = at.output("r.ulp");
  const rows whole = rows_in(at.input("a"));
  REQUIRE(whole.size() == 3);
  for (const bool on_network : {false, true})
    at.run(
        "record " + at.dumps(0) + " -o " + path, on_network, [] {},
        [&](const program_result& result, const fault& f) { judge_recording(path, {}, whole, result, f); });
}

TEST_CASE("what is appended to keeps its steps") {
  const place at;
  const std::string path = at.output("r.ulp");
  const rows before = rows_in(at.input("a"));
  rows whole = before;
  whole.merge(rows_in(at.input("b")));
  REQUIRE(whole.size() == 6);
  for (const bool on_network : {false, true})
    at.run(
        "record " + at.dumps(3) + " --append -o " + path, on_network, [&] { fs::copy_file(at.input("a"), path); },
        [&](const program_result& result, const fault& f) { judge_recording(path, before, whole, result, f); });
}

TEST_CASE("a merged recording is whole or absent") {
  const place at;
  const std::string path = at.output("m.ulp");
  rows whole = rows_in(at.input("a"));
  whole.merge(rows_in(at.input("b")));
  at.run(
      "merge " + at.input("a") + " " + at.input("b") + " -o " + path, false, [] {},
      [&](const program_result& result, const fault&) {
        const contents left = contents_of(at.folder());
        if (result.exit_code == 0) {
          CHECK(left.size() == 1);
          CHECK(rows_in(path) == whole);
        } else {
          CHECK(left.empty());
        }
      });
}

TEST_CASE("other outputs are whole or absent, and what was there before stays until then") {
  const place at;
  const std::string inside = at.output("in.ulp");
  for (const std::string& command :
       {"export " + inside + " -o " + at.output("t"), "outcomes " + inside + " --format fp16 --csv " + at.output("t"),
        "report " + inside + " -o " + at.output("t")}) {
    const auto prepare = [&] {
      fs::copy_file(at.input("a"), inside);
      write_file(at.output("t"), "of before");
    };
    at.clear();
    prepare();
    REQUIRE(run_ulp(command).exit_code == 0);
    const contents whole = contents_of(at.folder());
    at.clear();
    prepare();
    const contents before = contents_of(at.folder());
    at.run(command, false, prepare, [&](const program_result& result, const fault&) {
      CHECK(contents_of(at.folder()) == (result.exit_code == 0 ? whole : before));
    });
  }
}

TEST_CASE("a converted file is whole or absent, and what was there before stays until then") {
  const place at;
  const std::string input = (fs::path(at.folder()).parent_path() / "whole" / "step00000.safetensors").string();
  for (const std::string name : {"t.safetensors", "t.npz"}) {
    const std::string command = "convert " + input + " --to cb16 -o " + at.output(name);
    const auto prepare = [&] { write_file(at.output(name), "of before"); };
    at.clear();
    prepare();
    REQUIRE(run_ulp(command).exit_code == 0);
    const contents whole = contents_of(at.folder());
    at.clear();
    prepare();
    const contents before = contents_of(at.folder());
    at.run(command, false, prepare, [&](const program_result& result, const fault&) {
      CHECK(contents_of(at.folder()) == (result.exit_code == 0 ? whole : before));
    });
  }
}
