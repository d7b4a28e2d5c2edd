// Pins what becomes of results and messages where they cannot be written: one line at most, an exit code of the documented
// ones, no abort; and that what was told on stderr is in JSON and in pages too.
#include "support/catch.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/dumps.hpp"
#include "support/files.hpp"
#include "support/program.hpp"
#include "support/sanitizers.hpp"

using namespace ulp::test;

namespace {

const std::string digits = "tests/data/octaves/digits.ulp";

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// One of three ranks.
std::string make_part(const temporary_dir& dir) {
  write_dumps(dir.path(), 2, 3);
  const std::string part = (dir / "part.ulp").string();
  REQUIRE(run_ulp("record " + (dir / "part1").string() + "/* --run-id r --rank 1 --world 3 --layout shard -o " + part)
              .exit_code == 0);
  return part;
}

}  // namespace

TEST_CASE("an unwritable stderr changes no exit code") {
  for (const auto& [arguments, code] : {std::pair<std::string, int>{"formats", 0},
                                        {"replay " + digits + " --scaler pytorch --format fp16", 0},
                                        {"advise " + digits, 0},
                                        {"--help", 0},
                                        {"nosuch", 2},
                                        {"info nosuch", 2},
                                        {"inspect 1 --format nosuch", 2},
                                        {"verify --op add --format fp16 README.md", 2}})
    for (const std::string err : {"2>/dev/full", "2>&-", "2>/dev/null <&-"}) {
      CAPTURE(arguments, err);
      const auto run = run_ulp(arguments + " " + err);
      CHECK(run.exit_code == code);
      CHECK(run.out.empty() == (code != 0));
    }
}

TEST_CASE("an unwritable stdout is one line and exit code 2") {
  for (const std::string arguments :
       {"formats", "--help", "formats --help", "--version", "formats --json", "vectors --op add --format fp16"})
    for (const std::string out : {">/dev/full", ">&-"}) {
      CAPTURE(arguments, out);
      const auto run = run_ulp(arguments + " " + out);
      CHECK(run.exit_code == 2);
      CHECK(run.err == "ulp: standard output: cannot be written\n");
    }
}

TEST_CASE("with all descriptors closed no message gets into a file") {
  const temporary_dir dir;
  const std::string csv = (dir / "t.csv").string();
  const std::string command = "replay " + digits + " --scaler pytorch --format fp16 --csv ";
  REQUIRE(run_ulp(command + csv + "1").exit_code == 0);
  CHECK(run_ulp(command + csv + "2 <&- >&- 2>&-").exit_code == 2);  // the summary
  CHECK(read_file(csv + "1") == read_file(csv + "2"));
  const std::string recording = (dir / "r.ulp").string();
  CHECK(
      run_ulp("record examples/digits.step00100.safetensors --factor 1 -o " + recording + " <&- >&- 2>&-").exit_code ==
      2);
  CHECK(run_ulp("check " + recording).exit_code == 0);
  CHECK(read_file(recording).find("cannot be written") == std::string::npos);
}

TEST_CASE("a reader that goes ends the program without a word, and with a line where that signal is ignored") {
  const std::string vectors = "ulp vectors --op add --format fp16";
  const auto quiet = run_shell("(" + vectors + "; echo $? >&2) | head -1");
  CHECK(quiet.out == "0000 0000 0000 00\n");
  CHECK(quiet.err == "141\n");
  const auto told = run_shell("trap '' PIPE; (" + vectors + "; echo $? >&2) | head -1");
  CHECK(told.err == "ulp: standard output: cannot be written\n2\n");
  // Who reads the notes is not who wants the result.
  const temporary_dir dir;
  const std::string csv = (dir / "t.csv").string();
  CHECK(run_shell("(ulp replay " + digits + " --scaler pytorch --format fp16 --csv " + csv +
                  " 2>&1 >/dev/null; echo $? >" + (dir / "code").string() + ") | true")
            .exit_code == 0);
  CHECK(read_file(dir / "code") == "0\n");
}

TEST_CASE("running out of memory is one line and exit code 2") {
  if (address_sanitized) {
    WARN("AddressSanitizer needs more addresses than any limit leaves");
    return;
  }
  bool seen = false;
  for (int kilobytes = 20000; kilobytes <= 60000; kilobytes += 4000) {
    const std::string limited = "ulimit -v " + std::to_string(kilobytes) + "; ";
    // Libraries that do not find room when they are loaded end it before main; that of oneTBB 2022 by a signal.
    if (run_shell(limited + "ulp --version >/dev/null 2>&1").exit_code > 2) continue;
    const auto run = run_shell(limited + "ulp report " + digits + " -o - 2>&1 >/dev/null");
    CAPTURE(kilobytes, run.out);
    seen = seen || run.out == "ulp: out of memory\n";
    CHECK((run.exit_code == 0 || run.exit_code == 2));
    CHECK(run.out.find("terminate") == std::string::npos);
  }
  if (!seen) WARN("at none of these limits memory ran out");
}

TEST_CASE("the exit codes are in the help") {
  const std::string help = run_ulp("--help").out;
  for (const char* const word :
       {"Exit codes:", "  1    a check", "  2    invalid input", "  130  interrupted by Ctrl-C"}) {
    CAPTURE(word);
    CHECK(help.find(word) != std::string::npos);
  }
}

TEST_CASE("a page and JSON say what stderr says of a run that lacks ranks") {
  const temporary_dir dir;
  const std::string part = make_part(dir);
  const std::string missing = "every step lacks ranks, the first is step 0, which has rank 1 of 3";
  for (const std::string& command :
       {"outcomes " + part + " --format fp16", "replay " + part + " --scaler pytorch --format fp16",
        "sweep " + part + " --scaler pytorch --format fp16", "advise " + part, "info " + part}) {
    CAPTURE(command);
    const auto run = run_ulp(command + " --json");
    REQUIRE(run.exit_code == 0);
    const auto all = nlohmann::json::parse(run.out);
    std::string notes;
    for (const auto& text : all.is_array() ? all.at(0).at("notes") : all.at("notes")) {
      const auto line = text.get<std::string>();
      CHECK(run.err.find(line) != std::string::npos);
      notes += line + "\n";
    }
    CHECK(notes.find(missing) != std::string::npos);
    CHECK(lines_of(notes) == lines_of(run.err));
    for (std::size_t i = 1; all.is_array() && i < all.size(); ++i) CHECK_FALSE(all[i].contains("notes"));
  }
  const auto page = run_ulp("report " + part + " -o -");
  CHECK(page.err.find(missing) != std::string::npos);
  CHECK(page.out.find(missing) < page.out.find("<svg"));
}

TEST_CASE("what ulp check says besides problems is in its JSON") {
  const auto run = run_ulp("check " + digits + " --json");
  CHECK(run.exit_code == 0);
  const auto rows = nlohmann::json::parse(run.out);
  REQUIRE(rows.size() == 1);
  CHECK(run.err == "ulp: note: " + rows[0].at("notes").at(0).get<std::string>() + "\n");
  CHECK(run.err.find("recording format 1 has no checksums") != std::string::npos);
}

TEST_CASE("JSON without notes has no key for them") {
  CHECK(run_ulp("formats --json").out.find("\"notes\"") == std::string::npos);
}

TEST_CASE("the commands in a page work for inputs that look like options or hold what shells read") {
  const temporary_dir dir;
  for (const std::string name : {"--help", "-x.ulp", "it's $HOME \"`x`\" \\ &<*>", "new\nline"}) {
    CAPTURE(name);
    std::filesystem::copy_file(source_dir() / digits, dir / name);
    const std::string there = "cd " + dir.path().string() + " && ";
    REQUIRE(run_shell(there + "name=$(cat && echo .) && ulp report -o page.html -- \"${name%.}\"", name).exit_code ==
            0);
    std::string page = read_file(dir / "page.html");
    std::size_t commands = 0;
    for (std::size_t at = 0; (at = page.find("<pre>ulp ", at)) != std::string::npos;) {
      std::string command = page.substr(at + 5, page.find("</pre>", at) - at - 5);
      at += 5;
      for (const auto& [escape, plain] :
           {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}, {"&amp;", "&"}})
        for (std::size_t e = 0; (e = command.find(escape, e)) != std::string::npos; ++e)
          command.replace(e, std::string{escape}.size(), plain);
      CAPTURE(command);
      ++commands;
      write_file(dir / "command", command);
      const auto run = run_shell(there + "bash command");
      CHECK(run.exit_code == 0);
      CHECK(run.out.find("Usage") == std::string::npos);
    }
    CHECK(commands == 3);
    std::filesystem::remove(dir / name);
  }
}
