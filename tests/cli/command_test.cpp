// Pins what holds for every subcommand: help with an example that works, one line for each error, exit codes, machine
// output alone on stdout.
#include "support/catch.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/files.hpp"
#include "support/program.hpp"

using namespace ulp::test;

namespace {

// Those that `ulp --help` lists.
std::vector<std::string> all_commands() {
  std::vector<std::string> all;
  std::stringstream lines(run_ulp("--help").out);
  std::string line;
  while (std::getline(lines, line) && line != "Subcommands:") continue;
  while (std::getline(lines, line) && line.starts_with("  "))
    if (line[2] != ' ') all.push_back(line.substr(2, line.find(' ', 2) - 2));
  REQUIRE(all.size() > 1);
  return all;
}

bool one_line(const std::string& text) {
  return text.starts_with("ulp: ") && std::count(text.begin(), text.end(), '\n') == 1 && text.back() == '\n';
}

}  // namespace

TEST_CASE("without a command, those for the files here are told, and work as typed") {
  const auto told = run_shell("cd examples && ulp");
  CHECK(told.exit_code == 0);
  const std::string command = "ulp advise digits.ulp";
  REQUIRE(told.out.find("  " + command + " ") != std::string::npos);
  CHECK(run_shell("cd examples && " + command).out.starts_with("What happened"));
  const temporary_dir empty;
  const auto nothing = run_shell("cd " + empty.path().string() + " && ulp");
  CHECK(nothing.exit_code == 0);
  CHECK(nothing.out.find("No recordings, dumps, logs or configurations found here.") != std::string::npos);
}

TEST_CASE("the examples of --help work as typed") {
  for (const std::string& command : all_commands()) {
    CAPTURE(command);
    const auto help = run_ulp(command + " --help");
    CHECK(help.exit_code == 0);
    const std::size_t at = help.out.find("Example");
    REQUIRE(at != std::string::npos);
    std::stringstream lines(help.out.substr(at));
    std::size_t examples = 0;
    const temporary_dir dir;
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("  ulp ") && line.find(" | ulp ") == std::string::npos) continue;
      ++examples;
      if (command == "view") {
        if (run_ulp("view --version").exit_code != 0) continue;  // it is not built
        line += " --export /tmp/view.csv";                       // a window would stay open
      }
      const std::size_t option = std::min(line.find(" -o /tmp/"), line.find(" --export /tmp/"));
      const auto written = option == std::string::npos ? std::string{} : line.substr(line.find("/tmp/", option) + 5);
      for (std::size_t tmp = 0; (tmp = line.find("/tmp/", tmp)) != std::string::npos; tmp += dir.path().string().size())
        line.replace(tmp, 4, dir.path().string());
      const auto run = run_shell(line);
      CAPTURE(line, run.err);
      CHECK(run.exit_code == 0);
      CHECK((!run.out.empty() || (!written.empty() && std::filesystem::file_size(dir / written) > 0)));
    }
    CHECK(examples > 0);
  }
}

TEST_CASE("no line of --help is wider than 80 columns, examples excepted") {
  std::vector<std::string> commands = all_commands();
  commands.emplace_back();
  for (const std::string& command : commands) {
    std::stringstream lines(run_ulp(command + " --help").out);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("  ulp ") || line.find(" | ulp ") != std::string::npos) continue;
      CAPTURE(command, line);
      CHECK(line.size() <= 80);
    }
  }
}

TEST_CASE("wrong usage is one line and exit code 2") {
  for (const std::string arguments :
       {"bogus",
        "--bogus",
        "inspect",
        "inspect 1",
        "inspect 1 --format",
        "inspect one --format fp16",
        "inspect 0x10000 --format fp16",
        "inspect 0xZ --format fp16",
        "inspect 1 --format flaot16",
        "inspect 1 --format fp16 --rounding up",
        "inspect 1 --format fp16 --rounding sr:bits=33",
        "inspect 1 --format fp16 --rounding sr:A,A",
        "inspect 1 --format fp16 --seed -1",
        "inspect 1 --format fp16 --seed 99999999999999999999",
        "inspect 0x3C01 --format cb16 --rounding nvidia",
        "inspect 1 --format e6m9,bias=3000",
        "inspect 1 --format e6m9,foo=1",
        "formats fp16,cb16",
        "outcomes tests/data/octaves/digits.ulp --format fp16,e8m0",
        "outcomes tests/data/octaves/digits.ulp --format bias=3",
        "outcomes tests/data/octaves/digits.ulp --format fp16,bias=3",
        "outcomes tests/data/octaves/digits.ulp --format fp16,bf16,cb16 --rounding nvidia",
        "replay tests/data/octaves/digits.ulp --scaler pytorch --format e8m0",
        "inspect 1 --format fp16 --ftz sometimes",
        "eval",
        "eval --op add",
        "eval --format fp16",
        "eval --op plus --format fp16",
        "eval --op add --format flaot16",
        "eval --op convert --format fp16",
        "eval --op add --format fp16 --rounding up",
        "eval --op add --format fp16 nosuch.txt",
        "vectors --op add --format fp16 --level 3",
        "vectors --op add --format e8m0",
        "vectors --op add --format fp16 more",
        "verify --op add --format fp16",
        "verify --op add --format fp16 --show some",
        "verify --op add --format fp16 README.md",
        "formats nosuch",
        "scalers nosuch",
        "replay",
        "outcomes",
        "outcomes nosuch.npy --format fp16",
        "outcomes tests/data/octaves/digits.ulp --format fp16 --scale 0",
        "outcomes tests/data/octaves/digits.ulp --format fp16 --scale many",
        "outcomes tests/data/octaves/digits.ulp --format fp16 --by day",
        "outcomes tests/data/octaves/digits.ulp --format fp16 --tensor '('",
        "outcomes tests/data/octaves/digits.ulp --format fp16 --steps x",
        "outcomes tests/data/octaves/digits.ulp --format fp16 --steps 5000:",
        "outcomes tests/data/octaves/digits.ulp --format fp16 --kind k",
        "outcomes tests/data/octaves/digits.ulp --format fp16 --tensor nosuch",
        "outcomes tests/data/octaves/digits.ulp examples/digits.step00100.safetensors --format fp16",
        "replay tests/data/octaves/digits.ulp --scaler nosuch --format fp16",
        "replay tests/data/octaves/digits.ulp --scaler pytorch --format fp16 --set growth=2",
        "replay tests/data/octaves/digits.ulp --scaler pytorch --format fp16 --set growth_interval",
        "replay tests/data/octaves/digits.ulp --scaler pytorch --format fp16 --set growth_factor=0.5",
        "replay tests/data/octaves/digits.ulp --scaler pytorch --format fp16 --start tracker=1",
        "replay tests/data/octaves/digits.ulp --scaler pytorch --format fp16 --set init_scale=-5",
        "replay tests/data/octaves/digits.ulp --scaler pytorch --format fp16 --start scale=-1",
        "replay tests/data/octaves/digits.ulp --scaler pytorch --format fp16 --start scale=1 --start scale=2",
        "replay tests/data/octaves/digits.ulp --scaler pytorch --format fp16 --set growth_interval=1 --set "
        "growth_interval=2",
        "replay tests/data/octaves/digits.ulp --scaler pytorch,megatron --format fp16",
        "replay tests/data/octaves/digits.ulp --scaler pytorch --format fp16 --role float32",
        "replay tests/data/octaves/digits.ulp --scaler ada_loss --format fp16",
        "replay tests/data/golden/inputs/p01.csv --scaler popart --format fp16",
        "replay tests/data/golden/inputs/p01.csv --scaler openseq2seq_logmax --format fp16",
        "replay tests/data/golden/inputs/loop_walk.csv --scaler pytorch --format fp16 --factor 8",
        "replay tests/data/golden/inputs/loop_walk.csv --scaler pytorch --format fp16 --check weight",
        "replay tests/data/golden/inputs/loop_walk.csv --scaler pytorch --format fp16 --tensor weight",
        "sweep tests/data/golden/inputs/p01.csv --scaler pytorch,popart --format fp16",
        "sweep tests/data/golden/inputs/p01.csv --scaler pytorch,torch --format fp16",
        "sweep tests/data/golden/inputs/p01.csv --scaler pytorch --format fp16,float16",
        "sweep tests/data/golden/inputs/p01.csv --scaler megatron --set initial_scale=1,2 --set min_scale=2 --format "
        "fp16",
        "advise",
        "advise tests/data/octaves/digits.ulp --rounding sr",
        "advise tests/data/octaves/digits.ulp --epsilon 0",
        "report tests/data/octaves/digits.ulp",
        "report tests/data/octaves/digits.ulp -o /dev/null/r.html",
        "report tests/data/octaves/digits.ulp --scaler nosuch -o /tmp/r.html",
        "report tests/data/octaves/digits.ulp --set grow=1 -o /tmp/r.html",
        "report tests/data/octaves/digits.ulp -o tests/data/octaves/digits.ulp",
        "replay tests/data/octaves/digits.ulp --scaler pytorch --format fp16 --json --csv -",
        "selfcheck closed-loop --width 4 --steps 5 --seeds 1 --json --csv -",
        "outcomes tests/data/octaves/digits.ulp --format fp16 --every 0",
        "info tests/data/octaves/digits.ulp --digest --steps 3",
        "outcomes tests/data/octaves/digits.ulp --format fp16 --factor scale",
        "replay tests/data/octaves/digits.ulp --scaler pytorch --format fp16 --clip-norm -1",
        "replay tests/data/octaves/digits.ulp --scaler pytorch --format fp16 --check nosuch",
        "replay tests/data/octaves/digits.ulp --scaler pytorch --format fp16 --clip-norm 1 --clip-value 1",
        "replay tests/data/octaves/digits.ulp --scaler pytorch --format fp16 --csv /dev/null/t.csv",
        "info README.md",
        "info /",
        "info examples",
        "record examples/digits.step00100.safetensors"}) {
    CAPTURE(arguments);
    const auto run = run_ulp(arguments);
    CAPTURE(run.err);
    CHECK(run.exit_code == 2);
    CHECK(run.out.empty());
    CHECK(one_line(run.err.substr(run.err.rfind("ulp: ", run.err.size() - 2))));
    CHECK(run.err.find("note") == std::string::npos);
  }
}

TEST_CASE("unknown names list the near ones") {
  CHECK(run_ulp("inspect 1 --format flaot16").err ==
        "ulp: unknown format 'flaot16'; near: float16; `ulp formats` lists them, others are "
        "e<2..11>m<1..52>[,bias=N][,specials=...][,subnormals=...], and any with ,max=X\n");
  CHECK(run_ulp("replay tests/data/octaves/digits.ulp --scaler torch --format fp16,cb16").err ==
        "ulp: format 'fp16,cb16': expected a single format; ulp outcomes and ulp sweep take several\n");
  CHECK(run_ulp("scalers torhc").err.find("near: torch, ") != std::string::npos);
}

TEST_CASE("mistyped commands and options are told what they may have been") {
  CHECK(run_ulp("relpay").err == "ulp: unknown command 'relpay'; did you mean 'replay'? (see ulp --help)\n");
  CHECK(run_ulp("--quiet outcome x").err ==
        "ulp: unknown command 'outcome'; did you mean 'outcomes'? (see ulp --help)\n");
  CHECK(run_ulp("qqqq").err == "ulp: unknown command 'qqqq' (see ulp --help)\n");
  // Also where something is missing for that reason.
  CHECK(run_ulp("outcomes tests/data/octaves/digits.ulp --formt fp16").err ==
        "ulp: unknown option --formt; did you mean '--format'? (see ulp outcomes --help)\n");
  CHECK(run_ulp("replay tests/data/octaves/digits.ulp --scaller=pytorch").err ==
        "ulp: unknown option --scaller; did you mean '--scaler'? (see ulp replay --help)\n");
  CHECK(run_ulp("info tests/data/octaves/digits.ulp --zzzzzzz").err ==
        "ulp: unknown option --zzzzzzz (see ulp info --help)\n");
  CHECK(run_ulp("--vresion").err == "ulp: unknown option --vresion; did you mean '--version'? (see ulp --help)\n");
}

TEST_CASE("--tensor that selects nothing names near tensors") {
  const std::string digits = "tests/data/octaves/digits.ulp --format fp16 --tensor ";
  for (const std::string command : {"outcomes ", "replay --scaler pytorch "}) {
    CHECK(run_ulp(command + digits + "conv1.wieght").err.find("; near: conv1.weight") != std::string::npos);
    CHECK(run_ulp(command + digits + "'^wieght$'").err.find("; near: conv1.weight, ") != std::string::npos);
    CHECK(run_ulp(command + digits + "nosuch").err.find("; there are conv1.weight, ") != std::string::npos);
  }
}

TEST_CASE("ulp help is --help, of the program or of a command") {
  CHECK(run_ulp("help").out == run_ulp("--help").out);
  CHECK(run_ulp("help help").out == run_ulp("--help").out);
  for (const std::string& command : all_commands()) {
    CAPTURE(command);
    const auto help = run_ulp("help " + command);
    CHECK(help.exit_code == 0);
    CHECK(help.out == run_ulp(command + " --help").out);
  }
  const auto unknown = run_ulp("help relpay");
  CHECK(unknown.exit_code == 2);
  CHECK(unknown.err == "ulp: unknown command 'relpay'; did you mean 'replay'? (see ulp --help)\n");
  CHECK(run_ulp("help info check").exit_code == 2);
}

TEST_CASE("--quiet leaves warnings and errors, and JSON its notes") {
  const std::string arguments =
      "replay tests/data/octaves/digits.ulp --scaler pytorch --set init_scale=2^40 --format fp16";
  const auto loud = run_ulp(arguments);
  REQUIRE(loud.err.find("ulp: note: ") != std::string::npos);
  for (const std::string& quiet : {arguments + " --quiet", "--quiet " + arguments}) {
    const auto run = run_ulp(quiet);
    CHECK(run.exit_code == 0);
    CHECK(run.out == loud.out);
    CHECK(run.err.find("ulp: note: ") == std::string::npos);
    std::string warnings;
    std::stringstream lines(loud.err);
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("ulp: warning: ")) warnings += line + "\n";
    CHECK(!warnings.empty());
    CHECK(run.err == warnings);
  }
  const auto notes_of = [](const program_result& run) { return nlohmann::json::parse(run.out).at("notes"); };
  CHECK(notes_of(run_ulp(arguments + " --json --quiet")) == notes_of(run_ulp(arguments + " --json")));
  CHECK(run_ulp("--quiet info nosuch.npy").err == "ulp: nosuch.npy: No such file or directory\n");
}

TEST_CASE("a name of a format that OCP uses otherwise is noted once, whichever command reads it") {
  const temporary_dir dir;
  const std::string digits = "tests/data/octaves/digits.ulp";
  const std::string dump = "examples/digits.step00100.safetensors";
  const std::string weights = "examples/weights.step00100.safetensors";
  const std::string out = (dir / "out.safetensors").string();
  const std::vector<std::string> commands{
      "formats e4m3",
      "inspect 3 --format e4m3",
      "convert " + dump + " --to e4m3 -o " + out,
      "eval --op add --format e4m3",
      "vectors --op sqrt --format E4M3 --from e4m3",
      "verify --op add --format float16 --from e4m3",
      "outcomes " + digits + " --format e4m3,E4M3 --by kind",
      "replay " + digits + " --scaler pytorch --format e4m3",
      "sweep " + digits + " --scaler pytorch --format fp16,float8_e4m3",
      "advise " + digits + " --format e4m3",
      "precision weights " + weights + " --lr 0.1 --format e4m3",
      "precision accumulate " + dump + " --format e4m3",
  };
  for (const std::string& command : commands) {
    CAPTURE(command);
    const auto run = run_ulp(command, "38 38 40 00\n");
    CAPTURE(run.err);
    std::size_t notes = 0;
    for (std::size_t at = 0; (at = run.err.find("OCP's", at)) != std::string::npos; ++at) ++notes;
    CHECK(notes == 1);
    CHECK(run.err.find("ends at 240") != std::string::npos);
    CHECK(run.err.find("ends at 448") != std::string::npos);
    CHECK(run.err.find("write float8_e4m3fn or e4m3,specials=ieee") != std::string::npos);
  }
  for (const std::string clear : {"e4m3,specials=ieee", "float8_e4m3fn", "e4m3fn"})
    CHECK(run_ulp("outcomes " + digits + " --by kind --format " + clear).err.find("OCP's") == std::string::npos);
  CHECK(run_ulp("formats e4m3 --quiet").err.empty());
}

TEST_CASE("--csv FILE has the rows, which are not printed too") {
  const temporary_dir dir;
  const std::string csv = (dir / "rows.csv").string();
  for (const std::string command :
       {"outcomes tests/data/octaves/digits.ulp --format fp16 --by kind", "info tests/data/octaves/digits.ulp",
        "sweep tests/data/octaves/digits.ulp --scaler pytorch --format fp16", "formats"}) {
    CAPTURE(command);
    const auto printed = run_ulp(command);
    const auto written = run_ulp(command + " --csv " + csv);
    CHECK(written.exit_code == 0);
    CHECK(read_file(csv) == run_ulp(command + " --csv -").out);
    const std::string last = printed.out.substr(printed.out.rfind('\n', printed.out.size() - 2) + 1);
    CHECK(written.out.find(last) == std::string::npos);
  }
}

TEST_CASE("with --json and --csv - nothing else is on stdout") {
  for (const std::string arguments : {"formats", "scalers", "scalers pytorch", "info tests/data/octaves/digits.ulp",
                                      "outcomes tests/data/octaves/digits.ulp --format fp16 --by kind",
                                      "replay tests/data/octaves/digits.ulp --scaler torch --format fp16"}) {
    CAPTURE(arguments);
    const auto json = run_ulp(arguments + " --json");
    CHECK(json.exit_code == 0);
    const auto all = nlohmann::json::parse(json.out);
    const std::string schema = "ulp." + arguments.substr(0, arguments.find(' '));
    CHECK((all.is_array() ? all.at(0) : all)
              .at("schema")
              .get<std::string>()
              .starts_with(arguments == "scalers pytorch" ? "ulp.scaler/" : schema + "/"));
    const auto csv = run_ulp(arguments + " --csv -");
    CHECK(csv.exit_code == 0);
    const std::string header = csv.out.substr(0, csv.out.find('\n'));
    CHECK(std::count(csv.out.begin(), csv.out.end(), '\n') >= 2);
    CHECK(header.find(' ') == std::string::npos);
  }
}

TEST_CASE("a full output device is an error") {
  const auto run = run_shell("ulp formats >/dev/full");
  CHECK(run.exit_code == 2);
  CHECK(run.err == "ulp: standard output: cannot be written\n");
}

TEST_CASE("the version is told") {
  // The commit is there where there is a checkout that it was built from.
  const auto told =
      run_shell("ulp --version | grep -Ex 'ulp [0-9]+[.][0-9]+[.][0-9]+( [(][0-9a-f]{12,}(-dirty)?[)])?'");
  CHECK(told.exit_code == 0);
  CHECK(told.out.starts_with("ulp 1."));
}
