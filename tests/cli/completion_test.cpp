// Pins what shells are told to offer: what --help lists, what the commands take, and what the file on the line holds.
#include "support/catch.hpp"

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/files.hpp"
#include "support/program.hpp"

using namespace ulp::test;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> all;
  std::stringstream lines(text);
  for (std::string line; std::getline(lines, line);) all.push_back(line);
  return all;
}

// The words that are offered; `files` is whether names of files are, too.
std::vector<std::string> offered(const std::string& words, bool files = false) {
  const auto told = run_ulp("complete " + words);
  CAPTURE(words, told.out);
  CHECK(told.exit_code == 0);
  CHECK(told.err.empty());
  std::vector<std::string> all = lines_of(told.out);
  REQUIRE(!all.empty());
  CHECK(all.front() == (files ? "files" : "words"));
  all.erase(all.begin());
  for (std::string& line : all) line.resize(std::min(line.find('\t'), line.size()));
  return all;
}

std::set<std::string> as_set(const std::vector<std::string>& words) { return {words.begin(), words.end()}; }

// The commands below `command`, as its --help lists them.
std::vector<std::string> listed_commands(const std::string& command) {
  std::vector<std::string> all;
  bool there = false;
  for (const std::string& line : lines_of(run_ulp(command + " --help").out)) {
    if (there && line.starts_with("  ") && line[2] != ' ') all.push_back(line.substr(2, line.find(' ', 2) - 2));
    there = line == "Subcommands:" || (there && !line.empty());
  }
  return all;
}

std::set<std::string> listed_options(const std::string& command) {
  std::set<std::string> all;
  for (const std::string& line : lines_of(run_ulp(command + " --help").out)) {
    const std::size_t at = line.find("--");
    if (!line.starts_with("  -") || at > 5) continue;
    all.insert(line.substr(at, line.find_first_of(" ", at) - at));
  }
  return all;
}

std::string in_bash(const std::string& line) {
  const auto run = run_shell("bash -c 'source cli/completion/ulp.bash; compopt() { echo \"$*\"; }; COMP_LINE=\"" +
                             line + "\"; COMP_POINT=${#COMP_LINE}; _ulp; printf \"%s\\n\" \"${COMPREPLY[@]}\"'");
  CAPTURE(line, run.err);
  CHECK(run.exit_code == 0);
  return run.out;
}

}  // namespace

TEST_CASE("commands and options are offered as --help lists them") {
  std::vector<std::string> commands = listed_commands("");
  REQUIRE(commands.size() > 20);
  CHECK(offered("''") == commands);
  const std::vector<std::string> parts = listed_commands("precision");
  CHECK(offered("precision ''") == parts);
  for (const std::string& part : parts) commands.push_back("precision " + part);
  for (const std::string& command : commands) {
    if (command == "view") continue;  // its options are the viewer's
    CAPTURE(command);
    CHECK(as_set(offered(command + " --")) == listed_options(command));
  }
  CHECK(offered("rep") == std::vector<std::string>{"replay", "report"});
  CHECK(offered("help rep") == std::vector<std::string>{"replay", "report"});
}

TEST_CASE("what is offered is taken") {
  for (const std::string& format : offered("inspect 1 --format ''"))
    CHECK(run_ulp("inspect 1 --format " + format).exit_code == 0);
  for (const std::string& rounding : offered("inspect 1 --format fp16 --rounding n")) {
    CAPTURE(rounding);
    CHECK(run_ulp("inspect 1 --format fp16 --rounding " + rounding).exit_code == 0);
  }
  for (const std::string& parameter : offered("replay x --scaler megatron --set ''")) {
    CAPTURE(parameter);
    CHECK(
        run_ulp("replay tests/data/none --scaler megatron --set " + parameter + "nonsense").err.find("no parameter") ==
        std::string::npos);
  }
  for (const std::string& scaler : offered("scalers a")) CHECK(run_ulp("scalers " + scaler).exit_code == 0);
  for (const std::string& row : offered("formats mx")) CHECK(run_ulp("formats " + row).exit_code == 0);
  for (const std::string& dialect : offered("diff x --to mxfp8 --dialects torchao,''")) {
    CAPTURE(dialect);
    CHECK(run_ulp("diff examples/digits.step00100.safetensors --to mxfp8 --dialects " + dialect).exit_code == 0);
  }
}

TEST_CASE("tensors are those of the file on the line") {
  std::set<std::string> names;
  const std::vector<std::string> rows = lines_of(run_ulp("info examples/digits.ulp --csv -").out);
  for (std::size_t i = 1; i < rows.size(); ++i) names.insert(rows[i].substr(0, rows[i].find(',')));
  REQUIRE(names.count("conv1.weight") == 1);
  CHECK(as_set(offered("replay examples/digits.ulp --tensor ''")) == names);
  CHECK(as_set(offered("matmul examples/digits.step00100.safetensors --a wgrad/fc")) ==
        std::set<std::string>{"wgrad/fc1.weight", "wgrad/fc1.bias", "wgrad/fc2.weight", "wgrad/fc2.bias"});
  CHECK(offered("outcomes examples/digits.ulp --group head=fc.w") == std::vector<std::string>{"head=fc.weight"});
  CHECK(offered("replay tests/data/none --tensor ''").empty());
}

TEST_CASE("a value goes on from what is typed") {
  CHECK(offered("info --attempts ''") == std::vector<std::string>{"last", "first", "all"});
  CHECK(offered("info --attempts=f") == std::vector<std::string>{"--attempts=first"});
  CHECK(offered("outcomes x --by kind,s") == std::vector<std::string>{"kind,step"});
  CHECK(offered("outcomes x --by kind,step,") == std::vector<std::string>{"kind,step,tensor", "kind,step,group"});
  CHECK(offered("replay x --scaler megatron --set hys") == std::vector<std::string>{"hysteresis="});
  CHECK(offered("replay x --clip-norm ''").empty());
  CHECK(offered("replay ''", true).empty());
  CHECK(offered("replay x --csv ''", true).empty());
  CHECK(offered("bogus ''").empty());
}

TEST_CASE("bash offers it") {
  if (run_shell("command -v bash").exit_code != 0) {
    WARN("SKIPPED: bash is not installed");
    return;
  }
  CHECK(in_bash("ulp rep") == "replay\nreport\n");
  CHECK(in_bash("ulp replay examples/digits.ulp --tensor fc.w") == "fc.weight\n");
  CHECK(in_bash("ulp replay x --scaler megatron --set hys") == "-o nospace\nhysteresis=\n");
  CHECK(in_bash("ulp info --attempts=f") == "first\n");
  CHECK(in_bash("ulp replay x --recipe te_delayed:h") == "hybrid\n");
  CHECK(in_bash("ulp info exam") == "-o default\n\n");
}

TEST_CASE("fish offers it") {
  if (run_shell("command -v fish").exit_code != 0) {
    WARN("SKIPPED: fish is not installed");
    return;
  }
  const temporary_dir home;
  const auto in_fish = [&](const std::string& line) {
    return run_shell("HOME=" + home.path().string() + " fish -N -c 'source cli/completion/ulp.fish; complete -C \"" +
                     line + "\"'")
        .out;
  };
  CHECK(in_fish("ulp replay examples/digits.ulp --tensor fc.w") == "fc.weight\n");
  CHECK(in_fish("ulp info examples/digits.u") == "examples/digits.ulp\n");
}
